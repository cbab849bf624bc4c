"""Distillation: each loss by hand, a frozen teacher, students initialised from it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from harness.models import MODELS, SIZES, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.encoders import ENCODERS
from harness.pretraining.learners.distillation import Distilled
from harness.pretraining.learners.distillation_losses import LOSSES, relations
from harness.pretraining.learners.learner import network_inputs
from harness.pretraining.learners.student_initialization import init_from_teacher, kept_layers
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.distillation import Distillation, Relations
from harness.pretraining.objectives.loader import TensorBatch, to_step
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.recipes.teacher_compatibility import OTHER_ATTENTION

VOCAB = 60
NANO = SIZES["nano"]
DEEP = NANO.model_copy(update={"num_layers": 4})
NARROW = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=48)
WEIGHTS = [name for name in Distillation.model_fields if name.endswith("_weight")]
NOTHING = dict.fromkeys(WEIGHTS, 0.0)
DISTILBERT = RECIPES["distilbert"].objectives[0].distillation
TINYBERT = RECIPES["tinybert"].objectives[0].distillation
MINILM = RECIPES["minilm"].objectives[0].distillation


def only(**weights: Any) -> Distillation:
    return Distillation(**NOTHING | weights)


def network(name: str, size: Size = NANO, seed: int = 0, **more: Any) -> Backbone:
    still = {"initializer_range": 0.2, "dropout": 0.0, "attention_dropout": 0.0, **more}
    tokens = Tokens(VOCAB, 0, 2, 3, pair_format=True)
    return build(MODELS[name].model_copy(update=still), size, tokens, "bidirectional", seed)


def distilled(
    settings: Distillation | None, student: Backbone, teacher: Backbone | None = None
) -> Distilled:
    assert settings is not None
    torch.manual_seed(0)
    teacher = teacher or network("bert", DEEP, seed=9)
    return Distilled(TokenPrediction(student, [Objective()], 0.2), teacher, settings, 0.2)


def make_batch() -> TensorBatch:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, VOCAB, (3, 16), generator=generator)
    ids[2, 12:] = 0
    positions = torch.tensor([4, 5, 16 + 9, 32 + 2])
    targets = ids.flatten()[positions].clone()
    ids.view(-1)[positions] = 4
    return {
        "input_ids": ids,
        "attention_mask": (ids != 0).long(),
        "token_type_ids": (torch.arange(16) > 7).long().expand(3, 16).clone(),
        "positions": positions,
        "targets": targets,
    }


def read(backbone: Backbone, batch: TensorBatch, **more: Any) -> Any:
    with torch.no_grad():
        return backbone(**network_inputs(batch), **more)


def loss(model: Distilled, name: str) -> float:
    with torch.no_grad():
        return model(make_batch())[0][name].item()


def logits(backbone: Backbone) -> Tensor:
    batch = make_batch()
    with torch.no_grad():
        states = read(backbone, batch).last_hidden_state.flatten(0, 1)
        return backbone.token_logits(states[batch["positions"]])


def test_losses_of_a_student_that_equals_its_teacher() -> None:
    model = distilled(only(soft_target_weight=1, cosine_weight=1), network("bert"), network("bert"))
    shares = (logits(model.teacher) / 2).softmax(-1)
    entropy = -(shares * shares.log()).sum().item()
    assert loss(model, "soft_target") == pytest.approx(4 * entropy, rel=1e-5)
    assert loss(model, "cosine") == pytest.approx(0, abs=1e-4)


def test_soft_target_by_hand() -> None:
    settings = only(soft_target_weight=1).model_copy(update={"temperature": 3.0})
    model = distilled(settings, network("bert"))
    ours, theirs = logits(model.backbone).double(), logits(model.teacher).double()
    total = 0.0
    for row in range(4):
        theirs_softened = [value.exp().item() for value in theirs[row] / 3]
        guessed = [value.exp().item() for value in ours[row] / 3]
        for share, guess in zip(theirs_softened, guessed, strict=True):
            total -= share / sum(theirs_softened) * torch.tensor(guess / sum(guessed)).log().item()
    assert loss(model, "soft_target") == pytest.approx(9 * total, rel=1e-4)


def test_cosine_by_hand() -> None:
    model, batch = distilled(only(cosine_weight=1), network("bert")), make_batch()
    ours, theirs = (read(part, batch).last_hidden_state for part in (model.backbone, model.teacher))
    total = 0.0
    for row, column in batch["attention_mask"].nonzero().tolist():
        a, b = ours[row, column], theirs[row, column]
        total += 1 - (a @ b / a.norm() / b.norm()).item()
    assert loss(model, "cosine") == pytest.approx(total, rel=1e-4)


def test_hidden_by_hand() -> None:
    """Two layers learn from the second and the fourth, the embeddings from the embeddings."""
    model, batch = distilled(only(hidden_weight=1), network("bert", NARROW)), make_batch()
    ours = read(model.backbone, batch).hidden_states
    theirs = read(model.teacher, batch, output_hidden_states=True).hidden_states
    assert model.project is not None
    real, total = batch["attention_mask"].bool(), 0.0
    for layer, of_teacher in ((0, 0), (1, 2), (2, 4)):
        with torch.no_grad():
            projected = model.project(ours[layer])
        total += (projected - theirs[of_teacher])[real].square().mean(-1).sum().item()
    assert loss(model, "hidden") == pytest.approx(total, rel=1e-5)


def scores(backbone: Backbone, layer: int, states: Tensor) -> Tensor:
    """[B, A, T, T] of a BERT's layer, from the states that it reads."""
    part: Any = backbone.network.base_model
    attention = part.encoder.layer[layer].attention.self
    with torch.no_grad():
        query, key = (
            linear(states).unflatten(-1, (2, -1)).transpose(1, 2)
            for linear in (attention.query, attention.key)
        )
    return query @ key.transpose(2, 3) / query.shape[-1] ** 0.5


def test_attention_by_hand() -> None:
    """Scores before the softmax, of the real keys, over the real queries."""
    model = distilled(only(attention_weight=1, hidden_weight=1), network("bert", NARROW))
    batch, total = make_batch(), 0.0
    ours = read(model.backbone, batch).hidden_states
    theirs = read(model.teacher, batch, output_hidden_states=True).hidden_states
    for layer, of_teacher in ((0, 1), (1, 3)):
        a = scores(model.backbone, layer, ours[layer])
        b = scores(model.teacher, of_teacher, theirs[of_teacher])
        for row, length in enumerate((16, 16, 12)):
            squares = (a - b)[row, :, :length, :length].square()
            total += squares.mean((0, 2)).sum().item()
    assert loss(model, "attention") == pytest.approx(total, rel=1e-4)


def vectors(backbone: Backbone, layer: int, states: Tensor) -> list[Tensor]:
    """Queries, keys and values [B, T, H] of a BERT's layer, from the states that it reads."""
    part: Any = backbone.network.base_model
    attention = part.encoder.layer[layer].attention.self
    with torch.no_grad():
        return [linear(states) for linear in (attention.query, attention.key, attention.value)]


@pytest.mark.parametrize(("teacher_layer", "heads"), [(None, 4), (3, 16), (None, None)])
def test_relations_by_hand(teacher_layer: int | None, heads: int | None) -> None:
    """Wang et al. 2021, section 3.1: 1 / (R |x|) of the sum over heads and tokens of the divergence
    of the student's relations from the teacher's. The student has another width."""
    learned = Relations(heads=heads, teacher_layer=teacher_layer)
    settings = only(relations=learned, hidden_weight=1)
    model, batch, total = distilled(settings, network("bert", NARROW)), make_batch(), 0.0
    ours = read(model.backbone, batch, output_hidden_states=True).hidden_states
    theirs = read(model.teacher, batch, output_hidden_states=True).hidden_states
    layer, count = (teacher_layer or 4) - 1, heads or 8
    compared = zip(
        vectors(model.backbone, 1, ours[1]),
        vectors(model.teacher, layer, theirs[layer]),
        strict=True,
    )
    for student, teacher in compared:
        for row, length in enumerate((16, 16, 12)):
            pair = (one[row, :length].chunk(count, dim=-1) for one in (student, teacher))
            for a, b in zip(*pair, strict=True):
                guessed, wanted = (
                    (one @ one.T / one.shape[-1] ** 0.5).double().softmax(-1) for one in (a, b)
                )
                total += (wanted * (wanted / guessed).log()).sum().item() / count
    assert loss(model, "relation") == pytest.approx(total, rel=1e-4)


def test_relations_of_as_many_heads_are_those_of_each_head() -> None:
    """Wang et al. 2020, equation 3: softmax(V V / sqrt(d)) of each attention head."""
    values = torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(0))
    expected = (values @ values.transpose(2, 3) / 2).softmax(-1)
    real = torch.ones(2, 5, dtype=torch.bool)
    torch.testing.assert_close(relations(values, 3, real).exp(), expected)


def test_relations_of_a_student_that_equals_its_teacher() -> None:
    model = distilled(MINILM, network("bert"), network("bert"))
    assert set(model(make_batch())[0]) == {"relation"}
    assert loss(model, "relation") == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    "name", [*sorted(set(ENCODERS) - {"deberta", "deberta_v3"}), "gpt2", "llama", "t5"]
)
def test_asking_for_scores_changes_nothing(name: str) -> None:
    """A LLaMA with half as many key heads; T5's encoder, which adds biases of positions."""
    four = NANO.model_copy(update={"num_heads": 4})
    shared = {"num_kv_heads": 2} if name == "llama" else {}
    batch, model = make_batch(), network(name, four, **shared).eval()
    before = read(model, batch).last_hidden_state
    distilled(only(attention_weight=1), model)
    real = batch["attention_mask"].bool()
    after = read(model, batch).last_hidden_state
    torch.testing.assert_close(after[real], before[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("settings", [DISTILBERT, TINYBERT, MINILM])
def test_all_that_is_trained_learns_and_the_teacher_does_not(settings: Distillation) -> None:
    model = distilled(settings, network("bert"))
    before = {name: value.clone() for name, value in model.teacher.state_dict().items()}
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2)
    sum(model(make_batch())[0].values(), torch.zeros(())).backward()
    last = f"encoder.layer.{NANO.num_layers - 1}."
    unread = [f"{last}{part}" for part in ("attention.output", "intermediate", "output")]
    for name, weight in model.named_parameters():
        is_read = settings is not MINILM or not any(part in name for part in unread)
        assert (weight.grad is not None) == (weight.requires_grad and is_read), name
    optimizer.step()
    assert all(weight.grad is None for weight in model.teacher.parameters())
    assert not model.teacher.training
    after = model.teacher.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_the_teacher_is_in_no_checkpoint() -> None:
    model = distilled(DISTILBERT, network("bert"))
    teachers = {id(weight) for weight in model.teacher.parameters()}
    assert not teachers & {id(weight) for weight in model.parameters()}
    assert set(model.state_dict()) == {
        f"{part}.network.{name}"
        for part in ("backbone", "student.backbone")
        for name in model.backbone.network.state_dict()
    }
    assert next(model.to(torch.float64).teacher.parameters()).dtype == torch.float64
    assert not model.train().teacher.training


def test_losses_of_no_weight_are_not_computed() -> None:
    model = distilled(TINYBERT, network("bert", NARROW))
    assert set(model(make_batch())[0]) == {"hidden", "attention"}
    assert set(model.predictions(make_batch())) == {"token"}
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert frozen
    assert all("cls.predictions" in name for name in frozen)


def test_every_loss_is_counted() -> None:
    batch = {name: value.numpy() for name, value in make_batch().items()}
    batch["num_tokens"] = batch["attention_mask"].sum(1)
    counts = to_step(batch, 1000).counts
    assert {name: counts[name] for name in LOSSES} == {
        "soft_target": 4,
        "cosine": 44,
        "hidden": 44,
        "attention": 44,
        "relation": 44,
    }


@pytest.mark.parametrize("settings", [DISTILBERT, TINYBERT, MINILM])
def test_one_batch_is_learned(settings: Distillation) -> None:
    model = distilled(settings, network("bert", seed=4))
    optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=3e-3)
    losses, first, last = model(make_batch())[0], {}, {}
    first = {name: value.item() for name, value in losses.items()}
    for _ in range(100):
        optimizer.zero_grad()
        sums = model(make_batch())[0]
        torch.stack([model.weights[name] * value for name, value in sums.items()]).sum().backward()
        optimizer.step()
    last = {name: value.item() for name, value in model(make_batch())[0].items()}
    compared = set(last) - {"token", "soft_target"}
    assert compared
    assert all(last[name] < 0.3 * first[name] for name in compared)


def test_kept_layers() -> None:
    """scripts/extract_distilbert.py."""
    assert kept_layers(12, 6) == [0, 2, 4, 7, 9, 11]
    assert kept_layers(4, 1) == [0]
    assert kept_layers(3, 3) == [0, 1, 2]


def test_distilbert_of_bert() -> None:
    """With as many layers it is its teacher, but for the embedding of segments."""
    teacher, student = network("bert", seed=9).eval(), network("distilbert").eval()
    part: Any = teacher.network.base_model
    part.embeddings.token_type_embeddings.weight.data.zero_()
    init_from_teacher(student, teacher)
    torch.testing.assert_close(logits(student), logits(teacher), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ENCODERS)
def test_student_of_the_teachers_family(name: str) -> None:
    teacher = network(name, seed=9).eval()
    student = network(name).eval()
    init_from_teacher(student, teacher)
    torch.testing.assert_close(logits(student), logits(teacher))


def test_student_takes_layers_apart() -> None:
    teacher, student = network("bert", DEEP, seed=9), network("bert")
    init_from_teacher(student, teacher)
    parts: list[Any] = [part.network.base_model for part in (student, teacher)]
    ours, theirs = (part.encoder.layer for part in parts)
    for mine, of_teacher in ((0, 0), (1, 3)):
        pairs = zip(ours[mine].parameters(), theirs[of_teacher].parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)


def test_saved_student_is_a_plain_network(tmp_path: Path) -> None:
    model = distilled(TINYBERT, network("bert", NARROW)).eval()
    model.save(tmp_path)
    assert "harness_attention_scores" not in (tmp_path / "config.json").read_text()
    batch = make_batch()
    ours, theirs = read(model.backbone, batch), read(load(tmp_path).eval(), batch)
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(theirs.last_hidden_state[real], ours.last_hidden_state[real])


def test_attention_scores_need_ordinary_attention() -> None:
    with pytest.raises(ValueError, match="has a custom one"):
        distilled(only(attention_weight=1), network("deberta"))


def test_what_a_student_cannot_start_from() -> None:
    with pytest.raises(ValueError, match="a student as wide as its teacher"):
        init_from_teacher(network("bert", NARROW), network("bert"))
    with pytest.raises(ValueError, match="the student is a roberta and the teacher a bert"):
        init_from_teacher(network("roberta"), network("bert"))


def student_of(distillation: Distillation, **changes: Any) -> Pretrain:
    """DistilBERT with other weights of the losses, and another teacher than BERT."""
    spec = RECIPES["distilbert"]
    teacher = RECIPES["bert"].model_copy(update=changes)
    objective = spec.objective.model_copy(update={"distillation": distillation})
    changed = spec.model_copy(update={"teacher": teacher, "objective": objective})
    return Pretrain.model_validate(changed.model_dump())


@pytest.mark.parametrize(
    ("settings", "changes", "message"),
    [
        (
            Distillation(),
            {"model": MODELS["bert"].model_copy(update={"max_position": 128})},
            "at most model.max_position = 128, but is 512",
        ),
        (Distillation(), {"objective": OBJECTIVES["rtd"]}, "a teacher with output masked_token"),
        (Distillation(), {"size": SIZES["tiny"]}, "a student as wide as its teacher"),
        (
            only(attention_weight=1),
            {"size": SIZES["base"].model_copy(update={"num_heads": 6})},
            "as many heads as the teacher has, 6, but num_heads is 12",
        ),
        (
            only(hidden_weight=1),
            {"size": SIZES["base"].model_copy(update={"num_layers": 8})},
            "it has 8, and num_layers is 6",
        ),
        (
            only(relations=Relations(heads=36)),
            {},
            "relations.heads must divide the student's hidden size, 768, but is 36",
        ),
        (
            only(relations=Relations()),
            {"size": SIZES["base"].model_copy(update={"num_heads": 10, "hidden_size": 800})},
            "relations.heads must divide the student's hidden size, 768, but is 40",
        ),
        (
            only(relations=Relations(teacher_layer=13)),
            {},
            "teacher_layer must be at most the teacher's number of layers, 12, but is 13",
        ),
        (
            only(attention_weight=1),
            {"model": MODELS["deberta"]},
            "need a teacher with ordinary attention, but its family is deberta",
        ),
        (
            only(relations=Relations()),
            {"model": MODELS["xlnet"]},
            "need a teacher with ordinary attention, but its family is xlnet",
        ),
        (
            only(cosine_weight=1, init_from_teacher=True),
            {"model": MODELS["electra"]},
            "the student is a distilbert and the teacher a electra",
        ),
        (
            only(token_weight=1, init_from_teacher=True),
            {"size": SIZES["large"]},
            "needs the teacher's size.hidden_size, 1024, not 768",
        ),
        (
            Distillation(),
            {"model": MODELS["gpt"], "objective": OBJECTIVES["clm"]},
            "an encoder read bidirectional, but its family is gpt, read causal",
        ),
    ],
)
def test_teachers_that_do_not_fit(
    settings: Distillation, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        student_of(settings, **changes)


@pytest.mark.parametrize("family", ["bilstm", "dan", "deberta_v3", "xlnet"])
def test_students_without_scores_of_attention(family: str) -> None:
    """Families in which `return_attention` fails, or finds nothing."""
    assert family in OTHER_ATTENTION
    spec = RECIPES["tinybert"].model_copy(update={"model": MODELS[family]})
    with pytest.raises(ValueError, match=f"a student with ordinary attention.* {family}"):
        Pretrain.model_validate(spec.model_dump())
