"""Permutation LM: the masks of transformers' collator, XLNet's own loss, nothing seen too early."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models
from torch import Tensor
from transformers import DataCollatorForPermutationLanguageModeling, PreTrainedTokenizerFast

from harness.pretraining.learners.permutation import Permutation, perm_mask, query_states
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.loader import TensorBatch, to_tensors
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.targets import assemble
from harness.pretraining.objectives.transforms.order import PermutationOrder, permutation_order
from tests.models.networks import mean_loss, network, overfit, small, without_gradient
from tests.pretraining.objectives.transforms.texts import VOCABULARY, make_rows

VOCAB = 90


def rows() -> Rows:
    """Three rows of different lengths, the second of two segments."""
    made = make_rows([[20], [9, 8], [14]], seed=2)
    text = made.maskable
    made.tokens[text] = 5 + made.tokens[text] % (VOCAB - 5)
    made.types[1, 11:] = 1
    return made


def make_batch() -> TensorBatch:
    objective, made = OBJECTIVES["plm"], rows()
    assert isinstance(objective, Objective)
    settings = PermutationOrder(max_span_length=3, context_factor=2)
    corrupted = permutation_order(settings, made, np.random.default_rng(0), VOCABULARY)
    return to_tensors(assemble(made, corrupted, objective, None, VOCABULARY, 0))


def learner() -> Permutation:
    return Permutation(small("xlnet", "permuted"))


def by_hand(batch: TensorBatch) -> dict[str, Tensor]:
    """perm_mask [B, T, T], target_mapping [B, P, T] and labels [B, P], one by one."""
    order, chosen, predicted = (batch[name] for name in ("order", "chosen", "predicted"))
    count, width = order.shape
    hidden, mapping = torch.zeros(count, width, width), torch.zeros(*predicted.shape, width)
    labels = torch.full(predicted.shape, -100)
    for row in range(count):
        for j in chosen[row].nonzero().flatten().tolist():
            for i in range(width):
                earlier = bool(chosen[row, i]) and bool(order[row, j] < order[row, i])
                hidden[row, i, j] = 0.0 if earlier else 1.0
        for number, column in enumerate(predicted[row].tolist()):
            mapping[row, number, column] = 1
            if chosen[row, column]:
                labels[row, number] = batch["input_ids"][row, column]
    return {"perm_mask": hidden, "target_mapping": mapping, "labels": labels}


def test_loss_is_that_of_transformers() -> None:
    batch, ours = make_batch(), learner().eval()
    made = by_hand(batch)
    assert torch.equal(perm_mask(batch["order"], batch["chosen"]), made["perm_mask"])
    theirs = network(ours.backbone)(
        batch["input_ids"],
        attention_mask=batch["attention_mask"],
        token_type_ids=batch["token_type_ids"],
        **made,
    )
    torch.testing.assert_close(mean_loss(ours, batch), theirs.loss, atol=1e-5, rtol=0)


def test_masks_are_those_of_transformers_collator() -> None:
    """With the order that can be read from its mask: how many targets a target sees."""
    words = {name: number for number, name in enumerate(["[PAD]", "[UNK]", "[MASK]", "[CLS]"])}
    words |= {str(number): number for number in range(len(words), 60)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="[UNK]")),
        pad_token="[PAD]",
        mask_token="[MASK]",
    )
    collator = DataCollatorForPermutationLanguageModeling(tokenizer)
    torch.manual_seed(0)
    made = collator([{"input_ids": torch.randint(4, 60, (32,))} for _ in range(4)])
    chosen = made["labels"] != -100
    seen = (chosen[:, None, :] & (made["perm_mask"] == 0)).sum(2)
    order = torch.where(chosen, seen, -1)
    assert chosen.any(1).all()
    assert torch.equal(perm_mask(order, chosen), made["perm_mask"])


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_token_is_seen_by_later_ones_alone(row: int) -> None:
    ours, batch = learner().eval(), make_batch()
    order, predicted = batch["order"][row], batch["predicted"][row]
    targets = [c for c in predicted.tolist() if batch["chosen"][row, c]]
    before = query_states(ours.backbone, batch)
    for column in targets:
        changed = {**batch, "input_ids": batch["input_ids"].clone()}
        changed["input_ids"][row, column] = 5 + (batch["input_ids"][row, column] + 1) % 40
        after = query_states(ours.backbone, changed)
        differs = ((before - after).abs() > 1e-6).any(2)
        later = (order[targets] > order[column]).tolist()
        assert differs[row, : len(targets)].tolist() == later
        assert not differs[torch.arange(3) != row].any()


def test_padding_is_not_seen() -> None:
    ours, batch = learner().eval(), make_batch()
    changed = {**batch, "input_ids": batch["input_ids"].clone()}
    changed["input_ids"][batch["attention_mask"] == 0] = 7
    torch.testing.assert_close(mean_loss(ours, batch), mean_loss(ours, changed))


def test_all_is_trained_and_one_batch_learned_by_heart() -> None:
    assert not without_gradient(learner(), make_batch())
    assert overfit(learner(), make_batch()) < 0.2
