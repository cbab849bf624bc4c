"""Stages between pretraining and a task: runs that go on on other text, and losses around them."""

from typing import TYPE_CHECKING, Any

from harness.data.corpora.sources import Corpus, HubCorpus, MicroworldCorpus, TaskCorpus
from harness.experiment.arms import Arm
from harness.finetuning.continued_pretraining import continued_run, taught_no_more
from harness.plan.costs import SUSTAINED_FLOPS, Cost, continued_cost, held_out_flops
from harness.plan.keys import run_content
from harness.plan.plan import Continuation
from harness.pretraining.budget import Budget
from harness.pretraining.optimizer import Optimizer, Schedule
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks.task import Task

if TYPE_CHECKING:
    from harness.plan.builder import Builder


def pretrained(builder: "Builder", arm: Arm, task: Task, seed: int, tokenizer: str) -> str:
    """Key of the pretrained model that is adapted to `task`, after the arm's continued runs."""
    return Chain(builder, arm, task, seed, tokenizer).model()


class Chain:
    """The continued runs of an arm before a task, under one pretraining seed."""

    def __init__(self, builder: "Builder", arm: Arm, task: Task, seed: int, tokenizer: str) -> None:
        self.builder, self.arm, self.task = builder, arm, task
        self.seed, self.tokenizer = seed, tokenizer
        self.start = builder.pretrains[arm.name, seed]

    def model(self) -> str:
        """Key of the last model, with the stages that lead there."""
        model, run, old = self.start, self.arm.pretrain, None
        if self.arm.evaluate.continued and not self.arm.pretrain.model.checkpoint:
            old = self.start  # it tells the loss of the pretraining itself
        for number, step in enumerate(self.arm.evaluate.continued):
            text = step.corpus_of(self.task.name)
            goes_on = self.arm.pretrain.model_copy(update={"objective": run.objective})
            run = continued_run(goes_on, step)
            cost = continued_cost(run, self.arm.pretrain)
            tokens, about = self._tokens(text), in_words(text, self.task)
            label = f"{self.arm.name}, before {about}"
            before = loss_stage(self.builder, run, self.seed, model, tokens, label)
            key = self._train(run, cost, model, tokens, f"{self.arm.name} on {about}")
            old_after = pretraining_loss(self.builder, self.arm, self.seed, key, f"after {about}")
            self.builder.continued[self.arm.name, self.task.name, number, self.seed] = Continuation(
                self.arm.name,
                self.task.name,
                number,
                about,
                self.seed,
                key,
                cost,
                before,
                old if old_after else None,
                old_after,
            )
            model, old = key, old_after
        return model

    def _train(self, run: Pretrain, cost: Cost, model: str, tokens: str, label: str) -> str:
        spec = {"pretrain": run_content(_nameless(run)), "seed": self.seed}
        parents = {"tokenizer": self.tokenizer, "tokens": tokens, "start_from": model}
        flops = cost.flops or (run.budget.seconds or 0.0) * SUSTAINED_FLOPS
        return self.builder.stage("continued", f"{label}, seed {self.seed}", spec, parents, flops)

    def _tokens(self, text: Corpus | TaskCorpus) -> str:
        """The stage of the text in the vocabulary of the model."""
        spec: dict[str, Any] = {"corpus": text.model_dump()}
        if isinstance(text, TaskCorpus):
            protocol = self.arm.evaluate.protocol
            spec |= {
                "task": self.task.name,
                "content": self.task.content,
                "fingerprint": self.builder.task_fingerprint(self.task.name),
                "holdout_fraction": protocol.holdout_fraction,
                "max_holdout": protocol.max_holdout,
            }
        else:
            spec["fingerprint"] = self.builder.corpus_fingerprint(text)
        label = f"{in_words(text, self.task)}, tokens"
        return self.builder.stage("tokens", label, spec, {"tokenizer": self.tokenizer})


def pretraining_loss(builder: "Builder", arm: Arm, seed: int, model: str, when: str) -> str | None:
    """The stage that tells the loss of `model` under the objective of the arm's pretraining, on the
    held-out text of it; none of a checkpoint, which brings no text."""
    tokens = builder.stages[builder.pretrains[arm.name, seed]].parents.get("tokens")
    if tokens is None:
        return None
    return loss_stage(builder, arm.pretrain, seed, model, tokens, f"{arm.name}, {when}")


def loss_stage(
    builder: "Builder", run: Pretrain, seed: int, model: str, tokens: str, label: str
) -> str | None:
    """The stage that tells what `run` asks the model about held-out text; none where it asks for
    more than the model brings."""
    if run.objectives[-1].output.kind == "replaced_token":
        return None
    spec = {"pretrain": run_content(asked(_nameless(run))), "seed": seed}
    tokenizer = builder.stages[tokens].parents["tokenizer"]
    parents = {"tokenizer": tokenizer, "tokens": tokens, "start_from": model}
    return builder.stage("loss", f"{label}, seed {seed}", spec, parents, held_out_flops(run))


def _nameless(run: Pretrain) -> Pretrain:
    """A run without the name of the checkpoint that it goes on from, which is its parent."""
    model = run.model.model_copy(update={"checkpoint": None, "revision": None})
    return run.model_copy(update={"model": model})


def asked(run: Pretrain) -> Pretrain:
    """What of a run decides its held-out loss: runs that differ in the rest share it."""
    last = taught_no_more(run.objectives[-1]).model_copy(update={"pair": "none"})
    return run.model_copy(
        update={
            "objective": last,
            "optimizer": Optimizer(),
            "schedule": Schedule(),
            "budget": Budget(tokens=0),
            "batch_size": 1,
            "precision": "32-true",
            "checkpoints": (),
            "start_from": None,
            "teacher": None,
        }
    )


def in_words(text: Corpus | TaskCorpus, task: Task) -> str:
    """A text as people call it."""
    if isinstance(text, TaskCorpus):
        return f"texts of {task.name}"
    if isinstance(text, MicroworldCorpus):
        return f"microworld {text.domain or 'of all genres'}"
    if isinstance(text, HubCorpus):
        return " ".join(filter(None, (text.path, text.config)))
    return text.path
