"""How `harness compare` names arms of experiments and of their variants."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import harness
from harness.cli import options
from harness.cli.app import app


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["exp.yaml", "a", "b"], ("exp.yaml", "a", "exp.yaml", "b")),
        (["exp.yaml", "a", "exp.yaml@long:b"], ("exp.yaml", "a", "exp.yaml@long", "b")),
        (["exp.yaml@x@y:a", "other.yaml:b"], ("exp.yaml@x@y", "a", "other.yaml", "b")),
        (["exp.yaml", "size:a", "b"], ("exp.yaml", "size:a", "exp.yaml", "b")),
        (
            ["exp.yaml:a", "exp.yaml@x:b", "--set", "seeds.pretrain=2"],
            ("exp.yaml seeds.pretrain=2", "a", "exp.yaml@x seeds.pretrain=2", "b"),
        ),
    ],
)
def test_arms_of_experiments_and_variants(
    arguments: list[str], expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def load(path: Any, set_: Any, variants: Any, store: Any) -> Any:
        name = " ".join(["@".join([str(path), *(variants or ())]), *(set_ or ())])

        def compare(arm: str, beside: str, other: Any, average: None) -> Any:
            seen.extend((name, arm, other.name, beside))
            return SimpleNamespace(render=lambda format: "")

        return SimpleNamespace(name=name, compare=compare)

    monkeypatch.setattr(options, "load_study", load)
    assert CliRunner().invoke(app, ["compare", *arguments]).exit_code == 0
    assert tuple(seen) == expected


def test_two_experiments_without_arms_are_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: Any, set_: Any, variants: Any, store: Any) -> Any:
        return SimpleNamespace(results="@".join([str(path), *(variants or ())]))

    def compare_order(first: str, second: str) -> Any:
        return SimpleNamespace(render=lambda format: f"{first} and {second}")

    monkeypatch.setattr(options, "load_study", load)
    monkeypatch.setattr("harness.report.two_arms.arm_order.compare_order", compare_order)
    found = CliRunner().invoke(app, ["compare", "a.yaml", "b.yaml@long"])
    assert (found.exit_code, found.output) == (0, "a.yaml and b.yaml@long\n")
    found = CliRunner().invoke(app, ["compare", "a.yaml", "b.yaml", "--average", "mean_of_tasks"])
    assert found.exit_code == 2


WORLDS = """
name: worlds
question: Is counting words better than the largest class?
pretrain: {size: nano, corpus: {source: microworld, num_tokens: 20_000}, budget: {tokens: 0}}
grid: {pretrain.recipe: [majority, bag_of_words]}
seeds: {pretrain: 2, finetune: 1, world: per_seed}
evaluate: {tasks: [micro-sst2]}
"""


def test_arms_of_one_experiment_are_compared_as_in_its_report(tmp_path: Path) -> None:
    """Also with a micro-world for each seed, and however the experiment is named."""
    file, store = tmp_path / "worlds.yaml", tmp_path / "runs"
    file.write_text(WORLDS)
    study = harness.load(file, store=store)
    study.run(executor="serial")
    expected = study.compare("bag_of_words", "majority").render("csv")
    assert (
        study.compare("bag_of_words", "majority", harness.load(file, store=store)).render("csv")
        == expected
    )
    rest = ["--store", str(store), "--format", "csv"]
    for arms in (["bag_of_words", "majority"], ["bag_of_words", f"{file}:majority"]):
        found = CliRunner().invoke(app, ["compare", str(file), *arms, *rest])
        assert (found.exit_code, found.output.strip()) == (0, expected.strip())
    board = CliRunner().invoke(app, ["leaderboard", str(file), "--store", str(store)])
    assert board.exit_code == 0 and "without significance tests" not in board.output
