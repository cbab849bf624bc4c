"""Which network is exported: of an experiment's arm, or of a stage of the store by its key."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.core.config import unknown_name
from harness.core.files import DRAFT, atomic_folder, output_folder
from harness.exchange.checkpoints.card import Card, CardScores
from harness.exchange.checkpoints.history import KINDS, history, recorded_run
from harness.exchange.checkpoints.model_card import write_card
from harness.leaderboard.table import protocol_line
from harness.models.checkpoints.weights import num_weights
from harness.plan.plan import FinetuneRun, Plan, ProbeRun
from harness.plan.protocol import protocol_of
from harness.store.store import StageResult, Store

KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Chosen:
    """A stage that leaves a network, with what its card says."""

    record: StageResult
    tokenizer: str
    """Key of the stage that made the tokenizer."""
    card: Card


def export(chosen: Chosen, store: Store, out: Path) -> Path:
    """Writes network, tokenizer and model card to the new folder `out`.

    Raises:
        ValueError: `out` has files in it, the stage's are damaged, or AutoModel cannot read it.
    """
    _check_empty(out)
    from harness.exchange.checkpoints.network import write_network  # loads torch

    tokenizer = store.finished([chosen.tokenizer])
    folders = [store.files(chosen.record), *(store.files(r) for r in tokenizer.values())]
    if len(folders) < 2:
        raise ValueError(f"the tokenizer of {chosen.record.key} is not in the store: run it again")
    with atomic_folder(out) as draft:
        notes = write_network(folders[0] / "model", folders[1], draft)
        write_card(replace(chosen.card, notes=notes, parameters=num_weights(draft)), draft)
    return out


def _check_empty(out: Path) -> None:
    """Refuses a folder with anything in it but what an export that was killed left."""
    output_folder(out)
    there = [path.name for path in out.iterdir()] if out.exists() else []
    if there and DRAFT not in there:
        raise ValueError(f"{out} must be a new or an empty folder; name another")


def of_experiment(results: Results, arm: str | None, seed: int | None) -> Chosen:
    """The network of an arm and a pretraining seed (null: the only arm, the first seed) that its
    tasks start from.

    Raises:
        ValueError: there is no such arm or seed, each task has a network of its own, or its
            pretraining is not finished.
    """
    arms = [one.name for one in results.plan.arms]
    if arm is None and len(arms) > 1:
        raise ValueError(f"--arm must say which of {', '.join(arms)} is to be exported")
    name = arm or arms[0]
    if name not in arms:
        raise ValueError(unknown_name("the arm", name, arms))
    seeds = [one for of, one in results.plan.pretrain_keys if of == name]
    chosen = seeds[0] if seed is None else seed
    if chosen not in seeds:
        raise ValueError(f"--seed must be one of {', '.join(map(str, seeds))}, but is {chosen}")
    record = results.store.find(_network(results.plan, name, chosen))
    if record is None:
        raise ValueError(f"the pretraining of {name}, seed {chosen}, is not finished: run it first")
    return _chosen(results, name, chosen, record)


def _network(plan: Plan, arm: str, seed: int) -> str:
    """Key of the network that the tasks and probes of an arm start from: after its continued runs.

    Raises:
        ValueError: it is not one for all.
    """
    starts: dict[str, dict[str, None]] = {}
    runs: list[tuple[FinetuneRun | ProbeRun, str]] = [
        *((run_, run_.task) for run_ in plan.finetune_runs if run_.pretrain_fraction == 1),
        *((probing, probing.probe) for probing in plan.probe_runs),
    ]
    for run, name in runs:
        if (run.arm, run.pretrain_seed) == (arm, seed):
            starts.setdefault(plan.stages[run.key].parents["pretrain"], {})[name] = None
    if len(starts) > 1:
        known = "; ".join(f"{key} of {', '.join(names)}" for key, names in starts.items())
        raise ValueError(
            f"the tasks of {arm} start from different networks: name the key of one instead of the "
            f"experiment: {known}"
        )
    return next(iter(starts), plan.pretrain_keys[arm, seed])


def _chosen(results: Results, arm: str, seed: int, record: StageResult) -> Chosen:
    run = next(one.pretrain for one in results.plan.arms if one.name == arm)
    title = (
        results.experiment.name
        if arm == results.experiment.name
        else f"{results.experiment.name}: {arm}"
    )
    first, steps = history(record, results.store)
    card = Card(
        name=f"{title}, seed {seed}",
        run=run,
        recipe=run.recipe,
        seed=seed,
        key=record.key,
        made_with=record.made_with,
        metrics=first.metrics,
        steps=steps,
        scores=_scores(results, arm, seed),
    )
    return Chosen(record, results.plan.stages[record.key].parents["tokenizer"], card)


def of_stage(key: str, store: Store) -> Chosen:
    """The network of a pretraining stage, or of a run that went on, with what the store says of it.

    Raises:
        ValueError: no finished stage has this key, or it is neither.
    """
    record = store.find(key) if KEY.fullmatch(key) else None
    if record is None:
        raise ValueError(
            f"{key!r} must be an experiment file (.yaml) or the key of a finished stage in the "
            "store; 'harness status' lists the keys"
        )
    if record.kind not in KINDS:
        raise ValueError(
            f"export needs a stage of kind {' or '.join(KINDS)}, but {key} is of kind {record.kind}"
        )
    spec = store.spec(record)
    first, steps = history(record, store)
    card = Card(
        name=f"stage {key}",
        run=recorded_run(first, store),
        recipe=None,
        seed=int(spec.get("seed", 0)),
        key=key,
        made_with=record.made_with,
        metrics=first.metrics,
        steps=steps,
    )
    return Chosen(record, spec["parents"]["tokenizer"], card)


def _scores(results: Results, arm: str, seed: int) -> CardScores:
    evaluate = next(one.evaluate for one in results.plan.arms if one.name == arm)
    frame = results.get(scores_frame)
    own = frame[(frame["arm"] == arm) & (frame["pretrain_seed"] == seed)]
    rows = [
        (str(task), str(split), str(metric), _spread(values), str(len(values)))
        for (task, split, metric), values in own.groupby(["task", "split", "metric"], sort=False)[
            "value"
        ]
    ]
    suite = evaluate.suite_value
    return CardScores(
        experiment=results.experiment.name,
        question=results.experiment.question,
        suite=suite.name,
        rows=rows,
        protocol=protocol_line(protocol_of(results.plan)),
        citation=suite.citation,
    )


def _spread(values: "pd.Series[float]") -> str:
    if values.isna().any():
        return "undefined"
    spread = f" ± {100 * values.std():.1f}" if len(values) > 1 else ""
    return f"{100 * values.mean():.1f}{spread}"
