"""Stages of continued pretraining, and of the held-out losses before and after it."""

from typing import Any

from harness.data import python_stdlib
from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    MicroworldCorpus,
    MixedCorpus,
    StdlibCorpus,
    TaskCorpus,
)
from harness.experiment.arms import Arm
from harness.finetuning.continued_pretraining import continued_run, without_distillation
from harness.plan.batch_seeds import continued_batch_seed
from harness.plan.costs import continued_cost, expected_flops, held_out_flops
from harness.plan.graph import StageGraph
from harness.plan.plan import ContinuedRun
from harness.pretraining.budget import Budget
from harness.pretraining.objectives.held_out import has_held_out_loss
from harness.pretraining.objectives.outputs import NeighbourSentences, WithGenerator
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule
from harness.tasks.task import Task


def adapted_model(graph: StageGraph, arm: Arm, task: Task, seed: int, tokenizer: str) -> str:
    """Adds the continued pretraining of an arm before `task`, for one pretraining seed.

    Args:
        tokenizer: key of the arm's tokenizer stage.

    Returns:
        Key of the pretrained model that is fine-tuned on `task`.
    """
    model = graph.pretrain_keys[arm.name, seed]
    # The pretraining stage also measures its held-out loss; a checkpoint comes without text.
    run, before_on_old_text = arm.pretrain, None if arm.pretrain.model.checkpoint else model
    texts = [graph.stages[model].parents.get("tokens")]
    for step, declared in enumerate(arm.evaluate.continued_pretraining):
        text = declared.corpus_of(task.name)
        run = continued_run(arm.pretrain.model_copy(update={"objective": run.objective}), declared)
        cost = continued_cost(run, arm.pretrain)
        corpus = corpus_label(text, task)
        tokens = _tokenized(graph, arm, task, text, tokenizer)
        label = f"{arm.name}, before {corpus}, seed {seed}"
        loss_before = add_held_out_loss(graph, run, seed, model, tokens, label)
        parents = {"tokenizer": tokenizer, "tokens": tokens, "init_from": model}
        spec = graph.pretrain_spec(_without_checkpoint_name(run), seed)
        spec |= continued_batch_seed(seed, texts.count(tokens))
        texts.append(tokens)
        flops = expected_flops(cost, run.budget)
        label = f"{arm.name} on {corpus}, seed {seed}"
        key = graph.stage("continue_pretraining", label, spec, parents, flops)
        after_on_old_text = add_pretraining_loss(graph, arm, seed, key, f"after {corpus}")
        graph.continued_runs[arm.name, task.name, step, seed] = ContinuedRun(
            *(arm.name, task.name, step, corpus, seed, key, cost, loss_before),
            before_on_old_text if after_on_old_text else None,
            after_on_old_text,
        )
        model, before_on_old_text = key, after_on_old_text
    return model


def _tokenized(
    graph: StageGraph, arm: Arm, task: Task, text: Corpus | TaskCorpus, tokenizer: str
) -> str:
    """Adds the stage that tokenizes a text with the vocabulary of the model; returns its key."""
    if isinstance(text, TaskCorpus):
        protocol = arm.evaluate.protocol
        spec: dict[str, Any] = {"corpus": graph.dump(text), **graph.task_content(task)}
        spec["holdout_fraction"] = protocol.holdout_fraction
        spec["max_holdout_examples"] = protocol.max_holdout_examples
        spec["holdout_groups"] = protocol.holdout_groups
    else:
        spec = graph.text(text)
    label = f"{corpus_label(text, task)}, tokens"
    return graph.stage("tokenize", label, spec, {"tokenizer": tokenizer})


def add_pretraining_loss(
    graph: StageGraph, arm: Arm, seed: int, model: str, when: str
) -> str | None:
    """Adds the held-out loss of `model` under the arm's pretraining objective and on its corpus.

    Args:
        model: key of the stage that trains the model.
        when: end of the label.

    Returns:
        Key of the stage; null for checkpoints, which come without text.
    """
    tokens = graph.stages[graph.pretrain_keys[arm.name, seed]].parents.get("tokens")
    if tokens is None:
        return None
    label = f"{arm.name}, {when}, seed {seed}"
    return add_held_out_loss(graph, arm.pretrain, seed, model, tokens, label)


def add_held_out_loss(
    graph: StageGraph, run: Pretrain, seed: int, model: str, tokens: str, label: str
) -> str | None:
    """Adds the loss of `model` under the objective of `run` on the held-out text of `tokens`.

    Args:
        model: key of the stage that trains the model.
        tokens: key of the stage that tokenizes the text.

    Returns:
        Key of the stage; null without a held-out loss, and for outputs of networks that are not
        saved: with a generator, as a discriminator predicts no tokens, and corrects those of its
        own generator alone, and by the decoders of neighbouring sentences.
    """
    last = run.objectives[-1]
    unsaved = isinstance(last.output, (WithGenerator, NeighbourSentences))
    if unsaved or not has_held_out_loss(last):
        return None
    content = graph.run_content(held_out_settings(_without_checkpoint_name(run)))
    tokenizer = graph.stages[tokens].parents["tokenizer"]
    parents = {"tokenizer": tokenizer, "tokens": tokens, "init_from": model}
    spec = {"pretrain": content, "seed": seed}
    return graph.stage("held_out_loss", label, spec, parents, held_out_flops(run))


def _without_checkpoint_name(run: Pretrain) -> Pretrain:
    """A run without the name of its checkpoint, whose content enters the key as a parent."""
    model = run.model.model_copy(update={"checkpoint": None, "revision": None})
    return run.model_copy(update={"model": model})


def held_out_settings(run: Pretrain) -> Pretrain:
    """`run` with the settings that do not affect its held-out loss at their defaults, so that runs
    that differ only in these share the stage."""
    last = without_distillation(run.objectives[-1]).model_copy(update={"sentence_pair": "none"})
    return run.model_copy(
        update={
            "objective": last,
            "optimizer": Optimizer(),
            "schedule": Schedule(),
            "budget": Budget(tokens=0),
            "batch_size": 1,
            "checkpoint_fractions": (),
            "init_from": None,
            "teacher": None,
        }
    )


def corpus_label(text: Corpus | TaskCorpus, task: Task) -> str:
    """A short label of a corpus: `texts of sst2`, `microworld medicine`, a path."""
    if isinstance(text, TaskCorpus):
        return f"texts of {task.name}"
    if isinstance(text, MicroworldCorpus):
        return f"microworld {text.domain or 'of all genres'}"
    if isinstance(text, HubCorpus):
        return " ".join(filter(None, (text.path, text.config)))
    if isinstance(text, MixedCorpus):
        return f"mixture of {', '.join(text.sources)}"
    if isinstance(text, StdlibCorpus):
        return python_stdlib.NAME
    return text.path
