"""LoRA, DoRA, AdaLoRA, VeRA, OFT and BOFT against their equations, on every model family."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from peft.tuners.boft.layer import FastBlockDiag
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.methods.parts import modules_called
from harness.finetuning.module_discovery import names_of
from harness.finetuning.module_names import MODEL_TYPES, unsupported_adaptation
from harness.finetuning.projection_updates import Adalora, Boft, Dora, Lora, Oft, Vera
from harness.models import MODELS
from tests.covering import thinned
from tests.finetuning.methods.models import NAMES, adapted, batch, learn, make_backbone, trained

KINDS = {
    "lora": Lora(rank=4),
    "rslora": Lora(rank=4, scaling="sqrt"),
    "dora": Dora(rank=4),
    "dora_sqrt": Dora(rank=4, scaling="sqrt"),
    "vera": Vera(rank=8),
    "adalora": Adalora(rank=3, initial_rank=4),
    "oft": Oft(block_size=8),
    "boft": Boft(block_size=4, butterfly_factors=3),
}


def supports(name: str, adaptation: Adaptation) -> bool:
    family = MODELS[name].family
    return not unsupported_adaptation(adaptation, MODEL_TYPES.get(family, family))


CASES = [(name, kind) for name in NAMES for kind in KINDS if supports(name, KINDS[kind])]
THINNED = thinned(CASES, 2, [case for case in CASES if case[0] in ("bert", "gpt2", "t5")])
"""GPT-2's query, key and value are one Conv1D."""


def projections(name: str) -> dict[str, Any]:
    """The query and value projections of a network without adaptation."""
    network = make_backbone(name).network
    return dict(modules_called(network, names_of(network).query_value))


def sides(module: nn.Module) -> tuple[int, int]:
    """Inputs and outputs."""
    assert isinstance(module, (nn.Linear, Conv1D))
    first, second = module.weight.shape
    return (first, second) if isinstance(module, Conv1D) else (second, first)


def size_of(adaptation: Adaptation, inputs: int, outputs: int) -> int:
    """Parameters that are added to one projection, by hand."""
    if isinstance(adaptation, Oft):
        block = adaptation.block_size
        return inputs // block * block * (block - 1) // 2
    if isinstance(adaptation, Boft):
        return adaptation.butterfly_factors * inputs * adaptation.block_size + outputs
    if isinstance(adaptation, Adalora):
        return adaptation.first_rank * (inputs + outputs + 1)
    if isinstance(adaptation, Vera):
        return outputs + adaptation.rank
    assert isinstance(adaptation, (Lora, Dora))
    magnitudes = outputs if isinstance(adaptation, Dora) else 0
    return adaptation.rank * (inputs + outputs) + magnitudes


def new_weight(layer: Any, adaptation: Adaptation, base: Tensor) -> Tensor:
    """The weight [out, in] of an adapted projection by the equation of its paper, from the
    pretrained one."""
    if isinstance(adaptation, Oft):
        return base @ rotation(layer.oft_R["default"].weight, adaptation.block_size).T
    if isinstance(adaptation, Boft):
        return layer.boft_s["default"] * (base @ butterfly(layer.boft_R["default"]).T)
    if isinstance(adaptation, Adalora):
        left, right = layer.lora_B["default"], layer.lora_A["default"]
        update = left @ torch.diag(layer.lora_E["default"][:, 0]) @ right
        return base + adaptation.alpha / adaptation.first_rank * update
    if isinstance(adaptation, Vera):
        outputs, inputs = base.shape
        a, b = layer.vera_A["default"][:, :inputs], layer.vera_B["default"][:outputs]
        scales = layer.vera_lambda_d["default"], layer.vera_lambda_b["default"]
        return base + torch.diag(scales[1]) @ b @ torch.diag(scales[0]) @ a
    assert isinstance(adaptation, (Lora, Dora))
    divisor = math.sqrt(adaptation.rank) if adaptation.scaling else adaptation.rank
    update = layer.lora_B["default"].weight @ layer.lora_A["default"].weight
    changed = base + adaptation.alpha / divisor * update
    if isinstance(adaptation, Lora):
        return changed
    magnitudes = layer.lora_magnitude_vector["default"].weight
    return magnitudes[:, None] * changed / changed.norm(dim=1, keepdim=True).detach()


def rotation(upper: Tensor, block: int) -> Tensor:
    """Block-diagonal Cayley transform of rows of upper triangles."""
    blocks = []
    for row in upper:
        skew = torch.zeros(block, block)
        rows, columns = torch.triu_indices(block, block, 1)
        skew[rows, columns] = row
        blocks.append(cayley(skew - skew.T))
    return torch.block_diag(*blocks)


def cayley(skew: Tensor) -> Tensor:
    eye = torch.eye(len(skew))
    return (eye - skew) @ torch.linalg.inv(eye + skew)


def butterfly(factors: Tensor) -> Tensor:
    """Product of factors [m, d / b, b, b]. Factor i rotates pairs of halves of blocks, b / 2
    features each, that are 2^i halves apart (Liu et al. 2024, section 4)."""
    _, number, block, _ = factors.shape
    halves = torch.arange(number * block).view(-1, block // 2)
    whole = torch.eye(number * block)
    for i, blocks in enumerate(factors):
        starts = [h for h in range(len(halves)) if not h // 2**i % 2]
        turn = torch.zeros(number * block, number * block)
        for start, one in zip(starts, blocks, strict=True):
            features = torch.cat([halves[start], halves[start + 2**i]])
            turn[features[:, None], features] = cayley((one - one.T) / 2)
        whole = turn @ whole
    return whole


def layers_of(model: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, module in model.named_modules():
        if isinstance(module, BaseTunerLayer):
            yield name, module


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_parameters_are_those_of_the_paper(name: str, kind: str) -> None:
    model, adaptation = adapted(name, KINDS[kind]), KINDS[kind]
    by_hand = sum(size_of(adaptation, *sides(module)) for module in projections(name).values())
    inside = [p.numel() for n, p in trained(model).items() if n.startswith("backbone.")]
    assert sum(inside) == by_hand > 0


@pytest.mark.parametrize(("name", "kind"), THINNED)
def test_training_begins_with_the_pretrained_function(name: str, kind: str) -> None:
    plain, model = adapted(name, ADAPTATIONS["full"]).eval(), adapted(name, KINDS[kind]).eval()
    model.head.load_state_dict(plain.head.state_dict())
    with torch.no_grad():
        assert torch.equal(model(batch()), plain(batch()))


@pytest.mark.parametrize(("name", "kind"), THINNED)
def test_the_trained_function_is_that_of_the_equation(name: str, kind: str) -> None:
    plain, model = adapted(name, ADAPTATIONS["full"]).eval(), adapted(name, KINDS[kind])
    learn(model, batch(), 1e-2)
    plain.head.load_state_dict(model.head.state_dict())
    with torch.no_grad():
        for path, layer in layers_of(model):
            projection: Any = plain.get_submodule(path)
            swap = isinstance(projection, Conv1D)
            old = projection.weight.T if swap else projection.weight
            new = new_weight(layer, KINDS[kind], old)
            assert not torch.allclose(new, old, atol=1e-4)
            projection.weight = nn.Parameter(new.T if swap else new)
        torch.testing.assert_close(model.eval()(batch()), plain(batch()), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_equation(name: str, kind: str) -> None:
    """Of DoRA with a constant norm (Liu et al. 2024, section 4.3)."""
    if not supports(name, KINDS[kind]):
        pytest.skip("refused")
    model = adapted(name, KINDS[kind])
    learn(model, batch(), 1e-2)
    _, layer = next(layers_of(model))
    own = [p for p in layer.parameters() if p.requires_grad]
    base = layer.get_base_layer()
    weight = base.weight.T if isinstance(base, Conv1D) else base.weight
    inputs = torch.randn(5, sides(base)[0])
    by_hand = nn.functional.linear(inputs, new_weight(layer, KINDS[kind], weight), base.bias)
    wanted = torch.autograd.grad(by_hand.square().sum(), own)
    found = torch.autograd.grad(layer(inputs).square().sum(), own)
    for one, other in zip(found, wanted, strict=True):
        assert other.any()
        torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("kind", ["oft", "boft"])
def test_rotations_keep_the_angles_between_neurons(kind: str) -> None:
    """Qiu et al. 2023, section 3.1: the hyperspherical energy of a projection does not change."""
    model = adapted("bert", KINDS[kind])
    learn(model, batch(), 3e-2)
    for _, layer in layers_of(model):
        found = layer.get_delta_weight("default")
        turned = (found[0] if kind == "boft" else found).detach()
        assert not torch.allclose(turned, torch.eye(32), atol=1e-2)
        torch.testing.assert_close(turned @ turned.T, torch.eye(32), atol=1e-5, rtol=0)


def test_random_matrices_of_vera_depend_on_their_own_seed() -> None:
    def matrices(fields: dict[str, int], seed: int) -> list[Tensor]:
        model = adapted("bert", Vera.model_validate({"rank": 8, **fields}), seed)
        return [value for name, value in model.named_buffers() if "vera_" in name]

    first, again = matrices({}, 0), matrices({}, 1)
    other = matrices({"projection_seed": 1}, 0)
    assert len(first) == 2 and all(map(torch.equal, first, again))
    assert not any(map(torch.equal, first, other))


@pytest.mark.parametrize("kind", ["dora", "adalora", "vera", "oft", "boft"])
def test_targets_are_what_is_adapted(kind: str) -> None:
    targeted = KINDS[kind].model_copy(update={"targets": ("key", "attention.output.dense")})
    names = [name for name, _ in layers_of(adapted("bert", targeted))]
    assert len(names) == 4
    assert all(name.endswith(("self.key", "attention.output.dense")) for name in names)
    wrong = KINDS[kind].model_copy(update={"targets": ("q_proj",)})
    assert "but targets has q_proj" in unsupported_adaptation(wrong, "bert")
    why = f"a harness_elmo has no projections for {kind}"
    assert unsupported_adaptation(wrong, "harness_elmo") == why


def test_blocks_that_do_not_divide_the_inputs_are_refused() -> None:
    for kind in (Oft, Boft):
        with pytest.raises(ValueError, match=r"inputs of .*query, 32, is no multiple of"):
            adapted("bert", kind(block_size=12))


def test_a_butterfly_of_all_features_is_dense() -> None:
    """Each output of BOFT(log2(2d / b), b) depends on each input (Liu et al. 2024, section 4)."""
    model = adapted("bert", Boft(block_size=2, butterfly_factors=5))
    _, layer = next(layers_of(model))
    with torch.no_grad():
        layer.boft_R["default"].normal_(generator=torch.Generator().manual_seed(0))
        whole, _ = layer.get_delta_weight("default")
    assert whole.all() and layer.boft_R["default"].shape == (5, 16, 2, 2)


def test_dropout_of_rotations_omits_blocks_of_one_factor() -> None:
    """Half of the four blocks, in training alone."""
    model = adapted("bert", Boft(block_size=8, butterfly_factors=2, dropout=0.5))
    _, layer = next(layers_of(model))
    blocks, eye = torch.zeros(2, 4, 8, 8), torch.eye(8)
    for _ in range(5):
        omitted = (layer.boft_dropout["default"](blocks) == eye).all(-1).all(-1).sum(1).tolist()
        assert sorted(omitted) == [0, 2]
    assert not layer.eval().boft_dropout["default"](blocks).any()


@pytest.mark.filterwarnings("error")
def test_blocks_on_a_diagonal_are_differentiated() -> None:
    """In place of peft's CUDA extension, which is not compiled."""
    blocks = torch.randn(2, 3, 4, 4, dtype=torch.double, requires_grad=True)
    adapted("bert", Boft())
    whole = FastBlockDiag.apply(blocks)
    assert torch.equal(whole[1], torch.block_diag(*blocks[1]))
    assert torch.autograd.gradcheck(FastBlockDiag.apply, (blocks,))
