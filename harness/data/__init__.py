"""`harness data`: every data set of the Hub that something names, listed, fetched, verified."""

from harness.data.fetching import DEFAULT_FOLDER, SUMS, fetch, read_sums
from harness.data.sets import rows, to_fetch, to_verify
from harness.data.verifying import verify

__all__ = [
    "DEFAULT_FOLDER",
    "SUMS",
    "fetch",
    "read_sums",
    "rows",
    "to_fetch",
    "to_verify",
    "verify",
]
