"""Which network is exported: of an experiment's arm, or of a stage of the store by its key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from harness.exporting.card import Card, Scores, write_card
from harness.leaderboard import protocol_line
from harness.recipes import Pretrain
from harness.tracking import Record, Store
from harness.values import unknown

if TYPE_CHECKING:
    from harness.study import Study

KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Chosen:
    """A pretraining stage with what its card says."""

    record: Record
    tokenizer: str
    """Key of the stage that made the tokenizer."""
    card: Card


def export(chosen: Chosen, store: Store, out: Path) -> Path:
    """Writes network, tokenizer and model card to the new folder `out`.

    Raises:
        ValueError: `out` has files in it, the stage's are damaged, or AutoModel cannot read it.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} must be a new or an empty folder; name another")
    from harness.exporting.network import write_network  # loads torch

    tokenizer = store.finished([chosen.tokenizer])
    folders = [_files(store, chosen.record), *(_files(store, r) for r in tokenizer.values())]
    if len(folders) < 2:
        raise ValueError(f"the tokenizer of {chosen.record.key} is not in the store: run it again")
    notes = write_network(folders[0] / "model", folders[1], out)
    write_card(Card(**{**vars(chosen.card), "notes": notes}), out)
    return out


def of_experiment(study: "Study", arm: str | None, seed: int | None) -> Chosen:
    """The network of an arm and a pretraining seed (null: the only arm, the first seed).

    Raises:
        ValueError: there is no such arm or seed, or its pretraining is not finished.
    """
    arms = [one.name for one in study.plan.arms]
    if arm is None and len(arms) > 1:
        raise ValueError(f"--arm must say which of {', '.join(arms)} is to be exported")
    name = arm or arms[0]
    if name not in arms:
        raise ValueError(unknown("the arm", name, arms))
    seeds = [one for of, one in study.plan.pretrains if of == name]
    chosen = seeds[0] if seed is None else seed
    if chosen not in seeds:
        raise ValueError(f"--seed must be one of {', '.join(map(str, seeds))}, but is {chosen}")
    key = study.plan.pretrains[name, chosen]
    record = study.store.find(key)
    if record is None:
        raise ValueError(f"the pretraining of {name}, seed {chosen}, is not finished: run it first")
    return _chosen(study, name, chosen, record)


def _chosen(study: "Study", arm: str, seed: int, record: Record) -> Chosen:
    run = next(one.pretrain for one in study.plan.arms if one.name == arm)
    title = study.name if arm == study.name else f"{study.name}: {arm}"
    card = Card(
        name=f"{title}, seed {seed}",
        run=run,
        recipe=run.recipe,
        seed=seed,
        key=record.key,
        metrics=record.metrics,
        scores=_scores(study, arm, seed),
    )
    return Chosen(record, study.plan.stages[record.key].parents["tokenizer"], card)


def of_stage(key: str, store: Store) -> Chosen:
    """The network of a pretraining stage, with what the store says of it.

    Raises:
        ValueError: no finished stage has this key, or it is no pretraining.
    """
    record = store.find(key) if KEY.fullmatch(key) else None
    if record is None:
        raise ValueError(
            f"{key!r} must be an experiment file (.yaml) or the key of a finished stage in the "
            "store; 'harness status' lists the keys"
        )
    if record.kind != "pretrain":
        raise ValueError(f"export needs a pretraining stage, but {key} is of kind {record.kind}")
    spec = store.spec(record)
    parents = spec["parents"]
    card = Card(
        name=f"stage {key}",
        run=_run(spec, parents, store),
        recipe=None,
        seed=int(spec.get("seed", 0)),
        key=key,
        metrics=record.metrics,
    )
    return Chosen(record, parents["tokenizer"], card)


def _run(spec: Mapping[str, Any], parents: Mapping[str, str], store: Store) -> Pretrain:
    """The run as the store recorded it: network and training with the stage, text with its
    parent."""
    if "checkpoint" in spec:
        name, revision = spec["checkpoint"]["name"], spec["checkpoint"].get("revision")
        from harness.experiment import resolve_pretrain

        fields = {"checkpoint": str(name), "revision": revision and str(revision)}
        return resolve_pretrain(
            {"recipe": "checkpoint", "model": {"family": "checkpoint"} | fields}
        )
    tokens = store.find(parents["tokens"])
    text = {"corpus": store.spec(tokens)["corpus"]} if tokens else {}
    return Pretrain.model_validate({**spec["pretrain"], **text})


def _scores(study: "Study", arm: str, seed: int) -> Scores:
    evaluate = next(one.evaluate for one in study.plan.arms if one.name == arm)
    frame = study.results()
    own = frame[(frame["arm"] == arm) & (frame["pretrain_seed"] == seed)]
    rows = [
        (str(task), str(split), str(metric), _spread(values), str(len(values)))
        for (task, split, metric), values in own.groupby(["task", "split", "metric"], sort=False)[
            "value"
        ]
    ]
    suite = evaluate.suite_value
    return Scores(
        experiment=study.name,
        question=study.plan.experiment.question,
        suite=suite.name,
        rows=rows,
        protocol=protocol_line(study.protocol),
        citation=suite.citation,
    )


def _spread(values: "pd.Series[float]") -> str:
    if values.isna().any():
        return "undefined"
    spread = f" ± {100 * values.std():.1f}" if len(values) > 1 else ""
    return f"{100 * values.mean():.1f}{spread}"


def _files(store: Store, record: Record) -> Path:
    folder = store.fetch(record)
    if folder is None:
        raise ValueError(f"the files of stage {record.key} are damaged: run the experiment again")
    return folder
