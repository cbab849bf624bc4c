"""What `harness plan` prints of differences and searches."""

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli.plan_output import print_plan
from harness.execution.outlook import outlook
from harness.plan.factory import load_plan
from harness.plan.plan import Plan
from tests.cli.test_app import call
from tests.paths import ROOT
from tests.plan.checks.test_checks import planned


def printed(plan: Plan) -> str:
    console = Console(file=StringIO(), width=400)
    print_plan(outlook(plan, None), console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def cells(output: str, path: str) -> list[str]:
    (line,) = (line for line in output.splitlines() if line.split()[:1] == [path])
    return line.split()[1:]


def test_expectations_stand_with_what_is_predicted() -> None:
    grid = {"pretrain.objective.masking": ["static", "dynamic"]}
    expect = [{"average": "dynamic > static", "predicted": 1.5}, "dynamic = static within 2"]
    output = printed(planned(grid=grid, expect=expect))
    assert "expected: dynamic > static, predicted +1.5\n" in output
    assert "expected: dynamic = static within 2\n" in output


def test_what_sets_a_field_where_recipe_and_size_vary() -> None:
    grid = {
        "network": {
            "bert": {"pretrain.recipe": "bert", "pretrain.size": "nano"},
            "roberta": {"pretrain.recipe": "roberta", "pretrain.size": "tiny"},
        }
    }
    output = printed(planned(grid=grid))
    assert cells(output, "pretrain.recipe")[0] == "axis"
    assert cells(output, "pretrain.optimizer.learning_rate")[0] == "size"
    assert cells(output, "pretrain.optimizer.beta2")[0] == "recipe"
    assert cells(output, "evaluate.finetune.learning_rate")[0] == "size"


@pytest.mark.parametrize("path", ["pretrain.init_from", "pretrain.init_from.objective"])
def test_a_run_that_an_axis_gives_is_set_by_it(path: str) -> None:
    value = {"objective": "clm"} if path == "pretrain.init_from" else "clm"
    grid = {"start": {"none": {}, "clm": {"pretrain.batch_size": 8, path: value}}}
    assert cells(printed(planned(grid=grid)), "pretrain.init_from")[0] == "axis"


def test_many_arms_show_which_differences_follow_from_the_recipe() -> None:
    grid = {
        "pretrain.recipe": ["bert", "roberta"],
        "pretrain.objective.transform.mask_rate": [0.15, 0.3, 0.45],
    }
    lines = printed(planned(grid=grid)).splitlines()
    assert max(map(len, lines)) < 300  # wrapped, although the console has 400 columns
    text = " ".join(" ".join(lines).split())
    (row,) = re.findall(r"roberta/mask_rate=0\.3 (recipe = .*?) roberta/mask_rate=0\.45", text)
    fields = dict(field.split(" = ", 1) for field in row.split("; "))
    assert fields["recipe"] == "roberta"
    assert fields["objective.transform.mask_rate"] == "0.3"
    assert fields["optimizer.beta2"] == "0.98 (r)"


def test_a_null_is_a_dash_and_one_arm_has_no_differences() -> None:
    grid = {"evaluate.finetune.layer_decay": [None, 0.9]}
    output = printed(planned(grid=grid))
    assert cells(output, "evaluate.finetune.layer_decay") == ["axis", "–", "0.9"]
    assert "what differs" not in printed(planned())


def test_the_space_of_a_search_is_shown() -> None:
    space = {"learning_rate": {"low": 1e-4, "high": 3e-3, "log": True}, "epochs": [2, 3]}
    sweep = {"trials": 4, "sampler": "random", "space": space}
    line = "search: 4 random trials: learning_rate 0.0001 to 0.003 (log), epochs 2 or 3\n"
    assert line in printed(planned(sweep=sweep))
    assert "search:" not in printed(planned())


def test_a_field_that_arms_set_is_told_from_one_of_an_axis() -> None:
    path = "pretrain.objective.transform.mask_rate"
    own = {"mask_rate=0.3": {"pretrain.batch_size": 8, path: 0.4}}
    output = printed(planned(grid={path: [0.15, 0.3]}, arms=own))
    assert cells(output, "pretrain.batch_size") == ["arms", "16", "8"]
    assert cells(output, path) == ["axis,", "arms", "0.15", "0.4"]


def test_what_a_variant_changes_is_shown() -> None:
    quickstart = ROOT / "experiments" / "quickstart.yaml"
    output = printed(load_plan(quickstart, variants=["large"]))
    assert (
        "variant large: pretrain.size 'nano' -> 'tiny'; pretrain.budget.tokens 2000000 -> 8000000;"
        " seeds.pretrain 3 -> 5\n"
    ) in output
    assert "variant" not in printed(load_plan(quickstart))


HOSTILE = """
name: hostile
question: "Which [mask] does the [/INST] template need, :warning: or [red]none?"
pretrain:
  recipe: bert
  size: nano
  tokenizer: {vocab_size: 1000}
  corpus: {source: text, path: "[a-z]*.txt"}
  budget: {tokens: 100_000}
grid:
  prompt:
    "with [/INST]": {pretrain.objective.transform.mask_rate: 0.15}
    "without [mask]": {pretrain.corpus.path: "b[x].txt"}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2]}
"""


@pytest.mark.parametrize("columns", [True, False])
def test_text_of_users_is_printed_as_it_is(
    columns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brackets and colons are not Rich's markup and emoji."""
    text = "\n\n".join(f"One sentence of document {number}. Another." for number in range(300))
    for name in ("a.txt", "bx.txt"):
        (tmp_path / name).write_text(text)
    (tmp_path / "hostile.yaml").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    if not columns:
        monkeypatch.setattr("harness.cli.plan_output.MAX_COLUMNS", 1)
    code, output = call("plan", "hostile.yaml")
    assert code == 0, output
    assert "Which [mask] does the [/INST] template need, :warning: or [red]none?" in output
    for shown in ("with [/INST]", "without [mask]", "[a-z]*.txt", "b[x].txt"):
        assert shown in output
