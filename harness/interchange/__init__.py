"""Results that leave a store and come into another: two parquet files with a fixed schema."""

from harness.interchange.measured import Measured, of_store, of_study
from harness.interchange.reading import read, stored
from harness.interchange.schema import EXAMPLES, SCORES, examples_path, protocol_digest
from harness.interchange.showing import with_imports
from harness.interchange.writing import examples_frame, scores_frame, write

__all__ = [
    "EXAMPLES",
    "SCORES",
    "Measured",
    "examples_frame",
    "examples_path",
    "of_store",
    "of_study",
    "protocol_digest",
    "read",
    "scores_frame",
    "stored",
    "with_imports",
    "write",
]
