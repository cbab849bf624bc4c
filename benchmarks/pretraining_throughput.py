"""Tokens per second of pretraining: transformers' Trainer, a bare PyTorch loop and the harness, on
the same network, text and batch shape, each in a process of its own, in turn.

    python benchmarks/pretraining_throughput.py [--workloads mlm-tiny,causal-tiny] [--repeats 5]

The text is random tokens in sequences without padding.

- trainer: `Trainer` with fused AdamW, its default, and the collator of transformers' run_mlm.py or
  run_clm.py; for span corruption, for which there is none, with the harness's texts, made before
  the clock starts. trainer_passive: with OMP_WAIT_POLICY=passive, which the other systems on CPUs
  have, too.
- bare: a for loop over the harness's network and loss, over batches made before the clock starts;
  fused AdamW, gradient clipping, linear schedule, freed memory kept. What the harness takes beyond
  it is overhead. bare_bf16: under autocast.
- harness: `harness.pretraining.run.fit`, batches made while it trains, checkpoints on.
  harness_bf16: `compute: {precision: bf16-mixed}`.

On a GPU, the systems of a workload are loaded at once and share its memory, and so are those of
workloads with + between them. All are in bf16, and `_compiled` ones also compiled. Four processes
make the Trainer's batches; no checkpoints are written. The figures go to
pretraining_throughput_gpu.json after each group.

The first updates and the last, in which the harness saves the run, are not timed. MFU: model FLOPs
utilisation (`harness.execution.utilisation`).
"""

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn
from torch.optim import Optimizer

from benchmarks import common
from benchmarks.pretraining_workloads import (
    CPU_WORKLOADS,
    GPU_WORKLOADS,
    SPECIAL,
    WORKLOADS,
    Clock,
    Shape,
    Workload,
    make_tokenizer,
)
from benchmarks.turns import Turns, num_updates, updates_per_second
from harness.core.compute import Compute
from harness.core.memory import keep_freed_memory
from harness.execution.utilisation import known_peak
from harness.models.layers import compiled_layers
from harness.pretraining.module import CURVE_POINTS, PretrainingModule
from harness.pretraining.objectives.loader import Feed, Step, pinned
from harness.pretraining.optimization import make_optimizer
from harness.pretraining.run import fit
from harness.pretraining.schedule import learning_rate_factor
from harness.pretraining.trainer import choose_kernels
from harness.pretraining.unread_inputs import UnreadMasks, UnreadTokens

LONG_RUN = 10_000
"""Updates of the run that the harness's rows of the learning curve are as rare as in."""


def trainer_rows(work: Workload) -> list[dict[str, list[int]]]:
    """The texts that the Trainer's collator makes batches of."""
    if work.shape.objective == "span_corruption":
        return [row for number in range(work.steps) for row in source_and_labels(work, number)]
    pairs = work.maker.pairs(work.maker.components[0].objective)
    rows = work.maker.layout.rows(work.maker.drawing((0, 0), pairs).sequences).tokens.tolist()
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


def run_trainer(work: Workload, folder: Path, bf16: bool = False, compiled: bool = False) -> None:
    """transformers' Trainer and collator; all but the figures of the run at its default."""

    class StepTimes(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
            work.clock.tick(state.global_step)

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
            bf16=bf16,
            torch_compile=compiled,
            dataloader_num_workers=4 if torch.cuda.is_available() else 0,
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


BF16 = Compute(precision="bf16-mixed")


def run_bare(work: Workload, folder: Path, bf16: bool = False, compiled: bool = False) -> None:
    """A minimal loop with the harness's optimisations."""
    keep_freed_memory()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = work.learner().to(device).train()
    choose_kernels(model, BF16 if bf16 else Compute())
    UnreadTokens().setup()
    UnreadMasks().setup()
    optimizer = make_optimizer(model, work.spec.optimizer)
    steps = [work.step(number) for number in range(work.steps)]
    if device == "cuda":
        steps = list(map(pinned, steps))
    with compiled_layers(model) if compiled else nullcontext():
        _loop(work, model, optimizer, steps, bf16)


def _loop(
    work: Workload, model: nn.Module, optimizer: Optimizer, steps: Sequence[Step], bf16: bool
) -> None:
    """The updates of a bare loop."""
    device = next(model.parameters()).device.type
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
        work.clock.tick(number + 1)


def run_harness(work: Workload, folder: Path, compute: Compute = Compute()) -> None:  # noqa: B008
    """The harness, as its pretraining stage runs it."""
    module = PretrainingModule(work.learner(), work.spec, work.steps, seed=0)
    module.curve_every = LONG_RUN // CURVE_POINTS
    feed = Feed(work.step, work.steps)
    if torch.cuda.is_available():
        compute = compute.model_copy(update={"checkpoint_interval_seconds": math.inf})
    fit(module, feed, folder / "last.ckpt", compute, work.clock.tick)


@dataclass(frozen=True)
class System:
    """A way to train a workload."""

    run: Callable[[Workload, Path], None]
    devices: tuple[str, ...]
    """Where it is measured."""
    wait_policy: str = "passive"
    """OMP_WAIT_POLICY on CPUs; empty leaves it unset."""


BOTH, CPU, GPU = ("cpu", "cuda"), ("cpu",), ("cuda",)
SYSTEMS = {
    "trainer": System(run_trainer, CPU, ""),
    "trainer_passive": System(run_trainer, devices=CPU),
    "trainer_bf16": System(partial(run_trainer, bf16=True), devices=GPU),
    "trainer_compiled": System(partial(run_trainer, bf16=True, compiled=True), devices=GPU),
    "bare": System(run_bare, devices=CPU),
    "bare_bf16": System(partial(run_bare, bf16=True), devices=CPU),
    "bare_compiled": System(partial(run_bare, bf16=True, compiled=True), devices=GPU),
    "harness": System(run_harness, devices=CPU),
    "harness_bf16": System(partial(run_harness, compute=BF16), devices=BOTH),
    "harness_compiled": System(
        partial(run_harness, compute=BF16.model_copy(update={"compile": True})), devices=GPU
    ),
}


def rate(system: str, shape: Shape) -> float:
    """Tokens per second of one system, in this process."""
    torch.set_num_threads(shape.threads)
    clock = Clock(shape)
    train(system, Workload(shape, clock=clock))
    return clock.steps_per_second * shape.batch_size * shape.sequence_length


def train(system: str, work: Workload) -> None:
    """Trains a workload by one system."""
    with tempfile.TemporaryDirectory() as folder:
        SYSTEMS[system].run(work, Path(folder))


def rate_in_new_process(system: str, shape: Shape) -> float:
    """Tokens per second of one system."""
    with common.environment(OMP_WAIT_POLICY=SYSTEMS[system].wait_policy):
        return common.in_new_process(rate, system, shape)


def train_in_turns(system: str, shape: Shape, repeats: int, pipe: Connection) -> None:
    """Trains by one system, and is timed in its turns."""
    torch.set_num_threads(shape.threads)
    steps = num_updates(shape.warmup_steps, shape.steps, repeats)
    train(system, Workload(shape, steps, Turns(pipe, shape.warmup_steps, shape.steps)))


def rates_on_gpu(workloads: Sequence[str], repeats: int) -> dict[str, common.Measurements]:
    """Workload to tokens per second of its systems; they are loaded and compiled together."""
    runs = {
        f"{name} {system}": partial(train_in_turns, system, WORKLOADS[name], repeats)
        for name in workloads
        for system, facts in SYSTEMS.items()
        if "cuda" in facts.devices
    }
    found: dict[str, common.Measurements] = {name: {} for name in workloads}
    for run, rates in updates_per_second(runs, repeats).items():
        name, system = run.split()
        tokens = WORKLOADS[name].batch_size * WORKLOADS[name].sequence_length
        found[name][system] = [rate * tokens for rate in rates]
    return found


def rates_on_cpu(name: str, repeats: int) -> common.Measurements:
    """Tokens per second of the systems of a workload."""
    systems = {
        system: partial(rate_in_new_process, system, WORKLOADS[name])
        for system, facts in SYSTEMS.items()
        if "cpu" in facts.devices
    }
    return common.measure_in_turns(systems, repeats)


def peak_rate() -> float | None:
    """FLOP/s of the GPU in bf16 by its data sheet; null without one."""
    if not torch.cuda.is_available():
        return None
    return known_peak(torch.cuda.get_device_name(), "bf16-mixed")


def measured(workloads: str, repeats: int) -> Iterator[list[dict[str, Any]]]:
    """The figures of each group of workloads."""
    for group in workloads.split(","):
        names = group.split("+")
        if torch.cuda.is_available():
            found = rates_on_gpu(names, repeats)
        else:
            found = {name: rates_on_cpu(name, repeats) for name in names}
        yield [figures_of(name, rates) for name, rates in found.items() if rates]


def figures_of(name: str, rates: common.Measurements) -> dict[str, Any]:
    """Medians and ratios of one workload."""
    shape = WORKLOADS[name]
    medians = {name: float(np.median(all_)) for name, all_ in rates.items()}
    trainer = next((name for name in rates if name.startswith("trainer")), None)
    return {
        "workload": name,
        **asdict(shape),
        "tokens_per_second": {name: round(median) for name, median in medians.items()},
        "mfu": mfu(medians, shape),
        "all_tokens_per_second": {name: list(map(round, all_)) for name, all_ in rates.items()},
        "over_trainer": {
            name: round(common.median_ratio(rates, name, trainer), 2) for name in rates if trainer
        },
        "over_bare": {
            name: round(common.median_ratio(rates, name, bare), 3)
            for name in rates
            if (bare := name.replace("harness", "bare")) in rates and bare != name
        },
    }


def mfu(rates: dict[str, float], shape: Shape) -> dict[str, float]:
    """Model FLOPs utilisation of each system in bf16; empty where the peak is unknown."""
    if not (peak := peak_rate()):
        return {}
    flops, low = Workload(shape).flops_per_token, ("bf16", "compiled")
    return {
        name: round(rate * flops / peak, 3) for name, rate in rates.items() if name.endswith(low)
    }


def shown_rate(workload: dict[str, Any], system: str) -> str:
    """Tokens per second, against the Trainer, and MFU where it is known."""
    if system not in workload["tokens_per_second"]:
        return "failed"
    over, share = workload["over_trainer"].get(system), workload["mfu"].get(system)
    facts = [f"{over:.2f} x"] if over else []
    facts += [f"MFU {share:.0%}"] if share else []
    shown = f"{workload['tokens_per_second'][system]:,}"
    return f"{shown} ({', '.join(facts)})" if facts else shown


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen, on = figures["settings"], figures["machine"]
    runs = (
        "runs, each in a new process"
        if on["device"] == "cpu"
        else "turns of systems that share the GPU"
    )
    setting = (
        "Tokens per second, and relative to the Trainer of the first column; medians of "
        f"{chosen['repeats']} {runs}, the ratios paired within repeats; {on['processor']}, "
        f"{on['device']}, torch {on['torch']}, transformers {on['transformers']}."
    )
    device = "cpu" if on["device"] == "cpu" else "cuda"
    systems = [name for name, facts in SYSTEMS.items() if device in facts.devices]
    compared = [
        name
        for name in systems
        if name.startswith("harness") and name.replace("harness", "bare") in systems
    ]
    head = ["workload", "shape", *(name.replace("_", " ") for name in systems)]
    head += [f"{name} / {name.replace('harness', 'bare')}".replace("_", " ") for name in compared]
    rows = []
    for one in figures["workloads"]:
        shape = (
            f"{one['family']} {one['size']}, {one['batch_size']} x {one['sequence_length']}, "
            f"vocabulary {one['vocab_size']:,}, threads {one['threads']}"
        ) + ("" if one.get("has_dropout", True) else ", no dropout")
        rates = [shown_rate(one, system) for system in systems]
        ratios = [
            f"{one['over_bare'][name]:.2f}" if name in one["over_bare"] else "–"
            for name in compared
        ]
        rows.append([one["workload"], shape, *rates, *ratios])
    return common.markdown(__file__, "Pretraining throughput", setting, head, rows, 2)


def main() -> None:
    """Measures and writes the figures."""
    chosen = ",".join(GPU_WORKLOADS if torch.cuda.is_available() else CPU_WORKLOADS)
    arguments = common.parse_arguments(
        __doc__, f"pretraining_throughput{common.suffix()}", workloads=chosen, repeats=5
    )
    figures: dict[str, Any] = {
        "settings": common.settings(arguments),
        "machine": {
            **common.machine("torch", "transformers"),
            "cpu_count": os.cpu_count(),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        },
        "workloads": [],
    }
    for found in measured(arguments.workloads, arguments.repeats):
        figures["workloads"] += found
        common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
