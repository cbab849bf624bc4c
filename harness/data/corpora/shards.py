"""Parts of a token stream that are packed one after another, so that any size is read in bounded
memory."""

from itertools import pairwise

import numpy as np

from harness.data.corpora.token_stream import TokenStream

SHARD_TOKENS = 2**26
"""Size of a shard; its packing takes about a second and 300 MB."""
BLOCK_TOKENS = 2**20
"""Size of the contiguous text of which a shard has many, from all over the stream."""


def shards(stream: TokenStream, is_sequential: bool = False) -> list[list[TokenStream]]:
    """The stream in shards of about SHARD_TOKENS, each a list of blocks of whole documents.

    A stream of less than 1.5 shards is one block. Otherwise, every block belongs to the next shard
    in turn, so that each shard is a sample of the stream; or shards are contiguous.

    Args:
        is_sequential: shards and their blocks follow the order of the stream.
    """
    num_shards = round(stream.num_tokens / SHARD_TOKENS)
    if num_shards < 2:
        return [[stream]]
    edges = _edges(np.asarray(stream.sentences)[np.asarray(stream.documents)])
    blocks = [_block(stream, *pair) for pair in pairwise(edges)]
    if is_sequential:
        size = -(-len(blocks) // num_shards)
        return [blocks[start : start + size] for start in range(0, len(blocks), size)]
    return [found for shard in range(num_shards) if (found := blocks[shard::num_shards])]


def _edges(document_starts: np.ndarray) -> list[int]:
    """Numbers of the documents at which blocks start, and the end; a block has two documents or
    more, which pairs of segments need.

    Args:
        document_starts: [num_documents + 1] offsets into the tokens.
    """
    wanted = np.arange(0, document_starts[-1], BLOCK_TOKENS)
    end = len(document_starts) - 1
    edges = [0]
    for edge in np.searchsorted(document_starts, wanted).tolist():
        if edge - edges[-1] >= 2 and end - edge >= 2:
            edges.append(edge)
    return [*edges, end]


def _block(stream: TokenStream, first: int, end: int) -> TokenStream:
    """Documents `first` to `end` of a stream; sentences keep their offsets into its tokens."""
    documents = np.asarray(stream.documents[first : end + 1])
    sentences = stream.sentences[documents[0] : documents[-1] + 1]
    return TokenStream(stream.tokens, sentences, documents - documents[0])
