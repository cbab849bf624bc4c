"""XLNet read as one stream: published size, transformers' states, padding and segments."""

from pathlib import Path

import pytest
import torch

from harness.models import SIZES
from tests.models.networks import VOCAB, meta_count, network, padding, saved, small, text

REPRESENTATIONS = ["permuted", "bidirectional"]


@pytest.mark.parametrize(("size", "count"), [("base", 116_718_336), ("large", 360_268_800)])
def test_published_sizes(size: str, count: int) -> None:
    """Without the 32,000 biases of the token head, which the released counts leave out."""
    assert meta_count("xlnet", SIZES[size], 32_000, "permuted") == count + 32_000


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_content_stream_is_bidirectional(representation: str) -> None:
    """As by transformers without perm_mask, for every representation."""
    backbone, tokens, mask = small("xlnet", representation).eval(), text(), padding()
    segments = (torch.arange(12) > 5).long().expand(4, 12)
    expected = network(backbone).transformer(tokens, attention_mask=mask, token_type_ids=segments)
    read = backbone(tokens, mask, segments).last_hidden_state
    real = mask.bool()
    torch.testing.assert_close(read[real], expected.last_hidden_state[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_padding_changes_nothing(representation: str) -> None:
    backbone, tokens, mask = small("xlnet", representation).eval(), text(), padding()
    padded = backbone(tokens, attention_mask=mask).last_hidden_state
    for row, length in enumerate(mask.sum(1).tolist()):
        alone = backbone(tokens[row : row + 1, :length]).last_hidden_state[0]
        torch.testing.assert_close(padded[row, :length], alone, atol=1e-5, rtol=1e-5)


def test_segments_are_distinguished() -> None:
    """But not which of them is the first: only whether two tokens are of one segment."""
    backbone, tokens = small("xlnet", "permuted").eval(), text()
    segments = (torch.arange(12) > 5).long().expand(4, 12)
    one, two, swapped = (
        backbone(tokens, token_type_ids=types).last_hidden_state
        for types in (torch.zeros_like(tokens), segments, 1 - segments)
    )
    assert not torch.allclose(one, two)
    assert torch.equal(two, swapped)


def test_read_back(tmp_path: Path) -> None:
    backbone = small("xlnet", "permuted")
    again = saved(backbone, tmp_path)
    ours, theirs = (b.eval()(text()).last_hidden_state for b in (backbone, again))
    assert torch.equal(ours, theirs)
    assert again.token_logits(theirs).shape == (4, 12, VOCAB)
