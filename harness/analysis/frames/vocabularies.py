"""Vocabularies as declared and as learned from the corpus."""

import pandas as pd

from harness.analysis.results import Results
from harness.plan.costs import pretraining_cost

VOCABULARY_COLUMNS = ["arm", "tokenizer", "declared", "learned", "parameters"]


def vocabularies_frame(results: Results) -> pd.DataFrame:
    """One row per arm whose tokenizer is finished: VOCABULARY_COLUMNS.

    `declared` is the requested number of entries, null for the tokenizer of a checkpoint; `learned`
    is that of the finished tokenizer, which is smaller if the corpus has too few words.
    `parameters` are those of a network with the learned vocabulary, null for checkpoints. With a
    world for each seed, they are of the first.
    """
    keys = results.plan.first_pretrain_keys
    rows = []
    for arm in results.plan.arms:
        tokenizer = results.plan.stages[keys[arm.name]].parents["tokenizer"] if keys else ""
        if tokenizer in results.finished:
            declared = None if arm.pretrain.model.checkpoint else arm.pretrain.tokenizer
            learned = _num_entries(results, tokenizer)
            rows.append(
                (
                    arm.name,
                    declared.algorithm if declared else "of the checkpoint",
                    declared.vocab_size if declared else None,
                    learned,
                    pretraining_cost(arm.pretrain, learned).parameters,
                )
            )
    return pd.DataFrame(rows, columns=VOCABULARY_COLUMNS)


def _num_entries(results: Results, key: str) -> int:
    """Entries of a finished tokenizer, special tokens included."""
    from tokenizers import Tokenizer

    return int(Tokenizer.from_file(str(results.files(key) / "tokenizer.json")).get_vocab_size())
