"""From arms to stages."""

import hashlib
import itertools
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harness.data.corpora import load_corpus
from harness.experiment.arms import Arm
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from harness.experiment.named_values import ROLES
from harness.finetuning.compatibility import obstacle
from harness.models.checkpoints import files
from harness.plan.continued_stages import pretrained
from harness.plan.costs import expected_flops, finetuning_flops, probe_flops
from harness.plan.keys import run_content, stage_key
from harness.plan.plan import Cell, Continuation, Probing, Rescored, Retained, Stage
from harness.plan.search_stages import searched
from harness.plan.task_chain_stages import (
    chain_obstacle,
    is_sequence,
    other_tasks,
    rescored,
    retained,
)
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks import load_examples
from harness.tasks.probes import PROBES, items
from harness.tasks.task import Task


class Builder:
    """Collects the stages of the arms; equal keys are one stage."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.stages: dict[str, Stage] = {}
        self.cells: list[Cell] = []
        self.probes: list[Probing] = []
        self.pretrains: dict[tuple[str, int], str] = {}
        self.rescored: list[Rescored] = []
        self.retained: list[Retained] = []
        self.obstacles: dict[tuple[str, str], str] = {}
        self.continued: dict[tuple[str, str, int, int], Continuation] = {}
        tasks = experiment.evaluate.known_tasks
        # Data is read once a plan, and anew by the next: files may change in between.
        self.corpus_fingerprint = cache(load_corpus.fingerprint)
        self.task_fingerprint = cache(lambda task: load_examples.fingerprint(tasks[task]))
        self.probe_fingerprint = cache(lambda probe: items.fingerprint(PROBES[probe]))

    def add(self, arm: Arm) -> None:
        tokenizer = self._pretrain_stages(arm)
        for name, task in arm.evaluate.chosen.items():
            evaluate = arm.evaluate
            why = obstacle(task, evaluate.protocol, evaluate.adaptation, arm.adapted)
            why = why or chain_obstacle(arm, task)
            if why:
                self.obstacles[arm.name, name] = why
            else:
                self._task_stages(arm, task, tokenizer)
        if is_sequence(arm.evaluate, arm):
            self._sequence_stages(arm, tokenizer)
        for probe, seed in itertools.product(arm.evaluate.probes, self._seeds(arm)):
            self._probe_stage(arm, probe, seed, tokenizer)

    def _seeds(self, arm: Arm) -> tuple[int, ...]:
        """Pretraining seeds; a checkpoint was pretrained once, and what goes on from it is not."""
        seeds = self.experiment.seeds.pretrain
        once = arm.pretrain.model.checkpoint and not arm.evaluate.continued
        return seeds[:1] if once else seeds

    def _pretrain_stages(self, arm: Arm) -> str:
        """All that makes an arm's pretrained models; returns the key of their tokenizer."""
        if arm.pretrain.model.checkpoint:
            return self._import(arm)
        tokenizer, tokens = self._data_stages(arm.pretrain)
        for seed in self.experiment.seeds.pretrain:
            self.pretrains[arm.name, seed] = self._pretrain(
                arm.pretrain, arm.name, seed, tokenizer, tokens
            )
        return tokenizer

    def _import(self, arm: Arm) -> str:
        """A checkpoint's tokenizer and network, copied in the form of our own."""
        name, revision = str(arm.pretrain.model.checkpoint), arm.pretrain.model.revision
        folder = files.is_folder(name)
        spec = {
            "checkpoint": {"name": name, "revision": revision},
            "fingerprint": files.fingerprint(name, revision),
        }
        label = name if folder or revision else f"{name}, of which no commit is pinned"
        tokenizer = self.stage("tokenizer", f"of {label}", spec, {})
        key = self.stage("pretrain", f"{label}, imported", spec, {"tokenizer": tokenizer})
        self.pretrains |= {(arm.name, seed): key for seed in self._seeds(arm)}
        return tokenizer

    def _data_stages(self, spec: Pretrain) -> tuple[str, str]:
        fingerprint = self.corpus_fingerprint(spec.corpus)
        data = {"corpus": spec.corpus.model_dump(), "fingerprint": fingerprint}
        algorithm, size = spec.tokenizer.algorithm, spec.tokenizer.vocab_size
        learned = {**data, "tokenizer": spec.tokenizer.model_dump()}
        tokenizer = self.stage("tokenizer", f"{algorithm} {size}", learned, {})
        label = f"{spec.corpus.source} as {algorithm} {size}"
        return tokenizer, self.stage("tokens", label, data, {"tokenizer": tokenizer})

    def _pretrain(self, run: Pretrain, label: str, seed: int, tokenizer: str, tokens: str) -> str:
        """The stage of a run, after those of the runs that it builds on, with the same seed."""
        parents = {"tokenizer": tokenizer, "tokens": tokens}
        for role in ROLES:
            other = getattr(run, role)
            if other:
                about = f"{role} of {label}"
                parents[role] = self._pretrain(other, about, seed, tokenizer, tokens)
        cost = expected_flops(run)
        content = {"pretrain": run_content(run), "seed": seed}
        if run.model.vectors:
            with Path(run.model.vectors).open("rb") as file:
                content["vectors"] = hashlib.file_digest(file, "sha256").hexdigest()
        return self.stage("pretrain", f"{label}, seed {seed}", content, parents, cost)

    def _task_stages(self, arm: Arm, task: Task, tokenizer: str) -> None:
        evaluate, seeds = arm.evaluate, self.experiment.seeds
        base = self.task_spec(evaluate, task)
        cost = finetuning_flops(arm, task, evaluate.finetune)
        own = arm.pretrain.model.facts.kind != "baseline"
        trained = own and task.train and evaluate.adaptation.trains

        def parents_of(seed: int) -> dict[str, str]:
            return self._parents(arm, task, seed, tokenizer)

        tune: dict[str, str] = {}
        if self.experiment.sweep.trials and trained:
            first = parents_of(seeds.pretrain[0])
            first |= other_tasks(self, arm, task, first, seeds.finetune[0])
            tune["tune"] = searched(self, arm, task, base, first, cost)
        # Else every fine-tuning seed gives the same.
        drawn = trained or (own and (evaluate.protocol.shots or evaluate.chained))
        submitted = {"submission": True} if evaluate.submission and task.test else {}
        kept = {"keep": True} if evaluate.keep_weights and trained else {}
        recorded = {"record": evaluate.record} if evaluate.record and trained else {}
        # The settings are those chosen for the end of pretraining: a curve of one thing alone.
        shares = () if arm.pretrain.budget.nothing else arm.pretrain.checkpoints
        for pretrain_seed, seed, share in itertools.product(
            self._seeds(arm), seeds.finetune if drawn else seeds.finetune[:1], (*shares, 1.0)
        ):
            parents = parents_of(pretrain_seed)
            parents |= other_tasks(self, arm, task, parents, seed, share)
            label = f"{arm.name}, {task.name}, seeds {pretrain_seed}.{seed}"
            spec = {**base, **submitted, **recorded, **kept, "seed": seed}
            if share < 1:
                label, spec = f"{label}, after {share:.3g}", {**spec, "checkpoint": share}
            key = self.stage(
                "finetune", label, spec, {**parents, **tune}, 0.0 if "head" in parents else cost
            )
            self.cells.append(Cell(arm.name, task.name, pretrain_seed, seed, key, share))

    def _sequence_stages(self, arm: Arm, tokenizer: str) -> None:
        seeds, last = self.experiment.seeds.finetune, list(arm.evaluate.chosen.values())[-1]
        for pretrain_seed, seed in itertools.product(self._seeds(arm), seeds):
            parents = self._parents(arm, last, pretrain_seed, tokenizer)
            self.rescored += rescored(self, arm, parents, pretrain_seed, seed)
            self.retained += retained(self, arm, parents, pretrain_seed, seed)

    def _parents(self, arm: Arm, task: Task, seed: int, tokenizer: str) -> dict[str, str]:
        pretrain = pretrained(self, arm, task, seed, tokenizer)
        return {"pretrain": pretrain, "tokenizer": tokenizer}

    def task_spec(self, evaluate: Evaluate, task: Task) -> dict[str, Any]:
        """What a run on `task` is told, but for its seed."""
        return _task_spec(evaluate, task, self.task_fingerprint(task.name))

    def _probe_stage(self, arm: Arm, probe: str, seed: int, tokenizer: str) -> None:
        spec = {"probe": probe, "fingerprint": self.probe_fingerprint(probe)}
        # Where there are probes, runs that go on are the same for all tasks.
        any_task = next(iter(arm.evaluate.chosen.values()))
        parents = self._parents(arm, any_task, seed, tokenizer)
        cost = probe_flops(arm, probe)
        key = self.stage("probe", f"{arm.name}, {probe}, seed {seed}", spec, parents, cost)
        self.probes.append(Probing(arm.name, probe, seed, key))

    def stage(
        self,
        kind: str,
        label: str,
        spec: Mapping[str, Any],
        parents: Mapping[str, str],
        flops: float = 0.0,
    ) -> str:
        """Adds a stage, if there is no equal one; returns its key."""
        key = stage_key(kind, spec, parents)
        self.stages.setdefault(key, Stage(kind, key, label, spec, parents, flops))
        return key


def _task_spec(evaluate: Evaluate, task: Task, fingerprint: str) -> dict[str, Any]:
    return {
        "task": task.name,
        "content": task.content,
        "fingerprint": fingerprint,
        "adaptation": evaluate.adaptation.content,
        "protocol": evaluate.protocol.model_dump(),
        "finetune": evaluate.finetune.model_dump(),
    }
