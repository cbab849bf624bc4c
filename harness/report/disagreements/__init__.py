"""Where two arms answer differently: the examples of a task side by side, as a frame and a page."""
