"""A local Ray for all tests of a process, and clusters."""

import logging
from collections.abc import Iterator

import pytest
import ray
from ray.cluster_utils import Cluster

from harness.execution.backends.ray_tasks import LOCAL, OBJECT_STORE_BYTES


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """Two CPUs, whatever the machine has."""
    ray.init(
        address=LOCAL,
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=OBJECT_STORE_BYTES,
    )
    yield
    ray.shutdown()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A Ray cluster of two nodes with one CPU each, on this machine."""
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    yield nodes
    nodes.shutdown()
