"""Tokens per second of masked-language-model pretraining: transformers' Trainer, a bare PyTorch
loop and the harness, on the same model, text and batch shape, in one process, in turn.

    python benchmarks/pretraining_throughput.py [--steps 40] [--repeats 5] [--batch-size 32]

The text is random tokens in sequences without padding; every system masks 15 % of them.

- trainer: `Trainer` with `DataCollatorForLanguageModeling`, as in transformers' run_mlm.py.
- bare: a for loop over batches made before the clock starts; the head at masked positions only,
  fused AdamW, gradient clipping, linear schedule. What the harness adds to it is overhead.
- harness: `harness.pretraining.run.fit`, batches made while it trains, checkpoints on.

Each time leaves out the first WARMUP_STEPS updates. Figures go to benchmarks/results/.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models
from torch.nn import functional as F

from harness.core.compute import Compute
from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import TokenStream
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import Learner
from harness.pretraining.module import PretrainingModule
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.loader import Feed, Step, to_step
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.optimizer import learning_rate_factor, make_adamw
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.recipes.settings import Phase
from harness.pretraining.run import default_micro_batch_tokens, fit

RESULTS = Path(__file__).parent / "results" / "pretraining_throughput.json"
VOCAB_SIZE = 30_522
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"} | {
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
WARMUP_STEPS = 5

Clock = list[float]
"""Time at the end of each update."""


class Bench:
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
        return make_learner(self.spec, self.vocabulary, 0, {})

    def step(self, number: int) -> Step:
        return to_step(self.maker.batch(number), default_micro_batch_tokens())

    def rate(self, clock: Clock) -> float:
        seconds = clock[-1] - clock[WARMUP_STEPS - 1]
        return (len(clock) - WARMUP_STEPS) * self.tokens_per_step / seconds


def make_vocabulary() -> Vocabulary:
    special = np.arange(VOCAB_SIZE) < len(SPECIAL)
    starts = np.ones(VOCAB_SIZE, dtype=bool)
    return Vocabulary(VOCAB_SIZE, pad=0, cls=2, sep=3, mask=4, special=special, word_start=starts)


def random_stream(num_sequences: int, length: int) -> TokenStream:
    """One document of sentences that each fill a sequence."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(len(SPECIAL), VOCAB_SIZE, num_sequences * length).astype(np.uint16)
    sentences = np.arange(num_sequences + 1) * length
    return TokenStream(tokens, sentences, np.array([0, num_sequences]))


def run_trainer(bench: Bench, folder: Path) -> Clock:
    """transformers' Trainer and collator; everything at its default but the figures of the run."""
    clock: Clock = []

    class Watch(transformers.TrainerCallback):
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            clock.append(time.perf_counter())

    tokenizer = make_tokenizer()
    rows = [
        {"input_ids": row, "special_tokens_mask": [int(token < len(SPECIAL)) for token in row]}
        for row in bench.sequences.tolist()
    ]
    trainer = transformers.Trainer(
        model=bench.learner().backbone.network,
        args=transformers.TrainingArguments(
            output_dir=str(folder),
            per_device_train_batch_size=bench.spec.batch_size,
            max_steps=bench.steps,
            learning_rate=bench.spec.optimizer.learning_rate,
            weight_decay=bench.spec.optimizer.weight_decay,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=rows,
        data_collator=transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15),
        callbacks=[Watch()],
    )
    trainer.train()
    return clock


def make_tokenizer() -> transformers.PreTrainedTokenizerFast:
    vocab = {token: i for i, token in enumerate(SPECIAL.values())}
    vocab |= {f"w{i}": i for i in range(len(vocab), VOCAB_SIZE)}
    model = models.WordLevel(vocab, unk_token="[UNK]")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model), **SPECIAL)


def run_bare(bench: Bench, folder: Path) -> Clock:
    """The least that trains this model with the harness's optimisations."""
    clock: Clock = []
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = bench.learner().to(device).train()
    network: Any = model.backbone.network
    optimizer = make_adamw(model, bench.spec.optimizer)
    steps = [bench.step(number) for number in range(bench.steps)]
    for number, step in enumerate(steps):
        factor = learning_rate_factor(bench.spec.schedule, number, bench.steps)
        for group in optimizer.param_groups:
            group["lr"] = bench.spec.optimizer.learning_rate * factor
        for part in step.parts:
            part = {name: value.to(device, non_blocking=True) for name, value in part.items()}
            states = network.bert(part["input_ids"], token_type_ids=part["token_type_ids"])[0]
            logits = network.cls.predictions(states.flatten(0, 1)[part["positions"]])
            loss = F.cross_entropy(logits, part["targets"], reduction="sum")
            (loss / step.counts["token"]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), bench.spec.optimizer.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        clock.append(time.perf_counter())
    return clock


def run_harness(bench: Bench, folder: Path) -> Clock:
    """The harness as its pretrain stage runs it."""
    clock: Clock = []
    module = PretrainingModule(bench.learner(), bench.spec, bench.steps, seed=0)
    feed = Feed(bench.step, bench.steps)

    def progress(done: int, total: int, **figures: float) -> None:
        clock.append(time.perf_counter())

    fit(module, feed, folder / "last.ckpt", Compute(), progress)
    return clock


SYSTEMS: dict[str, Callable[[Bench, Path], Clock]] = {
    "trainer": run_trainer,
    "bare": run_bare,
    "harness": run_harness,
}


def measure(bench: Bench, repeats: int) -> dict[str, list[float]]:
    """Tokens per second of each system in each repeat; they take turns, in changing order."""
    rates: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    for repeat in range(repeats):
        names = list(SYSTEMS)
        for name in names[repeat % 3 :] + names[: repeat % 3]:
            with tempfile.TemporaryDirectory() as folder:
                rates[name].append(bench.rate(SYSTEMS[name](bench, Path(folder))))
        print(repeat, {name: round(values[-1]) for name, values in rates.items()}, flush=True)
    return rates


def summary(rates: dict[str, list[float]], arguments: argparse.Namespace) -> dict[str, Any]:
    def ratio(one: str, other: str) -> float:
        pairs = zip(rates[one], rates[other], strict=True)
        return round(statistics.median(a / b for a, b in pairs), 3)

    return {
        "settings": {name: getattr(arguments, name) for name in vars(arguments)},
        "machine": {
            "processor": processor(),
            "cpu_count": os.cpu_count(),
            "torch_threads": torch.get_num_threads(),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "tokens_per_second": {name: round(statistics.median(v)) for name, v in rates.items()},
        "all_tokens_per_second": {name: np.rint(v).tolist() for name, v in rates.items()},
        "harness_over_trainer": ratio("harness", "trainer"),
        "harness_over_bare": ratio("harness", "bare"),
    }


def processor() -> str:
    """Name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def table(figures: dict[str, Any]) -> str:
    settings, machine = figures["settings"], figures["machine"]
    base = figures["tokens_per_second"]["trainer"]
    lines = [
        "# Pretraining throughput",
        "",
        f"Size {settings['size']}, vocabulary {VOCAB_SIZE:,}, batch {settings['batch_size']} x "
        f"{settings['sequence_length']} tokens, median of {settings['repeats']} runs of "
        f"{settings['steps']} updates each; {machine['processor']}, "
        f"{machine['torch_threads']} threads, {machine['device']}.",
        "",
        "| system | tokens/s | against the Trainer |",
        "|---|---:|---:|",
    ]
    for name, rate in figures["tokens_per_second"].items():
        lines.append(f"| {name} | {rate:,} | {rate / base:.2f} x |")
    lines += [
        "",
        f"Paired within repeats: harness / trainer {figures['harness_over_trainer']:.2f}, "
        f"harness / bare {figures['harness_over_bare']:.3f}. "
        "Made by `python benchmarks/pretraining_throughput.py`.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="tiny", choices=list(SIZES))
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    bench = Bench(arguments.size, arguments.batch_size, arguments.sequence_length, arguments.steps)
    rates = measure(bench, arguments.repeats)
    out = arguments.out
    del arguments.out
    figures = summary(rates, arguments)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(figures, indent=2) + "\n")
    out.with_suffix(".md").write_text(table(figures))
    print(table(figures))


if __name__ == "__main__":
    main()
