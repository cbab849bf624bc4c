"""Tokens per second of pretraining: transformers' Trainer, a bare PyTorch loop and the harness, on
the same network, text and batch shape, each in a new process, in turn.

    python benchmarks/pretraining_throughput.py [--workloads mlm-tiny,causal-tiny] [--repeats 5]

The text is random tokens in sequences without padding.

- trainer: `Trainer` with fused AdamW, its default, and the collator of transformers' run_mlm.py or
  run_clm.py; for span corruption, for which there is none, with the harness's texts, made before
  the clock starts. With `bf16=True` it is no faster on a CPU.
- bare: a for loop over the harness's network and loss, over batches made before the clock starts;
  fused AdamW, gradient clipping, linear schedule, freed memory kept. What the harness takes beyond
  it is overhead. bare_bf16: under autocast.
- harness: `harness.pretraining.run.fit`, batches made while it trains, checkpoints on.
  harness_bf16: `compute: {precision: bf16-mixed}`.

The first WARMUP_STEPS updates are not timed.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import models

from benchmarks import common
from harness.core.compute import Compute
from harness.core.memory import keep_freed_memory
from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import TokenStream
from harness.data.tokenizers import Tokenizer
from harness.models import MODELS, SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import Learner
from harness.pretraining.module import CURVE_POINTS, PretrainingModule
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.loader import Feed, Step, to_step
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.optimization import make_optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import default_micro_batch_tokens, fit
from harness.pretraining.schedule import learning_rate_factor

VOCAB_SIZE = 30_522
SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
NUM_SENTINELS = 100
WARMUP_STEPS = 3
LONG_RUN = 10_000
"""Updates of the run that the harness's rows of the learning curve are as rare as in."""
Clock = list[tuple[int, float]]
"""Updates done, and the time then."""


@dataclass(frozen=True)
class Shape:
    """One model, text and batch shape."""

    objective: str = "mlm"
    family: str = "bert"
    size: str = "tiny"
    batch_size: int = 32
    sequence_length: int = 128
    vocab_size: int = VOCAB_SIZE
    threads: int = 2
    steps: int = 6
    """Timed updates."""


WORKLOADS = {
    "mlm-tiny": Shape(),
    "mlm-mini": Shape(size="mini"),
    "causal-tiny": Shape("clm", "gpt2"),
    "span-tiny": Shape("span_corruption", "t5"),
    # The quickstart's shape, which is a run of one thread.
    "mlm-nano": Shape("mlm", "bert", "nano", 16, 32, vocab_size=1_000, threads=1, steps=300),
    "smallest": Shape("mlm", "bert", "nano", 2, 16, vocab_size=500, threads=1, steps=40),
}


class Workload:
    """A shape with its text, for all systems."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.steps = shape, shape.steps + WARMUP_STEPS
        self.spec = Pretrain(
            size=SIZES[shape.size],
            model=MODELS[shape.family],
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


def trainer_rows(work: Workload) -> list[dict[str, list[int]]]:
    """The texts that the Trainer's collator makes batches of."""
    if work.shape.objective == "span_corruption":
        return [row for number in range(work.steps) for row in source_and_labels(work, number)]
    rows = work.maker.layout.rows(work.maker.drawing((0, 0)).sequences).tokens.tolist()
    if work.shape.objective == "clm":
        return [{"input_ids": row} for row in rows]
    special = len(SPECIAL)
    return [
        {"input_ids": row, "special_tokens_mask": [int(token < special) for token in row]}
        for row in rows
    ]


def source_and_labels(work: Workload, number: int) -> list[dict[str, list[int]]]:
    """The rows of one of the harness's batches, without padding."""
    batch = work.maker.batch(number)
    labels = np.full(batch["decoder_input_ids"].shape, -100)
    labels.flat[batch["positions"]] = batch["targets"]
    real = batch.get("attention_mask", np.ones_like(batch["input_ids"])).astype(bool)
    return [
        {"input_ids": source[mask].tolist(), "labels": target[target != -100].tolist()}
        for source, mask, target in zip(batch["input_ids"], real, labels, strict=True)
    ]


def run_trainer(work: Workload, folder: Path) -> Clock:
    """transformers' Trainer and collator; all but the figures of the run at its default."""
    clock: Clock = []

    class StepTimes(transformers.TrainerCallback):
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            clock.append((len(clock) + 1, time.perf_counter()))

    tokenizer = make_tokenizer(work.shape.vocab_size)
    network = work.learner().backbone.network
    masked = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    collators: dict[str, Callable[[], Any]] = {
        "clm": partial(transformers.DataCollatorForLanguageModeling, tokenizer, mlm=False),
        "span_corruption": partial(transformers.DataCollatorForSeq2Seq, tokenizer, network),
    }
    trainer = transformers.Trainer(
        model=network,
        args=transformers.TrainingArguments(
            output_dir=str(folder),
            per_device_train_batch_size=work.shape.batch_size,
            max_steps=work.steps,
            learning_rate=work.spec.optimizer.learning_rate,
            weight_decay=work.spec.optimizer.weight_decay,
            use_cpu=not torch.cuda.is_available(),
            report_to=[],
            save_strategy="no",
            dataloader_pin_memory=torch.cuda.is_available(),  # which is then the default
            logging_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=trainer_rows(work),
        data_collator=collators.get(work.shape.objective, lambda: masked)(),
        callbacks=[StepTimes()],
    )
    trainer.train()
    return clock


def run_bare(work: Workload, folder: Path, bf16: bool = False) -> Clock:
    """A minimal loop with the harness's optimisations."""
    keep_freed_memory()
    clock: Clock = []
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = work.learner().to(device).train()
    optimizer = make_optimizer(model, work.spec.optimizer)
    steps = [work.step(number) for number in range(work.steps)]
    for number, step in enumerate(steps):
        factor = learning_rate_factor(work.spec.schedule, number, work.steps)
        for group in optimizer.param_groups:
            group["lr"] = work.spec.optimizer.learning_rate * factor
        for part in step.parts:
            part = {name: value.to(device, non_blocking=True) for name, value in part.items()}
            with torch.autocast(device, torch.bfloat16, enabled=bf16):
                sums, _ = model(part)
            (sums["token"] / step.counts["token"]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), work.spec.optimizer.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        clock.append((number + 1, time.perf_counter()))
    return clock


def run_harness(work: Workload, folder: Path, compute: Compute = Compute()) -> Clock:  # noqa: B008
    """The harness, as its pretraining stage runs it."""
    clock: Clock = []
    module = PretrainingModule(work.learner(), work.spec, work.steps, seed=0)
    module.curve_every = LONG_RUN // CURVE_POINTS
    feed = Feed(work.step, work.steps)

    def progress(done: int, total: int, **figures: float) -> None:
        clock.append((done, time.perf_counter()))

    fit(module, feed, folder / "last.ckpt", compute, progress)
    return clock


SYSTEMS: dict[str, Callable[[Workload, Path], Clock]] = {
    "trainer": run_trainer,
    "bare": run_bare,
    "bare_bf16": partial(run_bare, bf16=True),
    "harness": run_harness,
    "harness_bf16": partial(run_harness, compute=Compute(precision="bf16-mixed")),
}


def rate(system: str, shape: Shape) -> float:
    """Tokens per second of one system, in this process."""
    torch.set_num_threads(shape.threads)
    work = Workload(shape)
    with tempfile.TemporaryDirectory() as folder:
        return work.rate(SYSTEMS[system](work, Path(folder)))


def measure(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Medians and ratios of one workload."""
    shape = WORKLOADS[name]
    systems = {system: partial(common.in_new_process, rate, system, shape) for system in SYSTEMS}
    rates = common.measure_in_turns(systems, arguments.repeats)
    return {
        "workload": name,
        **asdict(shape),
        "tokens_per_second": {name: round(float(np.median(all_))) for name, all_ in rates.items()},
        "all_tokens_per_second": {name: list(map(round, all_)) for name, all_ in rates.items()},
        "over_trainer": {
            name: round(common.median_ratio(rates, name, "trainer"), 2) for name in rates
        },
        "harness_over_bare": round(common.median_ratio(rates, "harness", "bare"), 3),
        "harness_bf16_over_bare_bf16": round(
            common.median_ratio(rates, "harness_bf16", "bare_bf16"), 3
        ),
    }


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen, on = figures["settings"], figures["machine"]
    setting = (
        f"Tokens per second, and against the Trainer; medians of {chosen['repeats']} runs, each in "
        "a new process, the ratios paired within repeats; "
        f"{on['processor']}, {on['device']}, torch {on['torch']}, transformers "
        f"{on['transformers']}."
    )
    head = ["workload", "shape", *(name.replace("_", " ") for name in SYSTEMS)]
    head += ["harness / bare", "in bf16"]
    rows = []
    for one in figures["workloads"]:
        shape = (
            f"{one['family']} {one['size']}, {one['batch_size']} x {one['sequence_length']}, "
            f"vocabulary {one['vocab_size']:,}, threads {one['threads']}"
        )
        rates = [
            f"{one['tokens_per_second'][name]:,} ({one['over_trainer'][name]:.2f} x)"
            for name in SYSTEMS
        ]
        ratios = [f"{one[key]:.2f}" for key in ("harness_over_bare", "harness_bf16_over_bare_bf16")]
        rows.append([one["workload"], shape, *rates, *ratios])
    return common.markdown(__file__, "Pretraining throughput", setting, head, rows, 2)


def main() -> None:
    """Measures and writes the figures."""
    chosen = ",".join(name for name in WORKLOADS if name != "smallest")
    arguments = common.parse_arguments(
        __doc__, "pretraining_throughput", workloads=chosen, repeats=5
    )
    figures = {
        "settings": common.settings(arguments),
        "machine": {
            **common.machine("torch", "transformers"),
            "cpu_count": os.cpu_count(),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        },
        "workloads": [measure(name, arguments) for name in arguments.workloads.split(",")],
    }
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
