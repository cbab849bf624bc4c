"""Noise on token embeddings: its size, when it is added, and that models learn with it."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from transformers.integrations.neftune import neftune_post_forward_hook

from harness.finetuning.adaptation import Frozen, Full, PromptTuning
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.projection_updates import Lora
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import prepared_model
from harness.models import MODELS, SIZES
from harness.models.build import build
from harness.models.embedding_noise import gaussian, perturb, uniform
from harness.pretraining.objectives.held_out import evaluation_objective
from harness.pretraining.objectives.objective import Component, Mixture, Objective
from tests.finetuning.methods.models import PAD, learn, make_backbone
from tests.finetuning.methods.models import batch as task_batch
from tests.models.networks import TOKENS, small, text

DRY = Protocol(head_dropout=0.0)

ONE_STACK = ["bert", "roberta", "albert", "electra", "deberta", "deberta_v3", "distilbert"]
ONE_STACK += ["modernbert", "gpt", "gpt2", "llama"]


def test_its_size_is_a_share_of_that_of_each_embedding() -> None:
    """numpy's standard deviation and mean of many draws, for small and large embeddings."""
    torch.manual_seed(0)
    embedded = torch.randn(3, 5, 64) * torch.tensor([0.01, 1.0, 100.0])[:, None, None]
    tokens = torch.zeros(3, 5, dtype=torch.long)
    drawn = torch.stack([gaussian(tokens, embedded, share=0.2) for _ in range(500)]).numpy()
    size = (embedded.numpy() ** 2).mean(-1) ** 0.5
    deviation = drawn.transpose(1, 2, 0, 3).reshape(3, 5, -1).std(-1)
    assert deviation / size == pytest.approx(0.2, rel=0.02)
    mean = drawn.transpose(1, 2, 0, 3).reshape(3, 5, -1).mean(-1)
    assert abs(mean / size).max() < 0.01


@pytest.mark.parametrize("name", ONE_STACK)
def test_every_family_of_one_stack_is_perturbed_in_training(name: str) -> None:
    """By what is drawn from torch's generator; never in evaluation. Without dropout."""
    backbone, ids = small(name, MODELS[name].facts.representations[0]), text()
    plain = backbone.train()(ids).last_hidden_state
    perturb(backbone.network, partial(gaussian, share=0.1))

    def states(seed: int) -> Tensor:
        torch.manual_seed(seed)
        found: Tensor = backbone(ids).last_hidden_state
        return found

    assert torch.equal(states(0), states(0))
    assert not torch.allclose(states(0), states(1), atol=1e-3)
    assert not torch.allclose(states(0), plain, atol=1e-3)
    assert torch.equal(backbone.eval()(ids).last_hidden_state, plain)


def test_t5_as_one_stack_is_perturbed() -> None:
    """Its stack has a table of its own, with the same weight."""
    backbone, ids = small("t5", "causal").train(), text()
    plain = backbone(ids).last_hidden_state
    perturb(backbone.network, partial(gaussian, share=0.1))
    assert not torch.allclose(backbone(ids).last_hidden_state, plain, atol=1e-3)


def test_what_is_added_is_the_noise_alone() -> None:
    """A constant shift of BERT's token embeddings, seen by the position-free sum below its norm."""
    backbone, ids = build(MODELS["bert"], SIZES["nano"], TOKENS, "bidirectional", 0), text()
    seen: list[Tensor] = []
    norm: Any = backbone.network.get_submodule("bert.embeddings.LayerNorm")
    norm.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    backbone.train()(ids)
    perturb(
        backbone.network, lambda tokens, embedded: tokens[..., None] + torch.zeros_like(embedded)
    )
    backbone(ids)
    torch.testing.assert_close(seen[1] - seen[0], ids[..., None].expand(4, 12, 64).float())


def test_noise_has_no_gradient_of_its_own() -> None:
    """The gradient of the embeddings is that of the perturbed input."""
    embedded = torch.randn(1, 4, 8, requires_grad=True)
    noise = gaussian(torch.zeros(1, 4), embedded, share=0.5)
    (embedded + noise).sum().backward()
    assert torch.equal(embedded.grad, torch.ones_like(embedded))  # type: ignore[arg-type]


def test_neftune_is_that_of_transformers() -> None:
    """Of rows without padding, from the same draws; padding changes no row's bound."""
    table = torch.nn.Embedding(90, 16).train()
    table.neftune_noise_alpha = 5.0  # type: ignore[assignment]
    embedded, ids = table(text()), text()
    torch.manual_seed(0)
    theirs = neftune_post_forward_hook(table, (ids,), embedded)
    torch.manual_seed(0)
    ours = embedded + uniform(ids, embedded, alpha=5.0, padding=0)
    torch.testing.assert_close(ours, theirs)
    padded = torch.cat([ids, torch.zeros_like(ids)], 1)
    noise = uniform(padded, table(padded), alpha=5.0, padding=0)
    assert 0.99 * 5 < noise.abs().max() * (12 * 16) ** 0.5 <= 5


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_neftune_is_of_training_alone(name: str, tmp_path: Path) -> None:
    """Of every adaptation that reads the inputs in training, with padding."""
    make_backbone(name).save(tmp_path)
    noisy = Finetune(neftune_alpha=1.0)
    head: Any = SimpleNamespace(
        pad_token_id=PAD, protocol=DRY, make_model=lambda b, a: Classifier(b, 2, DRY, a)
    )
    for method in (Full(), Lora(), PromptTuning(length=3)):
        plain, model = (
            prepared_model(tmp_path, head, method, 0, settings) for settings in (Finetune(), noisy)
        )
        assert torch.equal(plain.eval()(task_batch()), model.eval()(task_batch()))
        assert not torch.allclose(plain.train()(task_batch()), model.train()(task_batch()))
        first, last = learn(cast(Classifier, model), task_batch(), 1e-2)
        assert last < first
    with pytest.raises(ValueError, match="neftune_alpha is for adaptations that read the inputs"):
        prepared_model(tmp_path, head, Frozen(), 0, noisy)


@pytest.mark.parametrize(("name", "reading"), [("elmo", "bilm"), ("xlnet", "bidirectional")])
def test_neftune_of_other_networks_is_refused(name: str, reading: str, tmp_path: Path) -> None:
    make_backbone(name, reading).save(tmp_path)
    head: Any = SimpleNamespace(pad_token_id=PAD, protocol=DRY)
    with pytest.raises(ValueError, match=f"is read {reading}; leave it out"):
        prepared_model(tmp_path, head, Full(), 0, Finetune(neftune_alpha=5.0))


BILM = {"representation": "bilm", "transform": {"kind": "none"}, "output": {"kind": "next_token"}}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"output": {"kind": "replaced_token"}}, "embedding_noise needs one network, read bidirec"),
        (BILM, "representation bilm"),
        ({"embedding_noise": 0.0}, "greater than 0"),
    ],
)
def test_other_networks_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Objective.model_validate({"embedding_noise": 0.1, **fields})


def test_a_component_of_a_mixture_has_none() -> None:
    noisy = Component(objective=Objective(embedding_noise=0.1))
    with pytest.raises(ValidationError, match="embedding_noise nor static masking"):
        Mixture(mixture=(noisy, Component(objective=Objective())))


def test_held_out_losses_are_compared_with_those_without() -> None:
    noisy = Objective(embedding_noise=0.1)
    assert evaluation_objective(noisy) == evaluation_objective(Objective())
    assert noisy.formula.endswith("masked_token, embedding noise")
