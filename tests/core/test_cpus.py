"""Whether there is a GPU, against torch."""

from unittest.mock import patch

import torch

from harness.core import cpus


def test_a_gpu_is_what_torch_finds() -> None:
    assert cpus.has_gpu() == torch.cuda.is_available()
    with patch.object(cpus, "version", return_value="2.13.0"):
        for found in (True, False):
            with patch("torch.cuda.is_available", return_value=found):
                assert cpus.has_gpu() is found
