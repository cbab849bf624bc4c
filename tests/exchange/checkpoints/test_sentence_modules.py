"""Modules of sentence-transformers next to an exported network: read again, they are the same."""

import json
from pathlib import Path
from typing import Any

import torch

from harness.exchange.checkpoints.sentence_modules import embeds_texts, write_modules
from harness.models.checkpoints.dense_layers import read_dense
from harness.models.checkpoints.sentence_embeddings import read_embedding
from harness.pretraining.checkpoint_import import adopt
from tests.models.checkpoints.test_sentence_embeddings import (
    EVERY,
    WITH_DENSE,
    write_dense,
    write_network,
)
from tests.models.checkpoints.test_sentence_embeddings import (
    write_modules as write_theirs,
)


def test_written_modules_are_those_that_were_read(tmp_path: Path) -> None:
    given: Any = {"1_Pooling/config": EVERY, "sentence_bert_config": {"max_seq_length": 64}}
    folder = write_theirs(
        write_network(tmp_path / "theirs"),
        kinds=WITH_DENSE,
        **given,
    )
    weights = write_dense(folder, (6 * 32, 8))
    backbone, out = adopt(folder), tmp_path / "out"
    assert embeds_texts(backbone)
    out.mkdir()
    write_modules(backbone, out)
    found = read_embedding(out)
    assert found == backbone.embedding == read_embedding(folder) and found is not None
    layers = read_dense(out, found, 32).state_dict()
    torch.testing.assert_close(layers["0.weight"], weights["linear.weight"])
    torch.testing.assert_close(layers["0.bias"], weights["linear.bias"])
    config = json.loads((out / "2_Dense" / "config.json").read_text())
    theirs = json.loads((folder / "2_Dense" / "config.json").read_text())
    assert config == theirs
