"""Commands on results that are recorded, but not computed here."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import harness
from harness.cli import run as cli_run
from harness.cli.app import app
from harness.experiment.registries import REGISTRIES
from harness.report.summary import Summary
from harness.study import Study
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples
from tests.recorded_runs import record_run

EXPERIMENT = """
name: two
question: Is <b>one</b> better?
pretrain: {recipe: bert, size: nano, tokenizer: {vocab_size: 1000}, budget: {tokens: 100_000}}
grid: {pretrain.objective.sentence_pair: [nsp, none]}
seeds: {pretrain: 2}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2]}
"""
TASK = TASKS["micro-sst2"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Fine-tuning runs are recorded: `none` is wrong on 10 or 20 examples, `nsp` on 30 or 60."""
    root = tmp_path_factory.mktemp("two")
    (root / "two.yaml").write_text(EXPERIMENT)
    study = harness.load(root / "two.yaml", store=root / "runs")
    examples = load_examples(TASK, TASK.evaluation[0])
    for run in study.plan.finetune_runs:
        answers = examples.labels.copy()
        wrong = slice(0, (10 if run.arm == "none" else 30) * (1 + run.pretrain_seed))
        answers[wrong] = 1 - answers[wrong]
        record_run(study, run, TASK, examples, answers)
    return study


def call(study: Study, command: str, *arguments: str) -> tuple[int, str]:
    path, store = study.folder.with_name("two.yaml"), str(study.folder)
    words = [word.replace("EXP", str(path)) for word in arguments]
    result = CliRunner().invoke(app, [command, *words, "--store", store])
    return result.exit_code, result.output


def test_status_sums_up(study: Study) -> None:
    code, output = call(study, "status", "EXP")
    assert code == 0
    lines = [line.split() for line in output.splitlines()]
    assert ["stages", "done", "waiting", "time"] in lines
    assert ["finetune", "4", "8", "s"] in lines and ["pretrain", "4"] in lines
    assert f"4 of {len(study.plan.stages)} stages done; files: " in output
    every = call(study, "status", "EXP", "--all")[1].splitlines()
    assert len(every) == len(study.plan.stages) + 1
    assert all(any(line.startswith(key) for line in every) for key in study.plan.stages)


def test_compare_prints_what_python_returns(study: Study) -> None:
    code, output = call(study, "compare", "EXP", "none", "nsp", "--format", "csv")
    assert code == 0
    assert output.strip() == study.compare("none", "nsp").render("csv").strip()
    frame = study.compare("none", "nsp").to_frame().set_index("column")
    examples = len(load_examples(TASK, TASK.evaluation[0]))
    assert frame["difference"]["SST-2"] == pytest.approx(100 * (45 - 15) / examples)
    flipped = frame[["only_first_right", "only_second_right", "examples"]].to_numpy().tolist()
    assert flipped[1] == [10, 0, examples - 40]  # without ties of two seeds
    code, text = call(study, "compare", "EXP:none", "EXP:nsp")
    assert code == 0 and "pretrain.objective.sentence\\_pair" in text.replace(
        "sentence_", "sentence\\_"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("EXP", "none", "nps"), "two: the arm 'nps' is not known; did you mean 'nsp'"),
        (("EXP:none", "nsp"), "but 'nsp' has no ':ARM'"),
        (("EXP:none", "EXP:nsp", "--variant", "large"), "--variant needs one experiment"),
        (("EXP:none", "smoke:static"), "are not comparable: tasks is micro-sst2 and micro-sst2, "),
    ],
)
def test_what_cannot_be_compared(study: Study, words: tuple[str, ...], message: str) -> None:
    code, output = call(study, "compare", *words)
    assert code == 2 and message in output and output.count("\n") == 1


def test_the_path_of_a_report_is_printed_as_it_is(study: Study, tmp_path: Path) -> None:
    """Brackets are no markup."""
    code, output = call(study, "report", "EXP", "--out", str(tmp_path / "[red]own"))
    assert code == 0 and str(tmp_path / "[red]own" / "index.html") in output.splitlines()


def test_a_leaderboard_is_sorted_and_cut(study: Study) -> None:
    names = [
        line.split("|")[2].strip()
        for line in call(study, "leaderboard", "EXP", "--sort", "arm")[1].splitlines()[2:4]
    ]
    assert names == ["none", "nsp"]
    code, output = call(study, "leaderboard", "EXP", "--columns", "cola", "--task", "micro-sst2")
    assert code == 2 and "the column 'cola' is not known" in output
    code, output = call(study, "leaderboard", "EXP", "--task", "micro-rte")
    assert code == 2 and "two: the task 'micro-rte' is not known" in output


def test_notebooks_show_escaped_tables(study: Study) -> None:
    page = study._repr_html_()
    assert "Is &lt;b&gt;one" in page and "<b>one" not in page
    assert "<td>none</td>" in study.plan._repr_html_() and "sentence_pair" in page
    assert str(study.plan).splitlines()[0].startswith(f"{study.name}: ")
    assert "What differs between arms:" in str(study.plan) and "parameters" in str(study.plan)
    assert "<td>none</td>" in study.table()._repr_html_()
    conclusions = study.summary()
    assert str(conclusions).startswith("threats to validity:\n- ")
    assert conclusions._repr_html_().startswith("<p>threats to validity:</p><ul><li>")
    assert not [plot for plot in study.figures().values() if "<svg" in repr(plot)]
    never_run = harness.load("smoke", store=study.folder)
    assert "No scores yet" in never_run._repr_html_()
    with pytest.raises(ValueError, match="smoke was never run in the store"):
        never_run.summary()


@pytest.mark.parametrize("registry", REGISTRIES)
def test_lists_have_a_line_for_each_member(registry: str) -> None:
    output = CliRunner().invoke(app, ["list", registry]).output
    rows = json.loads(CliRunner().invoke(app, ["list", registry, "--format", "json"]).output)
    head, _, *lines = [line for line in output.splitlines() if line.strip()]
    assert head.split() == list(rows[0])
    assert [line.split()[0] for line in lines] == [row["name"] for row in rows]


def test_init_writes_an_experiment_that_can_be_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    assert runner.invoke(app, ["init", "mine"]).exit_code == 0
    text = Path("mine.yaml").read_text()
    result = runner.invoke(app, ["plan", "mine.yaml"])
    assert result.exit_code == 0 and "expected: mask_rate=0.3 > mask_rate=0.15" in result.output
    assert "learning_rate:" not in "".join(line.split("#")[0] for line in text.splitlines())
    Path("mine.yaml").write_text("kept")
    for name, message in (
        ("mine.yaml", "exists already"),
        ("Mine", "but 'Mine' does not"),
        ("a.txt", ".yaml"),
        (".", "give the name of an experiment"),
    ):
        refused = runner.invoke(app, ["init", name])
        assert refused.exit_code == 2 and message in refused.output
    assert [file.name for file in tmp_path.iterdir()] == ["mine.yaml"]
    assert Path("mine.yaml").read_text() == "kept"


def test_a_run_ends_with_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = Summary(("a > b: confirmed",), tuple(f"threat {n}" for n in range(7)))
    study: Any = SimpleNamespace(
        table=lambda: None, write_report=lambda: Path("reports/x"), summary=lambda: answer
    )
    monkeypatch.setattr(cli_run, "_print_table", lambda table: print("TABLE"))
    cli_run._show(study)
    assert capsys.readouterr().out.splitlines() == [
        "expected a > b: confirmed",
        "TABLE",
        "threats to validity:",
        *(f"- threat {n}" for n in range(5)),
        "- ... and 2 more in the report",
        "report, with notes on the table: reports/x/index.html",
    ]


@pytest.mark.parametrize("command", ["verify", "store", "gc", "ui", "status", "adopt"])
def test_a_mistyped_store_is_not_created(command: str, study: Study, tmp_path: Path) -> None:
    missing = tmp_path / "rnus"
    takes_one = command in ("status", "adopt")
    words = [str(study.folder.with_name("two.yaml"))] if takes_one else []
    result = CliRunner().invoke(app, [command, *words, "--store", str(missing)])
    if command == "status":
        assert result.exit_code == 0 and "was never run in the store" in result.output
    else:
        assert result.exit_code == 2 and f"there is no store {missing}: run" in result.output
    assert not missing.exists()


def test_a_store_must_be_a_folder(study: Study, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    words = ["status", str(study.folder.with_name("two.yaml")), "--store", str(tmp_path / "runs")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert (
        result.output
        == f"a store must be a folder, but {tmp_path}/runs is a file; name another one\n"
    )


def test_a_store_that_cannot_be_written_is_refused_before_any_work(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may = os.access  # tests may be run by root
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path and may(path, mode))
    words = ["run", str(study.folder.with_name("two.yaml")), "--store", str(tmp_path / "runs")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert result.output.splitlines()[-1].endswith(
        f"or a writable one, but {tmp_path} is not writable"
    )
