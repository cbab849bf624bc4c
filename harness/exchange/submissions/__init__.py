"""Predictions on unlabelled test splits, in the formats of the GLUE and SuperGLUE servers."""
