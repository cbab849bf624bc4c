"""A pretrained network that generates answers with its own token head.

Shapes: B examples, T source tokens, U target tokens, R = T + U, M target tokens of a batch,
H hidden size, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

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
    """Generates a target from a source, token by token.

    An encoder-decoder encodes the source and decodes the target. Other networks read one row,
    source before target (Radford et al. 2018; Raffel et al. 2020, section 3.2.1); for `prefix` the
    source is the prefix.
    """

    names_tokens = True

    def __init__(self, backbone: Backbone, protocol: Protocol, end: int, pad: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.reading = backbone.representation
        self.end, self.pad = end, pad
        self.most, self.num_beams = protocol.max_target_length, protocol.num_beams
        if self.reading not in WRITING:
            raise ValueError(f"a {self.reading} model does not generate text")
        self.is_native = can_search(backbone.family, self.reading)
        if self.num_beams > 1 and not self.is_native:
            raise ValueError(
                f"protocol.num_beams must be 1 for a {self.reading} {backbone.family}, which only "
                f"decodes greedily, but is {self.num_beams}"
            )
        if self.is_native:  # BART's own settings force an end token on truncated texts
            backbone.network.generation_config = GenerationConfig()

    def states(self, batch: Batch) -> list[Tensor]:
        """[M, H] states that predict the target tokens."""
        target, real = batch["target_ids"], batch["target_mask"]
        if self.reading == "encoder_decoder":
            shifted = F.pad(target[:, :-1], (1, 0), value=self._start)
            return [self._decoder_states(batch, shifted, real)[real.bool()]]
        states = self._row_states(batch, target, real)
        first = batch["attention_mask"].sum(1, keepdim=True) - 1
        positions = first + torch.arange(target.shape[1], device=target.device)
        return [states[real.nonzero()[:, 0], positions[real.bool()]]]

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[M, V] logits of the target tokens."""
        return self.backbone.token_logits(states[0])

    def write(self, batch: Batch) -> Tensor:
        """[B, at most U] generated tokens: greedy, or by beam search with the length penalty 1 of
        transformers."""
        prompted = self.backbone.soft_prompt is not None  # ignored by transformers' `generate`
        searched = self.is_native and not prompted
        return self._search(batch) if searched else self.write_greedily(batch)

    def write_greedily(self, batch: Batch) -> Tensor:
        """[B, at most U] greedily generated tokens, for any attention pattern; without a cache."""
        source = batch["input_ids"]
        target = source.new_zeros(len(source), 0)
        done = torch.zeros(len(source), dtype=torch.bool, device=source.device)
        while target.shape[1] < self.most and not done.all():
            logits = self.backbone.token_logits(self._last_states(batch, target))
            token = logits.argmax(-1).masked_fill(done, self.pad)
            target = torch.cat([target, token[:, None]], dim=1)
            done = done | (token == self.end)
        return target

    def _last_states(self, batch: Batch, target: Tensor) -> Tensor:
        """[B, H] states that predict the token after `target` [B, U]."""
        if self.reading == "encoder_decoder":
            shifted = F.pad(target, (1, 0), value=self._start)
            return self._decoder_states(batch, shifted, torch.ones_like(shifted))[:, -1]
        states = self._row_states(batch, target, torch.ones_like(target))
        ends = batch["attention_mask"].sum(1) + target.shape[1]
        return states[torch.arange(len(target), device=target.device), ends - 1]

    def _decoder_states(self, batch: Batch, shifted: Tensor, mask: Tensor) -> Tensor:
        """[B, U, H] decoder states for the inputs `shifted` [B, U]."""
        states: Tensor = self.backbone(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            decoder_input_ids=shifted,
            decoder_attention_mask=mask,
        ).last_hidden_state
        return states

    def _row_states(self, batch: Batch, target: Tensor, real: Tensor) -> Tensor:
        """[B, R, H] states of the source and the `real` tokens of `target` [B, U] in one row,
        padded on the right."""
        source = batch["attention_mask"]
        row, mask = torch.cat([batch["input_ids"], target], 1), torch.cat([source, real], 1)
        longest = int(mask.sum(1).max())
        order = mask.argsort(dim=1, descending=True, stable=True)[:, :longest]
        row, mask = row.gather(1, order), mask.gather(1, order)
        states: Tensor = self.backbone(
            input_ids=row,
            attention_mask=mask,
            token_type_ids=torch.zeros_like(row),
            prefix_lengths=source.sum(1) if self.reading == "prefix" else None,
        ).last_hidden_state
        return states

    def _search(self, batch: Batch) -> Tensor:
        """[B, at most U] tokens by `generate` of transformers, which caches keys and values."""
        source, mask = batch["input_ids"], batch["attention_mask"]
        if self.reading == "causal":  # `generate` needs padding on the left
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
        network: Any = self.backbone.network
        written: Tensor = network.generate(
            input_ids=source, attention_mask=mask, generation_config=config
        )
        return written[:, given:]

    @property
    def _start(self) -> int | None:
        start = getattr(self.backbone.network.config, "decoder_start_token_id", None)
        return None if start is None else int(start)
