"""Which stages go first, so that the time left is known soon."""

from collections.abc import Container, Mapping

from harness.plan.plan import Stage


def scouts(stages: Mapping[str, Stage], todo: Container[str], kinds: Container[str]) -> set[str]:
    """Of each of some kinds, the stage before which the fewest FLOPs must be computed, the most
    expensive of equals, with all stages before it.

    Args:
        stages: key to stage, parents before children.
        todo: keys of unfinished stages.
        kinds: kinds of unknown duration.
    """
    chains: dict[str, set[str]] = {}
    best: dict[str, tuple[float, int, float, str]] = {}
    for key, stage in stages.items():
        if key in todo:
            parents = [chains[one] for one in stage.parents.values() if one in chains]
            before = set[str]().union(*parents)
            chains[key] = {*before, key}
            if stage.kind in kinds and stage.flops:
                flops = sum(stages[one].flops for one in before)
                rank = (flops, len(before), -stage.flops, key)
                best[stage.kind] = min(rank, best.get(stage.kind, rank))
    return set[str]().union(*(chains[key] for *_, key in best.values()))
