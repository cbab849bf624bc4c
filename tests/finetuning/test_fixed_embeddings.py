"""Token embeddings that fine-tuning leaves as they were pretrained, in networks of every family."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from harness.experiment.declaration import from_data
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation, Gradual, Selective, Staged
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune
from harness.finetuning.run import finetune
from harness.finetuning.settings_compatibility import fixed_problem, settings_problem
from harness.models import FAMILIES
from harness.models.build import load
from tests.finetuning.test_module import NETWORKS, inputs, make, make_head, tokenizer
from tests.plan.test_task_chain_stages import BASE, FAST

__all__ = ["tokenizer"]
SETTINGS = Finetune(learning_rate=1e-2, epochs=2, batch_size=16, weight_decay=0.1)
FIXED = SETTINGS.model_copy(update={"embeddings": "fixed"})
ALONE = [name for name in FAMILIES if fixed_problem(FIXED, name)]


def tuned(
    folder: Path,
    tokens: PreTrainedTokenizerFast,
    settings: Finetune,
    adaptation: Adaptation = ADAPTATIONS["full"],
) -> dict[str, Tensor]:
    """The change of each weight of the network; the token table under `table`."""
    data = TaskData(make_head("classification", tokens), inputs(False, n=32))
    run = finetune(folder, [data], settings, seed=0, adaptation=adaptation)
    before: Any = load(folder)
    first, after = dict(before.network.named_parameters()), run.model.backbone.network
    changes = {n: (p.detach() - first[n]).abs().sum() for n, p in after.named_parameters()}
    found: Any = after
    table = found.get_input_embeddings().weight.detach()
    return changes | {"table": (table - before.network.get_input_embeddings().weight).abs().sum()}


@pytest.mark.parametrize(("family", "reading"), [one for one in NETWORKS if one[0] not in ALONE])
def test_the_table_stays_and_the_layers_are_trained(
    family: str,
    reading: str,
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    make(family, reading).save(tmp_path)
    once = {"epochs": 1}
    changes = tuned(tmp_path, tokenizer, FIXED.model_copy(update=once))
    assert changes.pop("table") == 0 and max(changes.values()) > 0
    assert tuned(tmp_path, tokenizer, SETTINGS.model_copy(update=once))["table"] > 0


@pytest.mark.parametrize("adaptation", [Gradual(), Staged(), Selective()])
def test_it_stays_under_adaptations_that_choose_what_is_trained(
    adaptation: Adaptation,
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    make("bert", "bidirectional").save(tmp_path)
    longer = {"epochs": 5}
    changes = tuned(tmp_path, tokenizer, FIXED.model_copy(update=longer), adaptation)
    assert changes["table"] == 0
    assert changes["bert.embeddings.position_embeddings.weight"] > 0  # of the last epochs
    assert tuned(tmp_path, tokenizer, SETTINGS.model_copy(update=longer), adaptation)["table"] > 0


def test_it_needs_an_adaptation_that_trains_embeddings() -> None:
    without = ("top_layers", "layer_norms", "biases")
    for name, adaptation in ADAPTATIONS.items():
        trains = adaptation.whole and name not in without
        assert bool(settings_problem(FIXED, adaptation)) != trains, name


def test_static_vectors_have_nothing_else_to_train(
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    make("static", "cbow").save(tmp_path)
    with pytest.raises(ValueError, match="those of the family static have none; leave it out"):
        tuned(tmp_path, tokenizer, FIXED)
    fields = {**BASE, "evaluate": {**FAST, "finetune": {"embeddings": "fixed"}}}
    fields["pretrain"] = {**BASE["pretrain"], "recipe": "cbow"}
    with pytest.raises(DeclarationError, match="of the family static have none"):
        from_data(fields)


def test_the_cost_is_that_of_the_rest(
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    make("bert", "bidirectional").save(tmp_path)
    data = TaskData(make_head("classification", tokenizer), inputs(False))
    runs = [finetune(tmp_path, [data], one, seed=0) for one in (SETTINGS, FIXED)]
    whole, rest = (run.costs.trained_parameters for run in runs if run.costs)
    network: Any = runs[0].model.backbone.network
    assert whole - rest == network.get_input_embeddings().weight.numel()
    assert torch.isfinite(torch.tensor(runs[1].losses)).all()
