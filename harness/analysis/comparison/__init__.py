"""Resampled runs, and the differences between arms with their uncertainty."""
