"""Archives of made-up results: what comes back, and one clear line for each wrong file."""

import io
import json
import lzma
import runpy
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from typer.testing import CliRunner

import harness
from harness.cli.app import app
from harness.data.corpora.token_counts import token_counts
from harness.data.corpora.token_stream import TokenStream
from harness.exchange.archives import read_archive
from harness.exchange.archives.archived_store import archived_stages, restore_archive
from harness.exchange.archives.hidden_texts import has_texts, without_texts
from harness.exchange.archives.manifest import MANIFEST
from harness.exchange.archives.read_archive import opened, read_manifest
from harness.exchange.archives.write_archive import write_archive
from harness.execution.restored import forget_partial
from harness.finetuning.augmentation import outputs_folder, save_texts
from harness.finetuning.distillation import TEXTS, Augmentation
from harness.finetuning.soft_targets import OUTPUTS
from harness.plan.learned_vocabularies import TRAIN_TOKENS, VOCAB_SIZE
from harness.store.declared import Declared, keep_declared, read_declared
from harness.store.looks import MadeLook, keep_looks, read_looks
from harness.store.recorded import recorded_experiments
from harness.store.store import Store
from harness.store.verification import find_damage
from harness.study import Study
from harness.tasks.scores import COUNTS, PREDICTIONS, save_counts
from tests.paths import ROOT

EXPERIMENT: dict[str, Any] = {
    "name": "kept",
    "question": "What remains?",
    "expect": "nsp > none",
    "pretrain": {
        "size": "nano",
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 300},
        "budget": {"steps": 3},
    },
    "grid": {"pretrain.objective.sentence_pair": ["nsp", "none"]},
    "evaluate": {"tasks": ["micro-sst2"]},
}
NUM_EXAMPLES = 200
LABELS = np.arange(NUM_EXAMPLES) % 2.0
DECLARED = {"nsp > none": Declared("2025-01-01T00:00:00+00:00", 0, 4)}
LOOKS = {2: MadeLook("2026-01-02", 3, False), 3: MadeLook("2026-01-03", 3, False)}


def study_in(folder: Path, **changes: Any) -> Study:
    return harness.declare({**EXPERIMENT, **changes}, store=folder)


def fill(study: Study, **counted: float) -> Study:
    """Records made-up results of all stages, with weights and tokens.

    Args:
        counted: further metrics of each stage.
    """
    store = study.store
    for number, (key, stage) in enumerate(study.plan.stages.items()):
        out = store.root / "made" / key
        out.mkdir(parents=True)
        (out / "history.jsonl").write_text('{"step": 1, "time": 1}\n')
        MAKERS.get(stage.kind, lambda out, number: None)(out, number)
        metrics = {"seconds": 1.5, "validation/accuracy": 0.5 + number / 1000}
        metrics["validation_loss"] = float("nan") if number % 2 else 2.0
        metrics |= counted
        spec = {**stage.spec, "parents": stage.parents}
        store.record(key, stage.kind, stage.label, spec, metrics, out, f"made by {number}", "why")
    keep_declared(store.root, study.name, DECLARED)
    keep_looks(store.root, study.name, LOOKS)
    return study


def _network(out: Path, number: int) -> None:
    (out / "model").mkdir()
    (out / "model" / "model.safetensors").write_bytes(b"w" * 1000)
    (out / "model" / "harness.json").write_text("{}")
    pd.DataFrame({"step": [1], "tokens": [10], "train_loss": [2.0]}).to_csv(out / "curve.csv")


def _tokenizer(out: Path, number: int) -> None:
    Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a")).save(str(out / "tokenizer.json"))


def _tokens(out: Path, number: int) -> None:
    for name, ids in (("train", [0, 0, 0, 1, 1, 2]), ("validation", [0, 1, 3])):
        (out / name).mkdir()
        for array in ("tokens", "sentences", "documents", "bytes"):
            np.save(out / name / f"{array}.npy", np.array(ids, dtype=np.uint16))
    assert TokenStream.open(out / "train").num_tokens == 6


def _scored(out: Path, number: int) -> None:
    right = np.random.default_rng(number).random(NUM_EXAMPLES) < 0.8
    frame = pd.DataFrame({"split": "validation", "index": range(NUM_EXAMPLES)})
    frame = frame.assign(label=LABELS, prediction=np.where(right, LABELS, 1 - LABELS))
    frame.to_parquet(out / PREDICTIONS)
    counts = {"accuracy": np.c_[right, np.ones(NUM_EXAMPLES)], "labels": LABELS.astype(np.uint8)}
    save_counts(out / COUNTS, {"validation": counts})


MAKERS: dict[str, Callable[[Path, int], None]] = {
    "tokenizer": _tokenizer,
    "tokenize": _tokens,
    "pretrain": _network,
    "finetune": _scored,
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return fill(study_in(tmp_path_factory.mktemp("filled") / "runs"))


@pytest.fixture(scope="module")
def archive(filled: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "stages.tar.xz"
    assert write_archive(filled.results, path) == len(filled.plan.stages)
    return path


def names_in(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return [member.name for member in tar]


def test_an_archive_has_results_but_neither_weights_nor_tokens(
    filled: Study, archive: Path
) -> None:
    found = {name.partition("/")[2] for name in names_in(archive)[1:]}
    assert found == {
        *("counts.npz", "predictions.parquet"),
        *("curve.csv", "model/harness.json", "tokenizer.json"),
        "token_counts.npz",
    }
    assert names_in(archive)[0] == MANIFEST
    with archived_stages(archive, filled.declaration) as (_, store):
        kept, stages = store.finished(), filled.results.finished
        assert list(kept) == list(filled.plan.stages)
        for key, one in kept.items():
            assert one.metrics == pytest.approx(stages[key].metrics, nan_ok=True)
            assert (one.label, one.made_with) == (stages[key].label, stages[key].made_with)
            assert one.adopted == "why"
            whole = one.kind not in ("tokenize", "pretrain")
            assert bool(one.left_out) != whole
            assert store.fetch(one)
        assert read_declared(store.root, "kept") == DECLARED
        assert read_looks(store.root, "kept") == LOOKS
        text = next(one for one in kept.values() if one.kind == "tokenize")
        counts = token_counts(store.files(text))
        assert counts and [own.tolist() for own in counts] == [[3, 2, 1, 0], [1, 1, 0, 1]]
        with pytest.raises(ValueError, match=r"was restored from an archive, .* not train/bytes"):
            store.all_files(text)


def test_examples_and_counts_are_as_they_were(filled: Study, archive: Path) -> None:
    study = study_in(filled.folder)
    with archived_stages(archive, study.declaration) as (_, study.store):
        results = study.results
        for run in filled.plan.finetune_runs:
            expected = filled.results.predictions(run.key)
            pd.testing.assert_frame_equal(results.predictions(run.key), expected)
            counts, measured = results.counts(run.key), filled.results.counts(run.key)
            assert counts.keys() == measured.keys()
            assert all(np.array_equal(counts[name], measured[name]) for name in counts)


def test_equal_results_give_equal_bytes_also_after_a_restoration(
    filled: Study, archive: Path, tmp_path: Path
) -> None:
    write_archive(filled.results, tmp_path / "again.tar.xz")
    assert (tmp_path / "again.tar.xz").read_bytes() == archive.read_bytes()
    study = study_in(tmp_path / "runs")
    restore_archive(archive, study.plan, study.store)
    write_archive(study.results, tmp_path / "third.tar.xz")
    assert (tmp_path / "third.tar.xz").read_bytes() == archive.read_bytes()


def test_stages_that_are_there_are_left_and_the_experiment_is_recorded(
    filled: Study, archive: Path, tmp_path: Path
) -> None:
    study = study_in(tmp_path / "runs")
    store, (key, *others) = study.store, study.plan.stages
    (tmp_path / "own").mkdir()
    own = store.record(key, study.plan.stages[key].kind, "own", {}, {"loss": 1.0}, tmp_path / "own")
    other = store.record("other", "finetune", "of another", {}, {}, tmp_path / "own")
    keep_declared(store.root, "kept", {"nsp > none": Declared("earlier", 1, 4)})
    keep_looks(store.root, "kept", {2: MadeLook("earlier", 4, True)})
    assert restore_archive(archive, study.plan, store) == others
    finished = store.finished()
    assert finished[key] == own and finished["other"] == other
    assert read_declared(store.root, "kept")["nsp > none"].time == "earlier"
    assert read_looks(store.root, "kept") == {2: MadeLook("earlier", 4, True), 3: LOOKS[3]}
    (recorded,) = recorded_experiments(store)
    assert recorded.name == "kept" and recorded.stages == set(study.plan.stages)
    assert find_damage(store, finished.values()) == []
    assert restore_archive(archive, study.plan, store) == []


def test_a_stage_that_a_run_records_meanwhile_is_left(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its weights, which the archive lacks."""
    study = study_in(tmp_path / "runs")
    restored = restore_archive(archive, study.plan, study.store)
    known = study.store.finished()
    with monkeypatch.context() as before:
        before.setattr(study.store, "finished", lambda *_: {})
        assert restored and not restore_archive(archive, study.plan, study.store)
    assert study.store.finished() == known


def test_a_stage_that_lacks_weights_is_computed_again_if_another_starts_from_it(
    archive: Path, tmp_path: Path
) -> None:
    study = study_in(tmp_path / "runs")
    restore_archive(archive, study.plan, study.store)
    finished = study.store.finished()
    assert forget_partial(study.plan, study.store, finished) == 0
    kinds = {key: one.kind for key, one in finished.items()}
    run = study.plan.finetune_runs[0]
    study.store.forget(finished.pop(run.key))
    assert forget_partial(study.plan, study.store, finished) == 2
    lost = {kinds[key]: key for key in kinds.keys() - finished.keys() - {run.key}}
    assert lost["pretrain"] == study.plan.stages[run.key].parents["pretrain"]
    assert lost.keys() == {"pretrain", "tokenize"}
    assert study.store.finished() == finished


def test_an_archive_of_an_earlier_declaration_is_refused(archive: Path, tmp_path: Path) -> None:
    pretrain = {**EXPERIMENT["pretrain"], "tokenizer": {"vocab_size": 400}}
    study = study_in(tmp_path / "runs", pretrain=pretrain)
    with (
        pytest.raises(ValueError, match="as it is planned now, but has none: the experiment, the"),
        archived_stages(archive, study.declaration),
    ):
        pass


def changed(archive: Path, out: Path, change: Callable[[list[tuple[str, bytes]]], None]) -> Path:
    """A copy of an archive whose members were changed."""
    with tarfile.open(archive) as tar:
        members = [(one.name, tar.extractfile(one).read()) for one in tar]  # type: ignore[union-attr]
    change(members)
    with tarfile.open(out, "w:xz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out


def of_manifest(**values: Any) -> Callable[[list[tuple[str, bytes]]], None]:
    def change(members: list[tuple[str, bytes]]) -> None:
        members[0] = (MANIFEST, json.dumps({**json.loads(members[0][1]), **values}).encode())

    return change


def added(name: str) -> Callable[[list[tuple[str, bytes]]], None]:
    return lambda members: members.append((name.format(members[1][0].split("/")[0]), b"x"))


STAGE = {
    "key": "0" * 16,
    "kind": "finetune",
    "label": "",
    "spec": {},
    "metrics": {},
    "digest": "",
    "made_with": "",
    "adopted": "",
    "left_out": "",
}
WRONG = [
    (lambda members: members.pop(), "files of stage [0-9a-f]+ are missing or changed"),
    (lambda members: members.pop(0), "its first file is not archive.json"),
    (lambda members: members.clear(), "its first file is not archive.json"),
    (added("{}/model/new.json"), "files of stage [0-9a-f]+ are missing or changed"),
    (added("{}/../../escaped"), "'[0-9a-f]+/../../escaped' is no file of a stage"),
    (added("/tmp/escaped"), "'/tmp/escaped' is no file of a stage"),
    (added("{}/a\\..\\escaped"), "is no file of a stage"),
    (added("unknown/file"), "'unknown/file' is no file of a stage"),
    (added("{}"), "is no file of a stage"),
    (added("{}/\udcff"), "is no file of a stage"),
    (added("{}/" + 300 * "x"), "is no file of a stage"),
    (added("{}" + 50 * ("/" + 100 * "x")), "is no file of a stage"),
    (lambda members: members.append(members[1]), "' is there twice"),
    (lambda members: added(members[1][0] + "/below")(members), "/below' is there twice"),
    (lambda members: members.insert(0, (MANIFEST, b"[" * 100_000)), "archive.json is not JSON"),
    (of_manifest(stages=[{**STAGE, "key": "a' OR 'b'='b"}]), "is no key of a stage"),
    (of_manifest(format=2), "it has format 2, and this version of the harness reads format 1"),
    (of_manifest(stages=[{"key": "../up"}]), "archive.json: stages.0.kind: Field required"),
    (of_manifest(more=1), "archive.json: more: Extra inputs are not permitted"),
    (lambda members: members.insert(0, (MANIFEST, b"{")), "archive.json is not JSON"),
    (of_manifest(experiment="another"), "must have the stages of kept, but has those of another"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_wrong_content_is_refused_in_one_line(
    change: Callable[[list[tuple[str, bytes]]], None], message: str, archive: Path, tmp_path: Path
) -> None:
    path = changed(archive, tmp_path / "wrong.tar.xz", change)
    with pytest.raises(ValueError, match=message) as error, opened(path, "kept"):
        pass
    assert str(path) in str(error.value) and "\n" not in str(error.value)
    assert not list(tmp_path.rglob("escaped"))


def test_keys_that_are_paths_and_links_are_refused(archive: Path, tmp_path: Path) -> None:
    def rename(members: list[tuple[str, bytes]]) -> None:
        content = json.loads(members[0][1])
        content["stages"][0]["key"] = "../up"
        members[0] = (MANIFEST, json.dumps(content).encode())

    path = changed(archive, tmp_path / "key.tar.xz", rename)
    with pytest.raises(ValueError, match=r"'../up' is no key of a stage"), opened(path, "kept"):
        pass
    with tarfile.open(archive) as tar:
        first = tar.next()
        assert first
        manifest = tar.extractfile(first).read()  # type: ignore[union-attr]
    key = json.loads(manifest)["stages"][0]["key"]
    with tarfile.open(tmp_path / "link.tar.xz", "w:xz") as tar:
        tar.addfile(first, io.BytesIO(manifest))
        link = tarfile.TarInfo(f"{key}/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with (
        pytest.raises(ValueError, match="/link' is no file of a stage"),
        opened(tmp_path / "link.tar.xz", "kept"),
    ):
        pass


SPARSE = {"GNU.sparse.map": "999999999999,1", "GNU.sparse.size": "1000000000000"}


@pytest.mark.parametrize("at_manifest", [False, True])
@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (SPARSE, "/sparse' is no file of a stage|its first file is not archive.json"),
        ({"GNU.sparse.map": "x", "GNU.sparse.size": "5"}, "must be an intact archive, but: inv"),
        ({"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}, "must be an intact archive, but: "),
        ({"size": str(10**40)}, "must be an intact archive, but: "),
    ],
)
def test_heads_of_members_that_are_larger_than_their_content_are_refused(
    heads: dict[str, str], message: str, at_manifest: bool, archive: Path, tmp_path: Path
) -> None:
    """The holes of a sparse file take no room in an archive, but would fill the disk."""
    with tarfile.open(archive) as tar:
        first = tar.next()
        assert first
        manifest = tar.extractfile(first).read()  # type: ignore[union-attr]
    key = json.loads(manifest)["stages"][0]["key"]
    path = tmp_path / "sparse.tar.xz"
    with tarfile.open(path, "w:xz", format=tarfile.PAX_FORMAT) as tar:
        first.pax_headers = heads if at_manifest else {}
        tar.addfile(first, io.BytesIO(manifest))
        member = tarfile.TarInfo(f"{key}/sparse")
        member.size, member.pax_headers = 1, {} if at_manifest else heads
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(ValueError, match=message) as error, opened(path, "kept"):
        pass
    assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("place", [0, 10, 0.3, 0.6, 0.9, -1, -30])
def test_every_flipped_bit_and_cut_end_is_found(
    place: float, archive: Path, tmp_path: Path
) -> None:
    content = bytearray(archive.read_bytes())
    at = int(place * len(content)) if 0 < place < 1 else int(place)
    content[at] ^= 4
    flipped, cut = tmp_path / "flipped.tar.xz", tmp_path / "cut.tar.xz"
    flipped.write_bytes(content)
    cut.write_bytes(archive.read_bytes()[: at or None][: len(content) - 1])
    for path in (flipped, cut):
        with (
            pytest.raises(ValueError, match="must be an intact archive, but: "),
            opened(path, "kept"),
        ):
            pass


def test_content_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_archive, "MAX_BYTES", 2**21)
    path = tmp_path / "zeros.tar.xz"
    path.write_bytes(lzma.compress(bytes(2**23)))
    with pytest.raises(ValueError, match="has more than 2,097,152 bytes"), opened(path, "kept"):
        pass


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE])
def test_a_manifest_without_end_is_not_read_into_memory(
    kind: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a head of a tar file that says it is so long."""
    monkeypatch.setattr(read_archive, "MAX_MANIFEST_BYTES", 2**20)
    path, member = tmp_path / "spaces.tar.xz", tarfile.TarInfo(MANIFEST)
    member.size, member.type = 2**24, kind
    path.write_bytes(lzma.compress(member.tobuf(tarfile.PAX_FORMAT) + b" " * 2**24))
    with pytest.raises(ValueError, match=r"its archive.json has more than 1,048,576 bytes"):
        read_manifest(path)


@pytest.mark.parametrize(
    ("limit", "part"), [("MAX_MANIFEST_BYTES", "manifest"), ("MAX_BYTES", "content")]
)
def test_an_archive_that_could_not_be_read_is_not_written(
    limit: str, part: str, filled: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_archive, limit, 1_000)
    path = tmp_path / "large.tar.xz"
    with pytest.raises(ValueError, match=f"the {part} of an archive must have at most 1,000"):
        write_archive(filled.results, path)
    assert not path.exists()


def test_the_commands(filled: Study, archive: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "kept.yaml", tmp_path / "stages.tar.xz"
    file.write_text(yaml.safe_dump(EXPERIMENT))

    def call(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        return result.exit_code, result.output

    store = ("--store", str(tmp_path / "runs"))
    code, output = call("archive", str(file), str(out), *store)
    assert code == 2 and "kept was never run in the store" in output and not out.exists()
    other = tmp_path / "other.yaml"
    other.write_text("name: other")
    code, output = call("archive", str(file), str(other), "--store", str(filled.folder))
    assert (code, output) == (2, f"{other} must be a file that ends with .tar.xz\n")
    assert other.read_text() == "name: other"
    code, output = call("archive", str(file), str(out), "--store", str(filled.folder))
    total = len(filled.plan.stages)
    assert code == 0 and f"stages.tar.xz: {total} of {total} stages, " in output
    assert out.read_bytes() == archive.read_bytes()
    code, output = call("restore", str(file), str(out), *store)
    assert code == 0 and f"{total} stages restored" in output
    assert f"kept: {total} of {total} stages are done" in output and "data" not in output
    changed = ("--set", "pretrain.tokenizer.vocab_size=400", "--store", str(tmp_path / "other"))
    code, output = call("restore", str(file), str(out), *changed)
    assert code == 0 and f"kept: 0 of {total} stages are done" in output
    assert "no stage of the archive is one of the experiment as it is planned now" in output
    assert f"{total} of {total} stages done" in call("status", str(file), *store)[1]
    assert call("verify", *store)[0] == 0
    assert call("report", str(file), "--archive", str(file), *store) == (
        2,
        f"{file} must be an intact archive, but: Input format not supported by decoder\n",
    )
    code, output = call("restore", str(file), str(tmp_path / "absent"), *store)
    assert (code, output) == (2, f"there is no file {tmp_path / 'absent'}\n")
    shutil.rmtree(tmp_path / "runs")
    assert call("report", str(file), "--archive", str(out), *store)[0] == 0
    assert (tmp_path / "runs/reports/kept/index.html").is_file()


def test_committed_reports_are_made_again(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """With a page only where there is one; what cannot be made is said."""
    script = runpy.run_path(str(ROOT / "docs/make_reports.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [])
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments/kept.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    folder = tmp_path / "reports/kept"
    folder.mkdir(parents=True)
    shutil.copy(archive, folder / "stages.tar.xz")
    assert script["make"](Path("kept"))
    assert (folder / "README.md").is_file() and not (folder / "index.html").exists()
    assert list(script["studies"]()) == [Path("kept")]
    (folder / "index.html").write_text("earlier")
    assert script["make"](Path("kept"))
    assert (folder / "index.html").read_text() != "earlier"
    assert "report experiments/kept.yaml --archive" in (folder / "README.md").read_text()
    (folder / "stages.tar.xz").write_bytes(b"no archive")
    assert not script["make"](Path("kept"))
    assert "must be an intact archive" in capsys.readouterr().err


def test_variants_and_overrides_need_not_be_given_again(tmp_path: Path) -> None:
    file, out = tmp_path / "kept.yaml", tmp_path / "stages.tar.xz"
    varied = {"variants": {"longer": {"pretrain.budget.steps": 4}}}
    file.write_text(yaml.safe_dump(EXPERIMENT | varied))
    changes = ("--variant", "longer", "--set", "pretrain.tokenizer.vocab_size=400")
    study = fill(Study.load(file, changes[3:], tmp_path / "runs", changes[1:2]))

    def call(*arguments: str | Path) -> tuple[int, str]:
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        return result.exit_code, result.output

    assert call("archive", file, out, *changes, "--store", study.folder)[0] == 0
    assert read_manifest(out).variants == study.plan.declaration.variants == ("longer",)
    assert read_manifest(out).overrides == changes[3:]
    total = len(study.plan.stages)
    for given, restored in ((), total), (changes, total), (changes[:2], 0):
        store = ("--store", tmp_path / f"restored {len(given)}")
        code, output = call("restore", file, out, *given, *store)
        assert code == 0 and f"kept-longer: {restored} of {total} stages are done" in output
    code, output = call("report", file, "--archive", out, "--out", tmp_path / "report")
    assert code == 0 and "not finished" not in output
    assert "vocab_size=400" in (tmp_path / "report" / "README.md").read_text()
    assert call("report", file, "--archive", tmp_path / "absent") == (
        2,
        f"there is no file {tmp_path / 'absent'}\n",
    )


def test_reports_and_boards_need_no_files_of_an_own_corpus(tmp_path: Path) -> None:
    text, file, out = (tmp_path / name for name in ("own.txt", "kept.yaml", "stages.tar.xz"))
    text.write_text("A cat sat on a mat.\n\n" * 400)
    pretrain = EXPERIMENT["pretrain"] | {"corpus": {"source": "text", "path": str(text)}}
    file.write_text(yaml.safe_dump(EXPERIMENT | {"pretrain": pretrain}))
    counted = {VOCAB_SIZE: 99.0, TRAIN_TOKENS: 2_800.0}
    write_archive(fill(Study.load(file, (), tmp_path / "runs"), **counted).results, out)
    arguments = ["report", str(file), "--archive", str(out), "--out", str(tmp_path / "report")]
    for size in ("1 file, 400 documents, 2,400 words, 0.01 MB, ", ""):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        page = (tmp_path / "report" / "README.md").read_text()
        assert f"own.txt: {size}2,800 tokens for training, read" in page
        text.unlink(missing_ok=True)
    total = len(read_manifest(out).stages)
    for content, reason in (None, "data that are missing here"), ("The dog ran.", "data differ"):
        if content:
            text.write_text(f"{content}\n\n" * 400)
        arguments = ["restore", str(file), str(out), "--store", str(tmp_path / reason)]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0 and f"{total} of {total} stages are done" in result.output
        assert reason in " ".join(result.output.split())
        assert recorded_experiments(Store(tmp_path / reason))


@pytest.mark.parametrize("override", ["plugins=[planted]", " plugins = \n- planted"])
def test_an_archive_cannot_name_code(
    override: str, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plug-ins that the experiment does not list are not imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "planted.py").write_text("raise SystemExit('imported')")
    file, evil = tmp_path / "kept.yaml", tmp_path / "evil.tar.xz"
    file.write_text(yaml.safe_dump(EXPERIMENT))
    changed(archive, evil, of_manifest(overrides=[override]))
    expected = f"{evil} was written with plug-ins that {file} does not list: planted; if you trust "
    for words in (["report", file, "--archive", evil], ["restore", file, evil]):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 2 and result.output.startswith(expected), result.output


def test_hidden_texts(filled: Study, tmp_path: Path) -> None:
    """Texts are digests, of which equal ones are equal; scores, reports and restored stages do not
    change by it."""
    study = study_in(tmp_path / "runs")
    store, made = study.store, filled.results.finished
    texts = {"label": [["a cat", "cats"], ["no"]], "prediction": ["cats", ""]}
    split = {"split": "validation", "index": range(2)}
    for key, one in made.items():
        out = shutil.copytree(filled.store.all_files(one), tmp_path / "made" / key)
        if one.kind == "finetune":
            pd.DataFrame({**split, **texts}).to_parquet(out / PREDICTIONS)
        spec = filled.plan.stages[key].spec
        store.record(key, one.kind, one.label, spec, one.metrics, out, one.made_with, one.adopted)
    shown, hidden = tmp_path / "shown.tar.xz", tmp_path / "hidden.tar.xz"
    write_archive(study.results, shown)
    write_archive(study.results, hidden, hide_texts=True)
    run = filled.plan.finetune_runs[0].key
    for archive, is_shown in ((shown, True), (hidden, False)):
        with tarfile.open(archive) as tar:
            contents = [found.read() for member in tar if (found := tar.extractfile(member))]
        assert any(b"a cat" in content for content in contents) == is_shown
    again = study_in(filled.folder)
    with archived_stages(hidden, again.declaration) as (_, again.store):
        predictions = again.results.predictions(run)
        (one, other), (none,) = predictions["label"]
        assert len({one, other, none}) == 3 and {len(one), len(none)} == {12}
        assert [*predictions["prediction"]] == [other, ""]
        assert again.results.counts(run).keys() == filled.results.counts(run).keys()
        left_out = again.store.finished()[run].left_out
        assert left_out == f"texts of {PREDICTIONS}"
    restored = study_in(tmp_path / "restored")
    restore_archive(hidden, restored.plan, restored.store)
    write_archive(restored.results, tmp_path / "again.tar.xz", hide_texts=True)
    not_twice = archived_stages(tmp_path / "again.tar.xz", again.declaration)
    with not_twice as (_, again.store):
        pd.testing.assert_frame_equal(again.results.predictions(run), predictions)


def recorded_again(
    filled: Study, folder: Path, change: Callable[[Path], object]
) -> tuple[Study, str]:
    """A study with changed files of its fine-tuning stages, and the key of one of them."""
    study = study_in(folder / "runs")
    for key, one in filled.results.finished.items():
        out = shutil.copytree(filled.store.all_files(one), folder / "made" / key)
        if one.kind == "finetune":
            change(out)
        spec = filled.plan.stages[key].spec
        study.store.record(key, one.kind, one.label, spec, one.metrics, out)
    return study, filled.plan.finetune_runs[0].key


def test_the_texts_that_a_teacher_copied_are_left_out(filled: Study, tmp_path: Path) -> None:
    def teach(out: Path) -> None:
        folder = outputs_folder(out, Augmentation())
        save_texts([("a sentence of the train set",)], folder)
        np.save(folder / OUTPUTS, LABELS)

    study, key = recorded_again(filled, tmp_path, teach)
    write_archive(study.results, tmp_path / "kept.tar.xz")
    assert not [name for name in names_in(tmp_path / "kept.tar.xz") if TEXTS in name]
    (stage,) = (one for one in read_manifest(tmp_path / "kept.tar.xz").stages if one.key == key)
    assert [name.rpartition("/")[2] for name in stage.left_out.split(", ")] == [TEXTS, OUTPUTS]


def test_texts_of_a_restored_run_are_hidden_once(filled: Study, tmp_path: Path) -> None:
    """Also if its archive left out other files of it."""

    def answer(out: Path) -> None:
        (out / "weights").mkdir()
        (out / "weights" / "adapter.safetensors").write_bytes(b"w")
        texts = {"label": [["a cat"]], "prediction": ["cats"]}
        pd.DataFrame({"split": "validation", "index": [0], **texts}).to_parquet(out / PREDICTIONS)

    study, key = recorded_again(filled, tmp_path, answer)
    paths = [tmp_path / f"{number}.tar.xz" for number in range(3)]
    for number, path in enumerate(paths):
        write_archive(study.results, path, hide_texts=number > 0)
        study = study_in(tmp_path / str(number))
        restore_archive(path, study.plan, study.store)
    one, two = (study_in(tmp_path / str(number)).results.predictions(key) for number in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    left_out = study.store.finished()[key].left_out
    assert left_out == f"weights/adapter.safetensors, texts of {PREDICTIONS}"


def test_predictions_without_texts_stay_as_they_are_where_texts_are_hidden(
    filled: Study, archive: Path, tmp_path: Path
) -> None:
    write_archive(filled.results, tmp_path / "hidden.tar.xz", hide_texts=True)
    assert (tmp_path / "hidden.tar.xz").read_bytes() == archive.read_bytes()


def test_hidden_names_of_groups_keep_their_numbers() -> None:
    """`load_groups` numbers groups by the order of their names; names of one word stay."""
    names = ["what is b", "a text of words", "what is b", "zebra", None]
    frame = pd.DataFrame({"label": [1.0] * 5, "prediction": [0.0] * 5, "group": names})
    hidden = without_texts(frame)
    assert has_texts(frame) and not has_texts(hidden) and not {*names[:4]} & {*hidden["group"]}
    found, expected = (pd.factorize(one["group"], sort=True)[0] for one in (hidden, frame))
    assert found.tolist() == expected.tolist() == [1, 0, 1, 2, -1]
    words: list[Any] = ["headlines", "images", "images", "headlines", None]
    domains = frame.assign(group=words)
    assert not has_texts(domains) and without_texts(domains).equals(domains)
