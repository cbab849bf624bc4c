"""Replaced-token detection against transformers' ELECTRA, and what the embeddings share."""

import math
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from transformers import ElectraConfig, ElectraForPreTraining

from harness.models import MODELS, SIZES, Architecture
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.encoders import ENCODERS
from harness.pretraining.generator import generator_architecture, generator_size
from harness.pretraining.learners.generated_input import fill, sample
from harness.pretraining.learners.replaced_token import (
    ReplacedTokenDetection,
    make_replaced_token,
)
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import ReplacedToken
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain

VOCAB, IGNORED = 60, -100
TOKENS = Tokens(VOCAB, 0, 2, 3, pair_format=True)
Sharing = Literal["shared", "gradient_disentangled", "none"]
SHARINGS: tuple[Sharing, ...] = ("shared", "gradient_disentangled", "none")


def make_spec(name: str, output: ReplacedToken, spread: float = 0.1, **objective: Any) -> Pretrain:
    still = {"initializer_range": spread, "dropout": 0.0, "attention_dropout": 0.0}
    return RECIPES["electra"].model_copy(
        update={
            "model": MODELS[name].model_copy(update=still),
            "size": SIZES["nano"],
            "objective": Objective(output=output, **objective),
        }
    )


def make_learner(
    name: str = "electra", sharing: Sharing = "shared", width: float = 0.5, spread: float = 0.1
) -> ReplacedTokenDetection:
    output = ReplacedToken(
        generator_width=width,
        generator_depth=0.5,
        embedding_sharing=sharing,
    )
    torch.manual_seed(0)
    return make_replaced_token(make_spec(name, output, spread), TOKENS, 0)


def make_batch() -> TensorBatch:
    """Three rows of 16, the last padded; of six chosen tokens two are masked, one is another."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, VOCAB, (3, 16), generator=generator)
    ids[2, 12:] = 0
    positions = torch.tensor([4, 5, 6, 16 + 9, 32 + 2, 32 + 3])
    targets = ids.flatten()[positions].clone()
    ids.view(-1)[positions[:2]] = 4
    ids.view(-1)[positions[2]] = 7
    return {
        "input_ids": ids,
        "attention_mask": (ids != 0).long(),
        "token_type_ids": (torch.arange(16) > 7).long().expand(3, 16).clone(),
        "positions": positions,
        "targets": targets,
    }


def original(batch: TensorBatch) -> Tensor:
    ids = batch["input_ids"].clone()
    ids.view(-1)[batch["positions"]] = batch["targets"]
    return ids


def means(model: ReplacedTokenDetection, batch: TensorBatch) -> dict[str, float]:
    with torch.no_grad():
        losses, counts = (
            model(batch)[0],
            {"token": 6, "replaced": int((batch["input_ids"] != 0).sum())},
        )
    return {name: losses[name].item() / counts[name] for name in losses}


def table(backbone: Backbone) -> Tensor:
    embedding = backbone.network.get_input_embeddings()
    assert isinstance(embedding, nn.Embedding)
    return embedding.weight


def gradient(model: ReplacedTokenDetection, loss: str, weight: Tensor) -> float:
    model.zero_grad()
    model(make_batch())[0][loss].backward()
    return 0.0 if weight.grad is None else weight.grad.abs().sum().item()


def test_losses_are_those_of_transformers() -> None:
    model, batch = make_learner("electra_small").eval(), make_batch()
    labels = torch.full_like(batch["input_ids"], IGNORED)
    labels.view(-1)[batch["positions"]] = batch["targets"]
    read = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    with torch.no_grad():
        theirs = model.generator.network(**read, labels=labels)
        drawn = model.draw(theirs.logits.flatten(0, 1)[batch["positions"]])
    filled, replaced = fill(batch, drawn)
    config = model.backbone.network.config
    assert isinstance(config, ElectraConfig)
    discriminator = ElectraForPreTraining(config).eval()
    discriminator.electra.load_state_dict(model.backbone.network.base_model.state_dict())
    discriminator.discriminator_predictions.dense.load_state_dict(model.head.dense.state_dict())
    discriminator.discriminator_predictions.dense_prediction.load_state_dict(
        model.head.out.state_dict()
    )
    with torch.no_grad():
        detected = discriminator(**read | {"input_ids": filled}, labels=replaced)
    ours = means(model, batch)
    assert ours["token"] == pytest.approx(theirs.loss.item(), abs=1e-5)
    assert ours["replaced"] == pytest.approx(detected.loss.item(), abs=1e-5)


def test_filled_text() -> None:
    """google-research/electra: samples at all chosen positions, whether masked or not; one that is
    the original counts as original."""
    batch = make_batch()
    drawn = batch["targets"].clone()
    drawn[[0, 3]] = torch.where(drawn[[0, 3]] == 9, 10, 9)
    filled, replaced = fill(batch, drawn)
    assert filled.flatten()[batch["positions"]].tolist() == drawn.tolist()
    assert replaced.flatten().nonzero().flatten().tolist() == [4, 16 + 9]
    assert ((filled != original(batch)).long() == replaced).all()


def test_samples_follow_the_softmax() -> None:
    torch.manual_seed(0)
    shares = torch.tensor([0.5, 0.3, 0.2])
    drawn = sample(shares.log().expand(20_000, 3))
    assert torch.bincount(drawn) / 20_000 == pytest.approx(shares, abs=0.012)


def test_samples_of_a_step_and_of_the_evaluation() -> None:
    model, logits = make_learner(), torch.zeros(200, VOCAB)
    torch.manual_seed(3)
    first = model.draw(logits)
    torch.manual_seed(3)
    assert (model.draw(logits) == first).all()
    assert (model.draw(logits) != first).any()
    state = torch.random.get_rng_state()
    fixed = model.eval().draw(logits)
    assert (model.draw(logits) == fixed).all()
    assert (torch.random.get_rng_state() == state).all()


def test_padding_is_not_asked_about() -> None:
    model, batch = make_learner().eval(), make_batch()
    logits, labels = model.predictions(batch)["replaced"]
    assert len(logits) == len(labels) == 3 * 16 - 4
    assert logits[:, 0].eq(0).all()
    ids, mask = batch["input_ids"].clone(), batch["attention_mask"]
    ids[mask == 0] = 9
    again = model.predictions(batch | {"input_ids": ids})["replaced"][0]
    torch.testing.assert_close(again, logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("name", ENCODERS)
def test_losses_at_the_start(name: str, sharing: Sharing) -> None:
    losses = means(make_learner(name, sharing, spread=0.02), make_batch())
    assert losses["token"] == pytest.approx(math.log(VOCAB), abs=0.15)
    assert losses["replaced"] == pytest.approx(math.log(2), abs=0.15)


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("width", [0.5, 1.0])
@pytest.mark.parametrize("name", ["bert", "electra_small", "deberta_v3", "modernbert"])
def test_all_that_is_trained_learns(name: str, width: float, sharing: Sharing) -> None:
    model = make_learner(name, sharing, width)
    torch.stack(list(model(make_batch())[0].values())).sum().backward()
    for weight_name, weight in model.named_parameters():
        if weight.requires_grad:
            assert weight.grad is not None, weight_name
            assert weight.grad.any(), weight_name
        else:
            assert weight.grad is None, weight_name


def test_the_discriminator_has_no_token_head_to_train() -> None:
    model = make_learner("bert", "none")
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert frozen
    assert all(name.startswith("backbone.network.cls.predictions") for name in frozen)


@pytest.mark.parametrize("name", ENCODERS)
def test_shared_table_learns_from_both(name: str) -> None:
    model = make_learner(name, "shared")
    shared = table(model.backbone)
    assert shared is table(model.generator)
    assert model.generator.network.get_output_embeddings().weight is shared
    assert gradient(model, "token", shared) > 0
    assert gradient(model, "replaced", shared) > 0


def test_shared_positions_and_norm() -> None:
    model = make_learner("roberta", "shared")
    both = [part.network.base_model.embeddings for part in (model.backbone, model.generator)]
    assert both[0] is both[1]


@pytest.mark.parametrize("width", [0.5, 1.0])
def test_disentangled_tables(width: float) -> None:
    """No gradient from the discriminator to the generator, nor through the samples."""
    model = make_learner("electra", "gradient_disentangled", width)
    delta, base = table(model.backbone), table(model.generator)
    ids = make_batch()["input_ids"]
    assert not delta.any()
    embedded = model.backbone.network.get_input_embeddings()(ids)
    assert torch.equal(embedded, model.generator.network.get_input_embeddings()(ids))
    model(make_batch())[0]["replaced"].backward()
    assert all(weight.grad is None for weight in model.generator.parameters())
    assert gradient(model, "replaced", delta) > 0
    assert gradient(model, "token", base) > 0
    assert gradient(model, "token", delta) == 0
    assert len(model.disentangled) == 2  # tokens and positions


def test_no_gradient_through_the_samples() -> None:
    model = make_learner("electra", "none")
    model(make_batch())[0]["replaced"].backward()
    assert all(weight.grad is None for weight in model.generator.parameters())


def trained(sharing: Sharing, name: str = "electra", steps: int = 3) -> ReplacedTokenDetection:
    model = make_learner(name, sharing)
    optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=1e-2)
    for _ in range(steps):
        torch.stack(list(model(make_batch())[0].values())).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


@pytest.mark.parametrize("sharing", SHARINGS)
def test_saved_network_is_the_discriminator(sharing: Sharing, tmp_path: Path) -> None:
    model = trained(sharing).eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.save(tmp_path)
    after = model.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)
    loaded = load(tmp_path).eval()
    read = {n: make_batch()[n] for n in ("input_ids", "attention_mask", "token_type_ids")}
    ours, theirs = (part(**read).last_hidden_state for part in (model.backbone, loaded))
    torch.testing.assert_close(theirs, ours, atol=1e-6, rtol=0)
    if sharing == "gradient_disentangled":
        total = table(model.backbone) + table(model.generator)
        assert table(model.backbone).any()
        assert torch.equal(table(loaded), total)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_going_on_from_a_saved_network(sharing: Sharing, tmp_path: Path) -> None:
    trained(sharing).save(tmp_path)
    saved = load(tmp_path).eval()
    model = make_learner("electra", sharing).eval()
    model.init_from(saved.network.state_dict())
    read = {n: make_batch()[n] for n in ("input_ids", "attention_mask", "token_type_ids")}
    ours, theirs = (part(**read).last_hidden_state for part in (model.backbone, saved))
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_state_of_a_checkpoint(sharing: Sharing) -> None:
    model, again = trained(sharing).eval(), make_learner("electra", sharing).eval()
    again.load_state_dict(model.state_dict())
    batch = make_batch()
    with torch.no_grad():
        ours, theirs = model(batch)[0], again(batch)[0]
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_one_batch_is_learned(sharing: Sharing) -> None:
    model = trained(sharing, steps=60).eval()
    losses = means(model, make_batch())
    assert losses["token"] < 0.1
    assert losses["replaced"] < 0.3


@pytest.mark.parametrize(
    ("size", "width", "embedding", "count"),
    [
        ("electra_small", 1 / 4, 128, 4_620_026),
        ("base", 1 / 3, None, 33_740_602),
        ("large", 1 / 4, None, 51_295_290),
    ],
)
def test_generators_have_the_published_size(
    size: str, width: float, embedding: int | None, count: int
) -> None:
    """google/electra-{small,base,large}-generator, as transformers builds them."""
    architecture = Architecture(family="electra", embedding_size=embedding)
    output = ReplacedToken(generator_width=width)
    makes = generator_architecture(architecture, SIZES[size], output)
    tokens = Tokens(30_522, 0, 101, 102)
    generator = build(makes, generator_size(SIZES[size], output), tokens, "bidirectional", 0)
    assert sum(weight.numel() for weight in generator.network.parameters()) == count


def test_pair_loss_is_the_discriminators() -> None:
    spec = make_spec("electra", ReplacedToken(generator_width=0.5), sentence_pair="sop")
    batch = make_batch() | {"pair_label": torch.tensor([1, 0, 1])}
    assert set(make_replaced_token(spec, TOKENS, 0)(batch)[0]) == {"token", "replaced", "pair"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": MODELS["gpt2"]}, "needs an encoder, but family is gpt2"),
        (
            {"objective": OBJECTIVES["spanbert"].model_copy(update={"output": ReplacedToken()})},
            "span_boundary needs the output masked_token",
        ),
    ],
)
def test_runs_without_replaced_token_detection(changes: dict[str, Any], message: str) -> None:
    spec = RECIPES["electra"].model_copy(
        update={"objective": Objective(output=ReplacedToken()), **changes}
    )
    with pytest.raises(ValueError, match=message):
        Pretrain.model_validate(spec.model_dump())
