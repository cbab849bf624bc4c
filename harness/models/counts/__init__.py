"""Parameter counts without building a network; tied matrices count once."""
