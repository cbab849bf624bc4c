"""A static site of all leaderboards and reports of a store, and of the published tables."""
