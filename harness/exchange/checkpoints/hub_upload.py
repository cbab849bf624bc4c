"""Upload of exported models to the Hugging Face Hub."""

from pathlib import Path
from tempfile import TemporaryDirectory

from harness.exchange.checkpoints import selection
from harness.store.store import Store


def push_to_hub(
    selected: selection.SelectedModel, store: Store, repo_id: str, private: bool = False
) -> str:
    """Exports a model with its card, and uploads the files as one commit.

    The token is that of `hf auth login`, or `HF_TOKEN`.

    Args:
        repo_id: `user/name`; the repository is created if it does not exist.

    Returns:
        The address of the repository.

    Raises:
        ValueError: the model cannot be exported, or the Hub refuses the upload.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    # Of the package for HTTP, which is another one in each release; so without a connection.
    any_http_error: type[Exception] = HfHubHTTPError.__bases__[0]
    with TemporaryDirectory() as name:
        folder = selection.export(selected, store, Path(name) / "model")
        try:
            api = HfApi()
            address = api.create_repo(repo_id, private=private, exist_ok=True)
            message = f"{selected.card.name}, by pretraining-harness"
            api.upload_folder(repo_id=repo_id, folder_path=folder, commit_message=message)
        except (any_http_error, HFValidationError, OSError) as error:
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ValueError(f"{repo_id} cannot be written on the Hub: {reason}") from error
    return str(address)
