"""`harness data`: every data set of the Hub that something names, listed, fetched, verified."""
