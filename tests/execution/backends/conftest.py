"""A local Ray for all tests of a process."""

import logging
from collections.abc import Iterator

import pytest
import ray

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
