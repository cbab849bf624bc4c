"""The pretrained models of an arm, as transformers loads them."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.analysis.results import Results
from harness.exchange.checkpoints import hub_upload, selection
from harness.models.checkpoints.files import METADATA


@dataclass(frozen=True)
class ArmModels:
    """The pretrained models of an arm: `study["bert"]`."""

    results: Results
    arm: str | None
    """Null: the only one."""

    def model(self, seed: int | None = None) -> Any:
        """The model as transformers loads it, with the pretraining head if transformers has one.

        Args:
            seed: pretraining seed; null: the first.

        Raises:
            ValueError: the arm or seed does not exist, or its pretraining is not finished.
        """
        return self.load(seed)[0]

    def tokenizer(self, seed: int | None = None) -> Any:
        """The tokenizer of the model; for argument and errors, see `model`."""
        return self.load(seed)[1]

    def load(self, seed: int | None = None) -> tuple[Any, Any]:
        """(model, tokenizer); for argument and errors, see `model`. The model is named by
        experiment, arm and seed, as `harness.evaluate` and boards show it."""
        import transformers

        chosen = selection.of_experiment(self.results, self.arm, seed)
        with TemporaryDirectory() as folder:
            out = selection.export(chosen, self.results.store, Path(folder) / "model")
            names = transformers.AutoConfig.from_pretrained(out).architectures or [""]
            made = getattr(transformers, names[0], transformers.AutoModel)  # code may be elsewhere
            model = made.from_pretrained(out)
            model.config.name_or_path = chosen.card.name.replace("/", "-")  # not the folder's
            # AutoTokenizer would build Qwen's published one, whatever our files hold.
            auto: Any = transformers.AutoTokenizer
            is_own = (out / METADATA).is_file()
            tokenizer = transformers.PreTrainedTokenizerFast if is_own else auto
            return model, tokenizer.from_pretrained(out)

    def push_to_hub(self, repo_id: str, seed: int | None = None, private: bool = False) -> str:
        """Uploads model, tokenizer and model card to the Hugging Face Hub; the token is that of
        `hf auth login`, or `HF_TOKEN`.

        Args:
            repo_id: `user/name`; the repository is created if it does not exist.
            seed: pretraining seed; null: the first.

        Returns:
            The address of the repository.

        Raises:
            ValueError: as `model`, or the Hub refuses the upload.
        """
        chosen = selection.of_experiment(self.results, self.arm, seed)
        return hub_upload.push_to_hub(chosen, self.results.store, repo_id, private)
