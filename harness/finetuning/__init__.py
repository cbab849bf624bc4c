"""Fine-tuning and its alternatives: how a pretrained model is adapted to a task and predicts.

Task heads, adaptation methods, baselines, prompting, the search of settings and diagnostics. What a
task is, its metrics and scores are in `harness.tasks`; the stages that call this package are in
`harness.execution.stages`.
"""
