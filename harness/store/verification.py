"""Compares what a store holds with its digests, and marks what is damaged."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from harness.core.cpus import num_cpus
from harness.core.sqlite_files import damage
from harness.store.entries import IMPORT, KEY
from harness.store.store import StageResult, Store

MAX_THREADS = 8
T = TypeVar("T")
