"""Every adaptation on every family: what is trained, what stays, what is refused."""

import pytest
import torch

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.compatibility import unsupported_reason
from harness.finetuning.module_names import MODEL_TYPES, unsupported_adaptation
from harness.finetuning.protocol import Protocol
from harness.models import MODELS
from harness.pretraining.recipes import RECIPES
from harness.tasks import TASKS
from tests.finetuning.methods.models import NAMES, adapted, batch, learn, loss_of, trained

TRAINING = [name for name, value in ADAPTATIONS.items() if value.trains]
CASES = [(name, adaptation) for name in NAMES for adaptation in TRAINING]
PUT_IN = {
    "lora": ("lora_A", "lora_B"),
    "ia3": ("ia3_l",),
    "adapters": (".adapter.", "norm", "ln_", "LayerNorm"),
    "prefix": ("prefixes_",),
    "prompt_tuning": ("soft_prompt",),
    "layer_norms": ("norm", "ln_", "LayerNorm"),
    "biases": ("bias",),
    "frozen": (),
    "frozen_top": (),
}
"""What the names of trained parameters of the backbone hold."""


RANDOM = ("lora", "adapters", "prefix", "prompt_tuning")
"""What is put in is drawn."""
RATES = {"ia3": 3e-2}
"""Few parameters are trained faster; 1e-2 for others. At 3e-2 a prefix overshoots at first."""


def reason(name: str, adaptation: str) -> str:
    family = MODELS[name].family
    return unsupported_adaptation(ADAPTATIONS[adaptation], MODEL_TYPES.get(family, family))


@pytest.mark.parametrize(("name", "adaptation"), CASES)
def test_works_or_refuses_as_planned(name: str, adaptation: str) -> None:
    method = ADAPTATIONS[adaptation]
    if why := reason(name, adaptation):
        with pytest.raises(ValueError, match="does not suit the network") as error:
            adapted(name, method)
        assert why in str(error.value)
        return
    model, one = adapted(name, method), batch()
    wanted = trained(model)
    inside = {n for n in wanted if n.startswith("backbone.")}
    assert {"head.weight", "head.bias"} <= set(wanted)
    for parameter in inside:
        assert any(part in parameter for part in PUT_IN.get(adaptation, ("",))), parameter
    assert inside or method.kind == "frozen"
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    first, last = learn(model, one, rate=RATES.get(adaptation, 1e-2))
    assert last < first
    after = dict(model.named_parameters())
    frozen = set(before) - set(wanted)
    assert all(torch.equal(before[n], after[n]) for n in frozen)
    changed = {n for n in wanted if not torch.equal(before[n], after[n])}
    assert {n for n in inside if after[n].grad is not None} <= changed
    assert {n for n in wanted if after[n].grad is None} <= _idle(name), "no gradient reaches it"


def _idle(name: str) -> set[str]:
    """Parameters of the body that a short input does not reach."""
    return {"backbone.network.transformer.mask_emb"} | {
        f"backbone.network.transformer.layer.{i}.rel_attn.seg_embed" for i in range(2)
    }


@pytest.mark.parametrize(("name", "adaptation"), [case for case in CASES if case[1] in RANDOM])
def test_padding_changes_nothing_and_the_seed_decides(name: str, adaptation: str) -> None:
    if reason(name, adaptation):
        return
    method, one = ADAPTATIONS[adaptation], batch()
    model = adapted(name, method)
    again, other = adapted(name, method), adapted(name, method, seed=1)
    same = zip(trained(model).values(), trained(again).values(), strict=True)
    assert all(torch.equal(a, b) for a, b in same)
    assert any(
        not torch.equal(a, b)
        for a, b in zip(trained(model).values(), trained(other).values(), strict=True)
    )
    model.eval()
    wide = {n: torch.nn.functional.pad(v, (0, 5)) for n, v in one.items() if v.ndim == 2}
    wide["labels"] = one["labels"]
    with torch.no_grad():
        torch.testing.assert_close(model(one), model(wide), atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(loss_of(model, one), loss_of(model, wide), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("adaptation", TRAINING)
@pytest.mark.parametrize("recipe", ["bert", "gpt2", "t5", "xlnet", "elmo"])
def test_the_plan_says_what_the_run_would(recipe: str, adaptation: str) -> None:
    run, method = RECIPES[recipe], ADAPTATIONS[adaptation]
    family = run.model.family
    why = unsupported_reason(TASKS["sst2"], Protocol(), method, run)
    assert why == unsupported_adaptation(method, MODEL_TYPES.get(family, family))
