"""What is damaged in a store is found, and marked on request."""

import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import rmtree

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.store.recorded import RecordedExperiment
from harness.store.store import Store
from harness.store.verification import CHANGED, damaged_stages, find_damage, repair


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two stages, an experiment and imported results."""
    store, out = Store(tmp_path / "runs"), tmp_path / "out"
    out.mkdir()
    (out / "experiment.json").write_text("{}")
    for key in ("k1", "k2"):
        store.record(key, "finetune", f"arm {key}", {}, {"loss": 0.5}, out)
    store.record_experiment("one", "s", out)
    store.record_import("lab.parquet", out)
    return store


def damage_files(store: Store, *tags: str) -> None:
    """Adds a byte to a file of the latest run with each tag."""
    for tag in tags:
        folder = store._files.find(store.runs.tagged(f"harness.{tag}")[-1].artifact_uri, None)
        assert folder
        with (folder / "experiment.json").open("a") as file:
            file.write(" ")


def verify(store: Store, *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["verify", "--store", str(store.root), *options])
    return result.exit_code, result.output


def test_an_intact_store_has_no_damage(store: Store) -> None:
    assert find_damage(store, store.finished().values()) == []
    code, output = verify(store)
    assert code == 0
    assert output.startswith("intact: 2 stages, 1 experiment, 1 imported result of ")


def test_every_kind_of_damage_is_found_and_marked_where_it_can_be(store: Store) -> None:
    first = store.finished()["k1"]
    damage_files(store, "key", "experiment", "import")
    found = find_damage(store, store.finished().values())
    names = ["finetune arm k2", "experiment one", "import lab.parquet"]
    assert [one.name for one in found] == names
    assert found[0].problem == CHANGED and Path(found[0].place).is_dir()
    assert repair(store, found) == [found[1]]
    again = Store(store.root)
    assert again.finished() == {"k1": first} and again.imports() == {}
    assert [one.name for one in find_damage(again, again.finished().values())] == names[1:2]
    again.record_experiment("one", "s", store.root.with_name("out"))
    assert find_damage(again, again.finished().values()) == []


def test_the_command_lists_and_marks(store: Store) -> None:
    damage_files(store, "key")
    code, output = verify(store)
    assert code == 1
    assert [line.split()[:3] for line in output.splitlines() if "arm k2" in line] == [
        ["finetune", "arm", "k2"]
    ]
    assert "mark what can be computed again with --repair" in output
    code, output = verify(store, "--repair")
    assert code == 0 and "1 marked" in output
    assert verify(store)[0] == 0
    damage_files(store, "experiment")
    code, output = verify(store, "--repair")
    assert code == 1 and "experiment one: run it again" in output


def test_damaged_tables_are_found(store: Store) -> None:
    finished = store.finished()
    with closing(sqlite3.connect(store.runs.database)) as database, database:
        database.execute("pragma writable_schema = on")
        database.execute(
            "update sqlite_master set sql = replace(sql, '(run_uuid)', '(value)') where name = ?",
            ("index_tags_run_uuid",),
        )
    code, output = verify(store)
    assert code == 1 and "mlflow.db: replace it by a copy, or remove it" in output
    store.runs.database.write_bytes(b"no database" * 1000)
    code, output = verify(store)
    assert code == 2 and len(output.splitlines()) == 1 and "mlflow.db is damaged" in output
    assert len(finished) == 2


def test_files_that_are_not_mounted_are_not_damaged(store: Store) -> None:
    finished = store.finished()
    rmtree(store.root / "artifacts")
    with pytest.raises(OSError, match="artifacts is missing, which has the files of finished"):
        list(damaged_stages(store, finished.values()))


@pytest.mark.parametrize("command", [["leaderboard", "micro-glue-v1"], ["store"], ["gc"]])
def test_commands_on_damaged_tables_say_one_line(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"no database" * 1000)
    result = CliRunner().invoke(app, [*command, "--store", str(tmp_path)])
    *before, line = result.output.splitlines()
    assert result.exit_code == 2 and before in ([], [f"store: {tmp_path}"])
    assert line == (
        f"{tmp_path}/mlflow.db is damaged (file is not a database): replace it by a copy, or "
        "remove it, and all stages are computed again"
    )


def test_records_of_versions_without_digests_say_what_cannot_be_read(tmp_path: Path) -> None:
    one = RecordedExperiment("one", tmp_path)
    for file, content in {"experiment.json": b"{", "stages.json": b"\xff"}.items():
        (tmp_path / file).write_bytes(content)
    (tmp_path / "results.parquet").write_bytes(b"PAR1")
    for read in ("spec", "stages", "scores"):
        with pytest.raises(ValueError, match=r"^\S+ cannot be read: run one again \(.+\)$"):
            getattr(one, read)
