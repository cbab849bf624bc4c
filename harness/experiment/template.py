"""A commented experiment file to start from."""

from pathlib import Path
from string import Template

from harness.core.files import write_atomically
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
    text = Template(TEMPLATE.read_text()).substitute(name=path.stem, file=path)
    read(text, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
