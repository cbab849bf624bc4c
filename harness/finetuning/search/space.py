"""Spaces of hyperparameters: ranges, choices, and adaptations with spaces of their own."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, ValidationError, model_validator

from harness.core.config import ConfigModel, unknown_name
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.protocol import Finetune

ADAPTATION = "adaptation"
"""The hyperparameter whose choices have spaces of their own."""
ADAPTATION_PREFIX = f"{ADAPTATION}."
"""Prefix of the fields of an adaptation in a space."""
MAX_POINTS = 100_000
"""Largest grid, whose points are listed and shuffled."""


class Range(ConfigModel):
    """Numbers between two inclusive bounds."""

    low: float
    high: float
    log: bool = False
    """Whether to sample uniformly on a logarithmic scale."""

    @model_validator(mode="after")
    def _ordered(self) -> "Range":
        if not self.low <= self.high:
            raise ValueError(f"low <= high must hold, but got low={self.low}, high={self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a log range needs low > 0, but got low={self.low}")
        return self

    def position(self, value: float) -> float:
        """Where a value lies between the bounds, 0 to 1, on the scale of the range."""
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return (at - low) / (high - low) if high > low else 0.5


Choice = float | int | bool | str
Choices = Annotated[tuple[Choice, ...], Field(min_length=1)]


def _kind(value: Any) -> str:
    if isinstance(value, Mapping) and value and all(isinstance(v, Mapping) for v in value.values()):
        return "branches"
    return "range" if isinstance(value, (Range, Mapping)) else "choices"


def _simple_kind(value: Any) -> str:
    return "range" if isinstance(value, (Range, Mapping)) else "choices"


Simple = Annotated[
    Annotated[Range, Tag("range")] | Annotated[Choices, Tag("choices")],
    Discriminator(_simple_kind),
]
"""A range, or a list of choices."""
Branches = Mapping[str, Mapping[str, Simple]]
"""Name of an adaptation to its own space: its fields, and fields of `evaluate.finetune`."""
Dimension = Annotated[
    Annotated[Range, Tag("range")]
    | Annotated[Choices, Tag("choices")]
    | Annotated[Branches, Tag("branches")],
    Discriminator(_kind),
]
"""A range, a list of choices, or, for `adaptation`, choices with a space each."""
Space = Mapping[str, Dimension]


def branches_of(space: Space) -> Branches:
    """The adaptations that are searched, with their spaces; empty if there is one for all."""
    found = space.get(ADAPTATION, {})
    return found if isinstance(found, Mapping) else {}


def shared(space: Space) -> dict[str, Range | Choices]:
    """The hyperparameters that every trial has."""
    branches = branches_of(space)
    found = {name: one for name, one in space.items() if not isinstance(one, Mapping)}
    return {**found, ADAPTATION: tuple(branches)} if branches else found


def own(space: Space, adaptation: object) -> dict[str, Range | Choices]:
    """The hyperparameters of trials with one of the searched adaptations: `lora.rank`."""
    branch = branches_of(space).get(str(adaptation), {})
    return {f"{adaptation}.{name}": one for name, one in branch.items()}


def most_epochs(space: Space, default: int) -> int:
    """The most epochs that a trial may have.

    Args:
        default: epochs of trials that do not search them.
    """
    if "epochs" in (common := shared(space)):
        return int(max(ends(common["epochs"])))
    branches = [(name, own(space, name)) for name in branches_of(space)]
    each = [ends(fields.get(f"{name}.epochs", (default,))) for name, fields in branches]
    return int(max(itertools.chain.from_iterable(each), default=default))


def parameters(space: Space) -> dict[str, Range | Choices]:
    """All hyperparameters: those of every trial, then those of some."""
    inner = (own(space, name).items() for name in branches_of(space))
    return {**shared(space), **dict(itertools.chain.from_iterable(inner))}


def branch_of(space: Space, adaptation: Adaptation) -> str | None:
    """The searched adaptation that is `adaptation`, or else the first of its kind; null if there is
    none."""
    names = [name for name in branches_of(space) if ADAPTATIONS[name].kind == adaptation.kind]
    same = [name for name in names if ADAPTATIONS[name] == adaptation]
    return next(iter([*same, *names]), None)


def space_of(space: Space, branch: str) -> Space:
    """The space of an arm whose adaptation is given: the shared hyperparameters and those of the
    branch, with fields of the adaptation as `adaptation.<field>`."""
    fields = type(ADAPTATIONS[branch]).model_fields
    inner = branches_of(space)[branch].items()
    common = {name: one for name, one in space.items() if name != ADAPTATION}
    return common | {
        f"{ADAPTATION_PREFIX}{name}" if name in fields else name: one for name, one in inner
    }


def in_order(space: Mapping[str, Any]) -> dict[str, Any]:
    """A space in the order of the fields of `evaluate.finetune`, then by name: trials depend on an
    order, which the keys of their stages do not contain."""
    known = {name: place for place, name in enumerate(Finetune.model_fields)}
    names = sorted(space, key=lambda name: (known.get(name, len(known)), name))
    return {
        name: in_order(one) if isinstance(one := space[name], Mapping) else one for name in names
    }


def points(space: Space) -> list[dict[str, Choice]]:
    """Every combination of the choices, without ranges."""
    return [
        {**point, **inner}
        for point in _product(shared(space))
        for inner in _product(own(space, point.get(ADAPTATION)))
    ]


def ranges_of(space: Space) -> list[str]:
    """The hyperparameters that have a range."""
    return [name for name, found in parameters(space).items() if isinstance(found, Range)]


def check_grid(space: Space, others: str) -> None:
    """Checks that a space can be searched point by point.

    Args:
        others: the samplers that take other spaces.

    Raises:
        ValueError: it has a range, or too many points.
    """
    if ranges := ranges_of(space):
        raise ValueError(
            f"the sampler grid needs a list of choices for {ranges[0]}, but a range is given; "
            f"list its values, or take the sampler {others}"
        )
    if num_points(space) > MAX_POINTS:
        raise ValueError(
            f"the sampler grid takes a space of at most {MAX_POINTS:,} points, but this has "
            f"{num_points(space):,}; take the sampler {others}"
        )


def num_points(space: Space) -> int:
    """The number of `points`, which are not listed."""
    branches = [_num_choices(own(space, name)) for name in branches_of(space)]
    alone = {name: one for name, one in shared(space).items() if name != ADAPTATION}
    return _num_choices(alone) * (sum(branches) if branches else 1)


def _num_choices(dimensions: Mapping[str, Range | Choices]) -> int:
    return math.prod(len(one) for one in dimensions.values() if not isinstance(one, Range))


def _product(dimensions: Mapping[str, Range | Choices]) -> Iterator[dict[str, Choice]]:
    axes = [
        [(name, value) for value in dimension]
        for name, dimension in dimensions.items()
        if not isinstance(dimension, Range)
    ]
    return (dict(point) for point in itertools.product(*axes))


def ends(dimension: Range | Choices) -> tuple[Choice, ...]:
    """The choices, or the bounds of a range."""
    return (dimension.low, dimension.high) if isinstance(dimension, Range) else dimension


def space_text(space: Space) -> str:
    """The hyperparameters with what is tried: `learning_rate 0.0001 to 0.003 (log), epochs 2 or
    3`."""
    return ", ".join(f"{name} {tried_text(found)}" for name, found in parameters(space).items())


def tried_text(dimension: Range | Choices) -> str:
    """What is tried of one hyperparameter: `0.0001 to 0.003 (log)`, `2 or 3`."""
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in ends(dimension)]
    if isinstance(dimension, Range):
        return " to ".join(texts) + (" (log)" if dimension.log else "")
    return " or ".join(texts)


def field_of(name: str) -> tuple[list[type[ConfigModel]], str]:
    """The classes that may have a hyperparameter, and the name of its field there; of fields of
    pretraining, none."""
    prefix, _, field = name.rpartition(".")
    if not prefix:
        return [Finetune], field
    if prefix == ADAPTATION:
        return [type(one) for one in ADAPTATIONS.values()], field
    return [type(ADAPTATIONS[prefix]), Finetune] if prefix in ADAPTATIONS else [], field


def check_branches(space: Space) -> None:
    """Checks the adaptations that are searched, and the values of their spaces.

    Raises:
        ValueError: only `adaptation` has branches; an unknown name, or a value that is not allowed.
    """
    for name, dimension in space.items():
        if isinstance(dimension, Mapping) and name != ADAPTATION:
            raise ValueError(f"only adaptation has choices with spaces of their own, not {name}")
        if name.startswith(ADAPTATION_PREFIX) and ADAPTATION in space:
            raise ValueError(f"{name} goes into the space of an adaptation, below adaptation")
    if ADAPTATION in space and not branches_of(space):
        raise ValueError(
            "adaptation needs a space for each choice, empty if it has none: {full: {}, lora: "
            "{rank: [4, 8]}}"
        )
    for adaptation, branch in branches_of(space).items():
        if adaptation not in ADAPTATIONS:
            raise ValueError(unknown_name("the adaptation", adaptation, ADAPTATIONS))
        if not ADAPTATIONS[adaptation].trains:
            raise ValueError(f"the adaptation {adaptation} trains nothing, so it has no trials")
        for name, dimension in branch.items():
            if name in space:
                raise ValueError(f"{name} is searched for every adaptation and for {adaptation}")
            _check_own(adaptation, name, dimension)


def _check_own(adaptation: str, name: str, dimension: Range | Choices) -> None:
    kind = ADAPTATIONS[adaptation].kind
    models, _ = field_of(f"{adaptation}.{name}")
    known = [field for model in models for field in model.model_fields if field != "kind"]
    if name not in known:
        raise ValueError(unknown_name(f"adaptation.{adaptation}: the field", name, known))
    if not isinstance(dimension, Range) and len(set(dimension)) < len(dimension):
        raise ValueError(f"the choices of {adaptation}.{name} must differ: {list(dimension)}")
    model = next(one for one in models if name in one.model_fields)
    for value in ends(dimension):
        check_tried(model, name, value, **({} if model is Finetune else {"kind": kind}))


def check_tried(model: type[ConfigModel], name: str, value: Choice, **fixed: Any) -> None:
    """Checks one value of a search space, without the values of other fields, which may be searched
    as well.

    Raises:
        ValueError: the field does not have the value.
    """
    whole = model.model_fields[name].annotation in (int, int | None)
    if whole and isinstance(value, float) and value.is_integer():
        value = int(value)  # a bound of a range
    try:
        model.read({**fixed, name: value})
    except ValidationError as error:
        wrong = [one["msg"] for one in error.errors() if one["loc"]]
        if not wrong:
            return
        reason = wrong[0].removeprefix("Input ")
        shown = repr(value) if isinstance(value, (str, bool)) else f"{value:g}"
        raise ValueError(f"a {name} of {shown} cannot be tried: it {reason}") from error
