"""Tokens per second of masked-language-model pretraining: transformers' Trainer, a bare PyTorch
loop and the harness, on the same model, text and batch shape, in one process, in turn.

    python benchmarks/pretraining_throughput.py [--steps 40] [--repeats 5] [--batch-size 32]
        [--sequence-length 128] [--size tiny]

The model is BERT. The text is random tokens in sequences without padding; every system masks 15 %
of them.

- trainer: `Trainer` with `DataCollatorForLanguageModeling`, as in transformers' run_mlm.py.
- bare: a for loop over batches made before the clock starts; the head at masked positions only,
  fused AdamW, gradient clipping, linear schedule. What the harness takes beyond it is overhead.
- harness: `harness.pretraining.run.fit`, batches made while it trains, checkpoints on.

The first WARMUP_STEPS updates are not timed.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models
from torch.nn import functional as F

from benchmarks import common
from harness.core.compute import Compute
from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import TokenStream
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import Learner
from harness.pretraining.module import PretrainingModule
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.loader import Feed, Step, to_step
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.optimization import make_optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import default_micro_batch_tokens, fit
from harness.pretraining.schedule import learning_rate_factor

VOCAB_SIZE = 30_522
SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
WARMUP_STEPS = 5

Clock = list[tuple[int, float]]
"""Updates done, and the time then."""


class Workload:
    """One model, text and batch shape, for all three systems."""

    def __init__(self, size: str, batch_size: int, sequence_length: int, steps: int) -> None:
        self.spec = Pretrain(
            size=SIZES[size],
            model=Architecture(max_position=512),
            objective=Objective(),
            packing=Packing(format="full_sentences"),
            phases=(Phase(fraction=1, sequence_length=sequence_length),),
            batch_size=batch_size,
            budget=Budget(steps=steps + WARMUP_STEPS),
        )
        self.steps = steps + WARMUP_STEPS
        self.tokens_per_step = batch_size * sequence_length
        self.vocabulary = make_vocabulary()
        stream = random_stream(self.steps * batch_size, sequence_length - 2)
        self.maker = BatchMaker(
            stream,
            self.vocabulary,
            self.spec.objective,
            self.spec.packing,
            self.spec.phases,
            batch_size,
            0,
            self.steps,
        )
        self.sequences = self.maker.layout.rows(self.maker.drawing(0, 0).sequences).tokens

    def learner(self) -> Learner:
        """The untrained network."""
        return make_learner(self.spec, self.vocabulary, 0, {})

    def step(self, number: int) -> Step:
        """The batches of one update."""
        return to_step(self.maker.batch(number), default_micro_batch_tokens())

    def rate(self, clock: Clock) -> float:
        """Tokens per second after the warm-up."""
        first, begin = next(end for end in clock if end[0] >= WARMUP_STEPS)
        last, end = clock[-1]
        return (last - first) * self.tokens_per_step / (end - begin)


def make_vocabulary() -> Vocabulary:
    """Special tokens, and words of one token each."""
    special = np.arange(VOCAB_SIZE) < len(SPECIAL)
    starts = np.ones(VOCAB_SIZE, dtype=bool)
    return Vocabulary(VOCAB_SIZE, pad=0, cls=2, sep=3, mask=4, special=special, word_start=starts)


def random_stream(num_sequences: int, length: int) -> TokenStream:
    """One document of sentences that each fill a sequence."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(len(SPECIAL), VOCAB_SIZE, num_sequences * length).astype(np.uint16)
    sentences = np.arange(num_sequences + 1) * length
    return TokenStream(tokens, sentences, np.array([0, num_sequences]))


def run_trainer(work: Workload, folder: Path) -> Clock:
    """transformers' Trainer and collator; all but the figures of the run at its default."""
    clock: Clock = []

    class StepTimes(transformers.TrainerCallback):
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            clock.append((len(clock) + 1, time.perf_counter()))

    tokenizer = make_tokenizer()
    rows = [
        {"input_ids": row, "special_tokens_mask": [int(token < len(SPECIAL)) for token in row]}
        for row in work.sequences.tolist()
    ]
    trainer = transformers.Trainer(
        model=work.learner().backbone.network,
        args=transformers.TrainingArguments(
            output_dir=str(folder),
            per_device_train_batch_size=work.spec.batch_size,
            max_steps=work.steps,
            learning_rate=work.spec.optimizer.learning_rate,
            weight_decay=work.spec.optimizer.weight_decay,
            report_to=[],
            save_strategy="no",
            dataloader_pin_memory=torch.cuda.is_available(),  # which is then the default
            logging_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=rows,
        data_collator=transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15),
        callbacks=[StepTimes()],
    )
    trainer.train()
    return clock


def make_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """A word-level tokenizer with the ids of `make_vocabulary`."""
    vocab = {token: i for i, token in enumerate(SPECIAL.values())}
    vocab |= {f"w{i}": i for i in range(len(vocab), VOCAB_SIZE)}
    model = models.WordLevel(vocab, unk_token="[UNK]")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model), **SPECIAL)


def run_bare(work: Workload, folder: Path) -> Clock:
    """A minimal loop with the harness's optimizations."""
    clock: Clock = []
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = work.learner().to(device).train()
    network: Any = model.backbone.network
    optimizer = make_optimizer(model, work.spec.optimizer)
    steps = [work.step(number) for number in range(work.steps)]
    for number, step in enumerate(steps):
        factor = learning_rate_factor(work.spec.schedule, number, work.steps)
        for group in optimizer.param_groups:
            group["lr"] = work.spec.optimizer.learning_rate * factor
        for part in step.parts:
            part = {name: value.to(device, non_blocking=True) for name, value in part.items()}
            states = network.bert(part["input_ids"], token_type_ids=part["token_type_ids"])[0]
            logits = network.cls.predictions(states.flatten(0, 1)[part["positions"]])
            loss = F.cross_entropy(logits, part["targets"], reduction="sum")
            (loss / step.counts["token"]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), work.spec.optimizer.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        clock.append((number + 1, time.perf_counter()))
    return clock


def run_harness(work: Workload, folder: Path) -> Clock:
    """The harness, as its pretraining stage runs it."""
    clock: Clock = []
    module = PretrainingModule(work.learner(), work.spec, work.steps, seed=0)
    feed = Feed(work.step, work.steps)

    def progress(done: int, total: int, **figures: float) -> None:
        clock.append((done, time.perf_counter()))

    fit(module, feed, folder / "last.ckpt", Compute(), progress)
    return clock


SYSTEMS = {"trainer": run_trainer, "bare": run_bare, "harness": run_harness}


def rate(work: Workload, run: Callable[[Workload, Path], Clock]) -> float:
    """Tokens per second of one system."""
    with tempfile.TemporaryDirectory() as folder:
        return work.rate(run(work, Path(folder)))


def summary(rates: common.Measurements, arguments: argparse.Namespace) -> dict[str, Any]:
    """Medians and ratios of the rates, with settings and machine."""
    machine = {
        **common.machine("torch", "transformers"),
        "cpu_count": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
    }
    return {
        **common.rate_figures(rates, arguments, **machine),
        "harness_over_trainer": round(common.median_ratio(rates, "harness", "trainer"), 3),
        "harness_over_bare": round(common.median_ratio(rates, "harness", "bare"), 3),
    }


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen, machine = figures["settings"], figures["machine"]
    medians = figures["tokens_per_second"]
    setting = (
        f"Size {chosen['size']}, vocabulary {VOCAB_SIZE:,}, batch {chosen['batch_size']} x "
        f"{chosen['sequence_length']} tokens, median of {chosen['repeats']} runs of "
        f"{chosen['steps']} updates each; {machine['processor']}, "
        f"{machine['torch_threads']} threads, {machine['device']}."
    )
    remark = (
        f"Paired within repeats: harness / trainer {figures['harness_over_trainer']:.2f}, "
        f"harness / bare {figures['harness_over_bare']:.3f}."
    )
    rows = [[name, f"{r:,}", f"{r / medians['trainer']:.2f} x"] for name, r in medians.items()]
    head = ("system", "tokens/s", "against the Trainer")
    return common.markdown(__file__, "Pretraining throughput", setting, head, rows, remark=remark)


def main() -> None:
    """Measures and writes the figures."""
    defaults = {"batch_size": 32, "sequence_length": 128, "steps": 40, "repeats": 5}
    arguments = common.parse_arguments(__doc__, "pretraining_throughput", size="tiny", **defaults)
    work = Workload(
        arguments.size, arguments.batch_size, arguments.sequence_length, arguments.steps
    )
    systems = {name: partial(rate, work, run) for name, run in SYSTEMS.items()}
    figures = summary(common.measure_in_turns(systems, arguments.repeats), arguments)
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
