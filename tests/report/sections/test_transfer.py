"""Loss of pretraining against scores: which losses are comparable, and what is shown of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from harness.data.corpora.sources import MicroworldCorpus
from harness.data.corpora.steps.ablations import Noise
from harness.data.corpora.steps.deduplication import Deduplicate
from harness.data.tokenizers import Tokenizer
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.recipes import RECIPES
from harness.report.page import write_report
from harness.report.run_scores import seed_averages
from harness.report.sections.transfer import (
    COMPARABLE,
    comparable,
    transfer_points,
    transfer_section,
)
from tests.made_up_results import MadeUpResults

ARMS = {"good": 0.95, "fair": 0.8, "other": 0.7}
LOSSES = {"good": 2.0, "fair": 2.5, "other": 4.0}
CAUSAL = RECIPES["gpt"].objective


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    """Three arms; the last has another objective."""
    steps = {"good": 9, "fair": 5, "other": 9}
    made = fabricate(ARMS, examples=200)
    rows = [
        (arm, seed, 60.0, LOSSES[arm] + seed / 100, np.nan) for arm in ARMS for seed in (0, 1, 2)
    ]
    columns = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
    losses = pd.DataFrame(rows, columns=columns)
    representations = {"good": "bidirectional", "fair": "bidirectional", "other": "causal"}
    differences = {
        "pretrain.objective.representation": representations,
        "pretrain.budget.steps": steps,
    }
    data = made.but(pretraining=losses, differences=differences)
    return with_objectives(data, other=CAUSAL)


def with_objectives(data: MadeUpResults, **objectives: Any) -> MadeUpResults:
    """The results with other objectives of some arms."""
    return with_pretraining(data, {arm: {"objective": one} for arm, one in objectives.items()})


def with_pretraining(data: MadeUpResults, changes: Mapping[str, Any]) -> MadeUpResults:
    """The results with other fields of `pretrain` in some arms."""
    arms = tuple(
        replace(arm, pretrain=arm.pretrain.model_copy(update=changes.get(arm.name, {})))
        for arm in data.plan.arms
    )
    data.plan = replace(data.plan, declaration=replace(data.plan.declaration, arms=arms))
    return data


def test_losses_of_different_objectives_are_kept_apart(data: MadeUpResults) -> None:
    assert comparable(data) == [["good", "fair"], ["other"]]
    lists = {arm: [1, 2] for arm in ARMS}  # values that cannot be hashed
    assert len(comparable(data.but(differences={"pretrain.tokenizer.x": lists}))) == 1
    vocabularies = {"good": 100, "fair": 200, "other": 100}
    others = data.but(differences={"pretrain.tokenizer.vocab_size": vocabularies})
    assert comparable(others) == [["good", "other"], ["fair"]]


def test_what_held_out_text_gets_alike_may_differ(data: MadeUpResults) -> None:
    objective = RECIPES["bert"].objective
    more = objective.model_copy(update={"transform": TokenMasking(mask_rate=0.4)})
    without_pairs = objective.model_copy(update={"sentence_pair": "none", "dupe_factor": 1})
    assert comparable(with_objectives(data, fair=more, other=without_pairs)) == [[*ARMS]]


def test_texts_may_differ_if_vocabulary_and_held_out_text_do_not(data: MadeUpResults) -> None:
    def texts(**fixed: Any) -> list[list[str]]:
        """Groups where the last arm has a text of its own, all with some fields in common."""
        same = {"objective": CAUSAL, "held_out": None, "tokenizer": Tokenizer(), **fixed}
        other = same | {"corpus": MicroworldCorpus(seed=1)}
        return comparable(with_pretraining(data, {**dict.fromkeys(ARMS, same), "other": other}))

    apart, text = [["good", "fair"], ["other"]], MicroworldCorpus(seed=2)
    assert texts() == texts(held_out=text) == texts(tokenizer=Tokenizer(corpus=text)) == apart
    assert texts(held_out=text, tokenizer=Tokenizer(corpus=text)) == [[*ARMS]]


def test_bits_per_byte_of_lower_case_are_no_bits_of_the_text(data: MadeUpResults) -> None:
    """The case of letters is not predicted there, but all bytes are counted."""
    tokenizer = Tokenizer(algorithm="byte_bpe", lowercase=False)
    same = {"objective": CAUSAL, "corpus": MicroworldCorpus(), "held_out": None}
    made = {name: same | {"tokenizer": tokenizer} for name in ARMS}
    made["fair"] = same | {"tokenizer": Tokenizer(lowercase=False)}
    assert comparable(with_pretraining(data, made), by_byte=True) == [[*ARMS]]
    made["other"] = same | {"tokenizer": Tokenizer(algorithm="byte_bpe", lowercase=True)}
    groups = comparable(with_pretraining(data, made), by_byte=True)
    assert groups == [["good", "fair"], ["other"]]


def test_ablations_change_neither_vocabulary_nor_held_out_text(data: MadeUpResults) -> None:
    changes: dict[str, Any] = {
        "good": {"corpus": MicroworldCorpus()},
        "fair": {"corpus": MicroworldCorpus(steps=(Noise(rate=0.5),))},
        "other": {"corpus": MicroworldCorpus(steps=(Deduplicate(),))},
    }
    same = {arm: {"objective": CAUSAL, **own} for arm, own in changes.items()}
    assert comparable(with_pretraining(data, same)) == [["good", "fair"], ["other"]]


def test_points_pair_each_pretraining_with_its_own_average(data: MadeUpResults) -> None:
    points = transfer_points(data)
    assert set(points["arm"]) == {"good", "fair"}  # nothing is comparable with the third
    averages = seed_averages(data).set_index(["arm", "pretrain_seed"])["average"].to_dict()
    for _, arm, seed, loss, average in points.itertuples(index=False):
        assert loss == LOSSES[arm] + seed / 100
        assert average == averages[arm, seed]


def test_the_rank_correlation_needs_enough_runs(data: MadeUpResults) -> None:
    section = transfer_section(data)
    assert section is not None
    points = transfer_points(data)
    rank = spearmanr(points["loss"], points["average"])[0]
    assert f"over 6 pretraining runs is {rank:.2f}" in section.notes[1]
    few = data.but(pretraining=data.pretraining[data.pretraining["pretrain_seed"] < 2])
    assert len(notes(with_objectives(few, other=CAUSAL))) == 1


def test_arms_of_one_pretraining_count_it_once(data: MadeUpResults) -> None:
    named = {arm: f"{arm}/low" for arm in ARMS}

    def and_twins(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([frame, frame.assign(arm=frame["arm"].map(named))])

    twins = data.but(
        arms=[*ARMS, *named.values()],
        scores=and_twins(data.scores),
        pretraining=and_twins(data.pretraining),
        costs=and_twins(data.costs),
        differences={
            path: {**of, **{named[arm]: value for arm, value in of.items()}}
            for path, of in data.plan.differences.items()
        },
    )
    with_objectives(twins, **{"other": CAUSAL, "other/low": CAUSAL})
    points, alone = transfer_points(twins), transfer_points(data)
    pd.testing.assert_frame_equal(points.reset_index(drop=True), alone.reset_index(drop=True))


def test_what_was_not_pretrained_is_left_out(data: MadeUpResults) -> None:
    tokens = data.costs["tokens"].where(data.costs["arm"] != "fair", 0)
    made = with_objectives(data.but(costs=data.costs.assign(tokens=tokens)), other=CAUSAL)
    expected = f"no two pretrained models have comparable losses, with {COMPARABLE}"
    assert notes(made) == [f"Not shown: {expected}."]
    unknown = data.costs["tokens"].where(data.costs["arm"] != "fair")  # a checkpoint of others
    assert len(notes(data.but(costs=data.costs.assign(tokens=unknown)))) == 2  # with a correlation


def test_one_pretraining_has_nothing_to_compare(data: MadeUpResults) -> None:
    why = ["Not shown: fewer than two pretrained models have a held-out loss of their own."]
    assert notes(data.but(differences={"evaluate.adaptation": {"good": "full"}})) == why
    assert notes(data.but(pretraining=data.pretraining.iloc[:0])) == why
    assert notes(data.but(pretraining=data.pretraining.assign(loss=np.nan))) == why
    alone = data.but(arms=["good"], scores=data.scores[data.scores["arm"] == "good"])
    assert transfer_section(alone) is None


def test_losses_without_averages_are_named(data: MadeUpResults) -> None:
    lost = data.scores[data.scores["arm"] != "fair"]
    made = with_objectives(data.but(scores=lost), other=CAUSAL)
    assert notes(made) == [
        "Not shown: fewer than two pretrained models with comparable losses have an average."
    ]


def notes(data: MadeUpResults) -> list[str]:
    section = transfer_section(data)
    assert section is not None
    return [*section.notes]


def test_both_formats_show_it(data: MadeUpResults, tmp_path: Path) -> None:
    write_report(data, tmp_path)
    assert (tmp_path / "transfer.svg").exists()
    assert "| good | 1 | 2.010 ± 0.010 |" in (tmp_path / "README.md").read_text()
    assert "Pretraining loss against scores" in (tmp_path / "index.html").read_text()
