"""Task networks: outputs against other implementations, padding, training, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import PreTrainedTokenizerFast, RobertaConfig
from transformers.models.roberta.modeling_roberta import RobertaClassificationHead

from harness.experiment.evaluation import Evaluate
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads import task_head
from harness.finetuning.heads.attended_pairs import PairAttention
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.task_networks import BiLstm
from harness.finetuning.inputs import SWAPPED
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import Finetuned, finetune, prepared_model
from harness.finetuning.task_network import KINDS
from harness.tasks.task import Task
from tests.finetuning.heads.test_conformance import (
    SIZE,
    make_backbone,
    make_examples,
    make_head,
    tokenizer,
    wider,
)

__all__ = ["tokenizer"]
H = SIZE.hidden_size
FULL = ADAPTATIONS["full"]
HEADS = ("mlp", "bilstm", "bilstm_attention")
SUITED = [
    (kind, name) for kind in KINDS for name in HEADS if kind in KINDS[:2] or name in HEADS[:2]
]


def make_model(
    tokenizer: PreTrainedTokenizerFast, adaptation: str = "full", **protocol: Any
) -> Any:
    torch.manual_seed(0)
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    fields = Protocol.model_validate({"head_dropout": 0.0} | protocol)
    return Classifier(backbone, 3, fields).eval()


def test_an_mlp_is_the_head_of_roberta(tokenizer: PreTrainedTokenizerFast) -> None:
    model = make_model(tokenizer, head="mlp")
    config = RobertaConfig(hidden_size=H, hidden_dropout_prob=0.0, id2label=dict(enumerate("abc")))
    other = RobertaClassificationHead(config).eval()
    other.dense.load_state_dict(model.hidden[1].state_dict())
    other.out_proj.load_state_dict(model.head.state_dict())
    states = torch.randn(4, 5, H)
    batch = {"attention_mask": torch.ones(4, 5, dtype=torch.int64)}
    torch.testing.assert_close(model.outputs(batch, [states]), other(states))


def test_a_bilstm_is_two_lstms_on_each_row_without_its_padding() -> None:
    torch.manual_seed(0)
    network = BiLstm(5)  # an odd width is rounded up
    assert network.width == 6
    states, lengths = torch.randn(3, 7, 5), (2, 7, 4)
    mask = (torch.arange(7) < torch.tensor(lengths).unsqueeze(1)).long()
    found = network(states, mask)
    ways = [nn.LSTM(5, 3, batch_first=True) for _ in range(2)]
    weights = network.lstm.state_dict()
    ways[0].load_state_dict({n: w for n, w in weights.items() if "reverse" not in n})
    reverse = {n.removesuffix("_reverse"): w for n, w in weights.items() if "reverse" in n}
    ways[1].load_state_dict(reverse)
    for row, length in enumerate(lengths):
        own = states[row : row + 1, :length]
        there, back = ways[0](own)[0], ways[1](own.flip(1))[0].flip(1)
        torch.testing.assert_close(found[row, :length], torch.cat((there, back), -1)[0])
    assert not found[mask == 0].any()


def test_attention_between_texts_is_that_of_glues_baseline() -> None:
    """Pair by pair without padding, in the steps of `HeadlessPairAttnEncoder`."""
    torch.manual_seed(0)
    network = PairAttention(6)
    assert network.width == 24
    states, lengths = torch.randn(4, 7, 6), (2, 7, 4, 5)
    mask = (torch.arange(7) < torch.tensor(lengths).unsqueeze(1)).long()
    found = network(states, mask)
    for pair in range(2):
        rows = (2 * pair, 2 * pair + 1)
        first, second = (network.lower.lstm(states[row, : lengths[row]])[0] for row in rows)
        similarity = second @ first.T
        second_first = similarity.softmax(1) @ first
        first_second = similarity.T.softmax(1) @ second
        u, v = (
            network.upper.lstm(torch.cat(both, 1))[0].max(0).values
            for both in ((first, first_second), (second, second_first))
        )
        torch.testing.assert_close(found[pair], torch.cat((u, v, (u - v).abs(), u * v)))


def test_texts_of_a_pair_are_read_separately(tokenizer: PreTrainedTokenizerFast) -> None:
    head = make_head("classification", tokenizer, head="bilstm_attention")
    examples = make_examples("classification")
    data = head.encode(examples)
    batch = head.collate(data, np.arange(3))
    assert len(batch["input_ids"]) == 6 and len(batch["labels"]) == 3
    read = tokenizer.decode(batch["input_ids"][1], skip_special_tokens=True)
    assert examples.texts[0][1].startswith(str(read))
    single = Task.model_validate({**dict(head.task), "text_fields": ("sentence1",)})
    other = task_head(single, head.protocol, tokenizer)
    model: Any = other.make_model(make_backbone("bert", "bidirectional", tokenizer), FULL)
    assert isinstance(model.recurrent, BiLstm) and not hasattr(model, "attention")


def test_native_pooling_of_a_bilstm_takes_both_ends(tokenizer: PreTrainedTokenizerFast) -> None:
    """The last states of both directions are those that torch returns beside the outputs."""
    model, states = make_model(tokenizer, head="bilstm"), torch.randn(2, 6, H)
    batch = {"attention_mask": torch.ones(2, 6, dtype=torch.int64)}
    _, (last, _) = model.recurrent.lstm(states)
    expected = model.head(torch.cat((last[0], last[1]), -1))
    torch.testing.assert_close(model.outputs(batch, [states]), expected)


@pytest.mark.parametrize("adaptation", ["full", "frozen"])
@pytest.mark.parametrize(("kind", "name"), SUITED)
def test_padding_changes_nothing(
    kind: str, name: str, adaptation: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    head = make_head(kind, tokenizer, head=name)
    data = head.encode(make_examples(kind))
    torch.manual_seed(0)
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    model = head.make_model(backbone, ADAPTATIONS[adaptation])
    batch = head.collate(data, np.arange(data.num_items))
    padded = wider(batch, head.pad_token_id)
    for one in (model.train(), model.eval()):  # statistics of the batch, and running ones
        losses = [head.loss(one(rows), rows) for rows in (batch, padded)]
        torch.testing.assert_close(*losses, atol=1e-5, rtol=1e-4)


def test_a_bilstm_reads_both_orders_of_a_pair(tokenizer: PreTrainedTokenizerFast) -> None:
    model = make_model(tokenizer, head="bilstm")
    ids = torch.tensor([[2, 9, 8, 3], [2, 7, 6, 3]])
    one = {"input_ids": ids, "token_type_ids": 0 * ids, "attention_mask": torch.ones_like(ids)}
    both = one | {SWAPPED + key: value for key, value in one.items()}  # added: twice the vector
    single, double = (model(batch) - model.head.bias for batch in (one, both))
    torch.testing.assert_close(double, 2 * single)


@pytest.mark.parametrize("name", HEADS)
def test_the_parameters_of_the_head_are_trained_and_counted(
    name: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    """By hand; each direction of the biLSTM has 4 gates and two biases."""
    width = H // 2
    lstm = 2 * 4 * width * (H + width + 2)
    upper = 2 * 4 * width * (2 * H + width + 2) + 3 * H * 2  # and four features for one of each
    more = {"mlp": H * H + H, "bilstm": lstm, "bilstm_attention": lstm + upper}[name]
    make_backbone("bert", "bidirectional", tokenizer).save(tmp_path)
    examples, settings = make_examples("classification"), Finetune(epochs=1)

    def run(**protocol: Any) -> Finetuned:
        head = make_head("classification", tokenizer, **protocol)
        task, method = TaskData(head, head.encode(examples)), ADAPTATIONS["frozen"]
        return finetune(tmp_path, [task], settings, seed=0, adaptation=method)

    plain, found, again = run(), run(head=name), run(head=name)
    assert plain.costs and found.costs
    assert found.costs.trained_parameters == plain.costs.trained_parameters + more
    assert found.losses == again.losses


@pytest.mark.parametrize("adaptation", ["full", "frozen"])
@pytest.mark.parametrize("name", HEADS)
def test_a_task_network_learns(
    name: str, adaptation: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    head = make_head("classification", tokenizer, head=name)
    data = head.encode(make_examples("classification"))
    make_backbone("bert", "bidirectional", tokenizer).save(tmp_path)
    settings = Finetune(learning_rate=5e-3, batch_size=12, epochs=60, weight_decay=0)
    method = ADAPTATIONS[adaptation]
    before = prepared_model(tmp_path, head, method, 0, settings).train()
    batch = head.collate(data, np.arange(data.num_items))
    first = head.loss(before(batch), batch).item()
    done = finetune(tmp_path, [TaskData(head, data)], settings, seed=0, adaptation=method)
    assert done.losses[0] < 0.2 * first


STSB = ("micro-stsb",)
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"adaptation": "prompt"}, "needs an adaptation that trains an output layer, .* is prompt"),
    ({"protocol": {"answer": "text"}}, "micro-stsb is answered as text; leave it out"),
    (
        {"suite": "micro-sts-v1", "tasks": None},
        "coreference, but .* is of similarity; choose others",
    ),
    (
        {"suite": "micro-swag-v1", "tasks": None, "protocol": {"head": "bilstm_attention"}},
        "bilstm_attention is for tasks of classification, regression, but micro-swag",
    ),
    (
        {"intermediate_tasks": [{"task": "micro-mnli", "siamese": "softmax"}]},
        "not part of a bi-encoder, but an intermediate task is siamese",
    ),
]


def test_both_orders_of_separate_texts_are_refused() -> None:
    protocol = {"head": "bilstm_attention", "both_orders": True}
    with pytest.raises(ValueError, match=r"bilstm_attention reads the texts .* separately, but"):
        Evaluate.model_validate({"suite": "micro-glue-v1", "tasks": STSB, "protocol": protocol})


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_what_has_no_task_network_is_refused(fields: dict[str, Any], message: str) -> None:
    protocol = {"head": "mlp"} | fields.get("protocol", {})
    given = {"suite": "micro-glue-v1", "tasks": STSB} | fields | {"protocol": protocol}
    with pytest.raises(ValueError, match=rf"protocol\.head .*{message}"):
        Evaluate.model_validate(given)
