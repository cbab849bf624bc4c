"""Properties of every objective: of its batches, and of training on them."""

import math
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from harness.core.compute import Compute
from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import TokenStream
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.models import MODELS, Size, backbone, token_heads
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.learners import token_learner
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import Learner
from harness.pretraining.module import PretrainingModule
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.held_out import has_held_out_loss
from harness.pretraining.objectives.loader import to_step
from harness.pretraining.objectives.micro_batches import split
from harness.pretraining.objectives.objective import AnyObjective, Objective, parts_of
from harness.pretraining.objectives.targets import Batch
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.optimization import make_optimizer
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import pretrain
from tests.covering import representatives
from tests.token_streams import write_streams

VOCAB, LENGTH, ROWS = 500, 32, 8
MODES = {"[NLU]": 5, "[NLG]": 6, "[S2S]": 7}
FIRST = 8
"""First ordinary token."""
SENTINELS = np.arange(VOCAB - 1, VOCAB - 21, -1)
FAMILY = {
    "bidirectional": "bert",
    "causal": "gpt2",
    "encoder_decoder": "t5",
    "bilm": "elmo",
    "permuted": "xlnet",
    "cbow": "static",
    "skipgram": "static",
}
TOKENIZER = Tokenizer(vocab_size=VOCAB, sentinels=len(SENTINELS), extra_tokens=tuple(MODES))
TINY = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=64)
EVERY = pytest.mark.parametrize("name", OBJECTIVES)


def features(objective: AnyObjective) -> tuple[str | int, ...]:
    """What decides how an objective is trained: of a mixture, its length and last component."""
    _, last = objective.components[-1]
    kinds = (last.output.kind, last.representation, last.transform.kind, last.sentence_pair)
    return (*kinds, len(objective.components))


OF_EACH_KIND = pytest.mark.parametrize(
    "name", representatives({name: features(one) for name, one in OBJECTIVES.items()}, 2)
)


@cache
def vocabulary() -> Vocabulary:
    special = (np.arange(VOCAB) < FIRST) | np.isin(np.arange(VOCAB), SENTINELS)
    starts = np.arange(VOCAB) % 3 != 0
    texts = tuple(f" w{token}" if start else f"c{token}" for token, start in enumerate(starts))
    return Vocabulary(
        *(VOCAB, 0, 2, 3, 4, special, starts), sentinels=SENTINELS, extra=MODES, texts=texts
    )


@cache
def stream() -> TokenStream:
    """Counting up, so that no token occurs twice in a sequence."""
    rng = np.random.default_rng(0)
    documents = np.concatenate([[0], np.cumsum(rng.integers(2, 8, 80))])
    sentences = np.concatenate([[0], np.cumsum(rng.integers(3, 9, documents[-1]))])
    ordinary = VOCAB - FIRST - len(SENTINELS)
    tokens = (FIRST + np.arange(sentences[-1]) % ordinary).astype(np.uint16)
    return TokenStream(tokens, sentences, documents)


def packing_of(objective: AnyObjective) -> Packing:
    if objective.components[-1][1].output.kind == "cooccurrence":  # reads no sequences
        return Packing()
    losses = {one.sentence_pair for _, one in objective.components}
    if losses == {"none"}:
        return Packing(format="doc_sentences")
    return Packing(format="segment_pair", pairs="contiguous" if "none" in losses else None)


def spec_of(objective: AnyObjective, **changes: Any) -> Pretrain:
    representation = objective.components[-1][1].representation
    marks = [part.segments for part in parts_of(objective) if part.segments]
    changed = {"dropout": 0.0, "attention_dropout": 0.0, "max_position": 4 * LENGTH}
    if marks:
        changed["segment_types"] = 1 + max(map(max, marks))
    model = MODELS[FAMILY[representation]].model_copy(update=changed)
    fields: dict[str, Any] = {
        "objective": objective,
        "model": model,
        "size": TINY,
        "tokenizer": TOKENIZER,
        "packing": packing_of(objective),
        "phases": (Phase(fraction=1, sequence_length=LENGTH),),
        "batch_size": ROWS,
        "optimizer": Optimizer(learning_rate=3e-3),
        "budget": Budget(steps=6),
    }
    return Pretrain(**{**fields, **changes})


def maker(name: str, seed: int = 0) -> BatchMaker:
    spec = spec_of(OBJECTIVES[name])
    return BatchMaker(
        stream(),
        vocabulary(),
        spec.objective,
        spec.packing,
        spec.phases,
        spec.batch_size,
        seed,
        num_steps=60,
        decoder_start=0,
    )


def of_step(made: BatchMaker, step: int) -> Objective:
    return made.components[made.component(step)].objective


def same(one: Batch, two: Batch) -> bool:
    return one.keys() == two.keys() and all(np.array_equal(one[key], two[key]) for key in one)


@EVERY
def test_a_batch_is_a_function_of_seed_and_step(name: str) -> None:
    one, two, other = maker(name), maker(name), maker(name, seed=1)
    for step in (0, 7, 3):
        assert same(one.batch(step), two.batch(step))
    assert not same(one.batch(0), one.batch(1))
    assert not any(same(one.batch(step), other.batch(step)) for step in range(3))


def predicting(batch: Batch) -> np.ndarray:
    """bool array of the positions that `positions` indexes: True where a prediction may be."""
    if "predicted" in batch:  # the k-th of the columns to predict, of which a row may have fewer
        count = batch["chosen"].sum(1)[:, None]
        return np.arange(batch["predicted"].shape[1]) < count
    prefix = "decoder_" if "decoder_input_ids" in batch else ""
    ids = batch[f"{prefix}input_ids"]
    mask: np.ndarray = batch.get(f"{prefix}attention_mask", np.ones_like(ids)) == 1
    return mask


@EVERY
def test_predictions_are_at_real_positions_and_of_real_tokens(name: str) -> None:
    made = maker(name)
    for step in range(12):
        batch = made.batch(step)
        assert len(batch["positions"]) == len(batch["targets"]) > 0
        once = of_step(made, step).representation != "skipgram"
        assert (np.diff(batch["positions"]) >= int(once)).all(), "in order, each once"
        assert predicting(batch).reshape(-1)[batch["positions"]].all(), "never at padding"
        assert not np.isin(batch["targets"], [0, 4]).any(), "neither padding nor a mask"


@EVERY
def test_special_tokens_are_never_hidden(name: str) -> None:
    """Targets are text, except the end of a text, sentinels, and the separators that a model of all
    tokens predicts."""
    special, made = vocabulary().special, maker(name)
    for step in range(12):
        batch, objective = made.batch(step), of_step(made, step)
        special_targets = set(batch["targets"][special[batch["targets"]]].tolist())
        text_alone = ("masked_token", "replaced_token", "sampled_token", "cooccurrence")
        if objective.output.kind in text_alone or objective.representation == "permuted":
            assert not special_targets
        elif objective.output.kind == "next_token":
            assert special_targets <= {2, 3}
        else:
            assert special_targets <= {3, *SENTINELS.tolist()}


def texts(made: BatchMaker, step: int) -> list[list[int]]:
    """The ordinary tokens of each row before they were corrupted."""
    phase, of_phase = made._phase(step)
    pairs = made.pairs(of_step(made, step))
    epoch, shard, index = made._place(phase, of_phase, pairs)
    tokens = made._tokens_per_batch(phase)
    order, starts = made.order(phase, epoch, shard, pairs)
    first, last = np.searchsorted(starts, (index * tokens, (index + 1) * tokens))
    drawing = made.drawing(made._key(phase, epoch, shard), pairs)
    rows = made.layout.rows(drawing.sequences.take(order[first:last]))
    return [row[mask].tolist() for row, mask in zip(rows.tokens, rows.maskable, strict=True)]


def ordinary(tokens: np.ndarray) -> list[int]:
    return [int(token) for token in tokens if not vocabulary().special[token]]


def filled(source: np.ndarray, target: np.ndarray) -> list[int]:
    """The source with each sentinel replaced by the span that follows it in the target."""
    spans: dict[int, list[int]] = {}
    sentinel = -1
    for token in target.tolist():
        if token in SENTINELS:
            sentinel = token
            spans[sentinel] = []
        elif token not in (0, 3):
            spans[sentinel].append(token)
    out: list[int] = []
    for token in source.tolist():
        out += spans.get(token, [] if vocabulary().special[token] else [token])
    return out


def targets_by_row(batch: Batch) -> list[np.ndarray]:
    width = batch.get("predicted", batch.get("decoder_input_ids", batch["input_ids"])).shape[1]
    row = batch["positions"] // width
    return [batch["targets"][row == number] for number in range(len(batch["input_ids"]))]


def assert_neighbours(batch: Batch, texts: list[list[int]]) -> None:
    """The rows are the sentences of the texts in order, and each predicts the one after it."""
    sentences = [ordinary(row) for row in batch["input_ids"]]
    assert list(chain(*sentences)) == list(chain(*texts))
    ends = set(np.cumsum([len(text) for text in texts]).tolist())
    of_sentences = np.cumsum([len(sentence) for sentence in sentences]).tolist()
    for number, target in enumerate(targets_by_row(batch)):
        is_last = of_sentences[number] in ends
        assert ordinary(target) == ([] if is_last else sentences[number + 1])


OF_TEXT = [
    name
    for name, objective in OBJECTIVES.items()
    if objective.components[-1][1].output.kind != "cooccurrence"
]
"""Objectives whose batches are text, not counts."""


@pytest.mark.parametrize("name", OF_TEXT)
def test_inputs_and_targets_give_the_text_back(name: str) -> None:
    made = maker(name)
    for step in range(8):
        batch, objective = made.batch(step), of_step(made, step)
        targets = targets_by_row(batch)
        if objective.output.kind == "neighbour_sentences":
            assert_neighbours(batch, texts(made, step))
            continue
        for row, text in enumerate(texts(made, step)):
            read = batch["input_ids"][row]
            if objective.output.kind == "whole_text":
                assert ordinary(targets[row]) == text
            elif objective.output.kind == "dropped_spans":
                if objective.transform.kind == "prefix":
                    assert ordinary(read) + ordinary(targets[row]) == text
                elif getattr(objective.transform, "replacement", "") == "sentinel":
                    assert filled(read, targets[row]) == text
                else:
                    assert sorted(ordinary(read) + ordinary(targets[row])) == sorted(text)
            elif objective.output.kind == "next_token" and objective.representation != "permuted":
                assert ordinary(targets[row]) == text == ordinary(read)
            elif objective.representation == "skipgram":
                assert set(targets[row].tolist()) == set(text), "each is next to another"
            elif objective.representation == "cbow":
                assert targets[row].tolist() == text
            elif objective.representation == "permuted":
                assert ordinary(read) == text
                assert targets[row].tolist() == read[batch["chosen"][row]].tolist()
            else:
                restored = batch["input_ids"].copy()
                restored.reshape(-1)[batch["positions"]] = batch["targets"]
                assert ordinary(restored[row]) == text


DROPPING = [
    name
    for name, objective in OBJECTIVES.items()
    if all(part.output.kind == "dropped_spans" for _, part in objective.components)
]


@pytest.mark.parametrize("name", DROPPING)
def test_dropped_spans_are_not_in_the_input(name: str) -> None:
    made = maker(name)
    for step in range(8):
        batch = made.batch(step)
        for row, target in enumerate(targets_by_row(batch)):
            assert not set(ordinary(target)) & set(ordinary(batch["input_ids"][row]))


MASKED = [
    name
    for name, objective in OBJECTIVES.items()
    if all(
        part.output.kind in ("masked_token", "replaced_token", "corrected_token")
        and part.representation == "bidirectional"
        for _, part in objective.components
    )
]


@pytest.mark.parametrize("name", MASKED)
def test_most_masked_tokens_are_not_in_the_input(name: str) -> None:
    """80 or 85 % become the mask, and 10 % a random token."""
    made = maker(name)
    batches = [made.batch(step) for step in range(20)]
    seen = [batch["input_ids"].flat[batch["positions"]] for batch in batches]
    assert np.mean(np.concatenate(seen) == 4) == pytest.approx(0.8, abs=0.1)


@EVERY
def test_parts_hold_all_of_a_batch(name: str) -> None:
    made = maker(name)
    batch = made.batch(2)
    parts = split(batch, max_tokens=LENGTH)
    assert len(parts) == len(batch["input_ids"])
    assert batch["targets"].tolist() == [t for part in parts for t in part["targets"].tolist()]
    for number, part in enumerate(parts):
        assert part["targets"].tolist() == targets_by_row(batch)[number].tolist()
        assert (part["positions"] >= 0).all()


def learner_of(name: str) -> tuple[Pretrain, Learner]:
    spec = spec_of(OBJECTIVES[name])
    return spec, make_learner(spec, vocabulary(), 0, {})


@EVERY
def test_the_first_loss_is_that_of_uniform_guessing(name: str) -> None:
    spec, learner = learner_of(name)
    module = PretrainingModule(learner.eval(), spec, 10, 0)
    made = maker(name)
    step = to_step(made.batch(0), 100_000, made.component(0))
    with torch.no_grad():
        sums = module.learner(step.parts[0], step.component)[0]
    means = {key: float(value) / step.counts[key] for key, value in sums.items()}
    # T5's logits have variance 1 at first (Raffel et al.'s code), which costs 1/2 nat in the mean.
    spread = 0.5 if spec.model.family == "t5" else 0.0
    assert means.get("token", math.log(VOCAB)) == pytest.approx(math.log(VOCAB) + spread, rel=0.1)
    for key in ("pair", "replaced", "sampled"):
        if key in means:
            assert means[key] == pytest.approx(math.log(2), rel=0.2)


@EVERY
def test_losses_and_scores_in_parts_are_those_of_all_logits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, learner = learner_of(name)
    learner.eval()
    made = maker(name)
    step = to_step(made.batch(0), 100_000, made.component(0))
    batch = step.parts[0]
    with torch.no_grad():
        predictions = learner.predictions(batch, step.component)
        sums = learner.losses_of(predictions, batch)
    for module in (token_heads, token_learner):
        monkeypatch.setattr(module, "LOGITS_AT_ONCE", 3 * VOCAB)
    monkeypatch.setattr(backbone, "MIN_LOGITS", 0)
    losses, hits = learner(batch, step.component, measured=True)
    torch.testing.assert_close(losses, sums)
    torch.testing.assert_close(learner(batch, step.component)[0], sums)
    if not has_held_out_loss(OBJECTIVES[name].components[-1][1]):
        return
    with torch.no_grad():
        scores = learner.scores(batch, step.component)
    assert scores.keys() == hits.keys() == predictions.keys()
    for key, (logits, targets) in predictions.items():
        nats = F.cross_entropy(logits, targets, reduction="none")
        torch.testing.assert_close(scores[key][0], nats)
        right = logits.argmax(1) == targets
        assert right.equal(scores[key][1]) and right.equal(hits[key])


@EVERY
def test_every_trained_parameter_gets_a_gradient(name: str) -> None:
    spec, learner = learner_of(name)
    module = PretrainingModule(learner, spec, 10, 0)
    made = maker(name)
    for number in range(16):  # all components of a mixture
        step = to_step(made.batch(number), 100_000, made.component(number))
        module.loss(step.parts[0], step).backward()
    without = [
        parameter_name
        for parameter_name, parameter in learner.named_parameters()
        if parameter.requires_grad and (parameter.grad is None or not parameter.grad.any())
    ]
    assert without == []


@OF_EACH_KIND
def test_one_batch_is_learned(name: str) -> None:
    spec, learner = learner_of(name)
    module = PretrainingModule(learner.train(), spec, 10, 0)
    made = maker(name)
    step = to_step(made.batch(0), 100_000, made.component(0))
    optimizer = make_optimizer(learner, Optimizer(learning_rate=1e-2, weight_decay=0))
    losses: list[float] = []
    while len(losses) < 150 and (len(losses) < 2 or losses[-1] >= 0.35 * losses[0]):
        torch.manual_seed(len(losses))
        loss = module.loss(step.parts[0], step)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.35 * losses[0]


class KilledError(Exception):
    pass


def kill_at(step: int) -> Callable[..., None]:
    def progress(done: int, total: int, **figures: float) -> None:
        if done == step:
            raise KilledError

    return progress


@OF_EACH_KIND
def test_resume_is_exact(name: str, tmp_path: Path, trained: Path) -> None:
    spec = spec_of(OBJECTIVES[name])
    every_step = Compute(checkpoint_interval_seconds=0, max_checkpoint_overhead=1e9)
    for run in ("whole", "cut"):
        (tmp_path / run / "work").mkdir(parents=True)

    def go(run: str, **options: Any) -> dict[str, float]:
        folder = tmp_path / run
        return pretrain(
            spec, trained / "tokens", trained / "tokenizer", folder, folder / "work", 0, **options
        )

    whole = go("whole")
    with pytest.raises(KilledError):
        go("cut", progress=kill_at(4), compute=every_step)
    cut = go("cut")
    one, two = (load_file(tmp_path / run / "model/model.safetensors") for run in ("whole", "cut"))
    assert all(torch.equal(one[key], two[key]) for key in one)
    timings = ("seconds", "tokens_per_second", "flops_per_second")
    assert all(cut[key] == whole[key] for key in whole if key not in timings)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `tokenizer` and `tokens` of some text."""
    folder = tmp_path_factory.mktemp("text")
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "bcdfgh" for b in "aeiou"]
    documents = [
        [" ".join(rng.choice(words, rng.integers(4, 9))) for _ in range(rng.integers(2, 6))]
        for _ in range(150)
    ]
    tokenizer = TOKENIZER.model_copy(update={"vocab_size": 100})
    train(tokenizer, (s for document in documents for s in document), folder / "tokenizer")
    write_streams(documents, folder / "tokenizer", folder / "tokens", 0.1)
    return folder
