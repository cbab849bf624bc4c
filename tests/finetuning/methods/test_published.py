"""Numbers of trained parameters at published sizes: by hand, and of the networks themselves."""

import re

import peft.utils.constants
import pytest
import torch

from harness.finetuning.adaptation import (
    ADAPTATIONS,
    Adaptation,
    Adapters,
    Prefix,
    PromptTuning,
)
from harness.finetuning.methods import adapt
from harness.finetuning.methods.parts import token_head
from harness.finetuning.module_names import MODULE_NAMES
from harness.finetuning.projection_updates import Adalora, Boft, Dora, Lora, Vera
from harness.finetuning.task_model import TaskModel
from harness.models import MODELS, SIZES, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import BLUEPRINTS

LLAMA_7B = Size(num_layers=32, hidden_size=4096, num_heads=32, intermediate_size=11008)
LORA = "TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING"


class Bare(TaskModel):
    """A backbone without outputs."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone

    def states(self, batch: object) -> list[torch.Tensor]:
        raise NotImplementedError

    def outputs(self, batch: object, states: object) -> torch.Tensor:
        raise NotImplementedError


def counts(
    name: str, size: str | Size, vocab_size: int, adaptation: Adaptation, device: str = "meta"
) -> tuple[int, int]:
    """(trained, all of the pretrained body) parameters, of a network without weights."""
    blueprint, model = BLUEPRINTS[name], MODELS[name]
    size = SIZES[size] if isinstance(size, str) else size
    config = blueprint.config(model, size, Tokens(vocab_size, 0, 2, 3, pair_format=True))
    with torch.device(device):
        network = blueprint.network._from_config(config)
        backbone = Backbone(network, blueprint, name, name, model.facts.representations[0])
        head = sum(p.numel() for p in token_head(backbone))
        body = sum(p.numel() for p in network.parameters()) - head
        adapt(Bare(backbone), adaptation)
    return sum(p.numel() for p in backbone.parameters() if p.requires_grad), body


def test_lora_of_roberta_base() -> None:
    """12 layers x (query, value) x 2 matrices of 768 x 8: the 0.3M of Hu et al. 2022, table 2. The
    0.8M of microsoft/LoRA's README has a head with it; with RoBERTa's own, 768 x 768 and 768 x
    classes, they would be 0.89M."""
    trained, _ = counts("roberta", "base", 50265, ADAPTATIONS["lora"])
    assert trained == 12 * 2 * 2 * 768 * 8 == 294_912
    assert trained + 768 * 768 + 768 + 768 * 2 + 2 == 887_042


def test_dora_of_llama_7b() -> None:
    """Liu et al. 2024, table 1: 0.84 % with rank 32, 0.43 % with rank 16; LoRA with rank 32 has
    0.83 %. One magnitude for each output of query, key, value, up- and down-projection."""
    targets = ("q_proj", "k_proj", "v_proj", "up_proj", "down_proj")
    magnitudes = 32 * (3 * 4096 + 11008 + 4096)
    for kind, rank, share in ((Lora, 32, 0.0083), (Dora, 32, 0.0084), (Dora, 16, 0.0043)):
        trained, body = counts("llama", LLAMA_7B, 32_000, kind(rank=rank, targets=targets))
        updates = 32 * rank * (3 * 2 * 4096 + 2 * (4096 + 11008))
        assert trained == updates + (magnitudes if kind is Dora else 0)
        assert trained / (body + 32_000 * 4096) == pytest.approx(share, abs=0.00006)


@pytest.mark.parametrize(("size", "rank", "share"), [("base", 1024, 43), ("large", 256, 61)])
def test_vera_of_roberta(size: str, rank: int, share: int) -> None:
    """Kopiczko et al. 2024, table 2: 0.043M and 0.061M, a vector of the width and one of the rank
    for each query and value projection."""
    trained, _ = counts("roberta", size, 50265, Vera(rank=rank))
    one = SIZES[size]
    assert trained == 2 * one.num_layers * (one.hidden_size + rank)
    assert round(trained / 1000) == share


DEBERTA = ("query_proj", "key_proj", "value_proj", "intermediate.dense", "output.dense")
"""The projections of a layer of DeBERTaV3: three, the output of attention and the feed-forward."""


def test_boft_of_deberta_base() -> None:
    """Liu et al. 2024, table 1: 0.75M for BOFT(2, 8) of all projections, effective parameters
    (b - 1) d m / 2 together with the scales and biases of the outputs."""
    layer = SIZES["base"].model_copy(update={"num_layers": 1})
    trained, _ = counts("deberta_v3", layer, 100, Boft(targets=DEBERTA), "cpu")
    inputs = outputs = 5 * 768 + 3072
    assert trained == 2 * inputs * 8 + outputs
    assert round(12 * (2 * inputs * 7 / 2 + 2 * outputs) / 1e4) == 75


def test_adalora_of_deberta_base() -> None:
    """Zhang et al. 2023, tables 1 and 7: 1.27M are left of 1.5 times as many, of rank 8 in the
    mean; 1.33M, as LoRA has, where every projection has it."""
    trained, _ = counts("deberta_v3", "base", 128_100, Adalora(targets=DEBERTA))
    sides = 12 * (4 * 2 * 768 + 2 * (768 + 3072))
    assert trained == 12 * (sides + 12 * 6)
    assert round(8 * sides / 1e4) == 133


@pytest.mark.parametrize(("width", "share"), [(8, 0.0028), (64, 0.0192), (256, 0.0755)])
def test_adapters_of_bert_large(width: int, share: float) -> None:
    """24 layers x 2 adapters and norms. Houlsby et al. 2019, table 1, have 2.1 % at 64, and 3.6 %
    where the best width was taken for each task: between ours at 64 and at 256. Neither is
    reproduced to the digit, as the paper does not define what it counts."""
    trained, body = counts("bert", "large", 30522, Adapters(bottleneck=width))
    adapters = 24 * 2 * (2 * 1024 * width + width + 1024)
    norms = (24 * 2 + 1) * 2 * 1024
    assert trained == adapters + norms
    assert trained / body == pytest.approx(share, rel=0.01)


def test_prefix_of_gpt2_medium() -> None:
    """Keys and values of 24 layers: the 0.1 % of Li and Liang 2021, of 5 and of 10 vectors."""
    for length, share in ((5, 0.0007), (10, 0.0014)):
        trained, body = counts("gpt2", "gpt2_medium", 50257, Prefix(length=length))
        assert trained == length * 24 * 2 * 1024
        assert trained / body == pytest.approx(share, rel=0.05)


def test_prompt_of_t5_base() -> None:
    """Lester et al. 2021: as many vectors of the embeddings' width, 100 at most."""
    trained, body = counts("t5", "t5_base", 32128, PromptTuning(length=100))
    assert trained == 100 * 768
    assert trained / body < 0.0005


def test_biases_of_bert_base() -> None:
    """Ben Zaken et al. 2022, section 3: 0.09 % of BERT base, 0.08 % of BERT large."""
    for size, share in (("base", 0.0009), ("large", 0.0008)):
        trained, body = counts("bert", size, 30522, ADAPTATIONS["biases"])
        assert trained / body == pytest.approx(share, abs=0.0001)


@pytest.mark.parametrize("model_type", sorted(MODULE_NAMES))
def test_query_and_value_are_pefts(model_type: str) -> None:
    targets = getattr(peft.utils.constants, LORA).get(model_type)
    if not targets:
        pytest.skip(f"peft has no targets for {model_type}")
    assert all(re.fullmatch(MODULE_NAMES[model_type].query_value, f"x.{name}") for name in targets)
