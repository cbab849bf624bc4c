"""Docstrings of public functions: there is one; it names errors and gives shapes."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture import read_modules
from tests.paths import ROOT

ARRAYS = re.compile(r"\b(Tensor|ndarray|Array|Batch|Rows)\b")
"""Types whose shapes a docstring gives, such as `[batch, length]`."""

BY_NAME = re.compile(r"dict\[str, (torch\.)?Tensor\]")
"""Weights or losses by name, each of a shape of its own."""


def gaps(source: str) -> Iterator[str]:
    """What the docstrings of public functions in a source lack. An overriding method inherits
    the contract of the one it overrides."""
    for function in _public(ast.parse(source)):
        docstring = ast.get_docstring(function) or ""
        if not docstring:
            yield f"{function.name}: a docstring"
        elif _raises(function) and not re.search(r"Raises:|[Ee]rror|[Ee]xit", docstring):
            yield f"{function.name}: the errors raised"
        elif _of_arrays(function) and "[" not in docstring:
            yield f"{function.name}: shapes"


def _public(node: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef]:
    for part in node.body:
        if isinstance(part, ast.ClassDef) and not part.name.startswith("_"):
            yield from _public(part)
        elif isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
            overrides = any(ast.unparse(one) == "override" for one in part.decorator_list)
            yield from () if overrides else (part,)


def _raises(function: ast.FunctionDef) -> bool:
    found = [node for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc]
    return any("NotImplementedError" not in ast.unparse(node) for node in found)


def _of_arrays(function: ast.FunctionDef) -> bool:
    arguments = function.args
    notes = [one.annotation for one in (*arguments.args, *arguments.kwonlyargs)]
    types = [BY_NAME.sub("", ast.unparse(note)) for note in (*notes, function.returns) if note]
    return any(ARRAYS.search(one) for one in types)


@pytest.mark.parametrize(
    ("source", "gap"),
    [
        ("def f(): ...", "a docstring"),
        ("def f():\n    '''Reads.'''\n    raise ValueError('no')", "the errors raised"),
        ("def f(x: Tensor):\n    '''Adds.'''", "shapes"),
        ("def f() -> 'np.ndarray | None':\n    '''Adds.'''", "shapes"),
        ("class A:\n    @property\n    def f(self): ...", "a docstring"),
    ],
)
def test_a_planted_gap_is_found(source: str, gap: str) -> None:
    assert list(gaps(source)) == [f"f: {gap}"]


def test_tensors_by_name_have_no_common_shape() -> None:
    source = "def f(weights: dict[str, Tensor]):\n    '''Loads weights.'''"
    assert list(gaps(source)) == []


def test_public_functions_document_their_contract() -> None:
    """Docstrings of commands are their help, which names no exceptions."""
    modules = read_modules(ROOT, "harness")
    found = [f"{name}.{gap}" for name, source in modules.items() for gap in gaps(source)]
    assert [gap for gap in found if not gap.startswith("harness.cli")] == []
