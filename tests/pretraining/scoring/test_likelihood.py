"""Log-likelihoods against loops over transformers' own models and losses, text by text."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.core.compute import Compute
from harness.models import Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.recurrent import Elmo
from harness.models.static_embeddings import StaticVectors
from harness.models.two_way import TwoWay
from harness.pretraining.learners.learner import decoder_start
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.held_out import predicts_every_token
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes import RECIPES
from harness.pretraining.scoring.likelihood import log_likelihoods, written
from harness.pretraining.scoring.requests import (
    Request,
    Text,
    default_objective,
    left_to_right,
    make_requests,
    unsupported_request,
)

SPECIAL = np.isin(np.arange(40), [0, 1, 2, 3, 38, 39])
VOCABULARY = Vocabulary(
    size=40,
    pad=0,
    cls=1,
    sep=2,
    mask=3,
    special=SPECIAL,
    word_start=~SPECIAL,
    sentinels=np.array([39, 38]),
)
TOKENS = Tokens(vocab_size=40, pad=0, start=1, end=2)
SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
TEXTS = [Text((5, 9, 7)), Text((5, 30)), Text((8, 8, 21, 33, 12, 6)), Text((11,))]
CLOZE = [
    Text((5, 9, 7), (1, 2)),
    Text((5, 10, 11, 12, 7, 8), (1, 4)),
    Text((20, 21), (0, 2)),
    Text((6, 30), (1, 2)),
]


def make(family: str, name: str) -> Backbone:
    """A network with large weights, so that no two tokens are nearly alike."""
    objective = OBJECTIVES[name]
    assert isinstance(objective, Objective)
    wide = 0.03 if family == "t5" else 0.3  # T5's starts are wide already
    architecture = Architecture.model_validate({"family": family, "initializer_range": wide})
    backbone = build(architecture, SIZE, TOKENS, objective.representation, seed=0).eval()
    backbone.objective = objective.model_dump(mode="json")
    return backbone


def scores(backbone: Backbone, texts: list[Text]) -> list[float]:
    return list(log_likelihoods(backbone, VOCABULARY, texts))


def log_p(logits: Tensor, token: int) -> float:
    return float(F.log_softmax(logits.double(), -1)[token])


def row(text: Text) -> list[int]:
    return [1, *text.tokens, 2]


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
@torch.no_grad()
def test_masked_whole_texts_one_token_at_a_time(family: str) -> None:
    """Salazar et al. 2020, equation 1."""
    backbone = make(family, "mlm")

    def oracle(text: Text) -> float:
        total = 0.0
        for i in range(1, len(text.tokens) + 1):
            masked = row(text)
            masked[i] = 3
            total += log_p(backbone.network(torch.tensor([masked])).logits[0, i], row(text)[i])
        return total

    assert scores(backbone, TEXTS) == pytest.approx([oracle(text) for text in TEXTS], abs=1e-4)


@torch.no_grad()
def test_masked_candidates_from_left_to_right() -> None:
    backbone = make("bert", "mlm")

    def oracle(text: Text) -> float:
        assert text.gap
        total = 0.0
        for i in range(*text.gap):
            masked = [*text.tokens]
            masked[i : text.gap[1]] = [3] * (text.gap[1] - i)
            logits = backbone.network(torch.tensor([[1, *masked, 2]])).logits
            total += log_p(logits[0, i + 1], text.tokens[i])
        return total

    assert scores(backbone, CLOZE) == pytest.approx([oracle(text) for text in CLOZE], abs=1e-4)


@pytest.mark.parametrize("family", ["gpt", "gpt2", "llama"])
@pytest.mark.parametrize("texts", [TEXTS, CLOZE])
@torch.no_grad()
def test_causal_is_the_summed_loss_of_transformers(family: str, texts: list[Text]) -> None:
    """With the end token; a gap makes no difference."""
    backbone = make(family, "clm")

    def oracle(text: Text) -> float:
        ids = torch.tensor([row(text)])
        return -float(backbone.network(ids, labels=ids).loss) * (ids.shape[1] - 1)

    assert scores(backbone, texts) == pytest.approx([oracle(text) for text in texts], abs=1e-4)


def log_probability(network: Any, source: list[int], target: list[int], places: list[int]) -> float:
    """Log-likelihood of some places of the target, by transformers' own shift to the right."""
    labels = torch.tensor([target])
    logits = network(input_ids=torch.tensor([source]), labels=labels).logits
    return sum(log_p(logits[0, i], target[i]) for i in places)


@torch.no_grad()
def test_t5_tells_what_stands_for_a_sentinel() -> None:
    backbone = make("t5", "span_corruption")

    def oracle(text: Text) -> float:
        begin, end = text.gap or (0, len(text.tokens))
        t = list(text.tokens)
        source = [1, *t[:begin], 39, *t[end:], 2]
        target = [39, *t[begin:end], 38, 2]
        return log_probability(backbone.network, source, target, list(range(1, end - begin + 2)))

    texts = TEXTS + CLOZE
    assert scores(backbone, texts) == pytest.approx([oracle(text) for text in texts], abs=1e-4)
    # The loss itself: with the first sentinel and the end token, divided by the length.
    source, target = [1, 5, 39, 7, 2], [39, 9, 38, 2]
    loss = backbone.network(
        input_ids=torch.tensor([source]), labels=torch.tensor([target])
    ).loss.item()
    everything = log_probability(backbone.network, source, target, [0, 1, 2, 3])
    assert -loss * 4 == pytest.approx(everything, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "holes"),
    [("denoising", 1), ("denoising_mask", None), ("mass", None), ("denoising_delete", 0)],
)
@torch.no_grad()
def test_bart_tells_the_whole_text(name: str, holes: int | None) -> None:
    backbone = make("bart", name)

    def oracle(text: Text) -> float:
        begin, end = text.gap or (0, len(text.tokens))
        t = list(text.tokens)
        masks = [3] * (end - begin if holes is None else holes)
        places = list(range(begin, end + 1))
        return log_probability(
            backbone.network, [1, *t[:begin], *masks, *t[end:], 2], [*t, 2], places
        )

    for texts in (TEXTS, CLOZE):
        assert scores(backbone, texts) == pytest.approx([oracle(t) for t in texts], abs=1e-4)


@torch.no_grad()
def test_prefix_lm_goes_on_from_what_stands_before_the_gap() -> None:
    backbone = make("t5", "prefix_lm")

    def oracle(text: Text) -> float:
        begin = text.gap[0] if text.gap else 0
        target = [*text.tokens[begin:], 2]
        source = [1, *text.tokens[:begin], 2]
        return log_probability(backbone.network, source, target, list(range(len(target))))

    texts = TEXTS + CLOZE
    assert scores(backbone, texts) == pytest.approx([oracle(text) for text in texts], abs=1e-4)


@torch.no_grad()
def test_one_stack_reads_its_source_both_ways() -> None:
    """Under `prefix`, positions in the prefix see all of it, as an encoder's input does."""
    objective = Objective.model_validate(
        {"transform": "prefix", "representation": "prefix", "output": "dropped_spans"}
    )
    architecture = Architecture.model_validate({"family": "llama", "initializer_range": 0.3})
    backbone = build(architecture, SIZE, TOKENS, "prefix", seed=0).eval()
    backbone.objective = objective.model_dump(mode="json")
    ids = torch.tensor([[1, 5, 10, 2, 11, 12, 2]])
    states = backbone(ids, prefix_lengths=torch.tensor([4])).last_hidden_state
    logits = backbone.token_logits(states)[0]
    expected = sum(log_p(logits[i - 1], int(ids[0, i])) for i in (4, 5, 6))
    text = Text((5, 10, 11, 12), (2, 3))
    assert scores(backbone, [text, CLOZE[1]])[0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("family", ["elmo", "two_way_gpt2"])
@torch.no_grad()
def test_two_ways_are_their_forward_reader(family: str) -> None:
    backbone = make(family, "bilm")
    network = backbone.network
    assert isinstance(network, Elmo | TwoWay)

    def oracle(text: Text) -> float:
        ids = row(text)
        forward = network(torch.tensor([ids])).last_hidden_state[0, :, :16]
        logits = backbone.token_logits(forward)
        return sum(log_p(logits[i], ids[i + 1]) for i in range(len(ids) - 1))

    assert scores(backbone, TEXTS) == pytest.approx([oracle(text) for text in TEXTS], abs=1e-4)


@torch.no_grad()
def test_a_bilstm_fills_a_mask() -> None:
    backbone = make("bilstm", "mlm")

    def oracle(text: Text) -> float:
        total = 0.0
        for i in range(1, len(text.tokens) + 1):
            masked = row(text)
            masked[i] = 3
            states = backbone.network(torch.tensor([masked])).last_hidden_state
            total += log_p(backbone.token_logits(states[0, i]), row(text)[i])
        return total

    assert scores(backbone, TEXTS) == pytest.approx([oracle(text) for text in TEXTS], abs=1e-4)


@torch.no_grad()
def test_from_right_to_left_a_candidate_is_scored_by_the_whole_text() -> None:
    """What stands before a gap does not see it otherwise."""
    backbone = make("bert", "mlm")
    backbone.representation = "right_to_left"
    backbone.objective["representation"] = "right_to_left"

    def oracle(text: Text) -> float:
        total, size = 0.0, len(text.tokens) + 2
        mask = torch.ones(size, size, dtype=torch.bool).triu()[None, None]
        for i in range(1, size - 1):
            masked = row(text)
            masked[i] = 3
            logits = backbone.network(torch.tensor([masked]), attention_mask=mask).logits
            total += log_p(logits[0, i], row(text)[i])
        return total

    for texts in (TEXTS, CLOZE):
        assert scores(backbone, texts) == pytest.approx([oracle(t) for t in texts], abs=1e-4)


@torch.no_grad()
def test_xlnet_does_not_see_what_it_names() -> None:
    backbone = make("xlnet", "plm")

    def oracle(text: Text) -> float:
        total, ids = 0.0, torch.tensor([row(text)])
        begin, end = text.gap or (0, len(text.tokens))
        for i in range(begin + 1, end + 1):
            hidden = torch.zeros(1, ids.shape[1], ids.shape[1])
            hidden[:, :, i : (end + 1 if text.gap else i + 1)] = 1
            mapping = torch.zeros(1, 1, ids.shape[1])
            mapping[0, 0, i] = 1
            logits = backbone.network(ids, perm_mask=hidden, target_mapping=mapping).logits
            total += log_p(logits[0, 0], int(ids[0, i]))
        return total

    for texts in (TEXTS, CLOZE):
        assert scores(backbone, texts) == pytest.approx([oracle(t) for t in texts], abs=1e-4)


@torch.no_grad()
def test_cbow_names_a_token_from_its_neighbours() -> None:
    backbone = make("static", "cbow")
    assert isinstance(backbone.network, StaticVectors)
    table, out = backbone.network.embeddings.weight, backbone.network.output.weight
    around = (table[5] + table[7]) / 2
    assert scores(backbone, CLOZE)[0] == pytest.approx(log_p(out @ around, 9), abs=1e-4)


@pytest.mark.parametrize(
    ("family", "name", "named"),
    [("bert", "mlm", 3), ("gpt2", "clm", 4), ("t5", "span_corruption", 4), ("bart", "mass", 4)],
)
def test_uniform_predictions(family: str, name: str, named: int) -> None:
    """Equal logits: log V for each token named."""
    backbone = make(family, name)
    for weight in backbone.network.parameters():
        torch.nn.init.zeros_(weight)
    assert scores(backbone, TEXTS[:1])[0] == pytest.approx(-named * math.log(40))


@pytest.mark.parametrize(("family", "name"), [("bert", "mlm"), ("gpt2", "clm")])
def test_the_batches_change_nothing(
    family: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = make(family, name)
    together = scores(backbone, TEXTS)
    monkeypatch.setattr("harness.pretraining.scoring.likelihood.MAX_TOKENS", 1)
    monkeypatch.setattr("harness.pretraining.scoring.likelihood.TEXTS_AT_ONCE", 2)
    monkeypatch.setattr("harness.pretraining.scoring.likelihood.MAX_LOGITS", 3 * VOCABULARY.size)
    assert scores(backbone, TEXTS) == pytest.approx(together, abs=1e-4)
    assert scores(backbone, TEXTS[::-1]) == pytest.approx(together[::-1], abs=1e-4)


@pytest.mark.parametrize("score", [log_likelihoods, written])
def test_the_device_is_that_of_the_settings(monkeypatch: pytest.MonkeyPatch, score: Any) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    devices: list[str] = []

    def move(backbone: Backbone, device: torch.device) -> Backbone:
        devices.append(device.type)
        return backbone

    monkeypatch.setattr(Backbone, "to", move)
    backbone = make("gpt2", "clm")
    score(backbone, VOCABULARY, CLOZE, Compute(accelerator="cpu"))
    assert devices == ["cpu"]


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "opt", "bart", "transformer"])
def test_texts_beyond_the_positions_of_a_network_are_refused(family: str) -> None:
    name = {"bert": "mlm", "roberta": "mlm", "gpt2": "clm", "opt": "clm"}.get(family)
    objective = OBJECTIVES[name or "denoising_infill"]
    assert isinstance(objective, Objective)
    architecture = Architecture.model_validate({"family": family, "max_position": 16})
    backbone = build(architecture, SIZE, TOKENS, objective.representation, seed=0)
    backbone.objective = objective.model_dump(mode="json")
    assert np.isfinite(scores(backbone, [Text(tuple(range(4, 18)))])).all()
    with pytest.raises(ValueError, match=r"a text has 1\d tokens .* the network has 16 positions"):
        scores(backbone, [Text(tuple(range(4, 20)))])


@pytest.mark.parametrize("family", ["deberta", "deberta_v3"])
def test_the_positions_of_a_mask_decoder_are_a_limit(family: str) -> None:
    fields = {"family": family, "max_position": 16, "mask_decoder": "enhanced"}
    architecture = Architecture.model_validate(fields)
    backbone = build(architecture, SIZE, TOKENS, "bidirectional", seed=0)
    assert np.isfinite(scores(backbone, [Text(tuple(range(4, 18)))])).all()
    with pytest.raises(ValueError, match=r"a text has 17 tokens .* the network has 16 positions"):
        scores(backbone, [Text(tuple(range(4, 19)))])


@pytest.mark.parametrize("family", ["llama", "deberta", "modernbert", "t5"])
def test_networks_without_a_table_read_any_text(family: str) -> None:
    name = {"llama": "clm", "t5": "span_corruption"}.get(family, "mlm")
    representation = OBJECTIVES[name].components[-1][1].representation
    architecture = Architecture.model_validate({"family": family, "max_position": 16})
    backbone = build(architecture, SIZE, TOKENS, representation, seed=0)
    assert np.isfinite(scores(backbone, [Text(tuple(range(4, 34)))])).all()


def test_requests_as_documented() -> None:
    """The table at the head of `harness.pretraining.scoring.requests`."""

    def first(name: str) -> Request:
        objective = OBJECTIVES[name]
        assert isinstance(objective, Objective)
        return make_requests(Text((7, 8, 9), (1, 2)), objective, VOCABULARY)[0]

    assert first("mlm") == Request([1, 7, 3, 9, 2], [], [2], [8])
    assert first("clm") == Request([1], [7, 8, 9, 2], [0, 1, 2, 3], [7, 8, 9, 2])
    assert first("span_corruption") == Request([1, 7, 39, 9, 2], [39, 8, 38, 2], [1, 2], [8, 38])
    assert first("denoising") == Request([1, 7, 3, 9, 2], [7, 8, 9, 2], [1, 2], [8, 9])
    assert first("drop_corruption") == Request([1, 7, 9, 2], [8, 2], [0, 1], [8, 2])


def test_a_model_that_saw_its_targets_scores_no_text() -> None:
    visible = Objective.model_validate(
        {
            "transform": {"kind": "none"},
            "representation": "bidirectional",
            "output": {"kind": "next_token"},
        }
    )
    assert unsupported_request(visible) == "it has seen the tokens that it was trained to predict"
    assert not predicts_every_token(visible)  # its loss is no likelihood of the text


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_has_requests_or_a_reason(name: str) -> None:
    objective = OBJECTIVES[name].components[-1][1]
    unsupported = name in (
        *("rtd", "corrective_lm", "coco_lm", "sequence_autoencoder", "deshuffling"),
        *("denoising_permute", "denoising_rotate", "skipgram", "cbow_negative_sampling"),
        *("glove", "skip_thought"),
    )
    assert bool(unsupported_request(objective)) == unsupported
    if not unsupported:
        for text in TEXTS + CLOZE:
            for request in make_requests(text, objective, VOCABULARY):
                seen = objective.representation == "bidirectional"  # by what predicts it
                assert not (request.continuation and seen)
                within = request.continuation or request.source
                assert [
                    within[i] for i in request.positions
                ] == request.targets or not request.continuation


def test_unknown_pretraining_is_assumed_from_the_representation() -> None:
    backbone = make("gpt2", "clm")
    known = scores(backbone, TEXTS)
    backbone.objective = {}
    assert scores(backbone, TEXTS) == known
    bart = Vocabulary(40, 0, 1, 2, 3, SPECIAL, ~SPECIAL)
    assert default_objective("encoder_decoder", VOCABULARY).output.kind == "dropped_spans"
    assert default_objective("encoder_decoder", bart).output.kind == "whole_text"


def test_untrained_heads_are_not_scored() -> None:
    learned = {name: RECIPES[name].objectives[0] for name in ("tinybert", "distilbert")}
    assert "not to predict tokens" in unsupported_request(learned["tinybert"])
    assert not unsupported_request(learned["distilbert"])


def logits_after(backbone: Backbone, begun: list[int], before: list[int]) -> Tensor:
    """[V] by transformers' own network: of a mask at the end, of the next token, or of the decoder,
    which reads the given text and has written the rest."""
    network, name = backbone.network, backbone.family
    if name in ("bert", "modernbert"):
        return network(torch.tensor([[1, *before, 3, 2]])).logits[0, -2]
    if name == "gpt2":
        return network(torch.tensor([[1, *before]])).logits[0, -1]
    gap, first = (39, [39, *before[len(begun) :]]) if name == "t5" else (3, before)
    decoder = torch.tensor([[decoder_start(backbone, VOCABULARY), *first]])
    source = torch.tensor([[1, *begun, gap, 2]])
    return network(input_ids=source, decoder_input_ids=decoder).logits[0, -1]


@pytest.mark.parametrize(
    ("family", "objective"),
    [
        ("bert", "mlm"),
        ("modernbert", "mlm"),
        ("gpt2", "clm"),
        ("t5", "span_corruption"),
        ("bart", "denoising_infill"),
    ],
)
@torch.no_grad()
def test_what_is_written_is_what_a_loop_writes(family: str, objective: str) -> None:
    backbone, begun = make(family, objective), [5, 9, 30]
    text = list(begun)
    for _ in range(4):
        text.append(int(logits_after(backbone, begun, text).argmax()))
    texts = [Text(tuple(text), (3, 7)), Text((*text, 8), (3, 7)), Text(tuple(text), (3, 5))]
    for place in range(3, 7):
        other = [*text]
        other[place] = 7 if text[place] != 7 else 8
        texts.append(Text(tuple(other), (3, 7)))
    assert list(written(backbone, VOCABULARY, texts)) == [True] * 3 + [False] * 4


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_left_to_right_predicts_each_token_from_those_before(name: str) -> None:
    """The tokens of the gap in order, none of which is in the source of its own prediction."""
    objective = OBJECTIVES[name]
    if not isinstance(objective, Objective) or unsupported_request(objective):
        pytest.skip("scores no texts")
    requests = left_to_right(Text((5, 10, 11, 12, 7), (2, 4)), objective, VOCABULARY)
    assert [target for request in requests for target in request.targets] == [11, 12]
    for request in requests:
        assert len(request.positions) == len(request.targets)
        hidden = request.hidden  # CBOW reads the tokens around a place, not the one in it
        hidden = tuple(request.positions) if objective.representation == "cbow" else hidden
        shown = [token for i, token in enumerate(request.source) if i not in hidden]
        assert {12, 7}.isdisjoint(shown)
        assert 11 not in shown or request.targets == [12]
