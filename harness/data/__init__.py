"""Raw data: the Hub or its mirror, corpora, tokenizers, and the generated micro-world.

Labelled tasks and their metrics are in `harness.tasks`; pretraining objectives, which turn token
sequences into model inputs, are in `harness.pretraining.objectives`.
"""
