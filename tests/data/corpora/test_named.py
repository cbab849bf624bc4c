"""Named corpora: what must be known of each."""

import re
from dataclasses import fields

import pytest

from harness.data.corpora import CORPORA, FACTS
from harness.data.corpora.named import CorpusFacts
from harness.data.corpora.sources import HubCorpus
from harness.experiment.registries import details, rows

ON_THE_HUB = {name: corpus for name, corpus in CORPORA.items() if isinstance(corpus, HubCorpus)}
NOT_OPEN = {
    *("bookcorpus", "openwebtext", "cc_news", "stories", "realnews", "pile", "s2orc"),
    "amazon_reviews",
}
"""Corpora of papers that are closed or gone."""


def test_facts_are_known_of_every_corpus() -> None:
    assert list(FACTS) == list(CORPORA)


@pytest.mark.parametrize("name", FACTS)
def test_facts_are_complete(name: str) -> None:
    optional = {"stands_for", "download_gb"}
    empty = {
        field.name for field in fields(CorpusFacts) if not getattr(FACTS[name], field.name)
    } - optional
    assert empty == set()
    assert FACTS[name].download_gb > 0 or name not in ON_THE_HUB


def test_what_is_closed_or_gone_has_a_stand_in() -> None:
    assert {name for name, facts in FACTS.items() if facts.stands_for} >= NOT_OPEN


@pytest.mark.parametrize("name", ON_THE_HUB)
def test_commits_are_pinned_or_missed_in_the_note(name: str) -> None:
    revision = ON_THE_HUB[name].revision
    if revision is None:
        assert "not pinned" in FACTS[name].note
    else:
        assert re.fullmatch(r"[0-9a-f]{40}", revision)


def test_no_two_names_have_one_text() -> None:
    read = [(one.path, one.config, one.split) for one in ON_THE_HUB.values()]
    assert len(set(read)) == len(read)


def test_lists_fit_a_terminal_and_details_have_the_note() -> None:
    found = rows("corpora")
    widths = [max(len(str(row[column])) for row in found) for column in found[0]]
    assert sum(widths) + 2 * len(widths) <= 120
    assert "copies of it on the Hub" in " ".join(details("corpora", "bookcorpus").split())
