"""The store returns what was recorded, complete or not at all."""

from pathlib import Path

import pytest

from harness.store.artifacts import digest
from harness.store.params import flatten, unflatten
from harness.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "out"
    (out / "model").mkdir(parents=True)
    (out / "model" / "weights.bin").write_bytes(b"123")
    (out / "curve.csv").write_text("step\n1\n")
    return out


def test_a_recorded_stage_is_finished(store: Store, folder: Path) -> None:
    spec = {"a": {"b": 1}}
    record = store.record("k1", "pretrain", "bert", spec, {"loss": 2.5}, folder, "torch 2")
    assert record.made_with == "torch 2"
    assert store.finished() == {"k1": record}
    assert store.find("k1") == record
    assert record.metrics == {"loss": 2.5}
    fetched = store.fetch(record)
    assert fetched is not None
    assert (fetched / "model" / "weights.bin").read_bytes() == b"123"


def test_only_the_given_keys_are_returned(store: Store, folder: Path) -> None:
    for key in ("k1", "k2"):
        store.record(key, "pretrain", "bert", {}, {}, folder)
    assert set(store.finished(["k2", "k3"])) == {"k2"}
    assert store.find("k3") is None


def test_null_metrics_are_left_out(store: Store, folder: Path) -> None:
    record = store.record("k", "finetune", "x", {}, {"validation/spearman": None}, folder)
    assert record.metrics == {}


def test_damaged_files_are_not_returned(store: Store, folder: Path) -> None:
    record = store.record("k", "pretrain", "bert", {}, {}, folder)
    fetched = store.fetch(record)
    assert fetched is not None
    (fetched / "curve.csv").write_text("step\n2\n")
    assert store.fetch(record) is None
    store.forget(record)
    assert store.find("k") is None


def test_an_interrupted_run_does_not_count(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store._server.client, "log_artifacts", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.record("k", "pretrain", "bert", {}, {}, folder)
    assert store.finished() == {}


def test_a_second_store_on_the_same_folder_sees_it(store: Store, folder: Path) -> None:
    store.record("k", "pretrain", "bert", {}, {}, folder)
    assert set(Store(store.root).finished()) == {"k"}


def test_the_latest_run_of_an_experiment_is_kept(store: Store, folder: Path) -> None:
    store.record_experiment("quick", "micro-glue-v1", folder)
    assert (store.experiments()["quick"] / "curve.csv").exists()


def test_digest_depends_on_names_and_contents(tmp_path: Path) -> None:
    for name, file, text in (("a", "x", "1"), ("b", "x", "2"), ("c", "y", "1"), ("d", "x", "1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
    a, b, c, d = (digest(tmp_path / name) for name in "abcd")
    assert len({a, b, c}) == 3
    assert a == d


def test_flatten_gives_dotted_names() -> None:
    assert flatten({"a": {"b": 1, "c": {"d": 2}}, "e": 3}) == {"a.b": 1, "a.c.d": 2, "e": 3}


def test_a_spec_is_read_back() -> None:
    params = {"a.b": "1", "a.c": "('x', 2)", "d": "None", "e": "words, of text", "f": "1e-05"}
    assert unflatten(params) == {
        "a": {"b": 1, "c": ("x", 2)},
        "d": None,
        "e": "words, of text",
        "f": 1e-05,
    }
