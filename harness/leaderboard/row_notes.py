"""Notes on single rows: another fine-tuning protocol, declared runs that are not finished."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from harness.finetuning.protocol import Finetune
from harness.finetuning.search.space import branches_of
from harness.leaderboard.table import protocol_line

Planned = Mapping[str, Mapping[str, int]]
"""Row to task to its number of declared runs."""
SEARCHED = "searched"


def unfinished(scores: pd.DataFrame, planned: Planned, tasks: Collection[str]) -> dict[str, str]:
    """Row to how many of its declared runs are finished, if some are not.

    Args:
        scores: as in `harness.leaderboard.build.build`, with the name of the row in `arm`.
        tasks: the tasks of the table.
    """
    runs = scores[["arm", "task", "pretrain_seed", "finetune_seed"]].drop_duplicates()
    done = Counter(runs.loc[runs["task"].isin(tasks), "arm"])
    declared = {
        row: sum(number for task, number in of.items() if task in tasks)
        for row, of in planned.items()
    }
    return {
        row: f"{done[row]} of {number} declared runs are finished."
        for row, number in declared.items()
        if done[row] < number
    }


def of_ensembles(networks: Mapping[str, int]) -> dict[str, str]:
    """Row to what one of its seeds is, if that is an ensemble.

    Args:
        networks: row to the pretrained networks that it scores as one.
    """
    return {
        row: f"Each of its seeds is an ensemble of {number} pretrained networks, which no other of "
        "its ensembles has."
        for row, number in networks.items()
        if number > 1
    }


def unlike_protocols(protocols: Mapping[str, str]) -> dict[str, str]:
    """Row to the settings in which its protocol differs from that of the most rows.

    Args:
        protocols: row to its protocol (`harness.plan.protocol.protocol_text`). If no protocol is
            that of more than half of the rows, the first of the most frequent ones stands for it.
    """
    if not protocols:
        return {}
    texts = {
        row: json.dumps(_as_run(json.loads(text)), sort_keys=True)
        for row, text in protocols.items()
    }
    (common, number) = Counter(texts.values()).most_common(1)[0]
    first = next(row for row, text in texts.items() if text == common)
    others = "most rows" if 2 * number > len(texts) else first
    usual = json.loads(common)
    return {
        row: f"Protocol unlike that of {others}: {', '.join(_unlike('', json.loads(text), usual))}."
        for row, text in texts.items()
        if text != common
    }


def _as_run(protocol: dict[str, Any]) -> dict[str, Any]:
    """A protocol in which searched settings of fine-tuning, whose declared values no run has, are
    `searched`; `sweep` says what is tried."""
    space = protocol.get("sweep", {}).get("space", {})
    names = {name for fields in (space, *branches_of(space).values()) for name in fields}
    searched = {name: SEARCHED for name in Finetune.model_fields if name in names}
    settings = {**protocol.get("finetune", {}), **searched}
    return {**protocol, "finetune": settings} if settings else protocol


def _unlike(path: str, own: Any, usual: Any) -> Iterator[str]:
    if isinstance(own, Mapping) and isinstance(usual, Mapping):
        for name in dict.fromkeys([*own, *usual]):
            yield from _unlike(f"{path}.{name}".strip("."), own.get(name), usual.get(name))
    elif own != usual:
        yield f"{path} {_text(own)} instead of {_text(usual)}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({protocol_line(value)})"
    return "unset" if value is None else str(value)


def merged(*notes: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Row to all its notes."""
    rows = dict.fromkeys(row for of in notes for row in of)
    return {row: tuple(of[row] for of in notes if row in of) for row in rows}
