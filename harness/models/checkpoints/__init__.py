"""Published checkpoints: their files, weights and configuration, read without training code.

The import as a finished pretraining run is in `harness.pretraining.checkpoint_import`.
"""
