"""A static site of all leaderboards and reports of a store, and of the published tables."""

from harness.site.building import build_site

__all__ = ["build_site"]
