"""DeBERTa's enhanced mask decoder: transformers' layers composed by hand, where it is read, what it
costs, and what it does not suit."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModel, AutoTokenizer

from harness.data.tokenizers.training import train
from harness.exchange.checkpoints.network import HEAD_DECODES, write_network
from harness.finetuning.adaptation import Full
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.methods.parts import freeze_unused
from harness.finetuning.protocol import Protocol
from harness.models import SIZES, Architecture
from harness.models.backbone import Backbone
from harness.models.build import build
from harness.models.counts.backbones import count_parameters
from harness.models.flops import Lengths, forward_flops
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring import likelihood
from tests.finetuning.methods.models import batch as task_batch
from tests.finetuning.methods.models import learn
from tests.models.counts.head_parameters import count_trained_parameters
from tests.models.networks import TOKENS, VOCAB, overfit, padding, saved, text, without_gradient

NANO = SIZES["nano"]
FAMILIES = ["deberta", "deberta_v3"]
POSITIONS = "mask_decoder.position_embeddings.weight"


def declared(family: str, **fields: Any) -> Architecture:
    without = {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.1}
    return Architecture(family=family, max_position=64, **{**without, **fields})


def made(family: str, mask_decoder: str | None = "enhanced", **fields: Any) -> Backbone:
    architecture = declared(family, mask_decoder=mask_decoder, **fields)
    return build(architecture, NANO, TOKENS, "bidirectional", 0).eval()


def token_states(backbone: Backbone, ids: Tensor, mask: Tensor | None = None) -> Tensor:
    states: Tensor = backbone(ids, attention_mask=mask, for_token_head=True).last_hidden_state
    return states


def by_hand(backbone: Backbone, ids: Tensor, mask: Tensor) -> Tensor:
    """`emd_context_layer` of microsoft/DeBERTa, from the hidden states of transformers' network."""
    network: Any = backbone.network
    encoder, out = network.deberta.encoder, network.deberta(ids, mask, output_hidden_states=True)
    hidden_states = out.hidden_states[-2]
    z_states = network.mask_decoder.position_embeddings(torch.arange(ids.shape[1])) + hidden_states
    query_states, last = z_states, encoder.layer[-1]
    for _ in range(2):
        mixed = disentangled(last.attention.self, encoder, hidden_states, query_states, mask)
        attended = last.attention.output(mixed, query_states)
        query_states = last.output(last.intermediate(attended), attended)
    return query_states


def disentangled(own: Any, encoder: Any, keyed: Tensor, queried: Tensor, mask: Tensor) -> Tensor:
    """[B, T, H] equation 4 of He et al. 2021, by loops over heads and pairs of positions."""
    (rows, length, width), heads = keyed.shape, own.num_attention_heads
    size, table = width // heads, encoder.get_rel_embedding()
    if hasattr(own, "in_proj"):  # of the first version; each head has its three side by side
        q, k, v = own.in_proj.weight.view(heads, 3, size, width).unbind(1)
        q_bias, k_bias, v_bias = own.q_bias, torch.zeros(width), own.v_bias
        key_of, query_of = own.pos_proj(table), own.pos_q_proj(table)
    else:
        q, k, v = (one.weight.view(heads, size, width) for one in own_three(own))
        q_bias, k_bias, v_bias = (one.bias for one in own_three(own))
        key_of, query_of = own.key_proj(table), own.query_proj(table)
    zero, scores = len(table) // 2, torch.full((rows, heads, length, length), -1e9)
    cut = [slice(head * size, (head + 1) * size) for head in range(heads)]
    for head, part in enumerate(cut):
        query, key = queried @ q[head].T + q_bias[part], keyed @ k[head].T + k_bias[part]
        for i in range(length):
            for j in range(length):  # in these short texts every distance has a row of its own
                c2c = (query[:, i] * key[:, j]).sum(-1)
                c2p = (query[:, i] * key_of[zero + i - j, part]).sum(-1)
                p2c = (key[:, j] * query_of[zero + i - j, part]).sum(-1)
                seen = (mask[:, i] * mask[:, j]).bool()
                scores[seen, head, i, j] = ((c2c + c2p + p2c) / (3 * size) ** 0.5)[seen]
    shares = scores.softmax(-1)
    mixed = [shares[:, h] @ (keyed @ v[h].T + v_bias[part]) for h, part in enumerate(cut)]
    return torch.cat(mixed, -1)


def own_three(own: Any) -> tuple[Any, Any, Any]:
    """The projections of DeBERTaV3, which serve the distances, too."""
    return own.query_proj, own.key_proj, own.value_proj


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_it_is_that_of_the_release(family: str) -> None:
    backbone, ids, mask = made(family), text(), padding()
    ours = token_states(backbone, ids, mask)
    torch.testing.assert_close(ours, by_hand(backbone, ids, mask), atol=1e-5, rtol=1e-4)
    whole = torch.ones_like(mask)
    torch.testing.assert_close(token_states(backbone, ids), by_hand(backbone, ids, whole))


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_without_positions_the_first_step_is_the_last_layer(family: str) -> None:
    """Its query is then that of self-attention; a second step follows."""
    backbone, ids = made(family), text()
    network: Any = backbone.network
    network.mask_decoder.position_embeddings.weight.zero_()
    outputs: list[Tensor] = []
    network.deberta.encoder.layer[-1].register_forward_hook(lambda *a: outputs.append(a[-1][0]))
    plain = backbone(ids).last_hidden_state
    decoded = token_states(backbone, ids)
    torch.testing.assert_close(outputs[1], plain)
    assert len(outputs) == 3 and torch.equal(outputs[2], decoded)
    assert not torch.allclose(decoded, plain, atol=1e-2)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_all_but_the_token_head_reads_the_last_layer(family: str) -> None:
    """Where its weights and states are those of a network without the decoder, initialised
    alike."""
    with_decoder, without, ids = made(family), made(family, None), text()
    state = with_decoder.network.state_dict()
    assert state.pop(POSITIONS).std() == pytest.approx(0.1, rel=0.05)
    mine = without.network.state_dict()
    assert state.keys() == mine.keys() and all(torch.equal(state[n], mine[n]) for n in mine)
    plain = without(ids).last_hidden_state
    assert torch.equal(with_decoder(ids).last_hidden_state, plain)
    assert torch.equal(token_states(without, ids), plain)
    assert not torch.allclose(token_states(with_decoder, ids), plain, atol=1e-2)


@torch.no_grad()
def test_one_layer_decodes_from_the_embeddings() -> None:
    architecture = declared("deberta", mask_decoder="enhanced")
    one = NANO.model_copy(update={"num_layers": 1})
    backbone = build(architecture, one, TOKENS, "bidirectional", 0).eval()
    torch.testing.assert_close(
        token_states(backbone, text(), padding()), by_hand(backbone, text(), padding())
    )


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_padding_changes_nothing(family: str) -> None:
    backbone, ids, mask = made(family), text(), padding()
    padded = token_states(backbone, ids * mask, mask)
    for row, length in enumerate(mask.sum(1).tolist()):
        alone = token_states(backbone, ids[row : row + 1, :length])[0]
        torch.testing.assert_close(padded[row, :length], alone, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_saved_network_is_the_same(family: str, tmp_path: Path) -> None:
    backbone, ids = made(family), text()
    again = saved(backbone, tmp_path).eval()
    assert torch.equal(token_states(backbone, ids), token_states(again, ids))
    copied = copy.deepcopy(backbone)
    states = token_states(backbone, ids)
    for weight in backbone.parameters():
        weight.zero_()
    assert torch.equal(states, token_states(copied, ids))


@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_are_counted(family: str) -> None:
    """The positions count with the token head, so that fine-tuned networks count alike."""
    architecture = declared(family, mask_decoder="enhanced")
    count = sum(parameter.numel() for parameter in made(family).network.parameters())
    assert count == count_trained_parameters(architecture, NANO, VOCAB)
    assert count_parameters(architecture, NANO, VOCAB) == count_parameters(
        declared(family), NANO, VOCAB
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_products_are_counted(family: str) -> None:
    """torch's count of the states and the logits of all tokens; none where none is named."""
    backbone, architecture = made(family), declared(family, mask_decoder="enhanced")
    with FlopCounterMode(display=False) as counter:
        backbone.token_logits(token_states(backbone, text(4)))
    named = Lengths(12, predicted=12)
    assert counter.get_total_flops() == 4 * forward_flops(
        architecture, NANO, VOCAB, named, batch_size=4
    )
    plain, decoding = (
        forward_flops(one, NANO, VOCAB, Lengths(12)) for one in (declared(family), architecture)
    )
    assert plain == decoding


def learner_of(family: str) -> TokenPrediction:
    objective: Any = OBJECTIVES["mlm"]
    return TokenPrediction(made(family).train(), (objective,), 0.1)


def masked() -> dict[str, Tensor]:
    tokens, positions = text(), torch.tensor([3, 17, 30, 44])
    hidden = tokens.flatten().index_fill(0, positions, 1).view(4, 12)
    return {
        "input_ids": hidden,
        "positions": positions,
        "targets": tokens.flatten()[positions].clone(),
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_all_is_trained_and_one_batch_is_learned(family: str) -> None:
    learner, batch = learner_of(family), masked()
    assert without_gradient(learner, batch) == set()
    learner.zero_grad()
    assert overfit(learner, batch) < 0.3


def test_it_is_deterministic() -> None:
    first, second = (overfit(learner_of("deberta"), masked(), steps=3) for _ in range(2))
    assert first == second


def test_each_position_has_a_gradient_of_its_own() -> None:
    learner = learner_of("deberta")
    learner(masked())[0]["token"].backward()
    moved = learner.get_parameter(f"backbone.network.{POSITIONS}").grad
    assert moved is not None
    assert moved.abs().sum(1).gt(0).nonzero().flatten().tolist() == [3, 5, 6, 8]  # of 12 a row


@torch.no_grad()
def test_likelihoods_are_of_the_decoded_states() -> None:
    backbone, batch = made("deberta"), masked()
    states = likelihood._states(backbone, batch, "bidirectional")
    assert torch.equal(states, token_states(backbone, batch["input_ids"]))


def test_fine_tuning_leaves_the_positions() -> None:
    """They belong to the token head, which is frozen."""
    model = Classifier(made("deberta"), 2, Protocol(head_dropout=0.0), Full()).train()
    freeze_unused(model)
    before = model.backbone.network.get_parameter(POSITIONS).clone()
    first, last = learn(model, task_batch(), 1e-2)
    assert last < first
    assert torch.equal(model.backbone.network.get_parameter(POSITIONS), before)


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
def test_auxiliary_masks_in_fine_tuning_are_named_as_in_pretraining(family: str) -> None:
    """From the decoded states, which the token head has learned to read."""
    learner, batch = learner_of(family).eval(), masked()
    expected = learner(batch)[0]["token"] / len(batch["targets"])
    model = Classifier(learner.backbone, 2, Protocol(head_dropout=0.0), Full()).eval()
    ones = torch.ones_like(batch["input_ids"])
    rows = batch | {"attention_mask": ones, "token_type_ids": 0 * ones}
    found = model.token_loss(rows, "bidirectional")
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_export_is_of_the_plain_network(family: str, tmp_path: Path) -> None:
    """A token head of transformers would read other states."""
    recipe = RECIPES["deberta"]
    tokenizer = recipe.tokenizer.model_copy(update={"vocab_size": 300})
    train(tokenizer, iter(["the cat sat on the mat"] * 20), tmp_path / "tokenizer")
    backbone = made(family)
    backbone.objective = recipe.objective.model_dump(mode="json")
    backbone.save(tmp_path / "model")
    notes = write_network(tmp_path / "model", tmp_path / "tokenizer", tmp_path / "out")
    assert HEAD_DECODES in notes
    auto = AutoModel.from_pretrained(tmp_path / "out").eval()
    assert auto.config.architectures == [type(auto).__name__]
    ids = text()
    assert torch.equal(auto(ids).last_hidden_state, backbone(ids).last_hidden_state)
    assert AutoTokenizer.from_pretrained(tmp_path / "out").vocab_size


def changed(**fields: Any) -> Pretrain:
    """The recipe with the decoder and other fields."""
    declared_fields = RECIPES["deberta"].model_dump()
    declared_fields["model"]["mask_decoder"] = "enhanced"
    for name, value in fields.items():
        declared_fields[name] = {**declared_fields[name], **value}
    return Pretrain.model_validate(declared_fields)


def test_the_recipe_may_have_it() -> None:
    assert changed().model.mask_decoder == "enhanced"
    assert RECIPES["deberta"].model.mask_decoder is None


def test_other_networks_are_refused() -> None:
    with pytest.raises(ValidationError, match="mask_decoder belongs to deberta, deberta_v3, but"):
        Architecture(family="bert", mask_decoder="enhanced")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"objective": OBJECTIVES["rtd"].model_dump()},
            "decodes masked tokens alone, but there is also objective.output replaced_token; leave",
        ),
        (
            {"objective": {"sentence_pair": "nsp"}, "packing": {"format": "segment_pair"}},
            "there is also objective.sentence_pair nsp",
        ),
    ],
)
def test_other_losses_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        changed(**fields)


def test_teachers_are_refused() -> None:
    student = RECIPES["distilbert"].model_dump()
    student["teacher"] |= {"model": changed().model, "objective": OBJECTIVES["mlm"]}
    with pytest.raises(ValidationError, match=r"leave teacher\.model\.mask_decoder out"):
        Pretrain.model_validate(student)
