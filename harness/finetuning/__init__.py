"""AXIS: how a pretrained model meets a task."""
