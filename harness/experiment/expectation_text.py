"""The grammar of expectations: from the text of a user to the fields of a form."""

import re
from collections.abc import Mapping
from typing import Any

from harness.core.config import as_tuples, near_name
from harness.core.names import shortened
from harness.experiment.outcomes import (
    AVERAGE,
    GAP,
    QUANTITIES,
    RANK_AGREEMENT,
    quantities_of,
    ranked_by,
)

MAX_TEXT = 2_000
"""Characters of an expectation."""
AND = " and "
"""Between two comparisons that must both hold."""
NUMBER = r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?(?:e-?[0-9]+)?"
_EQUAL = re.compile(rf"(?P<first>[^<>]+?) = (?P<second>[^<>]+) within (?P<margin>-?{NUMBER})")
_NOT_WORSE = re.compile(
    rf"(?P<candidate>[^<>]+?) (?P<sign>[<>]=) (?P<reference>[^<>]+) within (?P<margin>-?{NUMBER})"
)
_SIGN = re.compile("[<>]| = .* within | above | below ")
_LEVEL = re.compile(rf"(?P<arm>[^<>]+?) (?P<side>above|below) (?P<level>-?{NUMBER})")


def parsed(value: Any) -> Any:
    """The fields of an expectation from its text, or from {outcome: text} and `predicted`."""
    outcome, text, more = AVERAGE, value, {}
    if isinstance(value, Mapping) and len(rest := {**value}) - ("predicted" in value) == 1:
        more = {name: rest.pop(name) for name in ("predicted",) if name in rest}
        ((outcome, text),) = rest.items()
    if not isinstance(text, str) or not isinstance(outcome, str):
        _check_quotes(value)
        _check_prediction(value)
        _check_number(value)
        return as_tuples(value)
    fields = _fields(outcome, text)
    if "better" in fields or "ordered" in fields:
        _check_side(outcome, text, more.get("predicted"))
    return fields | more


def _fields(outcome: str, text: str) -> dict[str, Any]:
    if len(text) > MAX_TEXT:
        raise ValueError(f"an expectation must have at most {MAX_TEXT:,} characters")
    if ranked_by(outcome):
        return {"outcome": outcome, **_ranked(text)}
    if match := _EQUAL.fullmatch(text.strip()):
        return {"outcome": outcome, **match.groupdict(), "margin": _margin(match["margin"])}
    if match := _LEVEL.fullmatch(text.strip()):
        return {"outcome": outcome, **match.groupdict(), "level": float(match["level"])}
    sign = "<" if quantities_of(outcome) else ">"
    if (match := _NOT_WORSE.fullmatch(text.strip())) and match["sign"] == f"{sign}=":
        arms = {name: match[name] for name in ("candidate", "reference")}
        return {"outcome": outcome, **arms, "margin": _margin(match["margin"])}
    _check_sign(outcome, sign, text)
    if f"{sign}=" in text:
        raise ValueError(_wrong_form(outcome, sign, text))
    if pairs := _joined(sign, text):
        return {"outcome": outcome, "pairs": pairs}
    sides = tuple(side.strip() for side in text.split(sign))
    if len(sides) < 2 or not all(sides):
        raise ValueError(_wrong_form(outcome, sign, text))
    if len(sides) > 2:
        return {"outcome": outcome, "ordered": sides}
    better, worse = (tuple(arm.strip() for arm in side.split(" - ")) for side in sides)
    if len(better) == len(worse) == 2:
        return {"outcome": outcome, "better": better, "worse": worse}
    return {"outcome": outcome, "better": sides[0], "worse": sides[1]}


def _margin(text: str) -> float:
    margin = float(text)
    if margin <= 0:
        raise ValueError(f"the margin of an expectation must be greater than 0, but is {text}")
    return margin


def _check_sign(outcome: str, sign: str, text: str) -> None:
    """Refuses the other sign, and a margin of a form that has none."""
    other = {"<": ">", ">": "<"}[sign]
    if other in text:  # no arm has it in its name
        what, better = ("a quantity", "less") if sign == "<" else ("scores", "more")
        near = near_name(outcome, QUANTITIES) if sign == ">" and outcome != AVERAGE else ""
        of_quantity = f"; {outcome!r} is no quantity, {near.strip()}" if near else ""
        raise ValueError(
            f"an expectation about {what} must have '{sign}', as {better} is better, with the "
            f"better arm first, but is {shortened(text)}{of_quantity}"
        )
    if re.fullmatch(rf"[^<>=]+ {sign} [^<>=]+ within {NUMBER}", text.strip()):
        raise ValueError(
            f"an expectation with a margin must have the form 'arm {sign}= arm within 2' or "
            f"'arm = arm within 2', but is {shortened(text)}"
        )


def _check_quotes(value: Any) -> None:
    """Refuses a rank agreement that YAML reads as several fields, as commas separate these."""
    named = [name for name in value if isinstance(name, str)] if isinstance(value, Mapping) else []
    if any(name.startswith(RANK_AGREEMENT) for name in named):
        raise ValueError(
            "a rank agreement within {} must have quotes around its arms, as commas separate fields"
        )


def _check_prediction(value: Any) -> None:
    """Refuses a misspelt `predicted` beside an expectation."""
    fields = value.items() if isinstance(value, Mapping) and len(value) == 2 else ()
    numbers = [name for name, one in fields if isinstance(one, int | float)]
    if len(numbers) == 1 and (near := near_name(numbers[0], ["predicted"])):
        raise ValueError(f"the field {numbers[0]!r} is not known; {near.removesuffix('; ')}")


def _check_number(value: Any) -> None:
    """Refuses several outcomes in one expectation."""
    fields = value.items() if isinstance(value, Mapping) else ()
    names = [str(name) for name, one in fields if isinstance(one, str) and _SIGN.search(one)]
    if len(names) > 1:
        items = ", ".join(f"{{{name}: ...}}" for name in names)
        raise ValueError(
            f"an expectation must have one outcome, but has {', '.join(names)}; write a list with "
            f"an item for each: [{items}]"
        )


def _check_side(outcome: str, text: str, predicted: Any) -> None:
    """Refuses a prediction of the other sign than what is expected."""
    sign = -1 if quantities_of(outcome) else 1
    if isinstance(predicted, int | float) and predicted * sign < 0:
        side = "below" if sign < 0 else "above"
        raise ValueError(
            f"predicted must be {side} 0 for {shortened(text)}, the better minus the worse, but is "
            f"{predicted:g}"
        )


def _joined(sign: str, text: str) -> tuple[tuple[str, ...], ...]:
    """The arms of comparisons that are joined by `and`; empty of other forms. Arms may have `and`
    in their names.

    Raises:
        ValueError: something else than two comparisons is joined.
    """
    sides = text.split(AND)
    if len(sides) < 2 or not all(sign in side for side in sides):
        return ()
    pairs = tuple(tuple(arm.strip() for arm in side.split(sign)) for side in sides)
    if len(pairs) != 2 or any(
        len(pair) != 2 or not all(pair) or GAP in side
        for pair, side in zip(pairs, sides, strict=True)
    ):
        form = f"arm {sign} arm and arm {sign} arm"
        raise ValueError(
            f"'and' must join two comparisons, '{form}', but the text is {shortened(text)}"
        )
    return pairs


def _ranked(text: str) -> dict[str, Any]:
    """The fields of a rank agreement."""
    match = _LEVEL.fullmatch(text.strip())
    arms = tuple(arm.strip() for arm in match["arm"].split(",")) if match else ()
    if not match or len(arms) < 4 or not all(arms):
        raise ValueError(
            "a rank agreement must name four arms or more and a level, 'a, b, c, d above 0.5', but "
            f"is {shortened(text)}"
        )
    return {"ranked": arms, "side": match["side"], "level": float(match["level"])}


def _wrong_form(outcome: str, sign: str, text: str) -> str:
    forms = [f"arm {sign} arm", f"arm {sign} arm {sign} arm", f"arm - arm {sign} arm - arm"]
    forms += [
        "arm = arm within 2",
        f"arm {sign}= arm within 2",
        f"arm {sign} arm and arm {sign} arm",
    ]
    forms += [f"arm {'below' if sign == '<' else 'above'} 50"]
    first, *others = (f"'{form if outcome == AVERAGE else f'{outcome}: {form}'}'" for form in forms)
    return (
        f"an expectation must have the form {first}, or {', '.join(others)}, but is "
        f"{shortened(text)}"
    )
