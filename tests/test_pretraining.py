"""Pretraining: losses against transformers' own, resume bit for bit, accumulation, clear ends."""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, BertForMaskedLM, BertForPreTraining, RobertaForMaskedLM

from harness.budget import Budget, total_steps
from harness.compute import Compute
from harness.corpora.packing import Packing
from harness.corpora.stream import write_streams
from harness.models import Architecture, Size
from harness.objectives import Objective
from harness.objectives.feeding import Step
from harness.objectives.vocabulary import Vocabulary
from harness.optimizer import Optimizer, Schedule
from harness.pretraining import _make_feed, _make_module, pretrain
from harness.recipes import Phase, Pretrain
from harness.tokenizers import Tokenizer
from harness.tokenizers.training import train

PHASES = (Phase(fraction=0.75, sequence_length=32), Phase(fraction=0.25, sequence_length=64))
SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)
PAIRS = {"objective": Objective(pair="nsp", masking="static", duplicates=3)} | {
    "packing": Packing(format="segment_pair", short_seq_prob=0.1)
}
EVERY_STEP = Compute(checkpoint_seconds=0, checkpoint_share=1e9)


def make_spec(**changes: Any) -> Pretrain:
    fields: dict[str, Any] = {
        "model": Architecture(max_position=64),
        "size": SIZE,
        "optimizer": Optimizer(learning_rate=3e-3),
        "phases": PHASES,
        "batch_size": 4,
        "budget": Budget(steps=12),
    }
    return Pretrain(**{**fields, **changes})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `tokenizer` and `tokens` of a text whose documents keep to one word each."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "bcdf" for b in "aei"]
    documents = []
    for _ in range(200):
        theme = rng.choice(words)
        lengths = rng.integers(4, 12, rng.integers(2, 6))
        documents.append([" ".join([theme] * length) for length in lengths])
    texts = (sentence for document in documents for sentence in document)
    train(Tokenizer(vocab_size=64), texts, folder / "tokenizer")
    write_streams(documents, folder / "tokenizer", folder / "tokens", 0.1)
    return folder


Runner = Callable[..., dict[str, float]]


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Runner:
    """Runs a spec; `name` tells its output and work folders apart."""

    def run(spec: Pretrain, name: str = "run", seed: int = 0, **options: Any) -> dict[str, float]:
        out, work = tmp_path / name / "out", tmp_path / name / "work"
        out.mkdir(parents=True, exist_ok=True)
        work.mkdir(exist_ok=True)
        return pretrain(spec, data / "tokens", data / "tokenizer", out, work, seed, **options)

    return run


def weights(folder: Path) -> bytes:
    return (folder / "out/model/model.safetensors").read_bytes()


class KilledError(Exception):
    pass


def kill_at(step: int) -> Callable[..., None]:
    def progress(done: int, total: int, **figures: float) -> None:
        if done == step:
            raise KilledError

    return progress


@pytest.mark.parametrize("kill", [1, 5, 9, 11, 12])
@pytest.mark.parametrize("pairs", [False, True])
def test_killed_and_resumed_ends_bit_for_bit_the_same(
    run: Runner, tmp_path: Path, kill: int, pairs: bool
) -> None:
    """At the start, in the middle, at the change of length, and after the last update."""
    spec = make_spec(**(PAIRS if pairs else {}))
    whole = run(spec, "whole")
    with pytest.raises(KilledError):
        run(spec, "cut", progress=kill_at(kill), compute=EVERY_STEP)
    figures = run(spec, "cut")
    assert weights(tmp_path / "whole") == weights(tmp_path / "cut")
    curves = [(tmp_path / name / "out/curve.csv").read_text() for name in ("whole", "cut")]
    assert curves[0] == curves[1]
    timings = ("seconds", "tokens_per_second")
    assert all(figures[name] == whole[name] for name in whole if name not in timings)


def test_resume_goes_on_from_the_checkpoint(run: Runner) -> None:
    with pytest.raises(KilledError):
        run(make_spec(), progress=kill_at(7), compute=EVERY_STEP)
    steps: list[int] = []
    run(make_spec(), progress=lambda done, total, **figures: steps.append(done))
    assert steps == [8, 9, 10, 11, 12]


def test_checkpoints_hold_plain_data(run: Runner, tmp_path: Path) -> None:
    run(make_spec(), compute=EVERY_STEP)
    checkpoint = torch.load(tmp_path / "run/work/last.ckpt", weights_only=True)
    assert checkpoint["global_step"] == 12
    assert not list((tmp_path / "run/work").glob("*.tmp"))


def test_the_seed_decides(run: Runner, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("two", 0), ("other", 1)):
        run(make_spec(), name, seed=seed)
    assert weights(tmp_path / "one") == weights(tmp_path / "two") != weights(tmp_path / "other")


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("pairs", [False, True])
def test_it_learns_and_leaves_a_model(
    run: Runner, tmp_path: Path, family: str, pairs: bool
) -> None:
    spec = make_spec(
        model=Architecture(family=family, max_position=64, dropout=0, initializer_range=0.1),
        size=Size(num_layers=1, hidden_size=32, num_heads=2, intermediate_size=64),
        optimizer=Optimizer(learning_rate=1e-2),
        budget=Budget(steps=150),
        **(PAIRS if pairs else {}),
    )
    figures = run(spec)
    assert figures["validation_loss"] < 0.8 < np.log(12)
    assert figures["steps"] == 150 and abs(figures["tokens"] - 150 * 4 * 40) < 300
    assert ("validation_pair_accuracy" in figures) == pairs
    rows = list(csv.DictReader((tmp_path / "run/out/curve.csv").read_text().splitlines()))
    assert [int(row["step"]) for row in rows] == list(range(1, 151))
    assert float(rows[0]["train_loss"]) > float(rows[-1]["train_loss"]) == figures["train_loss"]
    assert int(rows[-1]["tokens"]) == figures["tokens"]
    assert AutoModel.from_pretrained(tmp_path / "run/out/model").config.model_type == family


def test_no_budget_saves_the_initial_weights(run: Runner, data: Path, tmp_path: Path) -> None:
    spec = make_spec(budget=Budget(tokens=0))
    figures = run(spec)
    vocabulary = Vocabulary.load(data / "tokenizer")
    initial = _make_module(spec, vocabulary, 0).model.network.state_dict()
    saved = load_file(tmp_path / "run/out/model/model.safetensors")
    assert all(torch.equal(saved[name], initial[name]) for name in saved)
    assert figures["validation_loss"] == pytest.approx(np.log(vocabulary.size), abs=0.1)
    assert figures["steps"] == figures["tokens"] == 0 and "train_loss" not in figures


def first_step(spec: Pretrain, data: Path, micro_batch_tokens: int = 10_000) -> tuple[Any, Step]:
    vocabulary = Vocabulary.load(data / "tokenizer")
    module = _make_module(spec, vocabulary, 0)
    feed = _make_feed(module, data / "tokens/train", vocabulary, micro_batch_tokens)
    return module, feed.make(0)


@pytest.mark.parametrize(  # transformers has no RoBERTa with a pair head
    ("family", "pairs"), [("bert", False), ("bert", True), ("roberta", False)]
)
def test_losses_equal_those_of_transformers(data: Path, family: str, pairs: bool) -> None:
    spec = make_spec(model=Architecture(family=family, max_position=64), **(PAIRS if pairs else {}))
    module, step = first_step(spec, data)
    (part,) = step.parts
    kind = {"bert": BertForPreTraining if pairs else BertForMaskedLM, "roberta": RobertaForMaskedLM}
    reference = kind[family](module.model.network.config)
    reference.load_state_dict(module.model.network.state_dict())
    labels = torch.full_like(part["input_ids"], -100)
    labels.view(-1)[part["masked_positions"]] = part["masked_targets"]
    inputs = {"input_ids": part["input_ids"], "attention_mask": part["attention_mask"]}
    extra = {"next_sentence_label": part["pair_label"]} if pairs else {}
    types = part["token_type_ids"]
    module.eval()
    theirs = reference.eval()(**inputs, token_type_ids=types, labels=labels, **extra).loss
    masked, pair = module.losses(part)
    ours = masked / step.num_masked + pair / step.num_sequences
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)


def test_accumulation_equals_one_large_batch(run: Runner, tmp_path: Path) -> None:
    spec = make_spec(
        model=Architecture(max_position=64, dropout=0, attention_dropout=0),
        optimizer=Optimizer(learning_rate=1e-3, eps=1e-4),  # a tiny eps magnifies rounding
        **PAIRS,
    )
    run(spec, "large")
    run(spec, "parts", compute=Compute(micro_batch_tokens=64))
    large, parts = (
        load_file(tmp_path / name / "out/model/model.safetensors") for name in ("large", "parts")
    )
    for name, weight in large.items():
        torch.testing.assert_close(parts[name], weight, rtol=1e-3, atol=1e-5)


def test_validation_asks_every_arm_the_same(run: Runner) -> None:
    """Whatever the objective and the packing, initial weights that are equal score equally."""
    untrained = Budget(tokens=0)
    one = run(make_spec(budget=untrained), "one")
    other = Objective(mask_rate=0.4, whole_word=True)
    two = run(make_spec(budget=untrained, objective=other, packing=PAIRS["packing"]), "two")
    assert one["validation_loss"] == two["validation_loss"]
    assert one["validation_accuracy"] == two["validation_accuracy"]


def test_bf16_trains(run: Runner) -> None:
    figures = run(make_spec(precision="bf16-mixed"))
    assert np.isfinite(figures["validation_loss"])


def test_a_loss_that_is_not_finite_ends_with_advice(run: Runner) -> None:
    wild = Optimizer(learning_rate=1e30, max_grad_norm=0)
    spec = make_spec(optimizer=wild, schedule=Schedule(decay="constant"))
    with pytest.raises(FloatingPointError, match=r"lower optimizer\.learning_rate"):
        run(spec)


def test_a_text_too_small_ends_with_advice(run: Runner) -> None:
    with pytest.raises(ValueError, match="smaller batch_size or more text"):
        run(make_spec(batch_size=10_000, budget=Budget(steps=1)))


def test_memory_that_runs_out_halves_the_parts(
    run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from harness.pretraining import EncoderPretraining

    losses = EncoderPretraining.losses

    def small_memory(self: EncoderPretraining, part: dict[str, torch.Tensor]) -> Any:
        if part["input_ids"].numel() > 100:
            raise torch.OutOfMemoryError
        return losses(self, part)

    monkeypatch.setattr(EncoderPretraining, "losses", small_memory)
    assert run(make_spec(), compute=Compute(micro_batch_tokens=256))["steps"] == 12
    long = make_spec(model=Architecture(), phases=(Phase(fraction=1, sequence_length=128),))
    with pytest.raises(torch.OutOfMemoryError):  # not even one sequence fits
        run(long, "long")


def test_steps_of_a_budget() -> None:
    phases = (Phase(fraction=0.9, sequence_length=128), Phase(fraction=0.1, sequence_length=512))
    assert total_steps(Budget(steps=7), 256, phases) == 7
    assert total_steps(Budget(tokens=0), 256, phases) == 0
    mean = 0.9 * 128 + 0.1 * 512
    assert total_steps(Budget(tokens=1_000_000), 32, phases) == math.ceil(1e6 / (32 * mean))
    assert total_steps(Budget(tokens=round(32 * mean * 5)), 32, phases) == 5
