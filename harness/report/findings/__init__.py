"""The board of findings: what reports say about the claims of the literature."""
