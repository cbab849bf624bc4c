"""Nothing that is queued on a GPU is waited for in an update, but by batches with padding that are
chosen from. On torch's meta device, whatever reads a value fails."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel, masking_utils

from benchmarks.pretraining_workloads import Shape, Workload
from harness.pretraining.learners.generated_input import of_real
from harness.pretraining.objectives.loader import TensorBatch, to_device
from harness.pretraining.unread_inputs import UnreadMasks, UnreadTokens

META = torch.device("meta")
NANO: dict[str, Any] = {"size": "nano", "batch_size": 4, "sequence_length": 32, "vocab_size": 500}
PATCHED = [
    (masking_utils, "find_packed_sequence_indices"),
    (PreTrainedModel, "warn_if_padding_and_no_attention_mask"),
    (masking_utils, "_ignore_causal_mask_sdpa"),
    (masking_utils, "_ignore_bidirectional_mask_sdpa"),
]


@pytest.fixture
def unread() -> Iterator[None]:
    callbacks = UnreadTokens(), UnreadMasks()
    for callback in callbacks:
        callback.setup()
    yield
    for callback in callbacks:
        callback.teardown()


def batch(objective: str, family: str) -> tuple[Any, TensorBatch]:
    """A learner with its micro-batch."""
    work = Workload(Shape(objective, family, **NANO), steps=2)
    return work.learner().train(), work.step(0).parts[0]


def losses(learner: Any, part: TensorBatch) -> Tensor:
    """The sum [] of the losses, and the gradients of all weights."""
    torch.manual_seed(0)
    sums, _ = learner(part)
    total: Tensor = sum(sums.values())
    total.backward()
    return total


@pytest.mark.parametrize(
    ("objective", "family"),
    [
        ("mlm", "bert"),
        ("mlm", "modernbert"),
        ("clm", "gpt"),
        ("clm", "gpt2"),
        ("clm", "llama"),
        ("rtd", "electra"),
        ("coco_lm", "bert"),
        ("plm", "xlnet"),
        ("bilm", "elmo"),
        ("span_corruption", "t5"),  # its decoder reads padding
        ("iid_corruption", "t5"),  # its encoder, too
        ("span_corruption", "bart"),
    ],
)
def test_an_update_reads_no_values(unread: None, objective: str, family: str) -> None:
    learner, part = batch(objective, family)
    part = {name: tensor.to(META) for name, tensor in part.items()}
    losses(learner.to(META), part)


@pytest.mark.parametrize("objective", ["iid_corruption", "span_corruption", "denoising"])
def test_masks_with_padding_hide_it_unread(monkeypatch: pytest.MonkeyPatch, objective: str) -> None:
    """Losses and gradients are those of masks that are read."""
    learner, part = batch(objective, "t5")
    assert not part["decoder_attention_mask"].all()
    expected = losses(learner, part)
    gradients = [weight.grad for weight in learner.parameters()]
    learner.zero_grad()
    for _, name in PATCHED[2:]:
        monkeypatch.setattr(
            masking_utils, name, lambda padding_mask, *_, **__: padding_mask is None
        )
    assert torch.equal(losses(learner, part), expected)
    for weight, gradient in zip(learner.parameters(), gradients, strict=True):
        assert gradient is None or torch.equal(weight.grad, gradient)


def test_transformers_reads_its_inputs_again_afterwards() -> None:
    before = [getattr(owner, name) for owner, name in PATCHED]
    for callback in (UnreadTokens(), UnreadMasks(), UnreadMasks()):
        callback.setup()
        callback.setup()
        callback.on_exception()
    assert [getattr(owner, name) for owner, name in PATCHED] == before


def test_masks_on_a_cpu_are_read(unread: None) -> None:
    full = torch.ones(2, 3, dtype=torch.bool)
    assert masking_utils._ignore_bidirectional_mask_sdpa(full, 3, None)
    assert not masking_utils._ignore_bidirectional_mask_sdpa(full.to(META), 3, None)
    assert masking_utils._ignore_bidirectional_mask_sdpa(None, 3, None)


def test_tokens_without_padding_are_all_chosen() -> None:
    logits = torch.randn(2, 3, requires_grad=True)
    replaced = torch.randint(2, (2, 3))
    mask = torch.ones(2, 3, dtype=torch.long)
    for found, expected in zip(
        of_real(logits, replaced, {}),
        of_real(logits, replaced, {"attention_mask": mask}),
        strict=True,
    ):
        assert torch.equal(found, expected)


def test_draws_stay_where_the_program_reads_them() -> None:
    work = Workload(Shape("rtd", "electra", **NANO), steps=2)
    step = work.step(0)
    step.parts[0]["draws"] = torch.tensor([1, 2, 3])
    (part,) = to_device(step, META).parts
    assert {name for name, tensor in part.items() if tensor.device != META} == {"draws"}
