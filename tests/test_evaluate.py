"""`harness.evaluate`: models in memory."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import harness
from tests.experiment.test_checkpoint_experiment import VOCAB, write_bert
from tests.stage_runner import StageRunner

FAST = ("evaluate.protocol.max_train_examples=16", "evaluate.finetune.epochs=1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("models") / "My.BERT")


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


def network(folder: Path) -> Any:
    return transformers.AutoModelForMaskedLM.from_pretrained(folder)


def test_a_model_in_memory_scores_as_its_folder(
    folder: Path, tokenizer: Any, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"seeds": 1, "tasks": ["micro-cola"], "store": tmp_path}
    study = harness.evaluate(network(folder), tokenizer, "micro-glue-v1", *FAST, **options)
    (arm,) = study.plan.arms
    assert (study.name, arm.name) == ("my-bert-micro-glue-v1", "My.BERT")
    on_disk = harness.evaluate(folder, None, "micro-glue-v1", *FAST, **options)
    runner, scores = StageRunner(tmp_path), []
    for plan in (study.plan, on_disk.plan):
        runner.run(plan)
        metrics = runner.finished[plan.finetune_runs[0].key].metrics
        times = {"seconds", "stage_seconds", "peak_rss_bytes"}
        scores.append({name: value for name, value in metrics.items() if name not in times})
    assert scores[0] == scores[1] and "validation/matthews" in scores[0]


def test_equal_models_are_saved_once(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    def keys(model: Any) -> set[str]:
        return set(harness.evaluate(model, tokenizer, store=tmp_path).plan.stages)

    first, again = keys(network(folder)), keys(network(folder))
    assert first == again and len(list((tmp_path / "checkpoints").iterdir())) == 1
    other = network(folder)
    with torch.no_grad():
        other.get_input_embeddings().weight.add_(1)
    assert not first & keys(other)
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2


def test_what_cannot_be_evaluated_is_refused(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    model = network(folder)
    slow = object()
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((torch.nn.Linear(2, 2), tokenizer), "must be one of transformers, but is a Linear"),
        ((model, slow), "must be a fast tokenizer of transformers, but is a object"),
        ((model, None), "must be a fast tokenizer of transformers, but is a NoneType"),
        ((folder, tokenizer), "a tokenizer goes with a model in memory"),
        ((model, tokenizer, "glu"), "the suite 'glu' is not known"),
        ((model, tokenizer, "micro-glue-v1", "evaluate.x=1"), "evaluate.x"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ValueError, match=message) as error:
            harness.evaluate(*arguments, store=tmp_path)
        assert len(str(error.value).splitlines()) == 1
    model.resize_token_embeddings(VOCAB - 100)
    with pytest.raises(ValueError, match="but the model embeds 400: they do not belong together"):
        harness.evaluate(model, tokenizer, store=tmp_path)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # in peft
def test_adapters_of_peft_must_be_merged(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    adapted = get_peft_model(network(folder), LoraConfig(target_modules=["query"]))
    with pytest.raises(ValueError, match=r"merge its adapters first: model.merge_and_unload\(\)"):
        harness.evaluate(adapted, tokenizer, store=tmp_path)
    merged = adapted.merge_and_unload()
    assert harness.evaluate(merged, tokenizer, store=tmp_path).plan.stages
