"""A pretrained model of a store as objects of transformers."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.analysis.results import Results
from harness.exchange.checkpoints import selection


def transformers_model(results: Results, arm: str | None, seed: int | None) -> tuple[Any, Any]:
    """A pretrained model as transformers loads it, with the pretraining head if transformers has
    one, and its tokenizer.

    Args:
        arm: null: the only arm.
        seed: pretraining seed; null: the first.

    Raises:
        ValueError: the arm or seed does not exist, or its pretraining is not finished.
    """
    import transformers

    chosen = selection.of_experiment(results, arm, seed)
    with TemporaryDirectory() as folder:
        out = selection.export(chosen, results.store, Path(folder) / "model")
        (network,) = transformers.AutoConfig.from_pretrained(out).architectures
        model = getattr(transformers, network).from_pretrained(out)
        return model, transformers.AutoTokenizer.from_pretrained(out)
