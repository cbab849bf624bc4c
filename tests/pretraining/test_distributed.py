"""Several processes train as one: losses, held-out losses, checkpoints, errors."""

import csv
import json
import os
import signal
import sys
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.strategies import integers
from pytorch_lightning.utilities import rank_zero_only
from safetensors.torch import load_file

from harness.core.compute import Compute
from harness.data.corpora.mixing import split_corpus
from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import JsonLinesCorpus, MixedCorpus
from harness.data.corpora.tokenization import write_split
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers import training as tokenizer_training
from harness.execution.ranks import on_ranks
from harness.models import MODELS, Size
from harness.pretraining import distributed
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.shares import share
from harness.pretraining.objectives.targets import Batch, count_targets
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import pretrain
from tests.execution.rank_functions import listening

STEPS = 8
SIZE = Size(num_layers=2, hidden_size=16, num_heads=2, intermediate_size=32)
ARMS = {"mlm": "bert", "clm": "gpt2", "rtd": "electra", "span_corruption": "t5", "mlm_nsp": "bert"}
"""Objective to family."""
SHARED = ("span_corruption", "t5_shared")
"""Objective, and a network whose encoder and decoder share layers."""
TOKENIZER = Tokenizer(vocab_size=80, sentinels=10)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `tokenizer` and `tokens` of a mixture of random words, of which one source is
    repeated; held-out text of several batches."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "bcdf" for b in "aei"]
    documents = [
        [" ".join(rng.choice(words, size)) for size in rng.integers(4, 12, 4)] for _ in range(400)
    ]
    texts = (sentence for document in documents for sentence in document)
    tokenizer_training.train(TOKENIZER, texts, folder / "tokenizer")
    sources = {}
    for name, part in (("long", documents[:360]), ("short", documents[360:])):
        lines = [json.dumps({"text": ". ".join(document)}) for document in part]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
        path = str(folder / f"{name}.jsonl")
        sources[name] = JsonLinesCorpus(path=path, validation_fraction=0.2)
    mixture = MixedCorpus(sources=sources, weights={"long": 2, "short": 1}, num_bytes=30_000)
    counts = write_split(split_corpus(mixture), folder / "tokenizer", folder / "tokens")
    assert counts["source_short_repeats"] > 1
    return folder


def make_spec(objective: str, model: str = "") -> Pretrain:
    """A run without dropout, of rows that two processes cannot divide evenly.

    Args:
        model: key of MODELS; empty: that of ARMS.
    """
    pairs = objective.endswith("nsp")
    no_dropout = {"dropout": 0.0, "attention_dropout": 0.0, "max_position": 64}
    return Pretrain(
        model=MODELS[model or ARMS[objective]].model_copy(update=no_dropout),
        size=SIZE,
        objective=OBJECTIVES[objective],
        tokenizer=TOKENIZER,
        packing=Packing(format="segment_pair" if pairs else "doc_sentences"),
        optimizer=Optimizer(learning_rate=1e-3, eps=1e-4),  # a tiny eps magnifies rounding
        phases=(Phase(fraction=1, sequence_length=32),),
        batch_size=7,
        budget=Budget(steps=STEPS),
        checkpoint_fractions=(0.5,),
    )


Figures = dict[str, list[float]]
EVERY_STEP = {"checkpoint_interval_seconds": 0, "max_checkpoint_overhead": 1e9}
ONE = Compute(accelerator="cpu", **EVERY_STEP)
DDP, FSDP = (
    Compute(accelerator="cpu", devices=2, strategy=strategy, **EVERY_STEP)
    for strategy in ("ddp", "fsdp")
)


class StoppedError(Exception):
    """The end of a run before its last update."""


def train(
    spec: Pretrain, data: Path, folder: Path, compute: Compute, stop: int | None = None
) -> Figures:
    """The training losses of a run, and its held-out figures; none if it stops after `stop`."""

    def progress(done: int, total: int, **figures: float) -> None:
        if done == stop:
            raise StoppedError

    out, work = folder / "out", folder / "work"
    out.mkdir(parents=True, exist_ok=True)
    work.mkdir(exist_ok=True)
    streams, tokenizer = data / "tokens", data / "tokenizer"
    try:
        figures = pretrain(
            spec, streams, tokenizer, out, work, 0, compute=compute, progress=progress
        )
    except StoppedError:
        return {}
    held_out = {key: [figures[key]] for key in figures if key.startswith("validation")}
    with (out / "curve.csv").open() as file:
        losses = [float(row["train_loss"]) for row in csv.DictReader(file)]
    return {"train": losses, **held_out}


def train_together(
    arms: tuple[str, ...], data: Path, folder: Path, rank: int
) -> dict[str, Figures]:
    """Runs of two processes: of each arm, sharded, and two that continue a run of one process."""
    found = {arm: train(make_spec(arm), data, folder / arm, DDP) for arm in arms}
    found["fsdp"] = train(make_spec(arms[0]), data, folder / "fsdp", FSDP)
    found["shared"] = train(make_spec(*SHARED), data, folder / "shared", FSDP)
    train(make_spec(arms[0]), data, folder / "passed", DDP, stop=4)
    train(make_spec(arms[0]), data, folder / "passed", FSDP, stop=6)
    assert cast(Any, rank_zero_only).rank == rank  # of Lightning, whose callbacks write once
    return found


@pytest.mark.parametrize(
    "arms", [("mlm_nsp",), pytest.param(tuple(ARMS), marks=pytest.mark.campaign)], ids=len
)
def test_two_processes_train_as_one(data: Path, tmp_path: Path, arms: tuple[str, ...]) -> None:
    """With uneven shares, whole or sharded weights, also of layers that share them; and a run that
    one process begins, two continue with whole and then sharded weights, and one ends."""
    passed, first = tmp_path / "passed", arms[0]
    train(make_spec(first), data, passed, ONE, stop=2)
    ranks = distributed.Ranks(2, tmp_path / "ranks")
    two = on_ranks(partial(train_together, arms, data, tmp_path), ranks, DDP)
    two["passed"] = train(make_spec(first), data, passed, ONE)
    one = {arm: train(make_spec(arm), data, tmp_path / "one" / arm, ONE) for arm in arms}
    one["shared"] = train(make_spec(*SHARED), data, tmp_path / "one" / "shared", ONE)
    for name, figures in two.items():
        expected = one.get(name, one[first])
        assert len(expected["train"]) == STEPS and figures.keys() == expected.keys()
        for figure, values in figures.items():
            assert values == pytest.approx(expected[figure], rel=1e-5), (name, figure)
    for folder in ("model", "checkpoints/0.5"):
        saved = [
            load_file(tmp_path / run / "out" / folder / "model.safetensors")
            for run in (f"one/{first}", first, "fsdp", "passed")
        ]
        for other in saved[1:]:
            torch.testing.assert_close(other, saved[0], rtol=1e-3, atol=1e-5)


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's table of sockets")
def test_processes_of_one_node_listen_on_loopback_alone(tmp_path: Path) -> None:
    addresses = on_ranks(listening, distributed.Ranks(2, tmp_path / "ranks"), DDP)
    assert set(addresses) == {"0100007F"}  # 127.0.0.1, the last byte first


def fail_alone(how: str, rank: int) -> None:
    """Rank 1 fails while rank 0 waits for it."""
    if rank == 1:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise FloatingPointError("the loss is not finite")
    distributed.summed(torch.zeros(1))


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("raised", FloatingPointError, "the loss is not finite"),
        ("killed", BrokenProcessPool, "process 1 of 2 of the stage died"),
    ],
)
def test_the_end_of_a_process_ends_all(
    tmp_path: Path, how: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        on_ranks(partial(fail_alone, how), distributed.Ranks(2, tmp_path / "ranks"), DDP)
    for process in active_children():
        process.join(timeout=60)
    assert not active_children()


def batch(num_rows: int) -> Batch:
    """[num_rows, 4] tokens, of which as many are predicted as the number of the row modulo 3."""
    predicted = np.arange(4) < np.arange(num_rows)[:, None] % 3
    tokens = np.arange(num_rows * 4).reshape(num_rows, 4)
    return {
        "input_ids": tokens,
        "num_tokens": np.full(num_rows, 4),
        "positions": np.flatnonzero(predicted),
        "targets": tokens[predicted],
    }


@given(num_rows=integers(1, 40), num_ranks=integers(1, 5), max_tokens=integers(1, 60))
def test_each_row_is_computed_once(num_rows: int, num_ranks: int, max_tokens: int) -> None:
    """In equally many micro-batches on all ranks, none empty; draws follow one another."""
    whole = batch(num_rows)
    if num_rows < num_ranks:
        with pytest.raises(ValueError, match="a sequence for each device"):
            share(whole, max_tokens, 0, num_ranks, 7)
        return
    ranks = [share(whole, max_tokens, rank, num_ranks, 7) for rank in range(num_ranks)]
    rounds = list(zip(*ranks, strict=True))
    parts = [part for parts in rounds for part in parts]
    for name in ("input_ids", "targets"):
        assert (np.concatenate([part[name] for part in parts]) == whole[name]).all()
    for number, together in enumerate(rounds):
        before = 0
        for part in together:
            assert len(part["input_ids"])
            assert (part["targets"] == part["input_ids"].flatten()[part["positions"]]).all()
            assert part["draws"].tolist()[::2] == [7 + number, before]
            before += count_targets(part)["token"]
        assert {int(part["draws"][1]) for part in together} == {before}


def test_devices_are_those_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert distributed.num_devices(Compute(devices="auto")) == 1
    assert distributed.num_devices(Compute(devices=3)) == 3  # processes on the CPU
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert distributed.num_devices(Compute(devices=2, accelerator="cpu")) == 2
    with pytest.raises(ValueError, match=r"at most the number of GPUs, here 1, but is 2; lower"):
        distributed.num_devices(Compute(devices=2))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert distributed.num_devices(Compute(devices="auto")) == 4
