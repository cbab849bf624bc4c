"""Models, texts and batch shapes whose pretraining is timed, and the clock that times it."""

import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import models

from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import TokenStream
from harness.data.tokenizers import Tokenizer
from harness.models import MODELS, SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.distributed import default_micro_batch_tokens
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import Learner
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.loader import Step, to_step
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import training_flops_per_token

VOCAB_SIZE = 30_522
SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
NUM_SENTINELS = 100


@dataclass(frozen=True)
class Shape:
    """One model, text and batch shape."""

    objective: str = "mlm"
    family: str = "bert"
    size: str = "tiny"
    batch_size: int = 32
    sequence_length: int = 128
    vocab_size: int = VOCAB_SIZE
    has_dropout: bool = True
    threads: int = 2
    steps: int = 12
    """Timed updates."""
    warmup_steps: int = 4
    """Updates before them, in which memory is allocated and networks are compiled."""


CPU_WORKLOADS = {
    "mlm-tiny": Shape(),
    "mlm-mini": Shape(size="mini", steps=6),
    "causal-tiny": Shape("clm", "gpt2"),
    "span-tiny": Shape("span_corruption", "t5"),
    # The quickstart's shape, which is a run of one thread.
    "mlm-nano": Shape("mlm", "bert", "nano", 16, 32, vocab_size=1_000, threads=1, steps=300),
}
ON_GPU: dict[str, Any] = {"threads": 2, "steps": 15, "warmup_steps": 10}
GPU_WORKLOADS = {
    # The published sizes: BERT base, GPT-2 of 124M parameters, T5 base; 16k to 33k tokens.
    "mlm-base-128": Shape("mlm", "bert", "base", 128, 128, **ON_GPU),
    "mlm-base-512": Shape("mlm", "bert", "base", 64, 512, **ON_GPU),
    "mlm-base-512-no-dropout": Shape("mlm", "bert", "base", 64, 512, has_dropout=False, **ON_GPU),
    "causal-base": Shape("clm", "gpt2", "base", 16, 1_024, vocab_size=50_257, **ON_GPU),
    "span-base": Shape("span_corruption", "t5", "t5_base", 32, 512, vocab_size=32_128, **ON_GPU),
}
WORKLOADS = {
    **CPU_WORKLOADS,
    **GPU_WORKLOADS,
    "smallest": Shape("mlm", "bert", "nano", 2, 16, vocab_size=500, threads=1, steps=40),
}


class Ticking(Protocol):
    """What is called when so many updates are done."""

    def tick(self, done: int, *_: Any, **__: Any) -> None: ...


class Clock:
    """The timed part of a run, which may report several updates at once. Its last update is not
    timed: the harness saves the run in it, which takes as long as an update of a small network."""

    def __init__(self, shape: Shape) -> None:
        self.warmup_steps, self.num_steps = shape.warmup_steps, shape.warmup_steps + shape.steps
        self.first, self.last = (0, 0.0), (0, 0.0)
        """Updates done, and the time then."""

    def tick(self, done: int, *_: Any, **__: Any) -> None:
        """Called when so many updates are done."""
        if done > self.num_steps and self.last[0] > self.first[0]:
            return
        begins = not self.first[0] and done >= self.warmup_steps
        if (begins or done == self.num_steps) and torch.cuda.is_available():
            torch.cuda.synchronize()  # more often would keep the GPU waiting
        self.last = done, time.perf_counter()
        if begins:
            self.first = self.last

    @property
    def steps_per_second(self) -> float:
        """Of the timed updates."""
        return (self.last[0] - self.first[0]) / (self.last[1] - self.first[1])


class Workload:
    """A shape with its text, for all systems.

    Args:
        steps: updates of the run; null: those before the timed ones, these, and the last.
        clock: its `tick` is called after updates; null: one for a run of its own.
    """

    def __init__(
        self, shape: Shape, steps: int | None = None, clock: Ticking | None = None
    ) -> None:
        self.shape, self.steps = shape, steps or shape.warmup_steps + shape.steps + 1
        model = MODELS[shape.family]
        changed: dict[str, Any] = {"max_position": max(shape.sequence_length, model.max_position)}
        if not shape.has_dropout:
            changed |= {"dropout": 0.0, "attention_dropout": 0.0}
        self.spec = Pretrain(
            size=SIZES[shape.size],
            model=model.model_copy(update=changed),
            objective=OBJECTIVES[shape.objective],
            packing=Packing(format="full_sentences"),
            tokenizer=Tokenizer(vocab_size=shape.vocab_size, sentinels=NUM_SENTINELS),
            phases=(Phase(fraction=1, sequence_length=shape.sequence_length),),
            batch_size=shape.batch_size,
            budget=Budget(steps=self.steps),
        )
        self.tokens_per_step = shape.batch_size * shape.sequence_length
        self.vocabulary = make_vocabulary(shape.vocab_size)
        stream = random_stream(self.steps * shape.batch_size, shape.sequence_length - 2, shape)
        self.maker = BatchMaker(
            stream,
            self.vocabulary,
            self.spec.objective,
            self.spec.packing,
            self.spec.phases,
            shape.batch_size,
            0,
            self.steps,
        )
        self.clock: Ticking = clock or Clock(shape)

    def learner(self) -> Learner:
        """The untrained network."""
        return make_learner(self.spec, self.vocabulary, 0, {})

    def step(self, number: int) -> Step:
        """The batches of one update."""
        return to_step(self.maker.batch(number), default_micro_batch_tokens())

    @property
    def flops_per_token(self) -> float:
        """Of training, by the harness's convention."""
        return training_flops_per_token(self.spec, self.shape.vocab_size)


def make_vocabulary(size: int) -> Vocabulary:
    """Special tokens, sentinels, and words of one token each."""
    sentinels = len(SPECIAL) + np.arange(NUM_SENTINELS)
    special = np.arange(size) < len(SPECIAL) + NUM_SENTINELS
    starts = np.ones(size, dtype=bool)
    return Vocabulary(
        size, pad=0, cls=2, sep=3, mask=4, special=special, word_start=starts, sentinels=sentinels
    )


def random_stream(num_sequences: int, length: int, shape: Shape) -> TokenStream:
    """One document of sentences that each fill a sequence."""
    rng = np.random.default_rng(0)
    first = len(SPECIAL) + NUM_SENTINELS
    tokens = rng.integers(first, shape.vocab_size, num_sequences * length).astype(np.uint16)
    sentences = np.arange(num_sequences + 1) * length
    return TokenStream(tokens, sentences, np.array([0, num_sequences]))


def make_tokenizer(vocab_size: int) -> transformers.PreTrainedTokenizerFast:
    """A word-level tokenizer with the ids of `make_vocabulary`."""
    vocab = {token: i for i, token in enumerate(SPECIAL.values())}
    vocab |= {f"w{i}": i for i in range(len(vocab), vocab_size)}
    model = models.WordLevel(vocab, unk_token="[UNK]")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(model), **SPECIAL
    )
