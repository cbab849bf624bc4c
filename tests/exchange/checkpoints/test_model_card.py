"""The model card: training, scores, limits and private paths."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from harness.data.corpora.sources import HubCorpus, TextCorpus
from harness.exchange.checkpoints.card_data import Card, CardScores
from harness.exchange.checkpoints.descriptions import (
    checkpoint_name,
    corpus_licence,
    corpus_line,
    recipe_changes,
    recipe_line,
)
from harness.exchange.checkpoints.model_card import render
from harness.exchange.checkpoints.selection import _selected_settings, of_stage
from harness.experiment.arms import Arm
from harness.experiment.evaluation import Evaluate
from harness.experiment.recipe_defaults import resolve_pretrain
from harness.models import SIZES
from harness.pretraining.recipes import RECIPES
from harness.store.store import Store
from tests.report.sections.test_search import searched

TRAINED = {"steps": 1500.0, "tokens": 768114.0, "validation_loss": 3.678}
SCORES = CardScores(
    experiment="nsp",
    question="Does it | help?",
    suite="micro-glue-v1",
    rows=[("micro-sst2", "validation", "accuracy", "91.2 ± 0.3", "3")],
    protocol="adaptation full",
    citation="Made by harness.data.microworld.",
)
CARD = Card("nsp: none", RECIPES["bert"], "bert", 0, "a" * 16, TRAINED, scores=SCORES)


def test_a_card_describes_training_and_scores() -> None:
    text = render(CARD)
    for part in (
        "token_masking x bidirectional x masked_token, nsp",
        "768,114",
        "held-out loss | 3.678",
        "91.2 ± 0.3",
        "adaptation full",
        "Devlin et al. 2019",
        "Made by harness.data.microworld.",
        "a" * 16,
        "Apache 2.0",
    ):
        assert part in text, part
    assert "Does it \\| help?" in text  # user text is escaped


def test_a_card_says_that_scores_are_after_training_that_the_files_lack() -> None:
    further = replace(CARD, scores=replace(SCORES, after_tasks=True))
    assert "The files have the network before it." in render(further)
    assert "before it" not in render(CARD)


def test_the_fields_for_the_hub_are_yaml() -> None:
    head = render(CARD).split("---")[1]
    assert yaml.safe_load(head)["library_name"] == "transformers"
    assert yaml.safe_load(head)["license"] == "apache-2.0"


def test_limits_follow_from_the_run() -> None:
    assert "generated text only" in render(CARD)
    foreign = RECIPES["bert"].model_copy(update={"corpus": HubCorpus(path="a/b", revision="c1")})
    text = render(replace(CARD, run=foreign))
    assert "generated text only" not in text
    assert 'license: "other"' in text
    assert "see the card of a/b" in text and "commit c1" in text


def test_a_card_of_an_untrained_network_says_nothing_of_training() -> None:
    text = render(replace(CARD, metrics={"steps": 0.0}))
    assert "It was not trained: its weights are random." in text
    assert "initialised with seed 0" in text and "pretrained with" not in text
    assert "It was trained on" not in text and "generated text only" not in text
    start = CARD.run.model_copy(update={"init_from": CARD.run})
    started = render(replace(CARD, metrics={"steps": 0.0}, run=start))
    assert "not trained beyond the weights that it starts from" in started
    assert "generated text only" in started


@pytest.mark.parametrize("role", ["", "init_from", "teacher"])
def test_word_vectors_of_others_are_no_generated_text(role: str) -> None:
    model = CARD.run.model.model_copy(update={"vectors": "glove.6B.300d.txt"})
    run = CARD.run.model_copy(update={"model": model})
    text = render(replace(CARD, run=CARD.run.model_copy(update={role: run}) if role else run))
    assert "generated text only" not in text and 'license: "other"' in text


def test_selected_settings_are_on_the_card(fabricate) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6}, **searched(trials=20))
    arm = Arm("good", {}, {}, CARD.run, Evaluate())
    (task, settings), _ = rows = _selected_settings(data, arm)
    assert task == "sst2" and settings.startswith("learning_rate 0.0") and "epochs 3" in settings
    text = render(replace(CARD, scores=replace(SCORES, search="20 random trials", selected=rows)))
    assert f"| sst2 | {settings} |" in text and "the search (20 random trials) selected" in text
    assert "selected" not in render(CARD)


def test_a_card_without_scores_gives_the_reason() -> None:
    assert "export with the experiment file" in render(replace(CARD, scores=None))
    assert "no finished fine-tuning run" in render(replace(CARD, scores=replace(SCORES, rows=[])))


def test_paths_of_the_user_stay_private() -> None:
    corpus = TextCorpus(path="/home/me/letters.txt")
    assert "/home" not in corpus_line(corpus) + corpus_licence(corpus)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_has_a_source(name: str) -> None:
    source = recipe_line(name)
    assert len(source) > 20
    assert source.endswith(".") and "\n" not in source


def test_a_source_is_one_sentence() -> None:
    assert recipe_line("cbow") == "Recipe CBOW: Mikolov et al. 2013, arXiv 1301.3781."


def test_changes_to_the_recipe_are_named() -> None:
    assert recipe_changes(RECIPES["bert"]) == []
    assert "by the recipe bert." in render(CARD)
    changes = {"batch_size": 8, "budget": {"tokens": 1_000}}
    run = resolve_pretrain({"recipe": "bert", "size": SIZES["nano"].model_dump(), **changes})
    assert recipe_changes(run) == ["batch_size", "budget"]
    text = render(replace(CARD, run=run))
    assert "by the recipe bert with changes." in text
    small = "bert, with the settings of small networks and changes to: batch_size, budget"
    assert f"| recipe | {small} |" in text


def test_a_card_states_the_settings_that_follow_a_small_size() -> None:
    """Its learning rate, batch and lengths are not those of the recipe that it names."""
    for name, optimiser, batch in (
        ("base", "adamw, learning rate 0.0001", "256 sequences of 128, then 512 tokens"),
        ("nano", "adamw, learning rate 0.002", "16 sequences of 32 tokens"),
    ):
        run = resolve_pretrain({"recipe": "bert", "size": SIZES[name].model_dump()})
        text = render(replace(CARD, run=run))
        assert f"| optimiser | {optimiser} |" in text and f"| batch | {batch} |" in text
        assert ("with the settings of small networks" in text) == (name == "nano")
    untrained = resolve_pretrain({"recipe": "bert", "budget": {"tokens": 0}})
    assert "learning rate" not in render(replace(CARD, run=untrained))


def test_only_the_micro_world_is_known_to_be_english() -> None:
    foreign = RECIPES["bert"].model_copy(update={"corpus": HubCorpus(path="a/b")})
    heads = [yaml.safe_load(render(c).split("---")[1]) for c in (CARD, replace(CARD, run=foreign))]
    assert [head.get("language") for head in heads] == ["en", None]


def test_the_path_of_a_checkpoint_stays_private(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    model = RECIPES["checkpoint"].model.model_copy(update={"checkpoint": str(tmp_path / "theirs")})
    run = RECIPES["checkpoint"].model_copy(update={"model": model})
    text = render(replace(CARD, run=run, recipe="checkpoint", metrics={}))
    assert "theirs, imported without further training." in text
    assert "Recipe An imported checkpoint" not in text
    assert str(tmp_path) not in text
    assert 'license: "other"' in text and "language" not in text
    names = ["google-bert/bert-base-cased", "gpt2", "/gone/secret/net", "../secret/net", "./net"]
    assert [checkpoint_name(name) for name in names] == [*names[:2], "net", "net", "net"]


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


def test_the_source_of_a_plug_in_s_recipe() -> None:
    assert recipe_line("mine") == "Recipe mine of a plug-in."
