"""A Ray task on each of several nodes, which compute a stage together."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.execution.job import Node

Options = Mapping[str, Any]
RESERVED = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
"""Option of a task to the name of the resource."""


class NodeGroup:
    """Tasks that start together, each on a node of its own, as a placement group of Ray."""

    def __init__(self, ray: Any, nodes: list[Node], options: Options) -> None:
        """Reserves for each node what one task takes.

        Args:
            ray: the package.
            options: of each task.
        """
        self._ray, self._options = ray, options
        bundle = {name: options[option] for option, name in RESERVED.items() if options[option]}
        bundles = [{**bundle, **options["resources"]} for _ in nodes]
        self._reserved = ray.util.placement_group(bundles, strategy="STRICT_SPREAD")
        self._others: list[Any] = []

    def start(self, nodes: list[Node], start: Callable[[Options, Node], Any]) -> Any:
        """The task on the first node, which leads; all are started."""
        strategies = self._ray.util.scheduling_strategies
        tasks = []
        for node in nodes:
            on_node = strategies.PlacementGroupSchedulingStrategy(self._reserved, node.index)
            tasks.append(start({**self._options, "scheduling_strategy": on_node}, node))
        self._others = tasks[1:]
        return tasks[0]

    def end(self) -> None:
        """Cancels the tasks that follow, and frees what was reserved."""
        for task in self._others:
            self._ray.cancel(task, force=True)
        self._ray.util.remove_placement_group(self._reserved)
