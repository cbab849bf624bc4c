"""After any flipped bit, whatever a store returns is what was recorded, or absent."""

import math
import random
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pandas as pd
import pytest

from benchmarks.store_damage import flip
from harness.core.sqlite_files import damage
from harness.store.entries import CHECKSUM, DIGEST, NAME, SUITE
from harness.store.recorded import SCORE_COLUMNS, recorded_experiments
from harness.store.store import Store

FLIPS = 10
"""In each group of files."""
PLACES = {
    "tables": "mlflow.db",
    "tables without a snapshot": "mlflow.db",
    "snapshot": "snapshot*.db",
    "files": "artifacts/**/*",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with three stages, an experiment and imported results."""
    root = tmp_path_factory.mktemp("runs")
    store, out = Store(root / "runs"), root / "out"
    out.mkdir()
    (out / "experiment.json").write_text('{"arms": {"a": 1e-5}}')
    rows = [("one", "a", "s", "t", "dev", "acc", 0.75, 0, number, f"k{number}") for number in "123"]
    pd.DataFrame(rows, columns=SCORE_COLUMNS).to_parquet(out / "results.parquet")
    for number in (1, 2, 3):
        store.record(f"k{number}", "finetune", "a", {}, {"acc": 0.75, "loss": number / 7}, out)
    store.record_experiment("one", "s", out)
    store.record_import("lab.parquet", out)
    store.finished()
    return store


def returned(root: Path) -> dict[str, Any]:
    """Whatever a store returns, by name."""
    store = Store(root)
    finished = store.finished()
    # Not the addresses of files, whose content is compared, and when a run ended.
    found: dict[str, Any] = {
        key: replace(one, artifact_uri="", recorded=0) for key, one in finished.items()
    }
    for key, one in finished.items():
        if folder := store.fetch(one):
            found |= {f"{key}/{path.name}": path.read_bytes() for path in folder.iterdir()}
    for experiment in recorded_experiments(store):
        found[experiment.name] = (experiment.spec, experiment.scores.to_dict("list"))
    for number, folder in enumerate(store.imports()):
        found[f"import {number}"] = (folder / "results.parquet").read_bytes()
    return found


def returned_or_error(root: Path) -> tuple[dict[str, Any], str]:
    try:
        return returned(root), ""
    except OSError as error:
        return {}, str(error)


@pytest.mark.parametrize("place", PLACES)
def test_a_flipped_bit_changes_nothing_silently(store: Store, place: str) -> None:
    rng, expected, absent = random.Random(0), returned(store.root), 0
    assert len(expected) == 3 + 3 * 2 + 2
    before = {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file()}
    for _ in range(FLIPS):
        path = rng.choice(sorted(one for one in store.root.glob(PLACES[place]) if one.is_file()))
        bytes_ = [i for i, byte in enumerate(before[path]) if byte]
        flip(path, 8 * rng.choice(bytes_) + rng.randrange(8))
        if "without" in place:
            store.runs.snapshot.discard()
        found, error = returned_or_error(store.root)
        assert "\n" not in error
        assert re.match(rf"{path} is damaged \(|MLflow: ", error) or not error, error
        assert {name: expected.get(name) for name in found} == found
        absent += found != expected
        for changed, content in before.items():
            if not changed.exists() or changed.read_bytes() != content:
                changed.write_bytes(content)  # in place, as MLflow has the tables open
    assert absent == FLIPS or place != "files"
    assert returned(store.root) == expected


CHANGES = {
    "metric": "update latest_metrics set value = 0.125 where key = 'loss' and value < 0.2",
    "metric undefined": "update latest_metrics set is_nan = 1 where key = 'loss' and value < 0.2",
    "metric lost": "delete from latest_metrics where key = 'loss' and value < 0.2",
    "key": "update tags set value = 'k9' where key = 'harness.key' and value = 'k1'",
    "kind lost": "delete from tags where key = 'harness.kind' and run_uuid in "
    "(select run_uuid from tags where key = 'harness.key' and value = 'k1')",
    "start": "update runs set start_time = start_time + 1 where run_uuid in "
    "(select run_uuid from tags where key = 'harness.key' and value = 'k1')",
}
"""What of the stage k1 is changed."""


@pytest.fixture
def own(store: Store, tmp_path: Path) -> Store:
    """A copy of the store, without a snapshot."""
    copytree(store.root, tmp_path / "runs")
    own = Store(tmp_path / "runs")
    own.runs.snapshot.discard()
    return own


def execute(store: Store, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(store.runs.database)) as database, database:
        assert database.execute(statement, values).rowcount == 1


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_run_does_not_count_until_it_is_recorded_again(
    own: Store, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected = own.finished()
    folder = own.files(expected["k1"])
    own.runs.snapshot.discard()
    execute(own, CHANGES[change])
    again = Store(own.root)
    assert again.finished() == {key: expected[key] for key in ("k2", "k3")}
    again.finished()
    assert again.find("k1") is None
    assert len([one for one in caplog.records if "is left out" in one.message]) == 1
    assert not again.runs.snapshot.rows().keys() & {expected["k1"].run_id}
    again.record("k1", "finetune", "a", {}, {"acc": 0.75, "loss": 1 / 7}, folder)
    if change != "key":  # which no longer says what it is
        assert not again.runs.left_out and not Store(own.root).runs.left_out
    assert Store(own.root).finished().keys() == expected.keys()


def test_runs_of_versions_without_checksums_count(own: Store) -> None:
    expected = own.finished()
    own.runs.snapshot.discard()
    with closing(sqlite3.connect(own.runs.database)) as database, database:
        database.execute("delete from tags where key = ?", (CHECKSUM,))
    found = Store(own.root).finished()
    assert {key: one.metrics for key, one in found.items()} == {
        key: one.metrics for key, one in expected.items()
    }


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -0.0, 1 / 3, 1e-320])
def test_every_number_has_the_checksum_that_it_is_recorded_with(store: Store, value: float) -> None:
    """Although MLflow stores some of them as others."""
    (folder,) = store.imports()
    entry = store._server.add("x", {"other": "tag"}, {}, {"m": value}, folder)
    found = store._server.search(f"attributes.run_id = '{entry.run_id}'")[0]
    assert entry.is_intact and found.is_intact and found.tags[CHECKSUM] == entry.tags[CHECKSUM]
    store._server.delete(entry.run_id)


def test_a_damaged_experiment_is_left_out_until_it_is_recorded_again(
    own: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """And gives no earlier record in its place, which may differ."""
    folder = own.experiments()["one"]
    own.record_experiment("one", "s", folder)
    latest = own.experiments()["one"]
    intact = (latest / "experiment.json").read_text()
    (latest / "experiment.json").write_text(intact.replace("-5", "-4"))
    assert own.experiments() == {} == Store(own.root).experiments()
    assert "experiment one is left out: a file of it is damaged; run it again" in caplog.messages
    own.record_experiment("one", "s", folder)
    assert own.experiments().keys() == {"one"} == Store(own.root).experiments().keys()
    execute(own, "update tags set value = 't' where key = ? and run_uuid = ?", SUITE, run_of(own))
    assert Store(own.root).experiments() == {}


def test_a_record_without_a_digest_is_not_enough(own: Store) -> None:
    """The next run of the experiment records it again."""
    out = own.experiments()["one"]
    assert own.is_recorded("one", out) and not own.is_recorded("two", out)
    execute(own, "delete from tags where key = ? and run_uuid = ?", CHECKSUM, run_of(own))
    execute(own, "delete from tags where key = ? and run_uuid = ?", DIGEST, run_of(own))
    assert own.experiments().keys() == {"one"} and not own.is_recorded("one", out)


def run_of(store: Store) -> str:
    """Id of the latest run of the experiment."""
    return store.runs.tagged(NAME)[-1].run_id


def test_a_damaged_import_is_left_out(own: Store, caplog: pytest.LogCaptureFixture) -> None:
    (folder,) = own.imports()
    (folder / "results.parquet").unlink()
    assert own.imports() == {}
    line = "import lab.parquet is left out: a file of it is damaged; import it again"
    assert line in caplog.messages


def test_damaged_tables_are_one_line(own: Store) -> None:
    own.runs.database.write_bytes(b"no database" * 1000)
    line = rf"{own.runs.database} is damaged \(file is not a database\): replace it by a copy, or "
    with pytest.raises(OSError, match=line):
        own.finished()
    with pytest.raises(OSError, match=line):
        own.experiments()
    with pytest.raises(OSError, match=r"MLflow: .*file is not a database"):
        Store(own.root)._server.experiment_id  # noqa: B018
    own.runs.database.unlink()
    own.runs.database.mkdir()
    with pytest.raises(OSError, match=rf"{own.runs.database}: (unable|disk)"):
        own.finished()


def test_a_damaged_index_of_the_tables_is_found_when_asked_for(own: Store) -> None:
    assert damage(own.runs.database) == "" == damage(own.runs.database, thorough=True)
    with closing(sqlite3.connect(own.runs.database)) as database, database:
        database.execute("pragma writable_schema = on")
        database.execute(
            "update sqlite_master set sql = replace(sql, '(run_uuid)', '(value)') where name = ?",
            ("index_tags_run_uuid",),
        )
    assert damage(own.runs.database) == ""
    assert "index_tags_run_uuid" in damage(own.runs.database, thorough=True)
