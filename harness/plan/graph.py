"""The graph of stages to which the builder adds."""

import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache
from typing import Any

from harness.core.config import ConfigModel
from harness.data.corpora.sources import Corpus, clean_text, decontaminated, steps_of
from harness.data.corpora.steps.ablations import Interchange
from harness.data.corpora.steps.deduplication import DeduplicateNear
from harness.data.corpora.steps.filters import Quality
from harness.experiment import plugins
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from harness.finetuning.adaptation import Selective
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.projection_updates import Targeted
from harness.plan.costs import pretraining_cost
from harness.plan.fingerprints import Fingerprints
from harness.plan.keys import KeyTexts, run_content, stage_key
from harness.plan.plan import ContinuedRun, Stage
from harness.plan.plugin_use import used_members
from harness.plan.stage_kinds import STAGE_KINDS
from harness.plan.worlds import corpus_in, task_in
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks.annotated_words import OUTSIDE
from harness.tasks.metrics.retrieval import RANK_METRICS
from harness.tasks.task import Task

RANKING = {metric.name for metric in RANK_METRICS}


class StageGraph:
    """Stages by key; equal stages are shared. Fingerprints of data are read once per plan, and
    specifications share what they have in common."""

    def __init__(self, experiment: Experiment, fingerprints: Fingerprints) -> None:
        self.experiment = experiment
        self.stages: dict[str, Stage] = {}
        self.pretrain_keys: dict[tuple[str, int], str] = {}
        """(arm, pretraining seed) to the key of the pretraining stage."""
        self.continued_runs: dict[tuple[str, str, int, int], ContinuedRun] = {}
        """(arm, task, step, pretraining seed) to run."""
        self.texts = KeyTexts()
        self.dump: Callable[[ConfigModel], dict[str, Any]] = cache(lambda value: value.model_dump())
        """A value as plain data, which is not to be changed; so with the next two."""
        self.adaptation_content = cache(lambda adaptation: adaptation.content)
        self.protocol_content = cache(lambda protocol: protocol.content)
        self.run_content = cache(run_content)
        self.pretraining_cost = cache(pretraining_cost)
        self.world = 0
        """Seed of the micro-world of texts, tasks and probes (`in_world`)."""
        tasks = experiment.evaluate.known_tasks
        self.task_fields = cache(lambda task, world: task_in(world, tasks[task]).content)
        self.corpus_fingerprint = cache(fingerprints.corpus)
        self.evaluation_fingerprints = cache(fingerprints.suite)
        self.task_fingerprint = cache(
            lambda task, world: fingerprints.task(task_in(world, tasks[task]))
        )
        self.probe_fingerprint = cache(fingerprints.probe)
        self.checkpoint_fingerprint = fingerprints.checkpoint

    def in_world(self, world: int) -> "StageGraph":
        """The same graph, to which stages about another micro-world are added."""
        other = copy(self)
        other.world = world
        return other

    def stage(
        self,
        kind: str,
        label: str,
        spec: Mapping[str, Any],
        parents: Mapping[str, str],
        flops: float = 0.0,
    ) -> str:
        """Adds a stage unless it exists, and returns its key; for the arguments, see `Stage`."""
        spec = self.with_plugins(kind, spec)
        key = stage_key(kind, spec, parents, self.texts)
        self.stages.setdefault(key, Stage(kind, key, label, spec, parents, flops))
        return key

    def with_plugins(self, kind: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """A spec with the digests of the plug-ins whose code the stage runs."""
        if not self.experiment.plugins:
            return spec
        used: dict[str, set[str]] = used_members(spec)
        if STAGE_KINDS[kind].runs_callbacks:
            used["CALLBACKS"] = set()
        found = plugins.digests(self.experiment.plugins, used)
        return {**spec, "plugins": found} if found else spec

    def pretrain_spec(self, run: Pretrain, seed: int) -> dict[str, Any]:
        """The spec of a pretraining run."""
        return {
            "pretrain": self.run_content(run),
            "seed": seed,
            **self.precision,
            **pretraining_repairs(run),
        }

    @property
    def precision(self) -> dict[str, str]:
        """The part of a spec that identifies the precision of training; empty for the default."""
        precision = self.experiment.compute.precision
        return {} if precision == "32-true" else {"precision": precision}

    def text(self, corpus: Corpus) -> dict[str, Any]:
        """The part of a spec that identifies a text, and the texts that are removed from it."""
        corpus = corpus_in(self.world, corpus) if self.world else corpus
        found = {"corpus": self.dump(corpus), "fingerprint": self.corpus_fingerprint(corpus)}
        if suites := decontaminated(corpus):
            found["evaluation"] = {one: self.evaluation_fingerprints(one) for one in suites}
        return found | text_repairs(corpus)

    def with_held_out(self, text: dict[str, Any], corpus: Corpus) -> dict[str, Any]:
        """The part of a spec that identifies a text and held-out text, where that is of a corpus of
        its own."""
        held_out = self.text(clean_text(corpus))
        names = {"held_out": held_out.pop("corpus"), "held_out_text": held_out.pop("fingerprint")}
        if "evaluation" in text and "evaluation" in held_out:
            held_out["evaluation"] = text["evaluation"] | held_out["evaluation"]
        return text | names | held_out

    def task_content(self, task: Task) -> dict[str, Any]:
        """The part of a spec that identifies the examples of a task."""
        return {
            "task": task.name,
            "content": self.task_fields(task.name, self.world),
            "fingerprint": self.task_fingerprint(task.name, self.world),
        }

    def probe_content(self, probe: str) -> dict[str, Any]:
        """The part of a spec that identifies the items of a probe."""
        world = {"world": self.world} if self.world else {}
        return {"probe": probe, "fingerprint": self.probe_fingerprint(probe, self.world), **world}

    def finetune_spec(self, evaluate: Evaluate, task: Task) -> dict[str, Any]:
        """The spec of a fine-tuning run on `task`, without its seed."""
        return {
            **since_repairs(evaluate, task),
            **self.task_content(task),
            **self._marked_words(evaluate, task),
            "adaptation": self.adaptation_content(evaluate.adaptation),
            "protocol": self.protocol_content(evaluate.protocol),
            "finetune": self.dump(evaluate.finetune),
            **(self.precision if evaluate.adaptation.trains else {}),
            **self._index(evaluate, task),
        }

    def _marked_words(self, evaluate: Evaluate, task: Task) -> dict[str, Any]:
        """The content of a task with its marked words where they are read; empty otherwise, so that
        other runs have the keys that they had before tasks could mark words."""
        if evaluate.protocol.pooling != "word" or not task.marked_words:
            return {}
        return {"content": task_in(self.world, task).marked_content}

    def _index(self, evaluate: Evaluate, task: Task) -> dict[str, Any]:
        """The part of a spec that identifies an approximate index; empty for exact search."""
        index = evaluate.protocol.index if task.kind == "retrieval" else None
        return {"index": self.dump(index)} if index else {}

    def perturbation(self, evaluate: Evaluate) -> dict[str, Any]:
        """The part of a spec that identifies the noise in the reported examples; empty without
        any, so that a run has the key that it has without the field."""
        found = evaluate.protocol.perturb.content
        return {"perturb": found} if found else {}


def text_repairs(corpus: Corpus) -> dict[str, str]:
    """As `since_repairs`, of a text."""
    found = {}
    for step in steps_of(corpus):
        if isinstance(step, Quality):  # the sum of all symbols was bounded
            found["quality"] = "each symbol"
        if isinstance(step, DeduplicateNear):  # most at the threshold were kept
            found["near_duplicates"] = "at the threshold"
        if isinstance(step, Interchange) and not all(re.fullmatch(r"\w+", w) for w in step.words):
            found["interchanged"] = "phrases"  # marks at their ends had to touch a word
    return found


def pretraining_repairs(run: Pretrain) -> dict[str, str]:
    """As `since_repairs`, of a pretraining run."""
    of_windows = any(
        one.representation in ("cbow", "skipgram") and one.output.kind != "cooccurrence"
        for one in run.objectives
    )
    found = {}
    if of_windows and run.tokenizer.algorithm == "word":  # unknown words were words as any other
        found["unknown_words"] = "left out"
    taught = [one.distillation for one in run.objectives if one.distillation]
    families = {one.model.family for one in (run, run.teacher) if one}
    if "t5" in families and any(one.attention_weight or one.relations for one in taught):
        found["attention"] = "with positions"  # they were left out
    return found


def search_repairs(run: Pretrain) -> dict[str, str]:
    """As `since_repairs`, of the trials of a search of pretraining settings."""
    is_bilm = run.objectives[-1].representation == "bilm"
    return {"selected_by": "both directions"} if is_bilm else {}  # by the forward loss alone


def since_repairs(evaluate: Evaluate, task: Task) -> dict[str, str]:
    """The parts of a spec of runs that earlier versions computed in another way: the keys of these
    change alone."""
    found = {}
    if RANKING & {*task.metrics}:  # ties kept the order of the data
        found["ties"] = "mean"
    is_scored_only = evaluate.multitask or evaluate.sequential or not task.train
    if evaluate.finetune.reinit_layers and is_scored_only:  # networks that were trained lost layers
        found["reinit"] = "training"
    has_late_outside = task.kind == "tagging" and OUTSIDE in task.labels[1:]
    if has_late_outside and answered_as_text(task, evaluate.protocol):  # they were the first tag
        found["missing_tags"] = OUTSIDE
    is_in_context = evaluate.adaptation.kind == "prompt" and answered_as_text(
        task, evaluate.protocol
    )
    if is_in_context and "rougeLsum" in task.metrics:  # they ended with their first sentence
        found["summaries"] = "whole"
    has_prompt = evaluate.adaptation.kind == "prompt_tuning"
    if has_prompt and "changed_words" in evaluate.diagnostics:  # those of the prompt were read
        found["attributions"] = "texts"
    return found | adaptation_repairs(evaluate, task)


def adaptation_repairs(evaluate: Evaluate, task: Task) -> dict[str, str]:
    """As `since_repairs`, of an adaptation."""
    adaptation, found = evaluate.adaptation, {}
    if isinstance(adaptation, Selective) and adaptation.trains_embeddings:  # so were fixed ones
        found["fixed"] = "not trained"
    has_targets = isinstance(adaptation, Targeted) and adaptation.targets
    if has_targets and not answered_as_text(task, evaluate.protocol):
        found["targets"] = "read"  # those of the token head counted, too
    return found
