"""The finished stages of an experiment without weights, as one small file beside its report."""
