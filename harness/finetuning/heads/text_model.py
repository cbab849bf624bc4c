"""A pretrained network that answers in words, with its own token head.

Shapes: B examples, T source tokens, U target tokens, R = T + U, M target tokens of a batch,
H hidden size, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import GenerationConfig

from harness.finetuning.compatibility import WRITING, can_search
from harness.finetuning.inputs import Batch
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone


class TextModel(TaskModel):
    """Reads a source and writes a target, token by token.

    An encoder-decoder gives the source to its encoder and tells the target with its decoder. Others
    read one row, source before target (Radford et al. 2018; Raffel et al. 2020, section 3.2.1);
    under `prefix` the source is the prefix.
    """

    names_tokens = True

    def __init__(self, backbone: Backbone, protocol: Protocol, end: int, pad: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.reading = backbone.representation
        self.end, self.pad = end, pad
        self.most, self.num_beams = protocol.max_target_length, protocol.num_beams
        if self.reading not in WRITING:
            raise ValueError(f"a model read {self.reading} writes no text")
        self.is_native = can_search(backbone.family, self.reading)
        if self.num_beams > 1 and not self.is_native:
            raise ValueError(
                f"protocol.num_beams must be 1 for a {backbone.family} read {self.reading}, which "
                f"writes without a search, but is {self.num_beams}"
            )
        if self.is_native:  # BART's own settings force an end on texts that are cut
            backbone.network.generation_config = GenerationConfig()

    def states(self, batch: Batch) -> list[Tensor]:
        """[M, H] from which each target token is told."""
        target, told = batch["target_ids"], batch["target_mask"]
        if self.reading == "encoder_decoder":
            ahead = F.pad(target[:, :-1], (1, 0), value=self._start)
            return [self._decoder_states(batch, ahead, told)[told.bool()]]
        source = batch["attention_mask"]
        row = _joined([batch["input_ids"], target], [source, told])
        mask = (
            torch.arange(row.shape[1], device=row.device) < (source.sum(1) + told.sum(1))[:, None]
        )
        states = self._row_states(row, mask.long(), source.sum(1))
        place = torch.arange(target.shape[1], device=row.device)
        places = (source.sum(1)[:, None] - 1 + place)[told.bool()]
        return [states[told.nonzero()[:, 0], places]]

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[M, V] logits of the target tokens."""
        return self.backbone.token_logits(states[0])

    def next_token_loss(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        raise ValueError(
            "finetune.auxiliary_lm_weight does not go with answers in words; set it to 0"
        )

    def write(self, batch: Batch) -> Tensor:
        """[B, at most U] tokens: the likeliest one after the other or, with beams, the likeliest
        text that transformers' search finds, with its length penalty of 1."""
        prompted = self.backbone.soft_prompt is not None  # the search does not read it
        searched = self.is_native and not prompted
        return self._search(batch) if searched else self.write_greedily(batch)

    def write_greedily(self, batch: Batch) -> Tensor:
        """The same by a plain loop for any reading, which keeps nothing from step to step."""
        source, read = batch["input_ids"], batch["attention_mask"]
        told = source.new_zeros(len(source), 0)
        done = torch.zeros(len(source), dtype=torch.bool, device=source.device)
        while told.shape[1] < self.most and not done.all():
            token = self._next_states(source, read, told)
            choice = self.backbone.token_logits(token).argmax(-1).masked_fill(done, self.pad)
            told = torch.cat([told, choice[:, None]], dim=1)
            done = done | (choice == self.end)
        return told

    def _next_states(self, source: Tensor, read: Tensor, told: Tensor) -> Tensor:
        """[B, H] from which the token after `told` [B, U] is told."""
        if self.reading == "encoder_decoder":
            ahead = F.pad(told, (1, 0), value=self._start)
            batch = {"input_ids": source, "attention_mask": read}
            return self._decoder_states(batch, ahead, torch.ones_like(ahead))[:, -1]
        lengths = read.sum(1)
        row = _joined([source, told], [read, torch.ones_like(told)])
        ends = lengths + told.shape[1]
        mask = (torch.arange(row.shape[1], device=row.device) < ends[:, None]).long()
        states = self._row_states(row, mask, lengths)
        return states[torch.arange(len(row), device=row.device), ends - 1]

    def _decoder_states(self, batch: Batch, ahead: Tensor, mask: Tensor) -> Tensor:
        """[B, U, H] of a decoder that reads `ahead` [B, U]."""
        states: Tensor = self.backbone(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            decoder_input_ids=ahead,
            decoder_attention_mask=mask,
        ).last_hidden_state
        return states

    def _row_states(self, row: Tensor, mask: Tensor, source_lengths: Tensor) -> Tensor:
        """[B, R, H] of rows padded on the right."""
        states: Tensor = self.backbone(
            input_ids=row,
            attention_mask=mask,
            token_type_ids=torch.zeros_like(row),
            prefix_lengths=source_lengths if self.reading == "prefix" else None,
        ).last_hidden_state
        return states

    def _search(self, batch: Batch) -> Tensor:
        """transformers' own search, which keeps keys and values where a network can."""
        source, mask = batch["input_ids"], batch["attention_mask"]
        if self.reading == "causal":  # it goes on after the last place: padding must be on the left
            order = mask.argsort(dim=1, stable=True)
            source, mask = source.gather(1, order), mask.gather(1, order)
        given = 1 if self.reading == "encoder_decoder" else source.shape[1]
        config = GenerationConfig(
            max_new_tokens=self.most,
            num_beams=self.num_beams,
            do_sample=False,
            use_cache=True,
            pad_token_id=self.pad,
            eos_token_id=self.end,
            decoder_start_token_id=self._start,
        )
        written: Tensor = self.backbone.network.generate(  # type: ignore[operator]
            input_ids=source, attention_mask=mask, generation_config=config
        )
        return written[:, given:]

    @property
    def _start(self) -> int | None:
        start = getattr(self.backbone.network.config, "decoder_start_token_id", None)
        return None if start is None else int(start)


def _joined(parts: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """[B, R] the real tokens of each row of the parts one after the other, padding after them."""
    tokens, mask = torch.cat(list(parts), dim=1), torch.cat(list(masks), dim=1)
    order = mask.argsort(dim=1, descending=True, stable=True)
    return tokens.gather(1, order)[:, : int(mask.sum(1).max())]
