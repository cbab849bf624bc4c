"""SiFT: the released way of perturbing, gradients by finite differences, every head and family, and
what it costs."""

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import rel_entr, softmax
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from harness.finetuning import sift
from harness.finetuning.adaptation import ADAPTATIONS, Frozen, Full, PromptTuning
from harness.finetuning.costs import measure
from harness.finetuning.divergences import symmetric_divergences
from harness.finetuning.heads import HEADS
from harness.finetuning.heads.classification import Classification
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.siamese import Cosine, Softmax, Triplet
from harness.finetuning.heads.tagging import IGNORED
from harness.finetuning.heads.text import TextOutput
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.length_groups import length_groups
from harness.finetuning.module import FinetuningModule
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import Finetuned, finetune, prepared_model
from harness.plan.costs import SIFT_PASSES, finetuning_flops
from harness.pretraining.training_flops import TRAINING
from harness.tasks import TASKS
from tests.finetuning.methods.models import PAD, adapted, batch, make_backbone
from tests.plan.test_costs import arm

ONE_STACK = ["bert", "roberta", "albert", "electra", "deberta", "deberta_v3", "distilbert"]
ONE_STACK += ["modernbert", "gpt", "gpt2", "llama", "lstm"]


def of_classes(moved: Tensor, clean: Tensor, _: Batch) -> Tensor:
    return symmetric_divergences(moved, clean)


class Released(nn.Module):
    """`PerturbationLayer` of microsoft/DeBERTa, sift/sift.py: below the norm of the embeddings."""

    def __init__(self, delta: Tensor | None = None) -> None:
        super().__init__()
        self.delta = delta

    def forward(self, _: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        normed = F.layer_norm(inputs[0], inputs[0].shape[-1:], eps=1e-7)
        return normed if self.delta is None else normed.detach() + self.delta


def released_outputs(model: Classifier, one: Batch, delta: Tensor | None) -> Tensor:
    norm = model.backbone.network.get_submodule("deberta.embeddings.LayerNorm")
    handle = norm.register_forward_pre_hook(Released(delta).forward)
    found: Tensor = model(one)
    handle.remove()
    return found


def released_kl(moved: Tensor, clean: Tensor) -> Tensor:
    """`symmetric_kl` there, [N]: two cross-entropies."""
    log_q, log_p = moved.log_softmax(-1), clean.log_softmax(-1)
    return -(log_p.exp().detach() * log_q).sum(-1) - (log_q.exp().detach() * log_p).sum(-1)


def one_group() -> Batch:
    """A batch whose rows all have 10 tokens, so that the embeddings are called once."""
    one = batch()
    one["attention_mask"] = torch.ones_like(one["attention_mask"])
    one["input_ids"] = one["input_ids"].masked_fill(one["input_ids"] == PAD, 9)
    return one


@pytest.mark.parametrize("name", ["deberta", "deberta_v3"])
def test_loss_and_gradients_are_those_of_the_release(name: str) -> None:
    """`AdversarialLearner.loss` composed by hand, from the same draw, in float64 (embeddings as
    initialised are so small that the norm's epsilon matters)."""
    model, one = adapted(name, Full()).double(), one_group()
    network: Any = model.backbone.network
    network.get_input_embeddings().weight.data *= 100
    clean = model(one)
    torch.manual_seed(3)
    noise = torch.empty(8, 10, 32, dtype=torch.float64).normal_(0, 1e-2).clamp_(-2e-2, 2e-2)
    delta = noise.requires_grad_()
    found = released_kl(released_outputs(model, one, delta), clean.detach()).sum()
    (step,) = torch.autograd.grad(found, delta)
    moved = delta.detach() + 1e-4 * step / (1e-6 + step.abs().max(-1, keepdim=True)[0])
    theirs = released_kl(released_outputs(model, one, moved), clean).mean()
    weights = [p for p in model.parameters() if p.requires_grad]
    expected = torch.autograd.grad(theirs, weights, retain_graph=True, allow_unused=True)
    torch.manual_seed(3)
    ours = sift.adversarial_divergence(model, of_classes, clean, one)
    gradients = torch.autograd.grad(ours, weights, allow_unused=True)
    for mine, other in zip(gradients, expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-8)
    outputs = (clean, released_outputs(model, one, moved))
    p, q = (softmax(one.detach().numpy(), -1) for one in outputs)
    divergence = (rel_entr(p, q) + rel_entr(q, p)).sum(-1).mean()
    assert float(ours.detach()) == pytest.approx(divergence, rel=1e-3)


def test_the_step_is_along_the_gradient() -> None:
    """Central differences of the divergence, at three coordinates of a linear model."""
    torch.manual_seed(0)
    model: Any = Linear().double()
    one: Batch = {"input_ids": torch.tensor([[1, 2], [3, 4]])}
    clean = model(one).detach()
    torch.manual_seed(1)
    (moved,) = sift.perturbations(model, in_double, clean, one)
    torch.manual_seed(1)
    first = torch.empty(2, 2, 6, dtype=torch.float64).normal_(0, 1e-2).clamp_(-2e-2, 2e-2)

    def at(delta: Tensor) -> float:
        found = sift.divergence_at(model, in_double, [delta], clean, one)
        return float(2 * found.detach())  # 2 rows

    slopes = torch.zeros_like(first)
    for place in np.ndindex(*first.shape):
        ahead, back = first.clone(), first.clone()
        ahead[place] += 1e-4
        back[place] -= 1e-4
        slopes[place] = (at(ahead) - at(back)) / 2e-4
    step = 1e-4 * slopes / (slopes.abs().amax(-1, keepdim=True) + 1e-6)
    torch.testing.assert_close(moved - first, step, rtol=1e-3, atol=1e-8)
    assert at(moved) > at(first)


def in_double(moved: Tensor, clean: Tensor, _: Batch) -> Tensor:
    return (moved - clean).square().sum(-1)


class Linear(nn.Module):
    """Outputs that are linear in the embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(8, 6), nn.Linear(12, 3)
        network = SimpleNamespace(
            get_input_embeddings=lambda: self.table, modules=lambda: [self.table]
        )
        self.backbone: Any = SimpleNamespace(network=network)

    def forward(self, one: Batch) -> Any:
        return self.out(self.table(one["input_ids"]).flatten(1))


@pytest.mark.parametrize("name", ONE_STACK)
def test_every_family_of_one_stack(name: str) -> None:
    """In groups of rows of similar lengths, each drawn once; the clean pass stays as it was, and
    the word embeddings get no gradient from the perturbed one."""
    model, one = adapted(name, Full()), batch()
    clean = model(one)
    torch.manual_seed(0)
    deltas = sift.perturbations(model, of_classes, clean, one)
    assert sum(len(delta) for delta in deltas) == 8
    assert all(0 < delta.abs().max() <= 2e-2 + 1e-4 for delta in deltas)
    found = sift.divergence_at(model, of_classes, deltas, clean.detach(), one)
    assert float(found.detach()) > 0
    weight: Any = model.backbone.network.get_input_embeddings().weight
    assert torch.autograd.grad(found, weight, allow_unused=True) == (None,)
    assert torch.equal(model(one), clean)
    torch.manual_seed(0)
    again = sift.perturbations(model, of_classes, clean, one)
    assert all(torch.equal(a, b) for a, b in zip(deltas, again, strict=True))


def test_rows_in_groups_are_perturbed_as_one_by_one() -> None:
    """The second pass gives each group the perturbation of the first."""
    model, one = adapted("bert", Full()).double(), batch(rows=16, length=60)
    one["attention_mask"][::2, 20:] = 0
    one["input_ids"] = one["input_ids"] * one["attention_mask"]
    assert len(length_groups(one["attention_mask"].sum(1).tolist(), 200)) > 1
    clean = model(one).detach()
    deltas = sift.perturbations(model, of_classes, clean, one)
    assert len(deltas) > 1
    first = sift.divergence_at(model, of_classes, deltas, clean, one)
    swapped = sift.divergence_at(model, of_classes, [d.flip(0) for d in deltas], clean, one)
    assert first == sift.divergence_at(model, of_classes, deltas, clean, one) != swapped


def test_the_noise_scales_with_the_embeddings() -> None:
    """So a network with a norm above them has the same divergence at every scale."""
    found = []
    for scale in (10.0, 1000.0):
        model, one = adapted("deberta", Full()).double(), batch()
        network: Any = model.backbone.network
        network.get_input_embeddings().weight.data *= scale
        torch.manual_seed(0)
        clean = model(one).detach()
        found.append(float(sift.adversarial_divergence(model, of_classes, clean, one).detach()))
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_soft_prompts_are_not_perturbed() -> None:
    model, one = adapted("bert", PromptTuning(length=3)), batch()
    found = sift.adversarial_divergence(model, of_classes, model(one).detach(), one)
    vectors = model.get_parameter("backbone.soft_prompt.vectors")
    (gradient,) = torch.autograd.grad(found, vectors)
    assert gradient.abs().sum() > 0


def head(kind: str, task: str = "") -> Any:
    made: Any = HEADS[kind].__new__(HEADS[kind])
    made.task, made.pad_token_id = SimpleNamespace(name=task, kind=kind), PAD
    return made


def kl(clean: Tensor, moved: Tensor) -> np.ndarray:
    p, q = (softmax(one.double().numpy(), -1) for one in (clean, moved))
    found: np.ndarray = (rel_entr(p, q) + rel_entr(q, p)).sum(-1)
    return found


def test_decisions_of_every_head() -> None:
    """scipy's relative entropies of the distributions over classes, choices, tags and places, and
    squared differences of values and cosines."""
    torch.manual_seed(0)

    def pair(*shape: int) -> tuple[Tensor, Tensor]:
        return torch.randn(shape), torch.randn(shape)

    moved, clean = pair(4, 3)
    found = head("classification").divergences(moved, clean, {})
    assert found.numpy() == pytest.approx(kl(clean, moved), rel=1e-4)
    moved, clean = pair(4, 1)
    found = head("regression").divergences(moved, clean, {})
    assert found.numpy() == pytest.approx((moved - clean).squeeze(1).numpy() ** 2)
    moved, clean = pair(5, 1)
    found = head("multiple_choice").divergences(moved, clean, {"num_choices": torch.tensor([2, 3])})
    parts = [kl(clean[at, 0], moved[at, 0]) for at in (slice(0, 2), slice(2, 5))]
    assert found.numpy() == pytest.approx(np.array(parts), rel=1e-4)
    moved, clean = pair(2, 4, 3)
    labels = torch.tensor([[1, IGNORED, 0, IGNORED], [IGNORED, 2, IGNORED, IGNORED]])
    found = head("tagging").divergences(moved, clean, {"labels": labels})
    real = labels != IGNORED
    assert found.numpy() == pytest.approx(kl(clean[real], moved[real]), rel=1e-4)
    none = {"labels": torch.full_like(labels, IGNORED)}
    assert head("tagging").divergences(moved, clean, none).tolist() == [0]
    moved, clean = pair(2, 4, 2)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    found = head("extraction").divergences(moved, clean, {"attention_mask": mask})
    parts = [
        kl(clean[row, :length, side], moved[row, :length, side])
        for row, length in ((0, 4), (1, 2))
        for side in (0, 1)
    ]
    assert found.numpy() == pytest.approx(np.array(parts), rel=1e-4)
    moved, clean = pair(6, 8)
    found = Cosine.__new__(Cosine).divergences(moved, clean, {})
    ours, theirs = (F.cosine_similarity(one[::2], one[1::2]) for one in (moved, clean))
    assert found.numpy() == pytest.approx((ours - theirs).numpy() ** 2, rel=1e-4)
    assert Softmax.divergences is HEADS["classification"].divergences


def test_minus_infinity_has_a_gradient_without_nan() -> None:
    moved = torch.tensor([[1.0, 2.0, -torch.inf]], requires_grad=True)
    symmetric_divergences(moved, torch.tensor([[2.0, 1.0, -torch.inf]])).sum().backward()
    assert moved.grad is not None and moved.grad.isfinite().all() and moved.grad[0, 2] == 0


@pytest.mark.parametrize("kind", [TextOutput, Triplet])
def test_heads_without_decisions_are_refused(kind: Any) -> None:
    made = kind.__new__(kind)
    made.task = SimpleNamespace(name="toy")
    with pytest.raises(ValueError, match="needs outputs that are classes, places or values, but"):
        made.divergences(torch.zeros(2, 3), torch.zeros(2, 3), {})


def module(weight: float | None, dropout: float = 0.0) -> FinetuningModule:
    model = copy.deepcopy(adapted("deberta", Full()))
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = dropout
    settings = Finetune(sift_weight=weight, epochs=1)

    def loss(outputs: Tensor, one: Batch) -> Tensor:
        return F.cross_entropy(outputs, one["labels"])

    return FinetuningModule(model, loss, settings, 10, 0, divergences=of_classes).train()


def test_an_update_adds_the_weighted_divergence() -> None:
    """To what is minimised, not to the loss that is reported; the same for the same seed and
    step, with dropout too."""
    plain, weighted = module(None), module(3.0)
    loss, total = (float(one.update_loss(batch(), 1).detach()) for one in (plain, weighted))
    assert plain.losses == weighted.losses
    torch.manual_seed(0)
    twice = float(module(6.0).update_loss(batch(), 1).detach())
    assert twice - loss == pytest.approx(2 * (total - loss), rel=1e-3)
    assert total > loss
    first, second, other = (module(3.0, 0.1).update_loss(batch(), step) for step in (1, 1, 2))
    assert first == second != other


def trained_steps(one: FinetuningModule, steps: int = 24) -> None:
    optimizer = torch.optim.AdamW(one.parameters(), lr=3e-3)
    for step in range(1, steps):
        optimizer.zero_grad()
        one.update_loss(batch(), step).backward()
        torch.nn.utils.clip_grad_norm_(one.parameters(), 1.0)
        optimizer.step()


def test_it_learns_and_becomes_smoother() -> None:
    """The labels, and with a heavy weight outputs that change less than those before."""
    one, heavy = module(5.0), module(1e5)

    def divergence() -> float:
        torch.manual_seed(0)
        model: Any = heavy.model
        found = sift.adversarial_divergence(model, of_classes, model(batch()), batch())
        return float(found.detach())

    trained_steps(one)
    assert one.losses[-1] < 0.5 * one.losses[0]
    before = divergence()
    trained_steps(heavy)
    assert divergence() < 0.2 * before


def test_passes_are_counted() -> None:
    """torch's FLOPs of an update: those of 8 forward passes, where it has 3 without SiFT; within
    the products of embeddings, which have no gradient in one pass."""
    flops = []
    for weight in (None, 5.0):
        one = module(weight)
        with FlopCounterMode(display=False) as counter:
            one.update_loss(one_group(), 1).backward()
        flops.append(counter.get_total_flops())
    assert flops[1] / flops[0] == pytest.approx((TRAINING + SIFT_PASSES) / TRAINING, rel=0.02)
    task = TASKS["micro-rte"]
    plain, more = (
        finetuning_flops(arm("bert"), task, Finetune(sift_weight=weight)) for weight in (None, 5.0)
    )
    assert more / plain == pytest.approx(8 / 3)


def test_memory_holds_two_passes() -> None:
    model, one = adapted("bert", Full()), batch()

    def loss(outputs: Tensor, data: Batch) -> Tensor:
        return F.cross_entropy(outputs, data["labels"])

    plain, more = (measure(model, loss, one, 0, found) for found in (None, of_classes))
    assert more.trained_parameters == plain.trained_parameters
    weights = 4 * sum(t.nbytes for t in model.parameters())
    kept, twice = plain.peak_memory_bytes - weights, more.peak_memory_bytes - weights
    assert twice == pytest.approx(2 * kept, rel=0.15)


def test_whole_runs_are_deterministic(tmp_path: Path) -> None:
    """With the trained rows of the embeddings alone (`used_embeddings`), dropout and two epochs;
    with a learned labelling and other weights than without."""
    make_backbone("deberta").save(tmp_path)
    one = batch(rows=16)
    lengths = one["attention_mask"].sum(1).tolist()
    rows = [row[:n].tolist() for row, n in zip(one["input_ids"], lengths, strict=True)]
    types = Ragged.of([[0] * n for n in lengths])
    data = Encoded(Ragged.of(rows), types, one["labels"].numpy(), 0.0)
    toy = Classification.__new__(Classification)
    toy.task, toy.protocol = TASKS["micro-sst2"], Protocol()
    toy.pad_token_id = PAD

    def run(weight: float | None) -> Finetuned:
        settings = Finetune(learning_rate=1e-3, batch_size=4, epochs=8, sift_weight=weight)
        return finetune(tmp_path, [TaskData(toy, data)], settings, seed=0)

    first, second, plain = run(5.0), run(5.0), run(None)
    mine, again, other = (one.model.state_dict() for one in (first, second, plain))
    assert all(torch.equal(mine[name], again[name]) for name in mine)
    assert not all(torch.equal(mine[name], other[name]) for name in mine)
    assert first.losses == second.losses and first.losses[0] < 0.4
    assert first.costs and plain.costs
    assert first.costs.peak_memory_bytes > plain.costs.peak_memory_bytes


@pytest.mark.parametrize(("name", "reading"), [("elmo", "bilm"), ("xlnet", "bidirectional")])
def test_other_networks_are_refused(name: str, reading: str, tmp_path: Path) -> None:
    make_backbone(name, reading).save(tmp_path)
    toy: Any = SimpleNamespace(pad_token_id=PAD, protocol=Protocol(head_dropout=0.0))
    with pytest.raises(ValueError, match="sift_weight is for networks read bidirectional"):
        prepared_model(tmp_path, toy, Full(), 0, Finetune(sift_weight=5.0))
    make_backbone("bert").save(tmp_path / "bert")
    with pytest.raises(ValueError, match="sift_weight is for adaptations that read the inputs"):
        prepared_model(tmp_path / "bert", toy, Frozen(), 0, Finetune(sift_weight=5.0))


@pytest.mark.parametrize(
    "name", [n for n, one in ADAPTATIONS.items() if one.trains and one.kind != "frozen"]
)
def test_every_adaptation_that_trains(name: str) -> None:
    """The divergence has a gradient wherever the adaptation trains above the embeddings."""
    model, one = adapted("bert", ADAPTATIONS[name]), batch()
    found = sift.adversarial_divergence(model, of_classes, model(one), one)
    found.backward()
    moved = [p for p in model.parameters() if p.grad is not None and p.grad.abs().sum() > 0]
    assert float(found.detach()) > 0 and moved
