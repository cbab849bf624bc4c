"""Builds the stages of arms."""

import hashlib
import itertools
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.data.corpora.sources import clean_text
from harness.experiment.arms import Arm, sets_protocol
from harness.experiment.experiment import Experiment
from harness.experiment.recipe_defaults import ROLES
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.compatibility import unsupported_reason
from harness.finetuning.search.pretrain_search import TUNING_SEED, is_searched, trial_run
from harness.finetuning.search.space import branches_of
from harness.models.checkpoints import files
from harness.plan.batch_seeds import batch_seed
from harness.plan.continued_stages import adapted_model
from harness.plan.costs import augmenting_flops, expected_flops, finetuning_flops, probe_flops
from harness.plan.ensemble_stages import add_ensemble
from harness.plan.fingerprints import Fingerprints
from harness.plan.graph import StageGraph, search_repairs
from harness.plan.plan import CHOSEN, FinetuneRun, ProbeRun, RetainedLoss, SequentialScore
from harness.plan.search_stages import add_pretrain_search, add_search
from harness.plan.task_chain_stages import TaskChain, chain_unsupported_reason, is_sequential
from harness.plan.teaching_runs import TeachingRuns, teacher_unsupported_reason
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks.task import COMPARED, Task


class PlanBuilder:
    """Adds the stages of arms to a graph and lists the runs that their results come from."""

    def __init__(
        self, experiment: Experiment, teaching: TeachingRuns, fingerprints: Fingerprints
    ) -> None:
        self.experiment, self.teaching = experiment, teaching
        self.graph = StageGraph(experiment, fingerprints)
        self.graphs = {
            seed: self.graph.in_world(seed) if experiment.seeds.in_worlds else self.graph
            for seed in experiment.seeds.pretrain
        }
        """Pretraining seed to the graph in its micro-world."""
        self.finetune_runs: list[FinetuneRun] = []
        self.probe_runs: list[ProbeRun] = []
        self.sequential_scores: list[SequentialScore] = []
        self.retained_losses: list[RetainedLoss] = []
        self.unsupported: dict[tuple[str, str], str] = {}

    def add(self, arm: Arm) -> None:
        """Adds all stages of an arm, after those of its teacher.

        Raises:
            ValueError: the files of a corpus, task, probe or checkpoint are missing.
        """
        tokenizers = self._add_pretraining(arm)
        evaluate = arm.evaluate
        for name, task in evaluate.chosen.items():
            why = self._unsupported(arm, task) or chain_unsupported_reason(arm, task)
            why = why or teacher_unsupported_reason(arm, task, self.unsupported)
            if why:
                self.unsupported[arm.name, name] = why
            else:
                self._add_task(arm, task, tokenizers)
        if is_sequential(arm):
            self._add_sequence(arm, tokenizers)
        for probe, seed in itertools.product(evaluate.probes, self._seeds(arm)):
            self._add_probe(arm, probe, seed, tokenizers)

    def _unsupported(self, arm: Arm, task: Task) -> str:
        """Why an arm cannot do a task with its adaptation, or with one that is searched."""
        evaluate = arm.evaluate
        tried = [ADAPTATIONS[name] for name in branches_of(arm.sweep.space)] if task.train else []
        reasons = (
            unsupported_reason(task, evaluate.protocol, adaptation, arm.adapted)
            for adaptation in tried or [evaluate.adaptation]
        )
        return next(filter(None, reasons), "")

    def _seeds(self, arm: Arm) -> tuple[int, ...]:
        """Pretraining seeds of an arm; one for a checkpoint without continued pretraining."""
        seeds = self.experiment.seeds.pretrain
        return seeds[:1] if arm.has_one_run else seeds

    def _add_pretraining(self, arm: Arm) -> Mapping[int, str]:
        """Adds the pretrained models of an arm; returns the keys of their tokenizers by seed."""
        if arm.pretrain.model.checkpoint:
            return dict.fromkeys(self.experiment.seeds.pretrain, self._add_import(arm))
        data = {seed: self._add_data(arm.pretrain, graph) for seed, graph in self.graphs.items()}
        search, chosen = arm.pretrain_search, {}
        if search and is_searched(arm.pretrain):
            short = trial_run(arm.pretrain, search.budget_fraction)
            before = self._before(short, arm.name, TUNING_SEED, *next(iter(data.values())))
            spec, flops = self._run_spec(short, TUNING_SEED), self._flops(short)
            spec |= search_repairs(short)
            chosen[CHOSEN] = add_pretrain_search(self.graph, search, arm.name, spec, before, flops)
        for seed, keys in data.items():
            key = self._add_pretrain(arm.pretrain, arm.name, seed, *keys, chosen)
            self.graph.pretrain_keys[arm.name, seed] = key
        return {seed: tokenizer for seed, (tokenizer, _) in data.items()}

    def _add_import(self, arm: Arm) -> str:
        """Adds the import of a checkpoint and its tokenizer; returns the key of the tokenizer."""
        name, revision = str(arm.pretrain.model.checkpoint), arm.pretrain.model.revision
        folder = files.is_folder(name)
        spec = {
            "checkpoint": {"name": name, "revision": revision},
            "fingerprint": self.graph.checkpoint_fingerprint(name, revision),
        }
        label = name if folder or revision else f"{name}, no commit pinned"
        tokenizer = self.graph.stage("tokenizer", f"of {label}", spec, {})
        key = self.graph.stage("pretrain", f"{label}, imported", spec, {"tokenizer": tokenizer})
        self.graph.pretrain_keys |= {(arm.name, seed): key for seed in self._seeds(arm)}
        return tokenizer

    def _add_data(self, spec: Pretrain, graph: StageGraph) -> tuple[str, str]:
        """Adds the tokenizer and the tokenized corpus; returns both keys."""
        algorithm, size = spec.tokenizer.algorithm, spec.tokenizer.vocab_size
        declared = spec.tokenizer.model_copy(update={"corpus": None})
        tokenizer_spec = {
            **graph.text(clean_text(spec.tokenizer.corpus or spec.corpus)),
            "tokenizer": graph.dump(declared),
        }
        tokenizer = graph.stage("tokenizer", f"{algorithm} {size}", tokenizer_spec, {})
        data = graph.text(spec.corpus)
        if spec.held_out:
            data = graph.with_held_out(data, spec.held_out)
        label = f"{spec.corpus.source} as {algorithm} {size}"
        return tokenizer, graph.stage("tokenize", label, data, {"tokenizer": tokenizer})

    def _before(
        self, run: Pretrain, label: str, seed: int, tokenizer: str, tokens: str
    ) -> dict[str, str]:
        """Role to key of what a run builds on; adds the runs among them (`init_from`, `teacher`),
        with the same seed."""
        parents = {"tokenizer": tokenizer, "tokens": tokens}
        for role in ROLES:
            if other := getattr(run, role):
                other_label = f"{role} of {label}"
                parents[role] = self._add_pretrain(other, other_label, seed, tokenizer, tokens)
        return parents

    def _add_pretrain(
        self,
        run: Pretrain,
        label: str,
        seed: int,
        tokenizer: str,
        tokens: str,
        chosen: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Adds a run after those it builds on, and after the search of its settings if any."""
        parents = {**self._before(run, label, seed, tokenizer, tokens), **chosen}
        spec, flops = self._run_spec(run, seed), self._flops(run)
        return self.graph.stage("pretrain", f"{label}, seed {seed}", spec, parents, flops)

    def _run_spec(self, run: Pretrain, seed: int) -> dict[str, Any]:
        spec = self.graph.pretrain_spec(run, seed) | batch_seed(run, seed)
        if run.model.vectors:
            with Path(run.model.vectors).open("rb") as file:
                spec["vectors"] = hashlib.file_digest(file, "sha256").hexdigest()
        return spec

    def _flops(self, run: Pretrain) -> float:
        return expected_flops(self.graph.pretraining_cost(run), run.budget)

    def _base_spec(self, arm: Arm, task: Task, seed: int) -> dict[str, Any]:
        """The spec of the runs of an arm on a task in the world of a pretraining seed."""
        base = self.graphs[seed].finetune_spec(arm.evaluate, task)
        has_own_length = arm.pretrain.model.checkpoint and task.kind in COMPARED
        if has_own_length and not sets_protocol(self.experiment, arm, "max_sequence_length"):
            base["own_length"] = True  # of a sentence-transformers model, known when it is read
        layer = getattr(arm.evaluate.adaptation, "layer", None)
        if task.kind == "similarity" and layer is not None:
            base["reads_layer"] = True  # earlier versions read the last layer
        if arm.evaluate.adaptation.kind in ("ia3", "boft"):
            base["scales_decay"] = False  # they did in earlier versions
        if arm.evaluate.distillation and task.train:
            base["distillation"] = arm.evaluate.distillation.model_dump(
                exclude={"teacher"}, exclude_none=True
            )
        return base

    def _add_task(self, arm: Arm, task: Task, tokenizers: Mapping[int, str]) -> None:
        evaluate, seeds = arm.evaluate, self.experiment.seeds
        teacher, augments = self.teaching.of_layers(arm), self.teaching.augmentations(arm)
        cost = finetuning_flops(arm, task, evaluate.finetune, teacher)
        has_model = arm.pretrain.model.facts.kind != "baseline"
        trained = has_model and task.train and evaluate.adaptation.trains
        searched = trained or evaluate.multitask  # of all tasks, for those without a train set too
        tune = self._add_searches(arm, task, tokenizers, cost) if searched else {}
        cost += sum(augmenting_flops(arm, task, how) for how in augments)  # no trial teaches
        # Otherwise all fine-tuning seeds give the same result.
        varies = trained or (has_model and (evaluate.protocol.num_fewshot or evaluate.other_tasks))
        optional = {
            "predict_test": bool(evaluate.predict_test and task.test),
            "diagnostics": evaluate.diagnostics if trained else (),
            "save_weights": bool(evaluate.save_weights and trained),
            "teaches": bool(arm.name in self.teaching.teachers and trained),
            "teaches_layers": bool(arm.name in self.teaching.layer_teachers and trained),
            "teaches_augmented": [self.graph.dump(how) for how in augments if trained],
        }
        given = {name: value for name, value in optional.items() if value}
        given |= self.graph.perturbation(evaluate)
        # Settings are selected at the end of pretraining, so that the curve varies one thing.
        fractions = _kept_fractions(arm)
        finetune_seeds = seeds.finetune if varies else seeds.finetune[:1]
        runs = list(itertools.product(finetune_seeds, (*fractions, 1.0)))
        of_world: dict[int, dict[tuple[int, float], dict[str, Any]]] = {}
        scored = arm.replicates(seeds.pretrain) if trained else [(s,) for s in self._seeds(arm)]
        for networks, (seed, fraction) in itertools.product(scored, runs):
            graph = self.graphs[pretrain_seed := networks[0]]
            if graph.world not in of_world:  # pretraining seeds of a world share the specs
                base = self._base_spec(arm, task, pretrain_seed) | given
                of_world[graph.world] = {run: _finetune_spec(base, *run) for run in runs}
            specs = of_world[graph.world]
            parents = self._parents(arm, task, pretrain_seed, tokenizers)
            chosen = tune.get(pretrain_seed, {})
            parents |= TaskChain(graph, arm, parents | chosen, seed, fraction).before(task)
            parents |= self.teaching.before(arm, task, pretrain_seed, seed)
            after = f", after {fraction:.3g}" if fraction < 1 else ""
            label = f"{arm.name}, {task.name}, seed {pretrain_seed}, fine-tuning seed {seed}{after}"
            spec, flops = specs[seed, fraction], 0.0 if "head" in parents else cost
            parents |= chosen if trained else {}
            if evaluate.ensemble and trained:
                others = (
                    self._parents(arm, task, other, tokenizers) | tune.get(other, {})
                    for other in networks[1:]
                )
                each = [parents, *others]
                key = add_ensemble(graph, evaluate.ensemble, label, spec, each, flops)
            else:
                key = graph.stage("finetune", label, spec, parents, flops)
            run = FinetuneRun(arm.name, task.name, pretrain_seed, seed, key, fraction)
            self.finetune_runs.append(run)
            self.teaching.add(run)

    def _add_searches(
        self, arm: Arm, task: Task, tokenizers: Mapping[int, str], cost: float
    ) -> dict[int, dict[str, str]]:
        """Adds the searches of an arm on a task; returns for each pretraining seed the role and key
        of the stage that selects the settings of its runs."""
        if not arm.sweep.trials:
            return {}
        own, seeds, found = self._seeds(arm), self.experiment.seeds, {}
        for repeat, seed in enumerate(own if arm.sweep.seeds == "each" else own[:1]):
            graph, parents = self.graphs[seed], self._parents(arm, task, seed, tokenizers)
            chain = TaskChain(graph, arm, parents, seeds.finetune[0])
            if arm.evaluate.multitask:
                key = chain.multitask_search(repeat)
            else:
                parents |= chain.before(task)
                parents |= self.teaching.before(arm, task, seed, seeds.finetune[0])
                base, name = self._base_spec(arm, task, seed), f"{arm.name}, {task.name}"
                key = add_search(graph, arm.sweep, name, base, parents, cost, repeat)
            found[seed] = {"tune": key} if key else {}
        return found if len(found) > 1 else dict.fromkeys(seeds.pretrain, found[own[0]])

    def _add_sequence(self, arm: Arm, tokenizers: Mapping[int, str]) -> None:
        finetune_seeds = self.experiment.seeds.finetune
        last = list(arm.evaluate.chosen.values())[-1]
        for pretrain_seed, seed in itertools.product(self._seeds(arm), finetune_seeds):
            parents = self._parents(arm, last, pretrain_seed, tokenizers)
            chain = TaskChain(self.graphs[pretrain_seed], arm, parents, seed)
            self.sequential_scores += chain.sequential_scores(pretrain_seed)
            self.retained_losses += chain.retained_losses(pretrain_seed)

    def _parents(
        self, arm: Arm, task: Task, seed: int, tokenizers: Mapping[int, str]
    ) -> dict[str, str]:
        pretrain = adapted_model(self.graphs[seed], arm, task, seed, tokenizers[seed])
        return {"pretrain": pretrain, "tokenizer": tokenizers[seed]}

    def _add_probe(self, arm: Arm, probe: str, seed: int, tokenizers: Mapping[int, str]) -> None:
        spec = self.graphs[seed].probe_content(probe)
        if arm.pretrain.objectives[-1].output.kind == "corrected_token":
            spec = {**spec, "requests": "none"}  # earlier versions scored tokens that it sees
        # With probes, continued pretraining is the same for all tasks.
        any_task = next(iter(arm.evaluate.chosen.values()))
        parents = self._parents(arm, any_task, seed, tokenizers)
        flops, label = probe_flops(arm, probe), f"{arm.name}, {probe}, seed {seed}"
        fractions = () if arm.evaluate.continued_pretraining else _kept_fractions(arm)
        for fraction in (*fractions, 1.0):
            part = {"pretrain_fraction": fraction} if fraction < 1 else {}
            name = f"{label}, after {fraction:.3g}" if part else label
            key = self.graph.stage("probe", name, {**spec, **part}, parents, flops)
            self.probe_runs.append(ProbeRun(arm.name, probe, seed, key, fraction))


def _kept_fractions(arm: Arm) -> tuple[float, ...]:
    """Shares of the updates after which checkpoints are kept."""
    return () if arm.pretrain.budget.is_zero else arm.pretrain.checkpoint_fractions


def _finetune_spec(base: Mapping[str, Any], seed: int, pretrain_fraction: float) -> dict[str, Any]:
    """The spec of a fine-tuning run; the fraction is included if it is less than 1."""
    part = {"pretrain_fraction": pretrain_fraction} if pretrain_fraction < 1 else {}
    return {**base, "seed": seed, **part}
