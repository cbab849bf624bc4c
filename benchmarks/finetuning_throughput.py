"""Examples per second of fine-tuning: transformers' Trainer, a bare PyTorch loop and the harness,
on the same network, examples and batch size, each in a new process, in turn.

    python benchmarks/finetuning_throughput.py [--size tiny] [--batch-size 32] [--examples 1000]
        [--repeats 5]

The examples are random words, as many as sentences of CoLA and pairs of RTE have: both are close to
log-normal; their means and deviations were measured on the train splits, in words. Words are as
frequent as in text (see FREQUENCY). One epoch, one thread.

- trainer: `Trainer` with `DataCollatorWithPadding`, as in transformers' run_glue.py, which pads
  all texts to their maximum unless it is told otherwise; here each batch to its longest text.
- bare: a for loop over the harness's batches with its network, loss, optimiser and trained rows of
  the token embeddings. What the harness takes beyond it is overhead.
- harness: `harness.finetuning.run.finetune`; harness_bf16: with `compute: {precision: bf16-mixed}`.

The first WARMUP updates are not timed.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import transformers

from benchmarks import common
from benchmarks.pretraining_workloads import SPECIAL, VOCAB_SIZE, make_tokenizer
from harness.core.compute import Compute
from harness.core.memory import keep_freed_memory
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.encoded_cache import encoded
from harness.finetuning.heads import task_head
from harness.finetuning.module import FinetuningModule
from harness.finetuning.multitask import MultitaskBatches, MultitaskModel, TaskData, multitask_loss
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, prepared_model
from harness.finetuning.task_chain import Multitask
from harness.finetuning.used_embeddings import use_rows
from harness.models import MODELS, SIZES
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.tasks import TASKS
from harness.tasks.examples import Examples

LENGTHS = {"cola": (1.94, 0.445), "rte": (3.80, 0.553)}
"""Task to the mean and deviation of the logarithm of an example's number of words."""
FREQUENCY = (2.7, 1.1)
"""Offset and exponent of the frequency of a word by its rank, 1 / (rank + offset)^exponent (Zipf's
law in the form of Mandelbrot 1953). 1,000 examples then have 2,480 (CoLA) and 9,145 (RTE) different
words; 1,000 of the train splits have 1,197 and 9,426."""
MAX_LENGTH = 128
WARMUP = 5
Ends = dict[int, float]
"""Updates done to the time then; the harness reports several at once."""


class Workload:
    """A network, and the examples of one task."""

    def __init__(self, task: str, arguments: argparse.Namespace, folder: Path) -> None:
        self.folder, self.task = folder, TASKS[task]
        size, vocab_size = arguments.size, arguments.vocab_size
        self.settings = Finetune(epochs=1, batch_size=arguments.batch_size)
        tokenizer = make_tokenizer(vocab_size)
        tokenizer.save_pretrained(folder / "tokenizer")
        tokens = Tokens(vocab_size=vocab_size, pad=0, start=2, end=3, pair_format=True)
        build(MODELS["bert"], SIZES[size], tokens, "bidirectional", 0).save(folder / "model")
        self.tokenizer = tokenizer
        self.head = task_head(self.task, Protocol(max_sequence_length=MAX_LENGTH), tokenizer)
        data = random_examples(task, arguments.examples, vocab_size)
        self.data = TaskData(self.head, encoded(self.head, data, folder / "tokenizer", folder))

    def rate(self, ends: Ends) -> float:
        """Examples per second after the warm-up."""
        first, last = min(done for done in ends if done >= WARMUP), max(ends)
        return (last - first) * self.settings.batch_size / (ends[last] - ends[first])


def random_examples(task: str, number: int, vocab_size: int) -> Examples:
    """Random words with random labels."""
    rng = np.random.default_rng(0)
    lengths = np.rint(rng.lognormal(*LENGTHS[task], number)).astype(int).clip(2, MAX_LENGTH - 3)
    offset, exponent = FREQUENCY
    frequencies = (np.arange(vocab_size - len(SPECIAL)) + offset) ** -exponent
    drawn = rng.choice(len(frequencies), lengths.sum(), p=frequencies / frequencies.sum())
    ends = np.cumsum(lengths)[:-1]
    words = [[f"w{word + len(SPECIAL)}" for word in one] for one in np.split(drawn, ends)]
    pair = task == "rte"
    cuts = [len(one) * 5 // 6 if pair else len(one) for one in words]
    texts = [
        (" ".join(one[:cut]), *([" ".join(one[cut:])] if pair else []))
        for one, cut in zip(words, cuts, strict=True)
    ]
    return Examples(texts, rng.integers(0, 2, number))


def run_trainer(work: Workload) -> Ends:
    """transformers' Trainer and collator."""
    ends: Ends = {}

    class Clock(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
            ends[state.global_step] = time.perf_counter()

    data = work.data.train
    rows = [
        {
            "input_ids": data.input_ids[row].tolist(),
            "token_type_ids": data.token_type_ids[row].tolist(),
            "labels": int(label),
        }
        for row, label in enumerate(np.asarray(data.targets))
    ]
    network = transformers.AutoModelForSequenceClassification.from_pretrained(work.folder / "model")
    trainer = transformers.Trainer(
        model=network,
        args=transformers.TrainingArguments(
            output_dir=str(work.folder / "trainer"),
            per_device_train_batch_size=work.settings.batch_size,
            num_train_epochs=1,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            dataloader_drop_last=True,
            disable_tqdm=True,
        ),
        train_dataset=rows,
        data_collator=transformers.DataCollatorWithPadding(work.tokenizer),
        callbacks=[Clock()],
    )
    trainer.train()
    return ends


def run_bare(work: Workload) -> Ends:
    """A minimal loop."""
    keep_freed_memory()
    head, mixing, ends = work.head, Multitask(), dict[int, float]()
    batches = MultitaskBatches([work.data], work.settings, mixing, 0)
    part = prepared_model(work.folder / "model", head, ADAPTATIONS["full"], 0, work.settings)
    model, used = MultitaskModel([part], mixing), use_rows([part], [work.data])
    loss_of = partial(multitask_loss, [head], model.log_variances)
    chosen = FinetuningModule(model, loss_of, work.settings, batches.num_steps, 0, used)
    configured = chosen.configure_optimizers()
    optimizer, scheduler = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
    model.train()
    for step, batch in enumerate(batches, 1):
        loss = loss_of(model.outputs(batch, model.states(batch)), batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        ends[step] = time.perf_counter()
    return ends


def run_harness(work: Workload, compute: Compute = Compute()) -> Ends:  # noqa: B008
    """The harness, as its fine-tuning stage runs it."""
    ends: Ends = {}

    def progress(done: int, total: int) -> None:
        ends[done] = time.perf_counter()

    network, settings = work.folder / "model", work.settings
    finetune(network, [work.data], settings, seed=0, compute=compute, progress=progress)
    return ends


SYSTEMS: dict[str, Callable[[Workload], Ends]] = {
    "trainer": run_trainer,
    "bare": run_bare,
    "harness": run_harness,
    "harness_bf16": partial(run_harness, compute=Compute(precision="bf16-mixed")),
}
RATIOS = [("harness", "trainer"), ("harness_bf16", "trainer"), ("harness", "bare")]


def rate(system: str, task: str, arguments: argparse.Namespace) -> float:
    """Examples per second of one system, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        work = Workload(task, arguments, Path(folder))
        return work.rate(SYSTEMS[system](work))


def measure(task: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Median rates and ratios of one task."""
    systems = {
        name: partial(common.in_new_process, rate, name, task, arguments) for name in SYSTEMS
    }
    rates = common.measure_in_turns(systems, arguments.repeats)
    return {
        "task": task,
        **{name: round(float(np.median(found)), 1) for name, found in rates.items()},
        **{f"{a}_over_{b}": round(common.median_ratio(rates, a, b), 3) for a, b in RATIOS},
    }


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen, on = figures["settings"], figures["machine"]
    setting = (
        f"BERT {chosen['size']}, vocabulary {chosen['vocab_size']:,}, batches of "
        f"{chosen['batch_size']}, median of {chosen['repeats']} runs over {chosen['examples']:,} "
        f"examples with lengths as in the tasks and words as frequent as in text; "
        f"{on['processor']}, 1 thread. Examples per second; "
        "ratios paired within repeats."
    )
    columns = [*SYSTEMS, *(f"{a}_over_{b}" for a, b in RATIOS)]
    rows = [[one["task"], *(f"{one[name]:,}" for name in columns)] for one in figures["tasks"]]
    head = ["task", *SYSTEMS, *(f"{a} / {b}" for a, b in RATIOS)]
    return common.markdown(__file__, "Fine-tuning throughput", setting, head, rows)


def main() -> None:
    """Measures and writes the figures."""
    defaults = {"batch_size": 32, "examples": 1000, "vocab_size": VOCAB_SIZE, "repeats": 5}
    arguments = common.parse_arguments(__doc__, "finetuning_throughput", size="tiny", **defaults)
    figures = {
        "settings": common.settings(arguments),
        "machine": common.machine("torch", "transformers"),
        "tasks": [measure(task, arguments) for task in LENGTHS],
    }
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
