"""What transformers reads of its inputs while it computes, for which it would wait for a GPU.

While it waits, it queues nothing, so that the GPU idles between the kernels that follow.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytorch_lightning as pl
from torch import Tensor
from transformers import PreTrainedModel, masking_utils


class Replaced(pl.Callback):
    """Replaces functions of transformers while a trainer runs."""

    def __init__(self, *places: tuple[Any, str, Callable[..., Any]]) -> None:
        """Objects, names of their functions, and what replaces them; a release of transformers may
        lack some."""
        self.places = [place for place in places if hasattr(place[0], place[1])]
        self.originals = [_original(owner, name) for owner, name, _ in self.places]

    def setup(self, *args: Any, **more: Any) -> None:
        """Begins."""
        for owner, name, function in self.places:
            setattr(owner, name, function)

    def teardown(self, *args: Any, **more: Any) -> None:
        """Ends."""
        for (owner, name, _), original in zip(self.places, self.originals, strict=True):
            setattr(owner, name, original)

    def on_exception(self, *args: Any) -> None:
        """As at the end."""
        self.teardown()


@cache
def _original(owner: Any, name: str) -> Callable[..., Any]:
    """The function of transformers, also while it is replaced."""
    function: Callable[..., Any] = getattr(owner, name)
    return function


class UnreadTokens(Replaced):
    """Has transformers not look for several sequences in a row, which there never are (4 % of the
    time of GPT-2 on an H200), nor for padding without a mask, of which it would only warn."""

    def __init__(self) -> None:
        super().__init__(
            (masking_utils, "find_packed_sequence_indices", lambda position_ids: None),
            (PreTrainedModel, "warn_if_padding_and_no_attention_mask", lambda *_, **__: None),
        )


class UnreadMasks(Replaced):
    """Has transformers take each mask on a GPU for one with padding: batches of pretraining without
    padding have no mask, and few of fine-tuning are without padding."""

    def __init__(self) -> None:
        names = ("_ignore_causal_mask_sdpa", "_ignore_bidirectional_mask_sdpa")
        found = [name for name in names if hasattr(masking_utils, name)]
        places = [(masking_utils, name, _unread(_original(masking_utils, name))) for name in found]
        super().__init__(*places)


def _unread(find: Callable[..., bool]) -> Callable[..., bool]:
    """The function that says whether a mask hides nothing, without the masks on other devices."""

    def hides_nothing(padding_mask: Tensor | None, *args: Any, **more: Any) -> bool:
        if padding_mask is not None and padding_mask.device.type != "cpu":
            return False
        return find(padding_mask, *args, **more)

    return hides_nothing
