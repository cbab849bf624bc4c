"""Parameter counts, computed without building a network; tied matrices count once."""
