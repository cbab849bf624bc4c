"""The comparison report of an experiment: one page, its markdown twin, and the raw numbers."""
