"""The model card: what made the network, its scores, and what a reader must beware of."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from harness.corpora.sources import HubCorpus, TextCorpus
from harness.exporting.card import Card, Scores, corpus_licence, corpus_line, recipe_source, render
from harness.exporting.choosing import of_stage
from harness.recipes import RECIPES
from harness.tracking import Store
from harness.tracking.params import unflatten

TRAINED = {"steps": 1500.0, "tokens": 768114.0, "validation_loss": 3.678}
SCORES = Scores(
    experiment="nsp",
    question="Does it | help?",
    suite="micro-glue-v1",
    rows=[("micro-sst2", "validation", "accuracy", "91.2 ± 0.3", "3")],
    protocol="adaptation full",
    citation="Made by harness.microworld.",
)
CARD = Card("nsp: none", RECIPES["bert"], "bert", 0, "a" * 16, TRAINED, scores=SCORES)


def test_a_card_says_what_made_the_network() -> None:
    text = render(CARD)
    for part in (
        "token_masking x bidirectional x masked_token, nsp",
        "768,114",
        "held-out loss | 3.678",
        "91.2 ± 0.3",
        "adaptation full",
        "Devlin et al. 2019",
        "Made by harness.microworld.",
        "a" * 16,
        "Apache 2.0",
    ):
        assert part in text, part
    assert "Does it \\| help?" in text  # a name cannot break the markdown


def test_the_fields_for_the_hub_are_yaml() -> None:
    head = render(CARD).split("---")[1]
    assert yaml.safe_load(head)["library_name"] == "transformers"
    assert yaml.safe_load(head)["license"] == "apache-2.0"


def test_limits_follow_from_the_run() -> None:
    assert "generated world" in render(CARD)
    assert "was not trained" in render(replace(CARD, metrics={"steps": 0.0}))
    foreign = RECIPES["bert"].model_copy(update={"corpus": HubCorpus(path="a/b", revision="c1")})
    text = render(replace(CARD, run=foreign))
    assert "generated world" not in text
    assert 'license: "other"' in text
    assert "see the card of a/b" in text and "commit c1" in text


def test_a_card_without_scores_says_so() -> None:
    assert "export by the experiment's file" in render(replace(CARD, scores=None))
    assert "nothing that was fine-tuned" in render(replace(CARD, scores=replace(SCORES, rows=[])))


def test_paths_of_the_user_stay_private() -> None:
    corpus = TextCorpus(path="/home/me/letters.txt")
    assert "/home" not in corpus_line(corpus) + corpus_licence(corpus)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_has_a_source(name: str) -> None:
    assert len(recipe_source(name)) > 20


def test_a_stage_of_another_kind_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    (tmp_path / "out").mkdir()
    key = "0123456789abcdef"
    store.record(key, "tokens", "x", {}, {}, tmp_path / "out")
    with pytest.raises(ValueError, match="of kind tokens"):
        of_stage(key, store)
    with pytest.raises(ValueError, match="key of a finished stage"):
        of_stage("f" * 16, store)
    with pytest.raises(ValueError, match="key of a finished stage"):
        of_stage("' OR 1", store)


def test_a_spec_is_read_back() -> None:
    params = {"a.b": "1", "a.c": "('x', 2)", "d": "None", "e": "words, of text", "f": "1e-05"}
    assert unflatten(params) == {
        "a": {"b": 1, "c": ("x", 2)},
        "d": None,
        "e": "words, of text",
        "f": 1e-05,
    }
