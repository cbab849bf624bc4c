"""A study on a Ray cluster whose nodes, driver and workers die, and the same study in processes.

    python benchmarks/cluster_recovery.py [--experiment experiments/quickstart.yaml] [--stores DIR]

The cluster has two nodes of one CPU on this machine. A node is killed and replaced after each
quarter of the stages, the driver is killed with SIGKILL halfway between the first two, and after
the third the first worker of the new node takes memory until Ray kills it.

Passes (exit 0) if both leaderboards are equal byte for byte and no finished stage was started
again.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from ray.cluster_utils import Cluster

from benchmarks.common import timed
from benchmarks.crash_recovery import num_finished, started_again
from harness.plan.factory import load_plan

MEMORY_SHARE = 0.6
"""Of the machine's memory, above which Ray kills workers; its default is 0.95."""
HOG = """
import os, time
from pathlib import Path
CORPORA = {{}}
try:
    Path({mark!r}).rename({mark!r} + ".taken")  # by one process
except FileNotFoundError:
    pass
else:
    held = []
    for _ in range({blocks}):
        held.append(b"x" * 2**28)
        time.sleep(0.05)
    os._exit(1)  # Ray should have killed it
"""
"""A plug-in that takes memory in the first process that imports it once a file is there."""


class Run:
    """`harness run` in a process of its own."""

    def __init__(self, experiment: str, store: Path, *options: str) -> None:
        command = [sys.executable, "-m", "harness", "run", experiment, "--store", str(store)]
        self.command, self.store = [*command, "--set", "plugins=[memory_hog]", *options], store
        self.start()

    def start(self) -> None:
        """Starts it, or starts it again; the output is in a file beside the store."""
        with self.store.with_suffix(".log").open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=subprocess.STDOUT)

    def kill_and_start_again(self) -> None:
        """SIGKILL, as when the machine of the driver dies."""
        self.process.kill()
        self.process.wait()
        self.start()

    def leaderboard(self) -> bytes:
        """leaderboard.csv after the end of the run."""
        if self.process.wait():
            sys.exit(f"the run failed; see {self.store.with_suffix('.log')}")
        (table,) = self.store.glob("reports/*/leaderboard.csv")
        return table.read_bytes()


def replace_node(cluster: Cluster) -> None:
    """Kills the node without the cluster's head, and adds another."""
    (node,) = cluster.worker_nodes
    cluster.remove_node(node, allow_graceful=False)
    cluster.add_node(num_cpus=1)


def run_with_losses(experiment: str, store: Path, num_stages: int, mark: Path) -> bytes:
    """The leaderboard of a run on a cluster, with what happened on the way printed."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    run = Run(experiment, store, "--executor", "ray", "--address", cluster.address)
    losses: Sequence[tuple[float, str, Callable[[], object]]] = [
        (0.25, "a node is killed", partial(replace_node, cluster)),
        (0.375, "the driver is killed", run.kill_and_start_again),
        (0.5, "a node is killed", partial(replace_node, cluster)),
        (0.75, "a worker takes all memory", mark.touch),
        (0.75, "a node is killed", partial(replace_node, cluster)),
    ]
    for share, what, happen in losses:
        while num_finished(store) < share * num_stages and run.process.poll() is None:
            time.sleep(0.2)
        print(f"after {num_finished(store)} of {num_stages} stages: {what}", flush=True)
        happen()
    table = run.leaderboard()
    cluster.shutdown()
    return table


def main() -> None:
    """Prints what happened; exits with 0 if nothing was lost, repeated or different."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiment", default="experiments/quickstart.yaml")
    parser.add_argument("--stores", type=Path, help="folder of both stores, by default a new one")
    options = parser.parse_args()
    folder = (options.stores or Path(mkdtemp())).absolute()
    plugin, mark = folder / "plugin", folder / "plugin" / "full"
    plugin.mkdir(parents=True, exist_ok=True)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    blocks = int(0.7 * memory / 2**28)
    (plugin / "memory_hog.py").write_text(HOG.format(mark=str(mark), blocks=blocks))
    paths = [str(plugin), str(Path.cwd()), os.environ.get("PYTHONPATH", "")]
    os.environ |= {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "RAY_memory_usage_threshold": str(MEMORY_SHARE),
    }
    keys = load_plan(Path(options.experiment)).stages
    on_ray = partial(run_with_losses, options.experiment, folder / "ray", len(keys), mark)
    seconds, table = timed(on_ray)
    again = started_again(folder / "ray")
    print(f"Ray: {num_finished(folder / 'ray')} finished, {len(again)} again; {seconds:.0f} s")
    print(f"memory was taken: {mark.with_name('full.taken').exists()}", flush=True)
    local = Run(options.experiment, folder / "processes", "--jobs", "2")
    seconds, expected = timed(local.leaderboard)
    equal = table == expected
    print(f"processes: {seconds:.0f} s; leaderboards {'equal' if equal else 'differ'}")
    sys.exit(0 if equal and not again else 1)


if __name__ == "__main__":
    main()
