"""Where two arms answer differently: the examples of a task side by side, as a frame and a page."""

from harness.contrast.answers import Contrast, contrast
from harness.contrast.page import folder_name, write_contrast

__all__ = ["Contrast", "contrast", "folder_name", "write_contrast"]
