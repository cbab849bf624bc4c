"""Skip-Thought: its losses by hand, and that decoders see of a sentence its vector alone."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from harness.models import Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.flops import Lengths
from harness.pretraining.learners.skip_thought import ConditionalGRU, SkipThought
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.loader import TensorBatch, to_step, to_tensors
from harness.pretraining.objectives.objective import Component, Mixture, Objective
from harness.pretraining.objectives.outputs import NeighbourSentences
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring.requests import unsupported_request
from harness.pretraining.training_flops import objective_flops
from tests.pretraining.objectives.test_sentences import batch_of

SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)
TEXT = ("| 5 6 | 7 | 8 9 10 | 11", "| 12 13 | 14")
OTHER = ("| 20 21 22 | 7 | 8 9 10 | 11", "| 23 | 14")
"""Another first sentence in each row, of another length."""
FAMILIES = [
    ("lstm", "causal"),
    ("lstm/gru", "causal"),
    ("bilstm", "bidirectional"),
    ("bert", "bidirectional"),
]
"""Families, or a family and its cell, and their representations."""
EVERY = pytest.mark.parametrize(("family", "reading"), FAMILIES)


def make(family: str = "lstm", reading: str = "causal", pooling: str = "native") -> SkipThought:
    fields: dict[str, object] = dict(zip(("family", "cell"), family.split("/"), strict=False))
    fields |= {"dropout": 0, "attention_dropout": 0, "initializer_range": 0.3}
    backbone = build(
        Architecture.model_validate(fields), SIZE, Tokens(40, 0, 2, 3), reading, seed=0
    )
    torch.manual_seed(0)
    return SkipThought(backbone, NeighbourSentences.model_validate({"pooling": pooling})).eval()


def tensors(*rows: str) -> TensorBatch:
    return to_tensors(batch_of(*rows))


def stepped(decoder: ConditionalGRU, embedded: Tensor, vector: Tensor) -> Tensor:
    """[U, H] states of a conditional GRU, gate by gate, from tokens [U, E] and a vector [H]."""
    gru: Any = decoder.gru
    width = embedded.shape[1]
    of_word, of_vector = gru.weight_ih_l0[:, :width], gru.weight_ih_l0[:, width:]
    state, states = torch.zeros_like(vector), []
    for word in embedded:
        read = of_word @ word + of_vector @ vector + gru.bias_ih_l0
        kept = gru.weight_hh_l0 @ state + gru.bias_hh_l0
        (r, z, new), (r_, z_, old) = read.chunk(3), kept.chunk(3)
        update = torch.sigmoid(z + z_)
        proposed = torch.tanh(new + torch.sigmoid(r + r_) * old)
        state = (1 - update) * proposed + update * state
        states.append(state)
    return torch.stack(states)


@EVERY
@torch.no_grad()
def test_losses_are_those_of_two_decoders(family: str, reading: str) -> None:
    """Of sentences one by one, without padding: the last state of an LSTM or a GRU, the ends of a
    biLSTM, the first token of BERT."""
    learner = make(family, reading)
    backbone, embed = learner.backbone, learner.backbone.network.get_input_embeddings()
    rows = [[[5, 6], [7], [8, 9, 10], [11]], [[12, 13], [14]]]
    expected = {"token": 0.0, "previous": 0.0}
    for sentences in rows:
        for number, sentence in enumerate(sentences):
            ids = torch.tensor([[2, *sentence, 3]])
            (states,) = backbone(ids, token_type_ids=torch.zeros_like(ids)).last_hidden_state
            ends = torch.cat((states[-1, :8], states[0, 8:]))
            vector = {"lstm": states[-1], "bilstm": ends, "bert": states[0]}[family.split("/")[0]]
            for name, other in (("token", number + 1), ("previous", number - 1)):
                if 0 <= other < len(sentences):
                    decoder = learner.next if name == "token" else learner.previous
                    read = embed(torch.tensor([1, *sentences[other]]))
                    logits = backbone.token_logits(stepped(decoder, read, vector))
                    targets = torch.tensor([*sentences[other], 3])
                    expected[name] += float(F.cross_entropy(logits, targets, reduction="sum"))
    for found in (learner(tensors(*TEXT))[0], learner(tensors(*TEXT), measured=True)[0]):
        assert {name: float(value) for name, value in found.items()} == pytest.approx(expected)


@EVERY
@torch.no_grad()
def test_decoders_see_the_vector_alone(
    family: str, reading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all sentences have the same vector, the sources do not matter; else they do."""
    learner = make(family, reading).double()
    one, other = tensors(*TEXT), tensors(*OTHER)
    # What follows and precedes the other sentences is the same; the first ones are predicted too.
    kept = {name: one[name] for name in one if name.startswith(("decoder", "prev", "pos", "targ"))}
    other |= kept
    free = [learner(batch)[0] for batch in (one, other)]
    assert abs(float(free[0]["token"] - free[1]["token"])) > 1e-6
    same = torch.ones(len(one["input_ids"]), 16, dtype=torch.float64)
    monkeypatch.setattr(learner, "vectors", lambda batch: same)
    tied = [learner(batch)[0] for batch in (one, other)]
    assert all(torch.equal(tied[0][name], tied[1][name]) for name in ("token", "previous"))


@pytest.mark.parametrize(("pooling", "places"), [("native", "last"), ("mean", "all")])
def test_gradients_reach_the_states_that_are_pooled(pooling: str, places: str) -> None:
    learner, batch = make(pooling=pooling), tensors(*TEXT)
    seen: list[Tensor] = []

    def keep(_: Any, __: Any, output: Any) -> None:
        output.last_hidden_state.retain_grad()
        seen.append(output.last_hidden_state)

    learner.backbone.register_forward_hook(keep)
    sum(learner(batch)[0].values()).backward()
    (states,) = seen
    assert states.grad is not None
    lengths = batch["attention_mask"].sum(1)
    position = torch.arange(states.shape[1])
    expected = position == lengths[:, None] - 1 if places == "last" else position < lengths[:, None]
    assert torch.equal(states.grad.abs().sum(-1) > 0, expected)


def test_micro_batches_have_the_losses_of_the_whole() -> None:
    learner = make()
    whole, cut = (to_step(batch_of(*TEXT), size) for size in (1000, 1))
    assert (len(whole.parts), len(cut.parts)) == (1, 6)
    sums = learner(whole.parts[0])[0]
    for name, value in sums.items():
        parts = torch.stack([learner(part)[0][name] for part in cut.parts])
        torch.testing.assert_close(parts.sum(), value)
    assert whole.counts["token"] == 2 + 4 + 2 + 2
    assert whole.counts["previous"] == 3 + 2 + 4 + 3
    assert whole.num_tokens == cut.num_tokens == 9 + 5


def test_vectors_learn_what_follows() -> None:
    """The next sentence is one of eight, which the decoder cannot know without the source."""
    rows = [f"| {5 + number} | {20 + number}" for number in range(8)]
    learner, batch = make().train(), tensors(*rows)
    optimizer = torch.optim.Adam(learner.parameters(), 0.03)
    for _ in range(120):
        optimizer.zero_grad()
        loss = learner(batch)[0]["token"] / len(batch["targets"])
        loss.backward()
        optimizer.step()
    without_source = math.log(8) / 2  # of a word and an end token
    assert float(loss.detach()) < 0.5 * without_source


def test_the_encoder_alone_is_saved(tmp_path: Path) -> None:
    learner = make()
    learner.backbone.objective = OBJECTIVES["skip_thought"].model_dump(mode="json")
    learner.save(tmp_path)
    loaded, batch = load(tmp_path), tensors(*TEXT)
    assert not loaded.has_trained_head
    again = SkipThought(loaded.eval(), NeighbourSentences())
    torch.testing.assert_close(again.vectors(batch), learner.vectors(batch))
    saved = sum(weight.numel() for weight in loaded.parameters())
    assert saved < sum(weight.numel() for weight in learner.parameters())


def test_an_update_costs_what_is_counted() -> None:
    """Forward; the plan leaves out the steps of decoders at padding and where nothing follows."""
    spec = RECIPES["skip_thought"].model_copy(
        update={
            "model": Architecture(family="bert", dropout=0, attention_dropout=0),
            "size": SIZE,
            "tokenizer": RECIPES["skip_thought"].tokenizer.model_copy(update={"vocab_size": 40}),
        }
    )
    learner = make("bert")
    batch = tensors("| 5 6 7 8 9 10 | 11 12 13 14 15 16")  # of 8 tokens with special ones
    learner.backbone.network.config._attn_implementation = "eager"
    with FlopCounterMode(display=False) as counter:
        learner.predictions(batch)
    step = FlopCounterMode(display=False)
    with step:
        learner.next(torch.zeros(1, 1, 16), torch.zeros(1, 16))
    unplanned = 2 * 2 * 8 - 2 * 7
    # Of 16 tokens, the plan would make one sentence; the encoder is counted as it reads two.
    one = objective_flops(spec.objectives[0], spec, Lengths(8, 7, 7)) / 3
    assert counter.get_total_flops() == 2 * one + unplanned * step.get_total_flops()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"representation": "bidirectional", "sentence_pair": "nsp"}, "without sentence_pair"),
        ({"embedding_noise": 0.1}, "without embedding_noise"),
        ({"masking": "static"}, "without static masking"),
        ({"transform": "token_masking"}, "can follow the transform none, but it is token_masking"),
        ({"representation": "encoder_decoder"}, "under representation causal, bidirectional, but"),
    ],
)
def test_what_does_not_go_with_neighbours(changes: dict[str, Any], message: str) -> None:
    fields = {"transform": "none", "representation": "causal", "output": "neighbour_sentences"}
    with pytest.raises(ValidationError, match=message):
        Objective.model_validate(fields | changes)


def test_no_component_of_a_mixture() -> None:
    ((_, objective),) = OBJECTIVES["skip_thought"].components
    part = Component(objective=objective)
    with pytest.raises(ValidationError, match="a mixture is of objectives for one network"):
        Mixture(mixture=(part, part))


def test_a_mask_decoder_is_refused() -> None:
    objective = OBJECTIVES["skip_thought"].model_copy(update={"representation": "bidirectional"})
    model = Architecture(family="deberta", mask_decoder="enhanced")
    fields = dict(RECIPES["skip_thought"]) | {"objective": objective, "model": model}
    with pytest.raises(ValidationError, match=r"objective\.output neighbour_sentences; leave one"):
        Pretrain(**fields)


def test_texts_are_not_scored() -> None:
    objective = OBJECTIVES["skip_thought"]
    assert isinstance(objective, Objective)
    assert "decoders, which predict tokens, are not kept" in unsupported_request(objective)
