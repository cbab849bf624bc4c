"""Writes objective_examples.md: python docs/make_objective_examples.py"""

from html import escape
from itertools import islice
from pathlib import Path

from harness.experiment.objective_samples import example_rows
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import AnyObjective, parts_of
from harness.pretraining.objectives.shown_batch import ShownRow, Token

PAGE = Path(__file__).with_name("objective_examples.md")
HEAD = """# What each objective reads and predicts

One sequence of the micro-world under each named objective, of Python where it reads identifiers; of
a mixture, one of each component. In the text, the tokens that the transform masks, changes or moves
are bold; in the input, those that differ from the text. Without an input, the network reads the
text. A batch of `glove` is of counts, not of text: the first line has words, the second the context
of each.

`harness show objectives NAME --examples 5` prints more, and `harness data show EXPERIMENT --arm ARM
--step 1000` the batch of an update of a declared run, in colour.
"""


def page() -> str:
    """The page."""
    return "\n".join([HEAD, *(section(name, one) for name, one in OBJECTIVES.items())])


def section(name: str, objective: AnyObjective) -> str:
    """An objective with its formula and examples."""
    rows = islice(example_rows(objective), len(parts_of(objective)))
    blocks = "\n\n".join(map(block, rows))
    return f"## {name}\n\n`{objective.formula}`\n\n<pre>\n{blocks}\n</pre>\n"


def block(row: ShownRow) -> str:
    """A sequence in lines."""
    lines = [f"{part:8}{' '.join(map(token, tokens))}" for part, tokens in row.parts.items()]
    return "\n".join([*lines, *([] if row.pair is None else [f"pair    {row.pair}"])])


def token(one: Token) -> str:
    """A token, bold if it is marked."""
    text = escape(one.text)
    return f"<b>{text}</b>" if one.role in ("chosen", "changed") else text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
