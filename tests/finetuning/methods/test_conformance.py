"""Every adaptation on every model family: what is trained, what stays fixed, what is refused."""

import pytest
import torch

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.compatibility import unsupported_reason
from harness.finetuning.module_names import MODEL_TYPES, unsupported_adaptation
from harness.finetuning.protocol import Protocol
from harness.models import MODELS
from harness.pretraining.recipes import RECIPES
from harness.tasks import TASKS
from tests.covering import thinned
from tests.finetuning.methods.models import NAMES, adapted, batch, learn, loss_of, trained

TRAINING = [name for name, value in ADAPTATIONS.items() if value.trains]
ADDED = {
    "lora": ("lora_A", "lora_B"),
    "rslora": ("lora_A", "lora_B"),
    "dora": ("lora_A", "lora_B", "lora_magnitude_vector"),
    "vera": ("vera_lambda_b", "vera_lambda_d"),
    "adalora": ("lora_A", "lora_B", "lora_E"),
    "oft": ("oft_R",),
    "boft": ("boft_R", "boft_s"),
    "ia3": ("ia3_l",),
    "adapters": (".adapter.", "norm", "ln_", "LayerNorm"),
    "prefix": ("prefixes_",),
    "prompt_tuning": ("soft_prompt",),
    "layer_norms": ("norm", "ln_", "LayerNorm"),
    "biases": ("bias",),
    "frozen": (),
    "frozen_top": (),
}
"""Parts of the names of the trained parameters of the backbone."""
RANDOM = ("lora", "rslora", "dora", "adalora", "adapters", "prefix", "prompt_tuning")
"""Adaptations with random initial weights."""
RATES = {"ia3": 3e-2}
"""Learning rates; 1e-2 for others. At 3e-2 prefix tuning diverges at first."""


def reason(name: str, adaptation: str) -> str:
    family = MODELS[name].family
    return unsupported_adaptation(ADAPTATIONS[adaptation], MODEL_TYPES.get(family, family))


CASES = [(name, adaptation) for name in NAMES for adaptation in TRAINING]
REFUSED = [case for case in CASES if reason(*case)]
SUPPORTED = [case for case in CASES if not reason(*case)]
SPECIAL = ("bert", "gpt2", "t5", "lstm")
"""Families under every adaptation: an encoder, one whose query, key and value are one Conv1D, an
encoder-decoder, and a recurrent one."""


@pytest.mark.parametrize(("name", "adaptation"), REFUSED)
def test_an_unsupported_adaptation_is_refused(name: str, adaptation: str) -> None:
    with pytest.raises(ValueError, match="does not suit the network") as error:
        adapted(name, ADAPTATIONS[adaptation])
    assert reason(name, adaptation) in str(error.value)


@pytest.mark.parametrize(
    ("name", "adaptation"), thinned(SUPPORTED, 3, [c for c in SUPPORTED if c[0] in SPECIAL])
)
def test_only_the_adaptation_is_trained(name: str, adaptation: str) -> None:
    method = ADAPTATIONS[adaptation]
    model, one = adapted(name, method), batch()
    expected = trained(model)
    inside = {n for n in expected if n.startswith("backbone.")}
    assert {"head.weight", "head.bias"} <= set(expected)
    for parameter in inside:
        assert any(part in parameter for part in ADDED.get(adaptation, ("",))), parameter
    assert inside or method.kind == "frozen"
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    first, last = learn(model, one, rate=RATES.get(adaptation, 1e-2))
    assert last < first
    after = dict(model.named_parameters())
    frozen = set(before) - set(expected)
    assert all(torch.equal(before[n], after[n]) for n in frozen)
    changed = {n for n in expected if not torch.equal(before[n], after[n])}
    assert {n for n in inside if after[n].grad is not None} <= changed
    assert {n for n in expected if after[n].grad is None} <= _idle(name), "no gradient reaches it"


def _idle(name: str) -> set[str]:
    """Parameters of the backbone without a gradient on a short input."""
    return {"backbone.network.transformer.mask_emb"} | {
        f"backbone.network.transformer.layer.{i}.rel_attn.seg_embed" for i in range(2)
    }


@pytest.mark.parametrize(
    ("name", "adaptation"), thinned([c for c in SUPPORTED if c[1] in RANDOM], 3)
)
def test_padding_changes_nothing_and_the_seed_decides(name: str, adaptation: str) -> None:
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
@pytest.mark.parametrize("recipe", ["bert", "gpt2", "t5", "xlnet", "elmo", "lm_lstm"])
def test_the_plan_refuses_what_the_run_refuses(recipe: str, adaptation: str) -> None:
    run, method = RECIPES[recipe], ADAPTATIONS[adaptation]
    family = run.model.family
    why = unsupported_reason(TASKS["sst2"], Protocol(), method, run)
    assert why == unsupported_adaptation(method, MODEL_TYPES.get(family, family))
