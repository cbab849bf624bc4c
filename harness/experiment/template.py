"""A commented experiment file to start from."""

import re
from pathlib import Path
from string import Template

from harness.core.files import write_atomically
from harness.core.names import EXPERIMENT_PATTERN
from harness.experiment.declaration import read

TEMPLATE = Path(__file__).with_name("template.yaml")


def write_template(path: Path) -> None:
    """Writes a valid experiment named as the file.

    Raises:
        ValueError: the file exists, is no YAML file, or its name is not that of an experiment.
    """
    if path.suffix not in (".yaml", ".yml"):
        raise ValueError(f"an experiment file must end with .yaml, but {path} does not")
    if path.exists():
        raise ValueError(f"{path} exists already: edit it, or give another name")
    if not re.match(EXPERIMENT_PATTERN, path.stem):
        raise ValueError(
            "an experiment is named as its file, without the ending, and its name must match "
            f"{EXPERIMENT_PATTERN}, but {path.stem!r} does not"
        )
    text = Template(TEMPLATE.read_text()).substitute(name=path.stem, file=path)
    read(text, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
