"""Where the checkout is, whatever folder a test stands in."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
