"""The batch of an update of a declared run, as text."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.data.corpora.token_stream import TokenStream
from harness.execution.job import Workspace
from harness.execution.profile_inputs import profiled_stage, stage_inputs
from harness.plan.batch_seeds import BATCH_SEED
from harness.plan.plan import Plan
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.shown_batch import ShownRow, shown_rows
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import planned_steps
from harness.store.store import Store


def shown_batch(
    plan: Plan, arm: str | None, step: int, store: Store | None, report: Callable[[str], None]
) -> tuple[str, list[ShownRow]]:
    """An arm, and the sequences that its first seed reads at an update, from 0.

    Args:
        arm: null: the first that trains.
        store: has the tokens, or they are made for this; null: there is none.
        report: called with each stage that is computed, in words.

    Raises:
        ValueError: the arm is unknown or trains nothing, or the run has fewer updates.
    """
    name, stage = profiled_stage(plan, arm)
    with TemporaryDirectory(prefix="harness-batch-") as root:
        inputs = stage_inputs(plan, stage, store, Workspace(Path(root)), report)
        return name, _rows(stage.spec, inputs, step)


def _rows(spec: Mapping[str, Any], inputs: Mapping[str, Path], step: int) -> list[ShownRow]:
    from transformers import PreTrainedTokenizerFast

    run = Pretrain.model_validate(spec["pretrain"])
    # A budget in seconds has as many updates as the machine makes.
    steps = step + 1 if run.budget.seconds else planned_steps(run)
    if step >= steps:
        raise ValueError(
            f"--step must be less than {steps:,}, the updates of the run, but is {step:,}"
        )
    vocabulary = Vocabulary.load(inputs["tokenizer"])
    tokenizer = PreTrainedTokenizerFast.from_pretrained(inputs["tokenizer"])
    stream = TokenStream.open(inputs["tokens"] / "train")
    maker = BatchMaker(
        stream,
        vocabulary,
        run.objective,
        run.packing,
        run.phases,
        run.batch_size,
        spec.get(BATCH_SEED, spec["seed"]),
        steps,
    )
    return shown_rows(maker.made(step), vocabulary, tokenizer.convert_ids_to_tokens)
