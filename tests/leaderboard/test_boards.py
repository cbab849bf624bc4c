"""Boards over a store: all arms of a suite, ranks with ties, filters."""

import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from harness.analysis.recording import record_results
from harness.cli.app import app
from harness.experiment.declaration import read
from harness.leaderboard import ranks
from harness.leaderboard.board_filter import BoardFilter
from harness.leaderboard.boards import board_table, store_board
from harness.leaderboard.build import build
from harness.leaderboard.own_suites import check_plugin_suite
from harness.leaderboard.ranked import tied
from harness.leaderboard.render import render
from harness.leaderboard.table import NO_AVERAGES
from harness.report.site.build import build_site
from harness.store.recorded import SCORE_COLUMNS, RecordedExperiment, recorded_experiments
from harness.store.store import Store
from harness.study import Study
from harness.tasks import SUITES, TASKS
from harness.tasks.load_examples import load_examples
from harness.tasks.scores import LABELS, save_counts
from tests import filled_store
from tests.filled_store import EVIL, fill
from tests.recorded_runs import record_run


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return fill(tmp_path_factory.mktemp("filled"))


def names(table):
    return [row.name for row in table.rows]


def test_every_arm_on_the_suite_has_a_row_and_equal_arms_share_a_rank(store):
    table = board_table("swag", store)
    assert {row.name: row.rank for row in table.rows} == {
        "one: good": 1,
        "two: alike": 1,
        f"one: {EVIL}": 2,
    }
    assert table.ranking == ranks.RANKING
    assert [row.average.best for row in table.rows] == [True, True, False]
    assert table.published


def test_baselines_are_known_by_the_family_that_their_experiment_declares(store):
    (one, two) = recorded_experiments(store)
    baseline = {"model": {"family": "majority"}, "budget": {}}
    two.__dict__["spec"] = {
        "experiment": two.spec["experiment"] | {"sweep": None},
        "arms": {"alike": {"pretrain": baseline, "evaluate": {}}},
    }
    two.__dict__["_scores"] = pa.Table.from_pandas(two.scores.assign(value=0.5))
    rows = {row.name: row for row in store_board("swag", store, experiments=[one, two]).table.rows}
    assert rows["two: alike"].seeds == "deterministic"
    assert rows["one: good"].seeds == "2 x 1"


def test_a_board_over_a_snapshot_waits_for_no_mlflow_and_no_torch(store):
    """In an interpreter of its own, for this one has loaded everything."""
    store.finished()
    code = (
        f"import sys\n"
        f"from harness.cli.app import app\n"
        f"app(['leaderboard', 'swag', '--store', {str(store.root)!r}], standalone_mode=False)\n"
        f"slow = ('mlflow', 'sqlalchemy', 'torch', 'transformers', 'datasets')\n"
        f"print(*[name for name in slow if name in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "one: good" in run.stdout and run.stderr.split() == []


def test_a_suite_is_also_a_board(store):
    assert board_table("swag-v1", store) == board_table("swag", store)
    assert board_table("micro-swag-v1", store).rows == ()
    with pytest.raises(ValueError, match="the board or suite 'swagg' is not known"):
        board_table("swagg", store)


def test_a_suite_of_a_plug_in_has_no_board():
    one = SimpleNamespace(name="mine", spec={"experiment": {"evaluate": {"suite": "own-suite-v1"}}})
    with pytest.raises(ValueError, match=r"'own-suite-v1' is of a plug-in, .* the file of mine,"):
        check_plugin_suite("own-suite-v1", [one])
    check_plugin_suite("other-v1", [one])


def test_arms_with_the_same_runs_are_one_row(store):
    (one, two) = recorded_experiments(store)
    good = one.scores[one.scores["arm"] == "good"].assign(experiment="two", arm="alike")
    two.__dict__["_scores"] = pa.Table.from_pandas(good)
    table = store_board("swag", store, experiments=[one, two]).table
    assert sorted(names(table)) == sorted(["good", EVIL])
    assert table.row_notes == {"good": ("The same runs as two: alike.",)}
    two.__dict__["_scores"] = pa.Table.from_pandas(good[good["pretrain_seed"] == 0])
    assert len(names(store_board("swag", store, experiments=[one, two]).table)) == 3


OWN = """
name: NAME
question: Which reads my reviews better?
pretrain: {recipe: bert, size: nano, budget: {tokens: TOKENS}}
grid: {pretrain.objective.sentence_pair: [nsp, none]}
evaluate: {tasks: {mine: {data: FILE}}}
"""


def test_experiments_on_the_same_suite_of_their_own_share_a_board(tmp_path):
    lines = [f"review {number},{'good' if number % 2 else 'bad'}" for number in range(60)]
    (tmp_path / "mine.csv").write_text("\n".join(["text,label", *lines]))
    store = Store(tmp_path / "runs")
    for name, wrong in (("one", 0), ("two", 3)):
        text = OWN.replace("NAME", name).replace("FILE", str(tmp_path / "mine.csv"))
        text = text.replace("TOKENS", f"{100_000 + wrong}")  # other stages
        study = Study(read(text, tmp_path / f"{name}.yaml"), store.root)
        task = study.experiment.evaluate.chosen["mine"]
        examples = load_examples(task, task.evaluation[0])
        answers = examples.labels.copy()
        answers[:wrong] = 1 - answers[:wrong]
        for run in study.plan.finetune_runs:
            record_run(study, run, task, examples, answers)
        record_results(study.results)
    suite = study.results.suite.name
    table = board_table(suite, store)
    assert {row.name for row in table.rows} == {
        f"{e}: {a}" for e in ("one", "two") for a in ("nsp", "none")
    }
    scores = {row.name: row.average.mean for row in table.rows}
    assert scores["one: nsp"] == 100 > scores["two: nsp"]
    with pytest.raises(ValueError, match=f"the board or suite 'mine' is not known.*{suite}"):
        board_table("mine", store)
    pages = build_site(store, tmp_path / "site").parent
    assert "two: nsp" in (pages / "leaderboards" / f"{suite}.html").read_text()


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        (BoardFilter(tag="small"), {"good", EVIL}),
        (BoardFilter(size="tiny"), {"alike"}),
        (BoardFilter(budget="tokens=1_000"), {"good", EVIL}),
        (BoardFilter(size="nano", budget="tokens=1e3"), {"good", EVIL}),
    ],
)
def test_filters_take_some_arms(store, taken, expected):
    assert set(names(board_table("swag", store, board_filter=taken))) == expected


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"size": "smal"}, "unknown size 'smal'; known: "),
        ({"budget": "1000"}, r"a budget must be tokens\|steps\|flops\|seconds=NUMBER"),
        ({"budget": "tokens=many"}, "a budget must be"),
        ({"budget": "tokens=nan"}, "a budget must be"),
        ({"budget": "tokens=-5"}, "a budget must be"),
        ({"size": "nano", "tag": "large"}, "no arm on swag-v1 in the store passes tag large, size"),
    ],
)
def test_bad_filters_are_refused_in_one_line(store, conditions, message):
    with pytest.raises(ValueError, match=message):
        board_table("swag", store, board_filter=BoardFilter(**conditions))


def test_a_budget_takes_arms_without_pretraining_too():
    budgets = {
        "none": {"tokens": 0, "steps": None},
        "same": {"tokens": 1000, "steps": None},
        "more": {"tokens": 2000, "steps": None},
        "other": {"tokens": None, "steps": 1000},
    }
    arms = {name: {"pretrain": {"budget": budget}} for name, budget in budgets.items()}
    experiment = SimpleNamespace(spec={"experiment": {}, "arms": arms})
    assert BoardFilter(budget="tokens=1_000").arms(experiment) == ["none", "same"]


def test_filters_select_imported_rows_by_their_budget():
    scores = pd.DataFrame({"budget_tokens": [1000, 2000, 0, None]}).astype("Int64")
    assert list(BoardFilter(budget="tokens=1_000").imported(scores).index) == [0, 2]
    assert not len(BoardFilter(budget="steps=1_000").imported(scores))
    assert not len(BoardFilter(tag="small").imported(scores))
    assert not len(BoardFilter(size="nano", budget="tokens=1_000").imported(scores))


def test_the_command_filters(store):
    def call(*arguments):
        return CliRunner().invoke(app, ["leaderboard", *arguments, "--store", str(store.root)])

    result = call("swag", "--size", "tiny")
    assert result.exit_code == 0
    assert "alike" in result.output and "good" not in result.output
    assert "**" in call("swag").output
    result = call("experiments/quickstart.yaml", "--tag", "small")
    assert result.exit_code == 2
    assert "need a board" in result.output
    result = call("swag", "--set", "a.b=1")
    assert result.exit_code == 2 and "need an experiment file" in result.output
    result = call("bert-glue", "--published", "--tag", "small")
    assert result.exit_code == 2 and "--published allows only a name" in result.output


def test_runs_that_are_gone_leave_plain_ranks_with_the_reason(store):
    (one, _) = recorded_experiments(store)
    scores = one.scores.assign(key="gone")
    table = build(scores, "swag-v1")
    found = tied(table, scores, store)
    assert found.rows == table.rows
    assert found.ranking.endswith("without significance tests: 1 run is no longer in the store.")


def test_rows_are_ranked_by_tests_world_by_world_if_they_have_the_same_worlds(
    tmp_path, monkeypatch
):
    """Runs of the second seed are scored on other examples than those of the first."""

    def save(path, splits):
        other = path.parent.name.endswith("-1")
        flip = {
            split: {**found, LABELS: found[LABELS][::-1] if other else found[LABELS]}
            for split, found in splits.items()
        }
        save_counts(path, flip)

    monkeypatch.setattr(filled_store, "save_counts", save)
    store = fill(tmp_path)
    assert "without significance tests" not in board_table("swag", store).ranking
    frame = pd.concat([one.scores for one in recorded_experiments(store)])
    fewer = frame[(frame["arm"] != "good") | (frame["pretrain_seed"] == 0)]
    found = tied(build(fewer, "swag-v1"), fewer, store)
    assert "without significance tests: runs must be scored on the same examples" in found.ranking


def test_damaged_runs_leave_plain_ranks_with_the_reason(tmp_path):
    store = fill(tmp_path)
    record = store.finished()["two-5-0"]
    (store.fetch(record) / "counts.npz").write_bytes(b"damaged")
    ranking = board_table("swag", store).ranking
    assert "without significance tests: the files of stage two-5-0 are damaged" in ranking


def part_of_glue(tmp_path, tasks):
    """A store with an experiment on glue-v1 for each list of tasks; no run is in it."""
    store = Store(tmp_path)
    arm = {"pretrain": {"model": {"family": "bert"}, "size": None, "budget": {}}, "evaluate": {}}
    experiments = []
    for name, chosen in tasks.items():
        one = RecordedExperiment(name, tmp_path)
        one.__dict__["spec"] = {"experiment": {"sweep": None}, "arms": {"arm": arm}}
        scores = pd.DataFrame(
            [
                (name, "arm", "glue-v1", task, split.name, metric, value, seed, 0, f"{name}-{seed}")
                for place, task in enumerate(chosen)
                for split in TASKS[task].evaluation
                for metric in TASKS[task].metrics
                for seed, value in enumerate([0.5 + place / 10, 0.7 + place / 10])
            ],
            columns=SCORE_COLUMNS,
        )
        one.__dict__["_scores"] = pa.Table.from_pandas(scores)
        experiments.append(one)
    return store_board("glue", store, experiments=experiments, finished={}).table


def test_rows_without_all_tasks_are_averaged_over_those_they_share(tmp_path):
    chosen = {"one": ["sst2", "rte", "cola"], "two": ["rte", "sst2"], "three": ["sst2", "rte"]}
    table = part_of_glue(tmp_path, chosen)
    assert table.average.label == "mean of 2 of 8 tasks"
    assert {row.name: row.average.mean for row in table.rows} == pytest.approx(
        {"one: arm": 65, "two: arm": 65, "three: arm": 65}
    )
    assert table.columns == board_table("glue", Store(tmp_path)).columns
    assert not any(row.average for block in table.published for row in block.rows)
    for format in ("md", "html", "latex", "csv"):
        assert "mean of 2 of 8 tasks" in render(table, format), format
    formula = "mean of the columns that all measured rows have, sst2, rte, as no row has all of"
    assert f"{formula} bert_table1" in render(table, "md")


def test_averages_of_parts_are_not_mixed_with_those_of_the_suite(tmp_path):
    chosen = {"one": ["sst2", "rte"], "all": SUITES["glue-v1"].tasks}
    table = part_of_glue(tmp_path, chosen)
    assert table.average.label == "average"
    assert [bool(row.average) for row in table.rows] == [True, False]


def test_rows_that_share_no_task_have_no_average_and_a_line_that_says_so(tmp_path):
    table = part_of_glue(tmp_path, {"one": ["sst2"], "two": ["rte"]})
    assert not any(row.average for row in table.rows)
    assert NO_AVERAGES in table.notes()


def test_an_empty_store_has_empty_boards(tmp_path):
    assert board_table("swag", Store(tmp_path)).rows == ()
