"""What can be recorded of a fine-tuning run, beside its scores."""

RECORDS: dict[str, str] = {}
"""Name to what it is."""
