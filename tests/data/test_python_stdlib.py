"""The standard library as data: an invented one by hand, and that of this Python by its rules."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.data import python_stdlib
from harness.data.corpora import CORPORA
from harness.data.corpora.load_corpus import fingerprint, read_documents
from harness.data.corpora.sources import StdlibCorpus
from harness.data.python_stdlib import columns, files, functions, functions_of, part_of

BASE = '''
class Loop:
    """A class is no function."""

    def __repr__(self):
        """Has a name of Python."""
        self = 1
        return self

    if True:
        @property
        def running(self):
            """Whether the loop
            runs now.  It is not in code.

            The second paragraph."""
            # a comment
            state = self.state  # another
            return state == 'running'

    async def stop(self):
        r"""Stop the loop \\d soon."""
        def inner():
            """Is within another function."""
            return 1
        return inner()

def short():
    """Is one line long."""
    return 1

def words():
    """Two words."""
    one = 1
    return one

def selftest():
    """Has a name of tests."""
    one = 1
    return one

def shown(one):
    """Returns one: >>> shown(1)"""
    two = one
    return two

def only():
    """Has only a docstring, without any code."""

def copy(a):
    """Return a copy of a."""
    b = a
    return b
'''
EMAIL = '''
def copy(a):
    """The same code, in another split."""
    b = a
    return b

def send(a):
    """Send a mail to a."""
    b = a + 1
    return b

def send_again(a):
    """Send a mail to a."""
    b = a + 2
    return b
'''
RUNNING = "def running(self):\n    state = self.state\n    return state == 'running'"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library of modules whose names are those of Python's."""
    top = tmp_path / "lib"
    texts = {
        "asyncio/base.py": BASE,
        "asyncio/tests/base.py": EMAIL,
        "unittest/mock.py": EMAIL,
        "encodings/utf.py": EMAIL,
        "site-packages/asyncio.py": EMAIL,
        "someones.py": EMAIL,
        "email/mime.py": EMAIL,
    }
    for name, text in texts.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    monkeypatch.setattr(python_stdlib, "root", lambda: top)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    yield top
    python_stdlib._columns.cache_clear()


def test_functions_are_those_of_the_rules(library: Path) -> None:
    assert columns("train") == {
        "module": ["asyncio"] * 3,
        "docstring": [
            "Whether the loop runs now. It is not in code.",
            "Stop the loop \\d soon.",
            "Return a copy of a.",
        ],
        "summary": ["Whether the loop runs now.", "Stop the loop \\d soon.", "Return a copy of a."],
        "code": [
            RUNNING,
            "async def stop(self):\n\n    def inner():\n        "
            '"""Is within another function."""\n        return 1\n    return inner()',
            "def copy(a):\n    b = a\n    return b",
        ],
    }


def test_code_of_the_train_split_is_not_validated(library: Path) -> None:
    found = columns("validation")
    assert found["docstring"] == ["Send a mail to a."] * 2 and found["module"] == ["email"] * 2
    assert not set(found["code"]) & set(columns("train")["code"])


def test_of_equal_code_the_first_is_kept(library: Path) -> None:
    (library / "asyncio" / "zz.py").write_text(EMAIL.replace("The same", "A second"))
    found = columns("train")
    assert len(found["code"]) == len(set(found["code"])) == 5
    assert "Return a copy of a." in found["docstring"]


def test_text_is_that_of_the_train_modules(library: Path) -> None:
    (library / "asyncio" / "latin.py").write_bytes("# coding: latin-1\n# é\n".encode("latin-1"))
    documents = list(read_documents(StdlibCorpus()))
    assert len(documents) == 2
    assert documents[1] == ["# coding: latin-1", "# é"]
    text = " ".join(sentence for one in documents for sentence in one)
    assert "class Loop:" in text and "Send a mail" not in text


def test_the_fingerprint_follows_version_and_content(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fingerprint(StdlibCorpus())
    assert first == python_stdlib.fingerprint() and f"/python={sys.version.split()[0]}/" in first
    monkeypatch.setattr("platform.python_version", lambda: "3.99.1")
    other = python_stdlib.fingerprint()
    assert "/python=3.99.1/" in other
    (library / "email" / "mime.py").write_text(EMAIL + "\n")
    assert python_stdlib.fingerprint() not in (first, other)


def test_changed_files_are_read_again(library: Path) -> None:
    before = columns("validation")
    (library / "email" / "mime.py").write_text(EMAIL.replace("Send a", "Write a"))
    assert columns("validation")["docstring"] == ["Write a mail to a."] * 2 != before["docstring"]


def test_what_is_no_source_is_named(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = library / "asyncio" / "base.py"
    broken.write_text("def broken(:\n")
    with pytest.raises(ValueError, match=r"base\.py must be Python source, but invalid syntax"):
        list(functions("train"))
    broken.write_bytes(b"# coding: utf-8\n# \xe9\n")
    with pytest.raises(ValueError, match=r"base\.py must be Python source, but .*utf-8"):
        list(read_documents(StdlibCorpus()))
    monkeypatch.setattr(python_stdlib, "root", lambda: library / "python311.zip")
    with pytest.raises(ValueError, match=r"as files of Python source, but .*zip has none for the"):
        python_stdlib.fingerprint()
    with pytest.raises(ValueError, match="must be train or validation, but is 'test'"):
        columns("test")


# The library of this Python.


def test_no_module_is_in_both_splits() -> None:
    parts = [{file.relative_to(python_stdlib.root()) for file in files(part)} for part in PARTS]
    modules = [{path.parts[0].removesuffix(".py") for path in paths} for paths in parts]
    assert all(modules) and not modules[0] & modules[1]
    assert modules[0] | modules[1] <= sys.stdlib_module_names
    assert not any("test" in path.as_posix() or "site-packages" in path.parts for path in parts[0])


PARTS = ("train", "validation")
SAMPLE = ("inspect", "asyncio/base_events", "ast", "threading")
"""Of both splits."""


@pytest.mark.parametrize("name", SAMPLE)
def test_code_is_the_function_without_its_docstring(name: str) -> None:
    file = python_stdlib.root() / f"{name}.py"
    tree = ast.parse(file.read_bytes())
    of_name: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            node.body, node.decorator_list = node.body[1:], []
            of_name.setdefault(node.name, []).append(ast.dump(node))
    found = list(functions_of(file))
    assert len(found) > 5
    for one in found:
        (node,) = ast.parse(one.code).body
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        assert ast.dump(node) in of_name[node.name]
        assert one.docstring not in one.code and "@" not in one.code.split("def")[0]
        assert one.docstring.startswith(one.summary) and len(one.docstring.split()) >= 3


def test_another_process_reads_the_same() -> None:
    program = (
        "import hashlib\n"
        "from itertools import islice\n"
        "from harness.data.python_stdlib import functions\n"
        "rows = list(islice(functions('train'), 100))\n"
        "print(hashlib.sha256(repr(rows).encode()).hexdigest())\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(seen) == 1


def test_the_split_of_a_module_is_that_of_its_name() -> None:
    assert [part_of(name) for name in ("asyncio", "json", "inspect")] == ["train"] * 3
    assert [part_of(name) for name in ("ast", "email", "turtle")] == ["validation"] * 3


def test_the_corpus_has_its_name() -> None:
    assert CORPORA["python_stdlib"] == StdlibCorpus()
