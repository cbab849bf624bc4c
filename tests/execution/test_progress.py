"""Lines of a run's display, with a clock made by hand."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

from harness.execution import progress
from harness.execution.progress import LINE_SECONDS, Display, figures_line
from harness.execution.run_times import RunTimes
from harness.execution.time_left import RESUMED_AT, STAGE_SECONDS, whole_seconds
from harness.execution.worker import Reporter
from harness.experiment.declaration import from_data
from harness.plan.factory import load_plan, make_plan
from harness.plan.plan import Plan, Stage
from tests.paths import ROOT
from tests.stage_runner import StageRunner


@pytest.fixture(scope="module")
def plan() -> Plan:
    return load_plan(ROOT / "experiments" / "smoke.yaml")


class Clock:
    """`time` with a time of its own."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def of_kind(plan: Plan, kind: str) -> list[Stage]:
    return [stage for stage in plan.stages.values() if stage.kind == kind and stage.flops]


def test_a_run_from_its_first_to_its_last_line(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, out = Clock(), io.StringIO()
    monkeypatch.setattr(progress, "time", clock)
    first, second = of_kind(plan, "finetune")[:2]
    child = Stage(
        "child", "report", "child", {}, {"parent": second.key}, 1.0
    )  # of unknown duration
    with Display(plan, Console(file=out, width=200)) as display:
        display.begin([first, second, child], capacity=1)
        display.submitted(first.key)
        display.tick({first.key: {}})
        display.failed(second, "no memory")  # its child is not waited for
        clock.now = LINE_SECONDS + 5
        display.tick({first.key: {"done": 2, "total": 4}})
        clock.now = 40.0
        display.tick({first.key: {"done": 3, "total": 4, "loss": 0.5}})
        clock.now = 80.0
        display.finished(first, {STAGE_SECONDS: 30.0, RESUMED_AT: 0.5})
        display.end()
    assert display.durations.of(first) == 60.0  # half of it was done before
    times = display.durations.times
    assert (times.startup, times.closing) == (80 - 30 - RunTimes().overhead, 0)
    lines = out.getvalue().splitlines()
    total = len(plan.stages)
    assert lines[0] == f"smoke: {total} stages, {total - 3} done already"
    assert lines[1] == f"  FAILED finetune {second.label}: no memory"
    assert lines[2].rstrip().endswith(" 50%")  # resumed there: nothing is known yet
    assert lines[3].endswith(" 75%, loss 0.500, about 22 s left")  # a quarter took 20 s
    assert lines[4:] == [
        f"  done finetune {first.label} (30 s)",
        "took 80 s (estimated after 40 s: 62 s)",
    ]


def test_nothing_to_do_prints_nothing(plan: Plan) -> None:
    out = io.StringIO()
    with Display(plan, Console(file=out)) as display:
        display.begin([], capacity=2)
        display.end()
    assert out.getvalue() == ""


def test_a_terminal_shows_labels_as_they_are(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets are no markup, which could be wrong."""
    first = replace(of_kind(plan, "finetune")[0], label="with [/INST] and [mask]")
    monkeypatch.setitem(plan.stages, first.key, first)
    out = io.StringIO()
    with Display(plan, Console(file=out, width=200, force_terminal=True)) as display:
        display.begin([first], capacity=1)
        display.submitted(first.key)
        display.tick({first.key: {"done": 1, "total": 4}})
    assert "with [/INST] and [mask]" in out.getvalue()


def test_a_notebook_shows_one_bar_that_is_updated(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for IPython, which only notebooks have."""
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)
    display = {"HTML": str, "display": lambda html, display_id: handle}
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(**display))
    first, second = of_kind(plan, "finetune")[:2]
    odd = replace(first, label="<b>odd</b>")
    monkeypatch.setitem(plan.stages, first.key, odd)
    with Display(plan, Console(quiet=True, force_jupyter=True)) as display_of_run:
        display_of_run.begin([first, second], capacity=1)
        display_of_run.submitted(first.key)
        display_of_run.tick({first.key: {"done": 1, "total": 4}})
        display_of_run.finished(first, {STAGE_SECONDS: 1.0})
        display_of_run.failed(second, "no memory")
        display_of_run.end()
    total = len(plan.stages)
    assert f'<progress value="{total - 2}" max="{total}">' in shown[0]
    assert "&lt;b&gt;odd" in shown[0] and "<b>odd" not in shown[0] and "25%" in shown[0]
    assert f"{total} of {total} stages" in shown[-1] and "<td>" not in shown[-1]


def test_figures() -> None:
    assert figures_line({}) == "starting"
    assert figures_line({"done": 0, "total": 1, "documents": 1_200}) == "1,200 documents"
    figures = {"done": 1, "total": 4, "tokens_per_second": 31_000.0, "loss": 3.2141}
    assert figures_line(figures) == " 25%, 31,000 tokens/s, loss 3.214"


def test_the_first_report_shows_where_a_stage_was_resumed(tmp_path: Path) -> None:
    fresh, resumed = Reporter(tmp_path / "a.json"), Reporter(tmp_path / "b.json")
    for done in (1, 2, 10):
        fresh(done, 10)
    resumed(6, 10)
    assert (fresh.resumed_at, resumed.resumed_at) == (0.0, 0.5)
    assert json.loads((tmp_path / "a.json").read_text()) == {"done": 10, "total": 10}
    assert whole_seconds({STAGE_SECONDS: 3.0, RESUMED_AT: 0.5}) == 6.0


def test_a_text_of_one_batch_does_not_look_resumed(tmp_path: Path) -> None:
    """The first report would follow all of it."""
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(f"the meal number {row} was good" for row in range(90)))
    corpus = {"source": "text", "path": str(text)}
    pretrain = {"recipe": "bag_of_words", "corpus": corpus, "tokenizer": {"vocab_size": 64}}
    evaluate = {"suite": "micro-glue-v1", "tasks": ["micro-sst2"]}
    declared = {"name": "own", "question": "?", "pretrain": pretrain, "evaluate": evaluate}
    plan, runner = make_plan(from_data(declared)), StageRunner(tmp_path / "runs")
    keys = [key for key, one in plan.stages.items() if one.kind in ("tokenizer", "tokenize")]
    assert len(keys) == 2 and all(RESUMED_AT not in runner.make(plan, key) for key in keys)
