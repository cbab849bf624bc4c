"""Adaptation methods in models with text output."""

import copy

import pytest
import torch
from transformers.pytorch_utils import Conv1D

from harness.finetuning.adaptation import ADAPTATIONS, PromptTuning
from harness.finetuning.heads.text_model import TextModel
from harness.finetuning.inputs import Batch
from harness.finetuning.methods import adapt
from harness.finetuning.module_names import MODULE_NAMES
from harness.finetuning.projection_updates import Lora
from harness.finetuning.protocol import Protocol
from tests.finetuning.methods.models import END, NAMES, PAD, adapted, batch, make_backbone

WRITERS = [("bart", None), ("t5", None), ("gpt2", None), ("llama", None), ("gpt2", "prefix")]
METHODS = ["lora", "ia3", "adapters", "prefix", "prompt_tuning", "biases", "gradual"]


def writer(name: str, reading: str | None, adaptation: str, num_beams: int = 1) -> TextModel:
    torch.manual_seed(0)
    backbone = copy.deepcopy(make_backbone(name, reading))
    protocol = Protocol(max_target_length=4, num_beams=num_beams)
    model = TextModel(backbone, protocol, END, PAD)
    adapt(model, ADAPTATIONS[adaptation])
    return model.eval()


def with_target(one: Batch) -> Batch:
    target = one["labels"][:, None] + 5
    return {
        "input_ids": one["input_ids"],
        "attention_mask": one["attention_mask"],
        "target_ids": target,
        "target_mask": torch.ones_like(target),
    }


@pytest.mark.parametrize("adaptation", METHODS)
@pytest.mark.parametrize(("name", "reading"), WRITERS)
def test_search_and_loop_write_the_same(name: str, reading: str | None, adaptation: str) -> None:
    if adaptation == "biases" and name in ("t5", "llama"):
        pytest.skip(f"a {name} has no biases")
    model, one = writer(name, reading, adaptation), with_target(batch())
    for parameter in model.parameters():  # simulates training
        if parameter.requires_grad:
            parameter.data += 0.05 * torch.randn_like(parameter)
    heads = [p for name, p in model.named_parameters() if ".lm_head." in name]
    assert adaptation == "gradual" or not any(p.requires_grad for p in heads)
    with torch.no_grad():
        outputs, written = model(one), model.write(one)
        looped = model.write_greedily(one)
    assert torch.equal(written, looped[:, : written.shape[1]])
    assert torch.equal(outputs.argmax(-1), written[:, 0])  # training predicts what is generated


def test_beam_search_ignores_soft_prompts() -> None:
    with pytest.raises(ValueError, match="num_beams must be 1 for prompt_tuning"):
        writer("bart", None, "prompt_tuning", num_beams=2)


def test_unknown_targets_are_refused() -> None:
    with pytest.raises(ValueError, match=r"projections of a distilbert are q_lin.* has query"):
        adapted("distilbert", Lora(targets=("query",)))
    with pytest.raises(ValueError, match=r"adaptation\.targets must name projections .* wi, wo"):
        adapted("t5", Lora(targets=("wi_0",)))  # only where its layers are gated
    assert adapted("distilbert", Lora(targets=("q_lin", "lin1")))


@pytest.mark.parametrize("name", NAMES)
def test_projections_are_those_of_the_network(name: str) -> None:
    network = make_backbone(name).network
    linear = {
        path.split(".")[-1]
        for path, module in network.named_modules()
        if isinstance(module, (torch.nn.Linear, Conv1D))
    }
    gated = {"wi_0", "wi_1"} if name.startswith("t5") else set()
    known = set(MODULE_NAMES[network.config.model_type].projections.split()) - gated
    if not known:
        pytest.skip(f"no projections of {name} are listed")
    assert known == linear


def test_vectors_before_the_input_change_what_follows() -> None:
    """Equals the network on the concatenated embeddings."""
    model, one = adapted("bert", PromptTuning(length=3)).eval(), batch()
    backbone = model.backbone
    prompt = backbone.soft_prompt
    assert prompt is not None
    with torch.no_grad():
        states = backbone(one["input_ids"], one["attention_mask"]).last_hidden_state
        words = backbone.network.get_input_embeddings()(one["input_ids"])
        vectors = prompt.vectors.expand(len(words), -1, -1)
        mask = torch.nn.functional.pad(one["attention_mask"], (3, 0), value=1)
        expected = backbone.network.base_model(
            inputs_embeds=torch.cat((vectors, words), 1), attention_mask=mask
        ).last_hidden_state[:, 3:]
    torch.testing.assert_close(states, expected)
