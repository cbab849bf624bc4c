"""The spec of a quick stage."""

from harness.data.corpora.load_corpus import fingerprint
from harness.data.corpora.sources import MicroworldCorpus

CORPUS = MicroworldCorpus(num_tokens=1_000)
TOKENIZER_SPEC = {
    "corpus": CORPUS.model_dump(),
    "fingerprint": fingerprint(CORPUS),
    "tokenizer": {"vocab_size": 100},
}
"""Of the stage `tokenizer`."""
