"""The columns of suites under averaging rules."""

import numpy as np
import pytest

from harness.analysis.averages import AVERAGES
from harness.analysis.columns import (
    combine,
    part_of_average,
    part_of_suite,
    suite_columns,
    terms_of,
)
from harness.tasks import SUITES
from harness.tasks.task import Column

GLUE = SUITES["glue-v1"]


def names(columns):
    return [column.name for column in columns]


def test_a_suite_has_its_own_columns_with_the_metrics_of_the_rule():
    found = suite_columns(GLUE, "glue_server9")
    assert found.suite == GLUE and found.average is AVERAGES["glue_server9"]
    assert names(found.columns) == names(GLUE.columns)
    metrics = {column.name: column.metrics for column in found.columns}
    assert metrics["qqp"] == ("f1", "accuracy") and metrics["wnli"] == ("accuracy",)
    assert suite_columns("glue-v1") == suite_columns(GLUE, GLUE.average)


def test_some_tasks_are_a_suite_averaged_over_all_its_columns():
    part = suite_columns(GLUE, tasks=["rte", "mnli"])
    assert part.suite.name == "glue-v1[mnli, rte]" and part.suite.tasks == ("mnli", "rte")
    assert names(part.columns) == ["mnli_m", "mnli_mm", "rte"]
    assert [names(term) for term in part.terms] == [["mnli_m"], ["mnli_mm"], ["rte"]]
    assert part_of_suite(GLUE, GLUE.tasks[::-1]) is GLUE


@pytest.mark.parametrize("rule", [rule for rule in AVERAGES.values() if rule.terms])
def test_the_columns_of_a_rule_have_the_names_of_the_suites_columns(rule):
    suites = [
        suite
        for suite in SUITES.values()
        if {column.task for term in rule.terms for column in term} <= set(suite.tasks)
    ]
    for suite in suites:
        for column in (column for term in rule.terms for column in term):
            place = (column.task, column.split)
            own = [one.name for one in suite.columns if (one.task, one.split) == place]
            assert not own or column.name in own


def test_a_rule_that_needs_other_tasks_is_refused_with_those_that_fit():
    with pytest.raises(
        ValueError, match=r"average albert5 needs race, squad1, squad2, which"
    ) as no:
        terms_of(AVERAGES["albert5"], GLUE)
    fitting = str(no.value).rpartition(": ")[2].split(", ")
    assert {"mean_of_columns", "bert_table1", "distil9"} <= set(fitting)
    assert not {"albert5", "superglue8", "rouge_mean"} & set(fitting)


def test_a_part_of_an_average_has_the_terms_of_which_all_columns_are_there():
    """In the rule of the server, both dev sets of MNLI are one term."""
    layout = suite_columns(GLUE, "glue_server9")
    column = {one.name: one for one in layout.columns}
    part = part_of_average(layout, [column[name] for name in ("mnli_m", "rte", "sst2")])
    assert part is not None and part.columns == layout.columns
    assert [names(term) for term in part.terms] == [["sst2"], ["rte"]]
    assert part.average.label == "mean of 2 of 9 tasks"
    both = part_of_average(layout, [column[name] for name in ("mnli_m", "mnli_mm", "rte")])
    assert both is not None and names(both.terms[0]) == ["mnli_m", "mnli_mm"]
    assert part_of_average(layout, [column["mnli_m"]]) is None
    assert part_of_average(layout, layout.columns) is None
    own = suite_columns(GLUE, "mean_of_columns")
    rest = [one for one in own.columns if one.name != "mnli_mm"]
    without = part_of_average(own, rest)
    assert without is not None and len(without.terms) == len(own.terms) - 1
    assert without.average.label == f"mean of {len(rest)} of {len(own.columns)} columns"


def test_terms_have_equal_weights_whatever_their_columns():
    one, two, three = (Column(name=name, task=name, metrics=("accuracy",)) for name in "abc")
    scores = {one: np.array([1.0, 2.0]), two: np.array([3.0, np.nan]), three: np.array([6.0, 4.0])}
    found = combine([(one, two), (three,)], scores)
    assert found[0] == (2 + 6) / 2 and np.isnan(found[1])
