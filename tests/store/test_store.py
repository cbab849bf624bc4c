"""The store returns what was recorded, complete or not at all."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from shutil import copyfile, copytree, move, rmtree
from types import SimpleNamespace
from typing import Any

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import TEMPORARILY_UNAVAILABLE

from harness.store import finished_runs, mlflow_runs, outages
from harness.store.artifacts import Artifact, IntactFiles, digest, folder_size, local_folder
from harness.store.entries import CHECKSUM, KEY
from harness.store.params import MAX_PARAM, cut, flatten, join_params, split_params, unflatten
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


@pytest.mark.parametrize("name", ["a#b", "ü b", "100%", "a;b&c=d:e"])
def test_a_folder_may_have_any_sign(name: str, tmp_path: Path, folder: Path) -> None:
    store = Store(tmp_path / name / "runs")
    record = store.record("k", "pretrain", "bert", {}, {}, folder)
    again = Store(store.root)
    assert again.finished() == {"k": record} and again.fetch(record)
    assert {path.name for path in tmp_path.iterdir()} == {name, "out"}


@pytest.mark.parametrize("name", ["a?b", "50%20b"])
def test_a_folder_that_no_address_can_name_is_refused(name: str, tmp_path: Path) -> None:
    """The stages of a run were computed, and its tables made in another folder."""
    with pytest.raises(ValueError, match=r"must have no (\?|%20), but is /"):
        Store(tmp_path / name)


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
    copy = store._server.client.log_artifacts

    def interrupt(*args: Any) -> None:
        copy(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(store._server.client, "log_artifacts", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.record("k", "pretrain", "bert", {}, {}, folder)
    assert store.finished() == {}
    assert not list((store.root / "artifacts").iterdir())  # a full disk would remain full


def test_a_removal_that_is_interrupted_can_be_repeated(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files without a run would be found by nothing."""
    record = store.record("k", "pretrain", "bert", {}, {}, folder)

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(store._server.client, "delete_run", kill)
        with pytest.raises(KeyboardInterrupt):
            store.remove(record)
    assert not list((store.root / "artifacts").iterdir())
    store.remove(store.finished()["k"])
    assert store.finished() == {}


def test_files_of_a_changed_address_are_not_removed(store: Store, folder: Path) -> None:
    record = store.record("k", "pretrain", "bert", {}, {}, folder)
    store.remove(replace(record, artifact_uri=(folder / "model").as_uri()))
    assert store.finished() == {} and (folder / "model").is_dir()


def test_a_second_store_on_the_same_folder_sees_it(store: Store, folder: Path) -> None:
    store.record("k", "pretrain", "bert", {}, {}, folder)
    assert set(Store(store.root).finished()) == {"k"}


def test_the_latest_run_of_an_experiment_is_kept(store: Store, folder: Path) -> None:
    store.record_experiment("quick", "micro-glue-v1", folder)
    (folder / "curve.csv").write_text("later")
    store.record_experiment("quick", "micro-glue-v1", folder)
    store.record_experiment("other", "micro-glue-v1", folder)
    assert sorted(store.experiments()) == ["other", "quick"]
    assert (store.experiments()["quick"] / "curve.csv").read_text() == "later"


def test_imports_keep_their_order(store: Store, folder: Path) -> None:
    for text in ("first", "second"):
        (folder / "curve.csv").write_text(text)
        store.record_import(text, folder)
    assert [(one / "curve.csv").read_text() for one in store.imports()] == ["first", "second"]
    assert store.finished() == {} == store.experiments()


def test_names_of_runs_and_tags_are_those_of_older_stores(store: Store, folder: Path) -> None:
    store.record("k", "pretrain", "bert", {"seed": 1}, {"loss": 2.5}, folder, "torch 2")
    store.record_experiment("quick", "micro-glue-v1", folder)
    store.record_import("lab.parquet", folder)
    runs = store._server.client.search_runs([store._server.experiment_id])
    found = [
        {
            name: text
            for name, text in run.data.tags.items()
            if name not in ("mlflow.user", CHECKSUM)
        }
        for run in sorted(runs, key=lambda run: run.info.start_time)
    ]
    assert found == [
        {
            "mlflow.runName": "pretrain: bert",
            "harness.key": "k",
            "harness.kind": "pretrain",
            "harness.label": "bert",
            "harness.digest": digest(folder),
            "harness.made_with": "torch 2",
        },
        {
            "mlflow.runName": "quick",
            "harness.experiment": "quick",
            "harness.suite": "micro-glue-v1",
            "harness.digest": digest(folder),
        },
        {
            "mlflow.runName": "import: lab.parquet",
            "harness.import": "lab.parquet",
            "harness.digest": digest(folder),
        },
    ]
    assert store._server.client.get_experiment_by_name("pretraining-harness")


def test_the_spec_of_a_stage_is_read_back(store: Store, folder: Path) -> None:
    spec = {"pretrain": {"batch_size": 8, "name": "bert"}, "parents": {"tokens": "k0"}}
    record = store.record("k", "pretrain", "bert", spec, {}, folder)
    assert store.spec(record) == spec
    assert record.made_with == ""


def test_files_that_are_missing_or_changed_are_an_error(store: Store, folder: Path) -> None:
    record = store.record("k", "pretrain", "bert", {}, {}, folder)
    files = store.files(record)
    assert files.is_relative_to(store.root / "artifacts")
    assert digest(files) == digest(folder)
    nowhere = replace(record, artifact_uri="no-such-scheme://host/files")
    with pytest.raises(OSError, match=r"MLflow: .*no-such-scheme"):
        store.files(nowhere)
    assert store.find("k") == record
    (files / "curve.csv").unlink()
    with pytest.raises(ValueError, match="stage k are damaged: run the experiment again"):
        store.files(record)
    assert store.find("k") is None


@pytest.mark.parametrize("copied", [False, True])
def test_a_store_can_be_moved_and_copied(store: Store, folder: Path, copied: bool) -> None:
    store.record("k1", "pretrain", "bert", {}, {}, folder)
    store.tracking("a study").start("bert", {})
    place = store.root.parent / "other place"
    (copytree if copied else move)(store.root, place)
    other = Store(place)
    found = other.finished()["k1"]
    assert other.files(found).is_relative_to(place) and other.find("k1") == found
    added = other.record("k2", "pretrain", "bert", {}, {}, folder)
    assert other.files(added).is_relative_to(place)
    assert store.root.exists() == copied
    if copied:
        assert set(store.finished()) == {"k1"}
        assert store.files(store.finished()["k1"]).is_relative_to(store.root)


def test_a_store_that_was_copied_before_its_first_stage(store: Store, folder: Path) -> None:
    """The files of the copy went to the original."""
    store.tracking(finished_runs.EXPERIMENT).start("interrupted", {})
    copytree(store.root, store.root.parent / "copy")
    copy = Store(store.root.parent / "copy")
    assert copy.files(copy.record("k", "x", "x", {}, {}, folder)).is_relative_to(copy.root)


def test_a_moved_store_that_cannot_be_written_is_read(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files counted as damaged."""
    keys = ["k1", "k2"]
    for key in keys:
        store.record(key, "pretrain", "bert", {}, {}, folder)
    store.record_experiment("one", "suite", folder)
    assert len(store.finished()) == 2  # makes the snapshot
    place = store.root.parent / "read only"
    move(store.root, place)
    monkeypatch.setattr(finished_runs, "correct_addresses", lambda *_: False)
    for _ in range(2):
        other = Store(place)
        found = [other.find("k1"), *other.finished().values()]
        assert len(found) == 3
        assert all(one and other.files(one).is_relative_to(place) for one in found)
        assert other.experiments()["one"].is_relative_to(place)
        (place / "snapshot-3.db").unlink(missing_ok=True)


def test_nothing_is_recorded_in_another_folder(store: Store, folder: Path) -> None:
    """Another process opened the store by another path, which it did not take for the same folder,
    as on a machine that mounts it elsewhere; it has corrected the addresses."""
    store.record("k1", "pretrain", "bert", {}, {}, folder)
    elsewhere = store.root.parent / "elsewhere"
    copytree(store.root, elsewhere)
    Store(elsewhere)
    copyfile(elsewhere / "mlflow.db", store.root / "mlflow.db")
    with pytest.raises(OSError, match="another process uses the store by another path; end it"):
        store.record("k2", "pretrain", "bert", {}, {}, folder)
    assert store.find("k2") is None
    assert len(list((elsewhere / "artifacts").iterdir())) == 1


def test_a_link_to_a_store_changes_no_address(store: Store, folder: Path) -> None:
    record = store.record("k", "pretrain", "bert", {}, {}, folder)
    link = store.root.parent / "link"
    link.symlink_to(store.root)
    assert Store(link).finished() == {"k": record}


def test_a_server_is_read_through_mlflow(
    store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where MLflow puts files by default
    monkeypatch.setattr(mlflow_runs, "PAGE", 1)
    store.tracking("study")  # creates the tables
    copyfile(store.root / "mlflow.db", tmp_path / "server.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'server.db'}")
    remote = Store(tmp_path / "other")
    for key in ("k1", "k2"):
        remote.record(key, "pretrain", "bert", {}, {"loss": 0.5}, folder)
    assert sorted(remote.finished()) == ["k1", "k2"]
    assert list(remote.finished(["k2", "k3"])) == ["k2"]
    assert store.finished() == {}
    assert [path.name[:9] for path in remote.root.glob("*.db")] == ["snapshot-"]


def test_of_a_server_only_what_has_ended_since_is_fetched(
    store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal to a reader without a snapshot after additions, failures and deletions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.store.snapshot_updates.CLOCKS", 0)
    store.tracking("study")  # creates the tables
    copyfile(store.root / "mlflow.db", tmp_path / "server.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'server.db'}")
    reader, writer = Store(tmp_path / "reader"), Store(tmp_path / "writer")
    fetched: list[int] = []
    search = mlflow_runs.Server._search

    def counting(self: mlflow_runs.Server, *arguments: Any) -> list[Any]:
        found = search(self, *arguments)
        fetched.append(len(found))
        return found

    def read() -> list[str]:
        fetched.clear()
        with monkeypatch.context() as patch:
            patch.setattr(mlflow_runs.Server, "_search", counting)
            found = reader.finished()
        assert found == Store(tmp_path / f"new-{len(list(tmp_path.iterdir()))}").finished()
        return sorted(found)

    results = [writer.record(f"k{i}", "pretrain", "x", {}, {}, folder) for i in range(5)]
    assert read() == ["k0", "k1", "k2", "k3", "k4"] and sum(fetched) == 5
    results.append(writer.record("k5", "pretrain", "x", {}, {}, folder))
    assert len(read()) == 6 and sum(fetched) <= 2  # the latest known one, and the new one
    writer.forget(results[1])
    assert read() == ["k0", "k2", "k3", "k4", "k5"] and sum(fetched) <= 3
    writer._server.delete(results[0].run_id)
    assert read() == ["k2", "k3", "k4", "k5"] and sum(fetched) <= 3
    assert writer._server.has(results[0].run_id) and not writer._server.has("0" * 32)
    monkeypatch.setattr(mlflow_runs.Server, "has", lambda self, run: False)
    assert read() == ["k2", "k3", "k4", "k5"] and sum(fetched) > 4  # as of another server


def test_a_stage_recorded_after_an_outage_is_found(
    store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although a snapshot has runs that ended in the meantime, after it was computed."""
    monkeypatch.chdir(tmp_path)
    store.tracking("study")  # creates the tables
    copyfile(store.root / "mlflow.db", tmp_path / "server.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'server.db'}")
    reader, writer, other = (Store(tmp_path / name) for name in ("reader", "writer", "other"))
    now, set_terminated = [1e9], writer._server.client.set_terminated

    def away_at_first(*arguments: Any, **named: Any) -> None:
        if now == [1e9]:
            raise MlflowException("no answer", TEMPORARILY_UNAVAILABLE)
        set_terminated(*arguments, **named)

    def sleep(_: float) -> None:
        now[0] += 1200
        other.record("k2", "pretrain", "gpt", {}, {}, folder)
        assert reader.finished().keys() == {"k2"}

    for name in ("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "MLFLOW_HTTP_REQUEST_TIMEOUT"):
        monkeypatch.setenv(name, "1")
    server = outages.Outages("server", 3600)
    monkeypatch.setattr(mlflow_runs, "outages_of", lambda uri: server)
    monkeypatch.setattr(mlflow_runs, "time", SimpleNamespace(time=lambda: now[0]))
    clock = SimpleNamespace(sleep=sleep, monotonic=lambda: now[0])
    monkeypatch.setattr(outages, "time", clock)
    monkeypatch.setattr(writer._server.client, "set_terminated", away_at_first)
    writer.record("k1", "pretrain", "bert", {}, {}, folder)
    assert reader.finished().keys() == {"k1", "k2"}


def test_a_failed_run_does_not_hide_an_earlier_one(store: Store, folder: Path) -> None:
    first = store.record("k", "pretrain", "bert", {}, {"loss": 1.0}, folder)
    second = store.record("another", "pretrain", "bert", {}, {"loss": 2.0}, folder)
    # As versions without leases and checksums could record.
    store._server.client.set_tag(second.run_id, KEY, "k")
    store._server.client.delete_tag(second.run_id, CHECKSUM)
    second = replace(second, key="k")
    assert store.find("k") == store.finished()["k"] == second
    store.forget(second)
    assert store.find("k") == store.finished()["k"] == first


def test_downloads_are_checked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is damaged is downloaded again."""
    downloads: list[str] = []

    def download(uri: str, draft: Path) -> Path:
        downloads.append(uri)
        return copytree(folder, draft / "files")

    monkeypatch.setattr(mlflow_runs, "download", download)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    found = [local_folder(Artifact("s3://files", digest(folder))) for _ in range(2)]
    assert found[0] == found[1] and digest(found[0]) == digest(folder)
    assert downloads == ["s3://files"]
    (found[0] / "curve.csv").write_text("damaged")
    assert local_folder(Artifact("s3://files", digest(folder))) == found[0]
    assert digest(found[0]) == digest(folder) and len(downloads) == 2
    with pytest.raises(OSError, match="s3://files are damaged"):
        local_folder(Artifact("s3://files", "another"))
    assert not found[0].exists() and len(downloads) == 3
    assert local_folder(Artifact(folder.as_uri(), "another")) == folder  # checked when stored


def test_a_damaged_download_is_no_damaged_stage(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the server has is intact, so that nothing is computed again."""
    monkeypatch.setattr(mlflow_runs, "download", lambda _, to: copytree(folder, to / "files"))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    files, expected = IntactFiles(), digest(folder)
    for damaged in ("curve.csv", "model/weights.bin"):
        found = files.find("s3://files", expected)
        assert found is not None and digest(found) == expected
        (found / damaged).write_text("damaged")
    found = files.find("s3://files", expected)
    assert found is not None and digest(found) == expected
    (folder / "curve.csv").write_text("damaged on the server, too")
    (found / "curve.csv").write_text("damaged")
    assert files.find("s3://files", expected) is None


def test_a_stage_without_files_is_intact_on_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a held-out loss: the server has nothing to download."""

    def download(uri: str, draft: Path) -> Path:
        raise FileNotFoundError(uri)

    monkeypatch.setattr(mlflow_runs, "download", download)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    files, none = IntactFiles(), digest(tmp_path / "empty")
    found = files.find("s3://none", none)
    assert found is not None and not [*found.iterdir()]
    (found / "curve.csv").write_text("damaged")
    assert files.find("s3://none", none) == found and not [*found.iterdir()]
    assert files.find("s3://lost", "another") is None


def test_mlflow_downloads_files(folder: Path) -> None:
    assert digest(mlflow_runs.download(folder.as_uri(), folder.parent / "a")) == digest(folder)
    with pytest.raises(OSError, match="no-such-scheme"):
        mlflow_runs.download("no-such-scheme://host/files", folder.parent / "b")


def test_the_size_of_a_folder_in_which_a_stage_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files and folders are deleted while they are counted."""
    size = folder_size(folder)
    assert size == sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    stat = Path.stat

    def end(path: Path, **options: Any) -> os.stat_result:
        if path.suffix == ".csv":
            rmtree(folder)
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", end)
    assert folder_size(folder) == 0 == folder_size(folder)


def test_digest_is_of_sorted_names_and_contents(folder: Path) -> None:
    lines = [
        f"{name} {hashlib.sha256(content).hexdigest()}\n"
        for name, content in (("curve.csv", b"step\n1\n"), ("model/weights.bin", b"123"))
    ]
    assert digest(folder) == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_digest_depends_on_names_and_contents(tmp_path: Path) -> None:
    for name, file, text in (("a", "x", "1"), ("b", "x", "2"), ("c", "y", "1"), ("d", "x", "1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
    a, b, c, d = (digest(tmp_path / name) for name in "abcd")
    assert len({a, b, c}) == 3
    assert a == d


def test_flatten_gives_dotted_names() -> None:
    assert flatten({"a": {"b": 1, "c": {"d": 2}}, "e": 3}) == {"a.b": 1, "a.c.d": 2, "e": 3}


def test_names_that_mlflow_refuses_are_read_back(store: Store, folder: Path) -> None:
    """As of columns in which words are marked."""
    marked = {"Sentence (1)": "word", "is it?": ("start", "end"), "a/../b": "c" * 7000}
    spec = {"content": {"marked_words": marked, "data": {"files": {"train: a": "x"}}}}
    record = store.record("k", "finetune", "x", spec, {}, folder)
    assert store.spec(record) == store.specs([record])["k"] == spec
    assert flatten(store.spec(record)) == flatten(spec)


def test_long_params_are_read_back(store: Store, folder: Path) -> None:
    """MLflow would cut them after 6,000 characters."""
    spec = {"labels": [f"label {number}" for number in range(2_000)], "a": {"b": "x" * 6000}}
    record = store.record("k", "finetune", "x", spec, {}, folder)
    assert store.spec(record) == spec


@pytest.mark.parametrize("length", [0, 1, MAX_PARAM, MAX_PARAM + 1, 2 * MAX_PARAM, 12_345])
def test_params_of_any_length_are_joined_again(length: int) -> None:
    params = {"a": "".join(str(place % 10) for place in range(length)), "b": "c"}
    parts = split_params(params)
    assert max(map(len, parts.values())) <= MAX_PARAM and join_params(parts) == params


def test_a_text_is_cut_where_it_is_too_long() -> None:
    assert [cut("abcdef", limit) for limit in (7, 6, 5)] == ["abcdef", "abcdef", "ab..."]


@pytest.mark.parametrize("key", ["1234567890123456", "12345678e0123456", "0x12345678901234"])
def test_a_key_that_reads_as_a_number_is_text(key: str) -> None:
    spec = {"parents": {"tokenizer": key}, "steps": 1}
    assert unflatten({name: str(value) for name, value in flatten(spec).items()}) == spec


def test_a_spec_is_read_back() -> None:
    params = {"a.b": "1", "a.c": "('x', 2)", "d": "None", "e": "words, of text", "f": "1e-05"}
    assert unflatten(params) == {
        "a": {"b": 1, "c": ("x", 2)},
        "d": None,
        "e": "words, of text",
        "f": 1e-05,
    }
