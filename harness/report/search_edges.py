"""Chosen settings of searches that lie on the edge of what was tried: threats, and marks."""

from collections import Counter
from collections.abc import Iterator

from harness.analysis.frames.pretrain_trials import pretrain_trials_frame
from harness.analysis.frames.trials import selected_trials
from harness.analysis.results import Results
from harness.finetuning.search.edges import at_edge, has_edge
from harness.finetuning.search.space import Choice, Choices, Range, parameters

EDGE = "*"
"""After a value on the edge."""
EDGE_NOTE = f"{EDGE} on the edge of what was tried: better values may lie beyond."


def edge_mark(tried: Range | Choices | None, value: Choice) -> str:
    """`EDGE` after a value on the edge; empty after others, and where the setting is not searched
    or the value is missing."""
    return EDGE if tried is not None and value == value and at_edge(tried, value) else ""


def can_be_inside_pretraining(results: Results) -> bool:
    """Whether the chosen pretraining settings of an arm could lie within what was tried."""
    search = results.experiment.sweep.pretrain
    return search is not None and any(
        has_edge(tried) for space in search.spaces for tried in space.values()
    )


def edges_of_pretraining(results: Results) -> Iterator[str]:
    """A sentence on the chosen pretraining settings that lie on the edge of what was tried."""
    search, trials = results.experiment.sweep.pretrain, results.get(pretrain_trials_frame)
    if search is None:
        return
    own = results.plan.search_of_arms
    named = [
        f"{row['arm']} {name} {row[name]:g}"
        for row in trials[trials["chosen"].astype(bool)].to_dict("records")
        for name in search.names
        if edge_mark(own[row["arm"]].space.get(name), row[name])
    ]
    if named:
        yield (
            "Chosen pretraining settings lie on the edge of what was tried, beyond which may be "
            f"better ones: {', '.join(named)}."
        )


def can_be_inside_finetuning(results: Results) -> bool:
    """As `can_be_inside_pretraining`, of fine-tuning settings."""
    spaces = [parameters(search.space) for search in results.plan.searches.values()]
    return any(has_edge(tried) for space in spaces for tried in space.values())


def edges_of_finetuning(results: Results) -> Iterator[str]:
    """A sentence on the fine-tuning settings of which searches chose a value on the edge of what
    was tried, with the number of these searches and of all that have the setting."""
    edges, searches = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in selected_trials(results).to_dict("records"):
        space = parameters(results.plan.searches[row["arm"]].space)
        for name in (one for one in space if row[one] == row[one]):
            searches[row["arm"], name] += 1
            edges[row["arm"], name] += bool(edge_mark(space[name], row[name]))
    named = [
        f"{arm} {name} in {count} of {searches[arm, name]} searches"
        for (arm, name), count in edges.items()
        if count
    ]
    if named:
        yield (
            "Chosen fine-tuning settings lie on the edge of what was tried, beyond which may be "
            f"better ones: {', '.join(named)}."
        )
