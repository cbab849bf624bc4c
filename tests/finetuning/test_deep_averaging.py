"""Deep averaging networks on tasks: one vector for each text, whatever the pooling."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.experiment.declaration import from_data
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.compatibility import OF_TOKENS, unsupported_reason
from harness.finetuning.heads.siamese import SIAMESE
from harness.finetuning.multitask import TaskData
from harness.finetuning.pooling import pooling_of
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune
from harness.models import MODELS
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.pretraining.recipes import RECIPES
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples
from tests.finetuning.heads.test_siamese import SIZE, tokenizer
from tests.plan.test_task_chain_stages import BASE, FAST

__all__ = ["tokenizer"]
DAN = RECIPES["roberta"].model_copy(update={"model": MODELS["dan"]})
FULL = ADAPTATIONS["full"]


def saved(folder: Path, size: int) -> Path:
    model = MODELS["dan"].model_copy(update={"dropout": 0.0, "initializer_range": 0.2})
    tokens = Tokens(size, pad=0, start=2, end=3, pair_format=True)
    build(model, SIZE, tokens, "bidirectional", 0).save(folder)
    return folder


def test_tasks_about_words_are_refused() -> None:
    """And no others that an encoder does."""
    bert = RECIPES["bert"]
    for task in TASKS.values():
        why = unsupported_reason(task, Protocol(), FULL, DAN)
        if task.kind in OF_TOKENS:
            assert why == "it has one vector for a whole text, and none for its words"
        else:
            assert bool(why) == bool(unsupported_reason(task, Protocol(), FULL, bert)), task.name


def test_a_sum_over_the_root_of_the_length_is_refused() -> None:
    with pytest.raises(ValueError, match="all states of a dan are equal; set it to native"):
        pooling_of("mean_sqrt_len", "bidirectional", "dan")
    fields = {**BASE, "evaluate": {**FAST, "protocol": {"pooling": "mean_sqrt_len"}}}
    fields["pretrain"] = {**BASE["pretrain"], "model": {"family": "dan"}}
    with pytest.raises(DeclarationError, match=r"pooling must be native for 'x', whose states"):
        from_data(fields)


@pytest.mark.parametrize("pooling", ["native", "cls", "last", "mean", "max"])
def test_any_pooling_gives_the_vector_of_the_text(
    pooling: Any,
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    head = SIAMESE["ranking"](TASKS["micro-swag"], Protocol(pooling=pooling), tokenizer)
    data = head.encode(load_examples(TASKS["micro-swag"], "train").head(4))
    backbone = load(saved(tmp_path, len(tokenizer)))
    batch = head.collate(data, np.arange(4))
    with torch.no_grad():
        vectors = head.make_model(backbone, FULL).eval()(batch)
        states = backbone(batch["input_ids"], batch["attention_mask"]).last_hidden_state
    torch.testing.assert_close(vectors, states[:, 0])
    assert not torch.allclose(states[0, 0], states[1, 0])


def test_its_layers_and_bigrams_learn_to_rank(
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    head = SIAMESE["ranking"](TASKS["micro-swag"], Protocol(head_dropout=0.0), tokenizer)
    data = head.encode(load_examples(TASKS["micro-swag"], "train").head(64))
    settings = Finetune(learning_rate=1e-2, epochs=40, batch_size=16, embeddings="fixed")
    run = finetune(saved(tmp_path, len(tokenizer)), [TaskData(head, data)], settings, seed=0)
    assert run.losses[0] < 0.6 * np.log(16)  # chance: 1
    before = dict(load(tmp_path).network.named_parameters())
    after = run.model.backbone.network.named_parameters()
    same = {name for name, value in after if torch.equal(value, before[name])}
    assert same == {"embeddings.weight"}
