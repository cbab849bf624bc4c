"""The root of the checkout, and the experiments in it."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
EXPERIMENTS = sorted(
    path for path in (ROOT / "experiments").rglob("*.yaml") if path.parent.name != "bases"
)
"""All that can be run; `bases/` are parts of them."""
