"""Pretraining: objectives, learners, recipes, the training loop and zero-shot scoring.

Networks live in `harness.models`, corpora and tokenizers in `harness.data`, fine-tuning in
`harness.finetuning`.

Everything random is a function of (seed, step), so an interrupted run resumes from its last
checkpoint with identical results on a CPU; GPU kernels may sum in another order.
"""
