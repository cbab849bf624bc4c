"""Claims about numbers of one published table."""

import pytest

from harness.experiment.claims import CLAIMS
from harness.leaderboard import published_relations as module
from harness.leaderboard.published import printed
from harness.leaderboard.published_relations import Relation, published_relations


def relation(**changed: str) -> Relation:
    row = {"claim": "E64", "table": "swag", "first": "BERT_LARGE", "second": "BERT_BASE"}
    return module._relation({**row, "tasks": "", "within": "", **changed})


def test_every_relation_is_about_a_known_claim_and_is_judged() -> None:
    found = published_relations()
    assert len(found) == len(printed("claims"))
    assert {one.claim for one in found} <= CLAIMS.keys()
    assert all(0 <= one.num_holding <= one.num_cells for one in found)
    assert all(one.source for one in found)


def test_denoising_beats_language_modelling_in_31_of_35_cells() -> None:
    """Counted by hand in Raffel et al. 2020, table 2: the exceptions are EnFr of the shared and of
    the shallow encoder-decoder, and SuperGLUE and EnDe of the language model."""
    own = [one for one in published_relations() if one.claim == "E40"]
    assert sum(one.num_cells for one in own) == 35
    assert sum(one.num_holding for one in own) == 31
    wrong = [cell[0] for one in own for cell, gain in one.differences.items() if gain <= 0]
    assert sorted(wrong) == ["superglue", "wmt_ende", "wmt_enfr", "wmt_enfr"]


def test_a_lower_loss_is_better() -> None:
    """Gururangan et al. 2020, table 1: news is the one domain whose loss rises, 1.08 to 1.16."""
    (found,) = (one for one in published_relations() if one.claim == "E107")
    assert (found.num_holding, found.num_cells) == (3, 4)
    assert found.differences["news", "test", "masked_lm_loss"] == pytest.approx(-0.08)


def test_averages_count_only_where_they_are_named() -> None:
    with_cells = relation(table="glue_test_bert")
    assert with_cells.num_cells == 9
    assert all(task != "average" for task, _, _ in with_cells.differences)
    (of_average,) = relation(table="glue_test_bert", tasks="average").differences.values()
    assert of_average == pytest.approx(82.1 - 79.6)


def test_equal_numbers_are_no_difference_and_lie_within_any_margin() -> None:
    same = {("t", "test", "accuracy"): 0.0, ("u", "test", "accuracy"): 0.3}
    better = Relation("E1", "swag", "a", "b", None, same)
    within = Relation("E1", "swag", "a", "b", 0.3, same)
    assert (better.num_holding, str(better)) == (1, "a > b")
    assert (within.num_holding, str(within)) == (2, "a = b within 0.3")
    decimal = {("t", "test", "accuracy"): 90.3 - 90.0}  # 0.2999999999999972 or a little more
    assert Relation("E1", "swag", "a", "b", 0.3, decimal).num_holding == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"first": "BERT_HUGE"}, "no system 'BERT_HUGE'; known: .*BERT_LARGE"),
        ({"table": "model_sizes"}, "holds no scores"),
        ({"table": "unknown"}, "unknown published table 'unknown'; known: "),
        ({"tasks": "swag cola"}, "must both have numbers of cola"),
        ({"first": "Human (expert)", "second": "ESIM+GloVe", "tasks": "cola"}, "have a number"),
        ({"within": "0"}, "within must be above 0, but is 0"),
        ({"within": "nan"}, "within must be above 0, but is nan"),
    ],
)
def test_a_wrong_relation_is_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        relation(**changed)
