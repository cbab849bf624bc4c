"""The one store, MLflow: a stage is a run tagged with its key; FINISHED means done."""

from harness.tracking.store import DIGEST, KEY, KIND, LABEL, NAME, SUITE, Record, Store, digest

__all__ = ["DIGEST", "KEY", "KIND", "LABEL", "NAME", "SUITE", "Record", "Store", "digest"]
