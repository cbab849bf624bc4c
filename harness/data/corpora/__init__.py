"""AXIS: corpora. The sources, the sentences and documents read from them, and the token stream.

Masking and other transformations of the text are in `harness.pretraining.objectives`.
"""

from collections.abc import Mapping
from typing import Any

from harness.data.corpora.named import FACTS
from harness.data.corpora.sources import Corpus, HubCorpus, MicroworldCorpus, StdlibCorpus

__all__ = ["CORPORA", "FACTS", "with_named_fields"]

_WIKITEXT = "b08601e04326c79dfdd32d625aee71d232d685c3"
_C4 = "1588ec454efa1a09f29cd18ddd04fe05fc8653a2"

CORPORA: dict[str, Corpus] = {
    "microworld": MicroworldCorpus(),
    "wikitext2": HubCorpus(path="Salesforce/wikitext", config="wikitext-2-v1", revision=_WIKITEXT),
    "wikitext103": HubCorpus(
        path="Salesforce/wikitext", config="wikitext-103-v1", revision=_WIKITEXT
    ),
    "wikipedia": HubCorpus(
        path="wikimedia/wikipedia",
        config="20231101.en",
        revision="b04c8d1ceb2f5cd4588862100d08de323dccfbaa",
    ),
    "bookcorpus": HubCorpus(path="lucadiliello/bookcorpusopen"),
    "openwebtext": HubCorpus(
        path="Skylion007/openwebtext", revision="79d93d786212f7344586290adb811d4ae6a1762c"
    ),
    "cc_news": HubCorpus(
        path="vblagoje/cc_news", revision="81eb2ce0d2a9dad6ad16b68ef750ec290880fa36"
    ),
    "stories": HubCorpus(
        path="lucadiliello/STORIES", revision="9585988079b67ffee934cd417f3edb23c3eb5401"
    ),
    "one_billion_word": HubCorpus(
        path="billion-word-benchmark/lm1b", revision="8d52bfd3cc2819fc1166dbb8144c328e2690de3e"
    ),
    "c4": HubCorpus(path="allenai/c4", config="en", revision=_C4),
    "realnews": HubCorpus(path="allenai/c4", config="realnewslike", revision=_C4),
    "mc4": HubCorpus(path="allenai/c4", config="multilingual", revision=_C4),
    "fineweb_edu": HubCorpus(
        path="HuggingFaceFW/fineweb-edu",
        config="sample-10BT",
        revision="87f09149ef4734204d70ed1d046ddc9ca3f2b8f9",
    ),
    "pile": HubCorpus(
        path="monology/pile-uncopyrighted", revision="3be90335b66f24456a5d6659d9c8d208c0357119"
    ),
    "slimpajama": HubCorpus(
        path="DKYoon/SlimPajama-6B", revision="b5f90f419b7489cdba26fdbc8c022fcb5562f968"
    ),
    "s2orc": HubCorpus(
        path="common-pile/peS2o_filtered", revision="297747513bfb0ff1fbf61ddad3b03319d0f04597"
    ),
    "pubmed": HubCorpus(
        path="MedRAG/pubmed",
        revision="33da3593d5756bc04c8909f170003c0b14197957",
        text_field="content",
    ),
    "amazon_reviews": HubCorpus(path="fancyzhx/amazon_polarity", text_field="content"),
    "code": HubCorpus(
        path="codeparrot/codeparrot-clean",
        revision="35a59fb025bc0a102f7d96eac09d145b896d487b",
        text_field="content",
    ),
    "python_stdlib": StdlibCorpus(),
    "tinystories": HubCorpus(
        path="roneneldan/TinyStories", revision="f54c09fd23315a6f9c86f9dc80f725de7d8f9c64"
    ),
    "babylm": HubCorpus(
        path="BabyLM-community/BabyLM-2026-Strict",
        revision="9e57baaaa91ac3c638746be14d1d5fa6c789f4cf",
    ),
}
"""Name to corpus; `FACTS` has what is known of each."""


def with_named_fields(value: Any) -> Any:
    """The fields of a corpus that is given by name, `c4`, or by name with fields of its own,
    `{source: c4, max_bytes: 20G}`; other values as they are."""
    if isinstance(value, str):
        return CORPORA[value].model_dump() if value in CORPORA else value
    if not isinstance(value, Mapping) or not isinstance(name := value.get("source"), str):
        return value
    if name not in CORPORA or name == CORPORA[name].source:  # as of the micro-world
        return value
    return CORPORA[name].model_dump() | {k: v for k, v in value.items() if k != "source"}
