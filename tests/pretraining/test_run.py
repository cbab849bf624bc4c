"""Pretraining: losses against transformers' own, resume bit for bit, accumulation, clear ends."""

import contextlib
import csv
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F
from torchmetrics.functional.text import perplexity
from transformers import AutoModel

from benchmarks.store_damage import flip
from harness.core.compute import Compute
from harness.data.corpora.mixing import Document
from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import BY_SOURCE
from harness.data.corpora.tokenization import write_split
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.models import Architecture, Size
from harness.pretraining import callbacks
from harness.pretraining import module as training
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.history import HistoryLogger
from harness.pretraining.learners.learner import network_inputs
from harness.pretraining.logged_metrics import Perplexity, values
from harness.pretraining.module import MODULES, PretrainingModule
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.loader import Step, TensorBatch
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import SpanMasking
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import make_feed, make_module, pretrain
from harness.pretraining.schedule import Schedule
from harness.pretraining.trainer import CALLBACKS
from tests.token_streams import write_streams

PHASES = (Phase(fraction=0.75, sequence_length=32), Phase(fraction=0.25, sequence_length=64))
ONE = Phase(fraction=1, sequence_length=32)
SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)
PAIRS = {"objective": Objective(sentence_pair="nsp", masking="static", dupe_factor=3)} | {
    "packing": Packing(format="segment_pair", short_seq_prob=0.1)
}
EVERY_STEP = Compute(checkpoint_interval_seconds=0, max_checkpoint_overhead=1e9)


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
    """Runs a spec; `name` distinguishes its output and work folders."""

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
    whole = run(spec, "whole", loggers=[HistoryLogger(tmp_path / "whole.jsonl")])
    cut = tmp_path / "cut.jsonl"
    loggers = [HistoryLogger(cut)]
    with pytest.raises(KilledError):
        run(spec, "cut", progress=kill_at(kill), compute=EVERY_STEP, loggers=loggers)
    figures = run(spec, "cut", loggers=[HistoryLogger(cut)])
    assert weights(tmp_path / "whole") == weights(tmp_path / "cut")
    curves = [(tmp_path / name / "out/curve.csv").read_text() for name in ("whole", "cut")]
    assert curves[0] == curves[1]
    timings = ("seconds", "tokens_per_second", "flops_per_second")
    assert all(figures[name] == whole[name] for name in whole if name not in timings)
    assert history(cut) == history(tmp_path / "whole.jsonl")


def test_embedding_noise_is_drawn_anew_in_each_update(run: Runner, tmp_path: Path) -> None:
    """From the seed of the update, so that a resumed run draws the same; other weights result."""
    spec = make_spec(objective=Objective(embedding_noise=0.3))
    run(spec, "noisy")
    with pytest.raises(KilledError):
        run(spec, "cut", progress=kill_at(5), compute=EVERY_STEP)
    run(spec, "cut")
    assert weights(tmp_path / "noisy") == weights(tmp_path / "cut")
    run(make_spec(), "plain")
    assert weights(tmp_path / "noisy") != weights(tmp_path / "plain")


class Probed(PretrainingModule):
    """With a probe of the hidden states, which is no part of the learner."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.probe = nn.Linear(self.learner.backbone.hidden_size, 1)
        self.norm = nn.LayerNorm(4)
        self.head = self.learner.backbone.network.get_output_embeddings()

    def loss(self, part: TensorBatch, step: Step) -> torch.Tensor:
        states = self.learner.backbone(**network_inputs(part)).last_hidden_state
        return super().loss(part, step) + self.probe(states).square().mean()


def test_parameters_that_a_module_adds_are_trained_once_each(
    run: Runner, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With decay as in the learner, initial weights by the seed, and across a resume."""
    monkeypatch.setitem(MODULES, "probed", Probed)
    vocabulary, spec = Vocabulary.load(data / "tokenizer"), make_spec(module="probed")
    module, again = (make_module(spec, vocabulary, 0, {}, 12) for _ in range(2))
    assert isinstance(module, Probed) and isinstance(again, Probed)
    assert torch.equal(module.probe.weight, again.probe.weight)
    plain = make_module(make_spec(), vocabulary, 0, {}, 12)
    groups = [one.configure_optimizers()["optimizer"].param_groups for one in (plain, module)]
    sizes = [[len(group["params"]) for group in found] for found in groups]
    decays = [group["weight_decay"] for group in groups[1]]
    added = {spec.optimizer.weight_decay: 1, 0.0: 3}  # the bias of the probe, and the norm
    assert sizes[1] == [size + added[decay] for size, decay in zip(sizes[0], decays, strict=True)]
    saved = []
    for name, kill in (("whole", 13), ("cut", 5)):
        with contextlib.suppress(KilledError):
            run(spec, name, progress=kill_at(kill), compute=EVERY_STEP)
        run(spec, name, compute=EVERY_STEP)
        state = torch.load(tmp_path / name / "work/last.ckpt", weights_only=True)["state_dict"]
        saved.append(state["probe.weight"])
    assert torch.equal(saved[0], saved[1]) and not torch.equal(saved[0], module.probe.weight)
    assert weights(tmp_path / "whole") == weights(tmp_path / "cut")


def history(path: Path) -> list[dict[str, float]]:
    """The lines of a history, without what depends on the speed of the machine."""
    timings = ("time", "train/tokens_per_second")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{name: one[name] for name in one if name not in timings} for one in lines]


def test_the_speed_of_a_row_is_that_of_its_updates(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If every update takes a second, by a clock that the callback reads once per update."""
    monkeypatch.setattr(callbacks, "monotonic", itertools.count().__next__)
    path = tmp_path / "speed.jsonl"
    run(make_spec(), "speed", loggers=[HistoryLogger(path)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    speeds = [one["train/tokens_per_second"] for one in lines if "train/tokens_per_second" in one]
    rows = (tmp_path / "speed/out/curve.csv").read_text().splitlines()[1:]
    tokens = [0, *(int(row.split(",")[1]) for row in rows)]
    assert speeds == [after - before for before, after in itertools.pairwise(tokens[:-1])]


def test_an_interrupted_run_repeats_no_point(run: Runner, tmp_path: Path) -> None:
    """The updates after the only checkpoint, at 3, are logged before and after the resume."""
    log = tmp_path / "history.jsonl"
    with pytest.raises(KilledError):
        run(make_spec(), progress=kill_at(3), compute=EVERY_STEP)
    for step in (9, 12):
        with pytest.raises(KilledError):
            run(make_spec(), progress=kill_at(step), loggers=[HistoryLogger(log)])
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(4, 13))
    times = [line["time"] for line in lines]
    assert times == sorted(times)


def test_the_logged_figures_are_those_of_the_curve(run: Runner, tmp_path: Path) -> None:
    log = tmp_path / "history.jsonl"
    run(make_spec(), loggers=[HistoryLogger(log)])
    with (tmp_path / "run/out/curve.csv").open() as file:
        curve = list(csv.DictReader(file))
    *found, held_out = history(log)
    assert held_out["step"] == 12 and held_out["validation/loss"] > 0
    for name, column in (("loss", "train_loss"), ("learning_rate", "learning_rate")):
        assert [one[f"train/{name}"] for one in found] == [float(row[column]) for row in curve]
    assert all(one["train/gradient_norm"] > 0 for one in found)


def test_the_rate_of_the_curve_is_that_of_the_layers(run: Runner, tmp_path: Path) -> None:
    optimizer = Optimizer(learning_rate=3e-3, embedding_learning_rate_factor=2.0)
    run(make_spec(optimizer=optimizer, schedule=Schedule(decay="linear", warmup_fraction=0.25)))
    with (tmp_path / "run/out/curve.csv").open() as file:
        found = [float(row["learning_rate"]) for row in csv.DictReader(file)]
    shares = [update / 3 for update in range(3)] + [update / 9 for update in range(9, 0, -1)]
    assert found == pytest.approx([3e-3 * share for share in shares])


@pytest.mark.parametrize("max_grad_norm", [0.5, 0.0])
def test_the_gradient_norm_is_that_of_all_gradients(data: Path, max_grad_norm: float) -> None:
    optimizer = Optimizer(learning_rate=1e-3, max_grad_norm=max_grad_norm)
    spec = make_spec(optimizer=optimizer)
    module = make_module(spec, Vocabulary.load(data / "tokenizer"), 0, {}, 12)
    generator = torch.Generator().manual_seed(0)
    for weight in module.trained:
        weight.grad = torch.randn(weight.shape, generator=generator)

    def gradients() -> torch.Tensor:
        return torch.cat([w.grad.flatten() for w in module.trained if w.grad is not None])

    expected = gradients().double().square().sum().sqrt().item()
    assert module._clip_gradients(measured=True).item() == pytest.approx(expected, rel=1e-5)
    assert gradients().norm().item() == pytest.approx(max_grad_norm or expected, rel=1e-4)


def test_resume_goes_on_from_the_checkpoint(run: Runner) -> None:
    with pytest.raises(KilledError):
        run(make_spec(), progress=kill_at(7), compute=EVERY_STEP)
    steps: list[int] = []
    run(make_spec(), progress=lambda done, total, **figures: steps.append(done))
    assert steps == [8, 9, 10, 11, 12]


def test_a_damaged_checkpoint_is_set_aside(run: Runner, tmp_path: Path) -> None:
    """And the run begins again."""
    run(make_spec(), "whole")
    with pytest.raises(KilledError):
        run(make_spec(), progress=kill_at(7), compute=EVERY_STEP)
    checkpoint = tmp_path / "run/work/last.ckpt"
    flip(checkpoint, 4 * checkpoint.stat().st_size)
    steps: list[int] = []
    run(make_spec(), progress=lambda done, total, **figures: steps.append(done))
    assert steps == list(range(1, 13)) and not checkpoint.exists()
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")


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
    initial = make_module(spec, vocabulary, 0, {}, 0).learner.backbone.network.state_dict()
    saved = load_file(tmp_path / "run/out/model/model.safetensors")
    assert all(torch.equal(saved[name], initial[name]) for name in saved)
    assert figures["validation_loss"] == pytest.approx(np.log(vocabulary.size), abs=0.1)
    assert figures["steps"] == figures["tokens"] == 0 and "train_loss" not in figures


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
    other = Objective(transform=SpanMasking(mask_rate=0.4))
    two = run(make_spec(budget=untrained, objective=other, packing=PAIRS["packing"]), "two")
    assert one["validation_loss"] == two["validation_loss"]
    assert one["validation_accuracy"] == two["validation_accuracy"]


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, float]]:
    """What is logged by the end of each update, and after validation."""
    rows: list[dict[str, float]] = []

    class Logged(pl.Callback):
        def keep(self, trainer: pl.Trainer, *_: Any) -> None:
            rows.append({name: float(x) for name, x in trainer.callback_metrics.items()})

        on_train_batch_end = keep  # type: ignore[assignment]
        on_validation_end = keep  # type: ignore[assignment]

    monkeypatch.setitem(CALLBACKS, "logged", Logged)
    return rows


def test_metrics_are_logged_with_the_curve(
    run: Runner, tmp_path: Path, logged: list[dict[str, float]]
) -> None:
    figures = run(make_spec(**PAIRS))
    *rows, last = logged
    curve = list(csv.DictReader((tmp_path / "run/out/curve.csv").read_text().splitlines()))
    assert len(rows) == 12
    for row, of_curve in zip(rows, curve, strict=True):
        assert row["train/loss"] == pytest.approx(float(of_curve["train_loss"]))
        assert row["train/learning_rate"] == pytest.approx(float(of_curve["learning_rate"]))
        parts = row["train/token_loss"] + row["train/pair_loss"]
        assert row["train/loss"] == pytest.approx(parts, rel=1e-5)
        assert row["train/perplexity"] == pytest.approx(np.exp(row["train/token_loss"]), rel=1e-5)
        assert 0 <= row["train/accuracy"] <= 1 and 0 <= row["train/pair_accuracy"] <= 1
    for name in ("loss", "accuracy", "pair_loss", "pair_accuracy"):
        assert last[f"validation/{name}"] == pytest.approx(figures[f"validation_{name}"])
    assert last["validation/perplexity"] == pytest.approx(np.exp(figures["validation_loss"]))


def test_metrics_of_an_update_are_means_over_all_its_targets(data: Path) -> None:
    vocabulary = Vocabulary.load(data / "tokenizer")
    module = make_module(make_spec(), vocabulary, 0, {}, 1)
    module.eval()
    step = make_feed(module, data / "tokens/train", vocabulary, 64).make(0)
    assert len(step.parts) > 1
    pairs = [module.learner.predictions(part)["token"] for part in step.parts]
    logits, targets = (torch.cat(side) for side in zip(*pairs, strict=True))
    for part in step.parts:
        module.loss(part, step)
    found = values(module.logged)
    assert found["accuracy"] == pytest.approx(float((logits.argmax(1) == targets).float().mean()))
    loss = F.cross_entropy(logits, targets)
    assert found["token_loss"] == pytest.approx(loss.item(), rel=1e-5)
    theirs = perplexity(logits[None], targets[None])
    assert found["perplexity"] == pytest.approx(theirs.item(), rel=1e-4)


def test_perplexity_of_torchmetrics_is_infinite_for_a_tiny_probability() -> None:
    logits, targets = (
        torch.tensor([[[0.0, 110.0], [0.0, 0.0]]]),
        torch.zeros(1, 2, dtype=torch.int64),
    )
    ours = Perplexity()
    ours.update(F.cross_entropy(logits[0], targets[0], reduction="none"))
    assert torch.isinf(perplexity(logits, targets))
    assert ours.compute().item() == pytest.approx(np.exp((110 + np.log(2)) / 2))


def test_bf16_trains(run: Runner) -> None:
    figures = run(make_spec(), compute=Compute(precision="bf16-mixed"))
    assert np.isfinite(figures["validation_loss"])


@pytest.mark.parametrize("every", [1, 2])
def test_a_compiled_run_is_the_same_and_rarely_compiled(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """With a backend of torch that calls the operators of the traced graph; of the updates, all or
    each second end a row of the curve."""
    from torch._dynamo.utils import counters

    steps = 24 * every
    monkeypatch.setattr(training, "CURVE_POINTS", 24)
    spec = make_spec(phases=(ONE,), budget=Budget(steps=steps))
    run(spec, "eager")
    torch._dynamo.reset()
    counters.clear()
    compile_ = nn.Module.compile
    monkeypatch.setattr(nn.Module, "compile", lambda self: compile_(self, backend="eager"))
    run(spec, "compiled", compute=Compute(compile=True))
    # With and without padding, each for one number of sequences, and then for any; with a graph for
    # each number of predictions, there would be more.
    assert 1 <= counters["stats"]["unique_graphs"] <= 4
    eager, compiled = (
        load_file(tmp_path / name / "out/model/model.safetensors") for name in ("eager", "compiled")
    )
    for name, weight in eager.items():
        torch.testing.assert_close(compiled[name], weight, rtol=0, atol=1e-4)


def test_a_loss_that_is_not_finite_ends_with_advice(run: Runner) -> None:
    wild = Optimizer(learning_rate=1e30, max_grad_norm=0)
    spec = make_spec(optimizer=wild, schedule=Schedule(decay="constant"))
    with pytest.raises(FloatingPointError, match=r"lower optimizer\.learning_rate"):
        run(spec)


def test_a_text_too_small_ends_with_advice(run: Runner) -> None:
    with pytest.raises(ValueError, match="smaller batch_size or more text"):
        run(make_spec(batch_size=10_000, budget=Budget(steps=1)))


@pytest.mark.parametrize(
    ("loss", "documents", "message"),
    [
        ("nsp", [["b b b", "c c"]], "nsp needs held-out text with 2 documents"),
        ("sop", [["b b b"], ["c c"]], "sop needs held-out text with a document of 2 sentences"),
    ],
)
def test_held_out_text_without_pairs_ends_before_the_training(
    data: Path, tmp_path: Path, loss: Any, documents: list[list[str]], message: str
) -> None:
    """Its accuracy of pairs is computed after the last update, when all would be lost."""
    rest = [["b b b b", "c c c", "d d d"]] * 300
    held_out = ((one, True) for one in documents)
    made = (Document(*one) for one in itertools.chain(held_out, ((one, False) for one in rest)))
    write_split(made, data / "tokenizer", tmp_path)
    spec = make_spec(
        objective=Objective(sentence_pair=loss), packing=Packing(format="segment_pair")
    )
    done: list[int] = []
    with pytest.raises(ValueError, match=message):
        pretrain(
            *(spec, tmp_path, data / "tokenizer", tmp_path, tmp_path, 0),
            progress=lambda number, total, **figures: done.append(number),
        )
    assert not done


def test_memory_that_runs_out_halves_the_parts(
    run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from harness.pretraining.module import PretrainingModule

    loss = PretrainingModule.loss

    def small_memory(self: PretrainingModule, part: dict[str, torch.Tensor], step: Step) -> Any:
        if part["input_ids"].numel() > 100:
            raise torch.OutOfMemoryError
        return loss(self, part, step)

    monkeypatch.setattr(PretrainingModule, "loss", small_memory)
    assert run(make_spec(), compute=Compute(micro_batch_tokens=256))["steps"] == 12
    long = make_spec(model=Architecture(), phases=(Phase(fraction=1, sequence_length=128),))
    with pytest.raises(torch.OutOfMemoryError):  # not even one sequence fits
        run(long, "long")


def test_weights_are_kept_after_shares_of_the_updates(run: Runner, tmp_path: Path) -> None:
    spec = make_spec(checkpoint_fractions=(0.25, 0.5))
    run(spec, "whole")
    with pytest.raises(KilledError):
        run(spec, "cut", progress=kill_at(5), compute=EVERY_STEP)
    run(spec, "cut")
    for share in ("0.25", "0.5"):
        one, two = (
            load_file(tmp_path / name / f"out/checkpoints/{share}/model.safetensors")
            for name in ("whole", "cut")
        )
        assert all(torch.equal(one[name], two[name]) for name in one)
    final = load_file(tmp_path / "whole/out/model/model.safetensors")
    assert not all(torch.equal(one[name], final[name]) for name in one)


def test_a_checkpoint_is_the_state_of_the_run_at_that_update(run: Runner, tmp_path: Path) -> None:
    """Not of a shorter run: the learning rate has not decayed there."""
    constant = Schedule(decay="constant", warmup_fraction=0)
    run(make_spec(budget=Budget(steps=6), schedule=constant, phases=(ONE,)), "short")
    run(make_spec(checkpoint_fractions=(0.5,), schedule=constant, phases=(ONE,)), "one")
    kept = load_file(tmp_path / "one/out/checkpoints/0.5/model.safetensors")
    short = load_file(tmp_path / "short/out/model/model.safetensors")
    assert all(torch.equal(kept[name], short[name]) for name in kept)


@pytest.fixture
def fast_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that makes 100 updates a second or more, whatever else runs on it."""
    monkeypatch.setattr("harness.pretraining.run.monotonic", itertools.count(0, 0.01).__next__)


@pytest.mark.usefixtures("fast_clock")
def test_a_budget_in_seconds_is_settled_once(run: Runner, tmp_path: Path) -> None:
    spec = make_spec(budget=Budget(seconds=0.3), phases=(ONE,))
    with pytest.raises(KilledError):
        run(spec, progress=kill_at(2), compute=EVERY_STEP)
    note = tmp_path / "run/work/steps.json"
    settled = json.loads(note.read_text())["steps"]
    assert run(spec)["steps"] == settled > 2


@pytest.mark.usefixtures("fast_clock")
def test_a_budget_in_seconds_may_have_more_warmup_than_timed_updates(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.pretraining.run.TIMED_STEPS", 4)
    slow = Schedule(warmup_steps=5)
    assert run(make_spec(budget=Budget(seconds=0.3), phases=(ONE,), schedule=slow))["steps"] > 5


@pytest.mark.usefixtures("fast_clock")
def test_the_timed_updates_begin_and_end_where_the_loss_is_read(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere, a GPU may still compute updates before, whose time would count, too."""
    monkeypatch.setattr("harness.pretraining.run.TIMED_STEPS", 4)
    read: list[int] = []
    extend = PretrainingModule._extend_curve

    def noted(module: PretrainingModule, *args: float) -> None:
        read.append(module.global_step)
        extend(module, *args)

    monkeypatch.setattr(PretrainingModule, "_extend_curve", noted)
    run(make_spec(budget=Budget(seconds=0.3), phases=(ONE,)))
    assert read[:2] == [2, 4]


def test_going_on_from_another_run_starts_with_its_weights(run: Runner, tmp_path: Path) -> None:
    first = make_spec()
    run(first, "first")
    none = make_spec(budget=Budget(tokens=0), objective=OBJECTIVES["clm"])
    run(none, "second", folders={"init_from": tmp_path / "first/out"})
    assert weights(tmp_path / "first") == weights(tmp_path / "second")


@pytest.mark.parametrize("pairs", [False, True])
def test_losses_by_source_are_those_of_their_held_out_text(
    data: Path, tmp_path: Path, pairs: bool
) -> None:
    """A source whose held-out text is all of it has the loss of the whole."""
    folder = tmp_path / "tokens"
    shutil.copytree(data / "tokens", folder)
    shutil.copytree(folder / "validation", folder / BY_SOURCE / "all")
    shutil.copytree(folder / "train", folder / BY_SOURCE / "other")
    (tmp_path / "out").mkdir()
    spec = make_spec(**(PAIRS if pairs else {}))
    found = pretrain(spec, folder, data / "tokenizer", tmp_path / "out", tmp_path / "work", 0)
    for name in ("loss", "accuracy"):
        assert found[f"validation_source_all_{name}"] == found[f"validation_{name}"]
    assert 0 < found["validation_source_other_loss"] != found["validation_loss"]
    assert not any("pair" in name for name in found if name.startswith("validation_source"))
