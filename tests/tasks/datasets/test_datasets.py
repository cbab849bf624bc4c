"""Data sets of the Hub: listing, fetching, verifying; a line on whatever is wrong with one."""

import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pandas as pd
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from typer.testing import CliRunner

from harness.cli import app
from harness.data import hub
from harness.tasks import TASKS
from harness.tasks.datasets import fetch
from harness.tasks.datasets.catalog import fetch_command, selected, to_fetch
from harness.tasks.datasets.fetch import SUMS, read_sums
from harness.tasks.load_examples import load_examples
from harness.tasks.task import HubData

COLA, WIKITEXT = "nyu-mll/glue", "Salesforce/wikitext"
CARDS = {
    COLA: """\
---
configs:
- config_name: cola
  data_files:
  - split: train
    path: cola/train-*
  - split: validation
    path: cola/validation-*
- config_name: rte
  data_files:
  - split: train
    path: rte/train-*
---
""",
    WIKITEXT: """\
---
configs:
- config_name: wikitext-2-v1
  data_files:
  - split: train
    path: wikitext-2-v1/train-*
---
""",
}


def write(file: Path, columns: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(columns).to_parquet(file)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """What the Hub has."""
    root = tmp_path / "remote"
    sentences = {"sentence": ["One word came.", "Word one came."] * 50, "label": [1, 0] * 50}
    for split in ("train", "validation"):
        write(root / COLA / f"cola/{split}-00000-of-00001.parquet", sentences)
    write(root / COLA / "rte/train-00000-of-00001.parquet", {"sentence1": ["a"], "label": [0]})
    text = {"text": ["", " = A heading = ", "", " A line . "]}
    write(root / WIKITEXT / "wikitext-2-v1/train-00000-of-00001.parquet", text)
    for path, card in CARDS.items():
        (root / path / "README.md").write_text(card)
    return root


@pytest.fixture
def mirror(remote: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror that was fetched; the Hub is the folder `remote`."""
    requests: list[dict[str, Any]] = []

    def download(path: str, **options: Any) -> str:
        requests.append({"path": path, **options})
        folder = Path(options["local_dir"])
        for pattern in options["allow_patterns"] or ["**/*"]:
            for file in (remote / path).glob(pattern):
                target = folder / file.relative_to(remote / path)
                target.parent.mkdir(parents=True, exist_ok=True)
                if file.is_file() and not target.exists():
                    shutil.copy(file, target)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    root = remote.parent / "mirror"
    monkeypatch.setenv("HARNESS_DATA", str(root))
    command("fetch", "glue/cola", "wikitext2")
    data_of_cola = TASKS["cola"].data
    assert isinstance(data_of_cola, HubData)
    assert {one["revision"] for one in requests if one["path"] == COLA} == {data_of_cola.revision}
    assert all(one["repo_type"] == "dataset" for one in requests)
    return root


def command(*arguments: str, code: int = 0) -> str:
    """The output of `harness data ...`."""
    result = CliRunner().invoke(app.app, ["data", *arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def problem(*arguments: str) -> str:
    """The one line on what is wrong."""
    lines = command("verify", *arguments, code=2).splitlines()
    assert len(lines) == 2 and lines[-1] == "1 data set, 1 problem", lines
    return lines[0]


def test_fetch_takes_the_files_of_the_configs_and_writes_checksums(mirror: Path) -> None:
    assert (mirror / COLA / "cola").is_dir() and not (mirror / COLA / "rte").exists()
    sums = read_sums(mirror)
    assert f"{COLA}/cola/train-00000-of-00001.parquet" in sums
    assert f"{WIKITEXT}/README.md" in sums
    revision = TASKS["cola"].data.revision  # type: ignore[union-attr]
    assert f"# {COLA} commit {revision}\n" in (mirror / SUMS).read_text()


def test_fetching_again_changes_nothing(mirror: Path) -> None:
    before = sorted((mirror / SUMS).read_text().splitlines())
    command("fetch", "cola")
    assert sorted((mirror / SUMS).read_text().splitlines()) == before


def test_large_corpora_are_fetched_on_request_only(mirror: Path) -> None:
    line = command("fetch", "c4", "cola", code=2)
    assert line == "corpora of more than 10 GB need --large: allenai/c4/en (305 GB)\n"
    assert [one.name for one in to_fetch(["c4", "cola"], None, large=True)] == [
        "allenai/c4/en",
        "nyu-mll/glue/cola",
    ]
    assert fetch_command(selected(["c4"])) == "harness data fetch allenai/c4/en --large"
    assert "(305.0 GB)" in command("list")


def test_licensed_data_are_not_fetched_and_the_others_are(mirror: Path) -> None:
    output = command("fetch", "cola", "ontonotes_srl", code=2)
    path = "ontonotes/conll2012_ontonotesv5"
    assert f"{path}: it cannot be fetched, as each user needs the licence of the Ling" in output
    assert f"put the files of your copy into {mirror / path}" in output
    assert not (mirror / path).exists() and (mirror / COLA / "cola").is_dir()


def test_list_shows_the_location_of_each_data_set(mirror: Path) -> None:
    lines = {line.split()[0]: line for line in command("list").splitlines()}
    cola = lines["nyu-mll/glue/cola"]
    assert " mirror " in cola and "MB  bcdcba79d07b  cola (see" in cola
    assert "not pinned" in lines["zapsdcn/chemprot"]
    assert " missing " in lines["nyu-mll/glue/rte"]
    assert "(67 configs)" in lines["nyu-mll/blimp"]


def test_list_without_a_mirror_looks_into_the_cache(
    remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_DATA", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    revision = TASKS["cola"].data.revision  # type: ignore[union-attr]
    shutil.copytree(remote / COLA, tmp_path / f"cache/datasets--nyu-mll--glue/snapshots/{revision}")
    lines = {line.split()[0]: line for line in command("list").splitlines()}
    assert " Hub cache " in lines["nyu-mll/glue/cola"]
    assert " missing " in lines["nyu-mll/glue/mrpc"]


def test_verify_counts_rows(mirror: Path) -> None:
    assert command("verify").splitlines() == [
        "Salesforce/wikitext/wikitext-2-v1: wikitext2: train 4",
        "nyu-mll/glue/cola: cola: train 100, validation 100",
        "2 data sets, 0 problems",
    ]


def test_a_split_of_one_class_is_a_warning(mirror: Path) -> None:
    columns = {"sentence": ["a", "b"], "label": [1, 1]}
    write(mirror / COLA / "cola/validation-00000-of-00001.parquet", columns)
    (mirror / SUMS).unlink()
    name = "nyu-mll/glue/cola: cola:"
    assert command("verify", "cola").splitlines() == [
        f"{name} train 100, validation 2",
        f"{name} warning: validation has only the class acceptable, so its scores mean nothing",
        "1 data set, 0 problems",
    ]


def test_a_download_cut_short_is_one_line_and_mended_by_fetching(mirror: Path) -> None:
    file = mirror / COLA / "cola/train-00000-of-00001.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    assert "its SHA-256 differs from that in SHA256SUMS.txt; fetch it again" in problem("cola")
    (mirror / SUMS).unlink()
    assert "Parquet magic bytes not found" in problem("glue/cola")
    with pytest.raises(ValueError, match="cannot be read from") as caught:
        load_examples(TASKS["cola"], "train")
    assert "\n" not in str(caught.value) and "harness data verify" in str(caught.value)


def test_fetching_mends_a_damaged_file(mirror: Path) -> None:
    file = mirror / COLA / "cola/train-00000-of-00001.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    command("fetch", "cola")
    assert file.read_bytes() == whole
    command("verify", "cola")


def test_the_others_are_checked_where_one_fails(mirror: Path) -> None:
    file = mirror / WIKITEXT / "wikitext-2-v1/train-00000-of-00001.parquet"
    file.write_bytes(b"")
    output = command("verify", code=2)
    assert "cola: train 100" in output and f"{file} is damaged" in output


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (
            {"sentence": ["a"]},
            "needs the columns sentence, label, but its split train has no label",
        ),
        ({"sentence": ["a"], "label": [7]}, "must be 0 to 1"),
        ({"sentence": ["a"], "label": ["odd"]}, "but one is 'odd'"),
        ({"sentence": ["a", None], "label": [1, 0]}, "needs text in 'sentence'"),
    ],
)
def test_data_that_are_not_what_a_task_declares(
    mirror: Path, columns: dict[str, Any], reason: str
) -> None:
    for split in ("train", "validation"):
        write(mirror / COLA / f"cola/{split}-00000-of-00001.parquet", columns)
    (mirror / SUMS).unlink()
    assert reason in problem("cola")


def test_changed_files_are_read_again(mirror: Path) -> None:
    """Whatever the library's own cache holds: the fingerprint is of what is read."""
    before = load_examples(TASKS["cola"], "train")
    for split in ("train", "validation"):
        columns = {"sentence": ["Another one."] * 3, "label": [1, 0, 1]}
        write(mirror / COLA / f"cola/{split}-00000-of-00001.parquet", columns)
    after = load_examples(TASKS["cola"], "train")
    assert (len(before), after.texts) == (100, [("Another one.",)] * 3)


def test_a_corpus_without_its_column(mirror: Path) -> None:
    write(mirror / WIKITEXT / "wikitext-2-v1/train-00000-of-00001.parquet", {"words": ["a"]})
    (mirror / SUMS).unlink()
    assert "must have the column 'text'" in problem("wikitext2")


def test_a_missing_set_is_reported_with_the_command_to_fetch_it(mirror: Path) -> None:
    assert problem("rte").endswith("it is missing: harness data fetch nyu-mll/glue/rte")


@pytest.mark.parametrize(
    "error", [ConnectionError("no route"), LocalEntryNotFoundError("no route")]
)
def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    output = command("fetch", "cola", "--to", str(tmp_path / "mirror"), code=2)
    assert "nyu-mll/glue: the Hub cannot be reached" in output
    assert "to use this folder" not in output
    monkeypatch.delenv("HARNESS_DATA", raising=False)
    monkeypatch.setattr("datasets.load_dataset", refuse)
    with pytest.raises(ValueError, match="connect, or set HARNESS_DATA"):
        hub.load(COLA, "cola", "train", None)


def test_names(mirror: Path) -> None:
    for names in (["cola"], ["glue/cola"], ["nyu-mll/glue/cola"]):
        assert [one.name for one in selected(names)] == ["nyu-mll/glue/cola"]
    assert len(selected([COLA])) > 8
    assert {one.path for one in selected([], "glue-v1")} == {COLA}
    assert "no data set is named 'kola'" in command("verify", "kola", code=2)
    assert "the suite 'blue' is not known" in command("fetch", "--suite", "blue", code=2)
    assert "name data sets or a --suite" in command("fetch", code=2)


def test_notes_of_a_download_are_no_data(mirror: Path) -> None:
    folder = mirror / "own/set"
    write(folder / "train.parquet", {"text": ["a"]})
    before = hub.fingerprint("own/set", None, None)
    (folder / ".cache").mkdir()
    (folder / ".cache/note.metadata").write_text("a commit")
    assert hub.fingerprint("own/set", None, None) == before


def test_an_interrupted_write_keeps_the_known_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files without a checksum are not verified."""
    old = "00  other/repository/file\n"
    (tmp_path / SUMS).write_text(old)

    def killed(*_: object) -> None:
        raise OSError("killed")

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(OSError, match="killed"):
        fetch._write_sums(tmp_path, "a/b", "0" * 40)
    assert (tmp_path / SUMS).read_text() == old
