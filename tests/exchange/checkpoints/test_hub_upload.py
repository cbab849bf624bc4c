"""Upload to the Hub, with its API replaced."""

import json
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from transformers import PreTrainedTokenizerFast
from typer.testing import CliRunner

from harness.cli.app import app
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.exchange.checkpoints import selection
from harness.study import Study
from tests.exchange.checkpoints.test_network import TEXTS, exported, small
from tests.exchange.checkpoints.test_selection import study  # noqa: F401


class Api:
    """What `HfApi` was called with."""

    calls: list[tuple[str, dict[str, Any]]] = []  # noqa: RUF012
    files: set[str] = set()  # noqa: RUF012

    def create_repo(self, repo_id: str, **options: Any) -> str:
        if repo_id.count("/") > 1:
            raise HFValidationError(f"Repo id must be in the form 'name': '{repo_id}'.\nSee more.")
        if repo_id == "me/offline":
            raise HfHubHTTPError.__bases__[0]("[Errno 111] Connection refused")
        self.calls.append((repo_id, options))
        return f"https://huggingface.co/{repo_id}"

    def upload_folder(self, *, repo_id: str, folder_path: Path, commit_message: str) -> None:
        self.calls.append((repo_id, {"message": commit_message}))
        self.files.update(path.name for path in Path(folder_path).iterdir())


@pytest.fixture(autouse=True)
def api(monkeypatch: pytest.MonkeyPatch) -> type[Api]:
    Api.calls.clear()
    Api.files.clear()
    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    return Api


def test_model_tokenizer_and_card_are_uploaded(study: Study, api: type[Api]) -> None:  # noqa: F811
    address = study["none"].push_to_hub("me/mine", private=True)
    assert address == "https://huggingface.co/me/mine"
    message = "continued: none, seed 0, by pretraining-harness"
    assert api.calls == [
        ("me/mine", {"private": True, "exist_ok": True}),
        ("me/mine", {"message": message}),
    ]
    assert {"model.safetensors", "config.json", "tokenizer.json", "README.md"} <= api.files


def test_the_command_uploads_with_or_without_a_folder(
    study: Study,  # noqa: F811
    api: type[Api],
    tmp_path: Path,
) -> None:
    store = ["--store", str(study.folder)]
    key = study.plan.pretrain_keys["none", 0]
    result = CliRunner().invoke(app, ["export", key, "--push-to-hub", "me/mine", *store])
    assert (result.exit_code, "https://huggingface.co/me/mine" in result.output) == (0, True)
    assert "README.md" in api.files
    result = CliRunner().invoke(app, ["export", key, *store])
    assert (result.exit_code, "OUT or --push-to-hub" in result.output) == (2, True), result.output
    result = CliRunner().invoke(app, ["export", key, "--push-to-hub", "a/b/c", *store])
    assert result.exit_code == 2
    assert "a/b/c cannot be written on the Hub: Repo id must be in the form" in result.output
    assert len(result.output.strip().splitlines()) == 1
    result = CliRunner().invoke(app, ["export", key, "--push-to-hub", "me/offline", *store])
    assert result.exit_code == 2
    assert result.output == (
        "me/offline cannot be written on the Hub: [Errno 111] Connection refused\n"
    )


def test_the_tokenizer_of_a_qwen_is_its_own(
    study: Study,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """AutoTokenizer would build Qwen's published one."""
    learned = tmp_path / "learned"
    train(Tokenizer.model_validate({"vocab_size": 320}), iter(TEXTS), learned)
    exported(small("qwen2", learned), learned, tmp_path)
    monkeypatch.setattr(selection, "export", lambda *_: tmp_path / "out")
    tokens = study["none"].tokenizer(seed=0)("the cat sat")["input_ids"]
    assert tokens == PreTrainedTokenizerFast.from_pretrained(learned)("the cat sat")["input_ids"]


def test_a_class_that_transformers_lacks_is_that_of_the_type(
    study: Study,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = selection.export(selection.of_experiment(study.results, "none", 0), study.store, tmp_path)
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps(config | {"architectures": ["BertOfSomebody"]}))
    monkeypatch.setattr(selection, "export", lambda *_: out)
    assert type(study["none"].model(seed=0)).__name__ == "RobertaModel"


def test_an_arm_gives_its_model_and_tokenizer(study: Study) -> None:  # noqa: F811
    model, tokenizer = study["none"].model(seed=0), study["none"].tokenizer(seed=0)
    assert model(**tokenizer("the food", return_tensors="pt")).logits.shape[-1] == len(tokenizer)
    assert model.config.name_or_path == "continued: none, seed 0"  # as `harness.evaluate` names it
    with pytest.raises(KeyError, match="the arm 'non' is not known; did you mean 'none'"):
        study["non"]
