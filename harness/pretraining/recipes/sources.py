"""The source of each recipe, as the docstring of its module names it."""

import re
from importlib import import_module
from importlib.util import find_spec


def recipe_source(name: str) -> str | None:
    """The first sentence of the docstring of a recipe's module; null for that of a plug-in."""
    module = {"electra_mlm": "electra"}.get(name, name)
    path = f"harness.pretraining.recipes.{module}"
    if find_spec(path) is None:
        return None
    text = import_module(path).__doc__ or ""
    first, *_ = re.split(r"\.( (?=[A-Z])|$)", " ".join(text.split()))  # not after "et al."
    return first
