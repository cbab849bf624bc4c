"""AXIS: corpora. The sources, the sentences and documents read from them, and the token stream.

Masking and other transformations of the text are in `harness.pretraining.objectives`.
"""

from harness.data.corpora.sources import Corpus, HubCorpus, MicroworldCorpus

CORPORA: dict[str, Corpus] = {
    "microworld": MicroworldCorpus(),
    "wikitext2": HubCorpus(
        path="Salesforce/wikitext",
        config="wikitext-2-v1",
        revision="b08601e04326c79dfdd32d625aee71d232d685c3",
    ),
    "wikitext103": HubCorpus(
        path="Salesforce/wikitext",
        config="wikitext-103-v1",
        revision="b08601e04326c79dfdd32d625aee71d232d685c3",
    ),
}
