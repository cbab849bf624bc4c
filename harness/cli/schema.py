"""`harness schema`: the JSON schema of experiment files."""


def schema() -> None:
    """Prints the JSON schema of experiment files, for editors."""
    import json

    from harness.experiment.json_schema import json_schema

    print(json.dumps(json_schema(), indent=2))
