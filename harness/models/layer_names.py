"""The names of what is no numbered layer; apart from `layers`, which loads torch."""

EMBEDDINGS = "embeddings"
HEAD = "head"
