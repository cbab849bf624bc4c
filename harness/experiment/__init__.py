"""What a user declares: the experiment file (YAML with line numbers, `extends`, variants,
overrides), its arms, and the checks that refuse what cannot be run.

Not here: what the fields of pretraining and fine-tuning mean (`harness.pretraining`,
`harness.finetuning`), and the stages that arms become (`harness.plan`).
"""
