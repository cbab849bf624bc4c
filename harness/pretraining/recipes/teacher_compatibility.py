"""Networks that cannot learn from a teacher's layers, or start from them, one sentence each."""

from collections.abc import Iterator

from harness.models.counts.shapes import embedding_width
from harness.pretraining.settings import PretrainSettings

OTHER_ATTENTION = ("deberta", "deberta_v3", "xlnet", "bilstm", "dan")
"""Families without attention, or with one whose scores transformers does not let others compute."""


def attention_problems(ours: str, theirs: str) -> Iterator[str]:
    """Why the attention of a student of one family cannot be compared with that of its teacher."""
    for role, family in (("a student", ours), ("a teacher", theirs)):
        if family in OTHER_ATTENTION:
            yield (
                f"distillation.attention_weight and relations need {role} with ordinary attention, "
                f"but its family is {family}"
            )


def start_problems(run: PretrainSettings, teacher: PretrainSettings) -> Iterator[str]:
    """Why the layers of a teacher are no initial weights of a student."""
    families = teacher.model.family, run.model.family
    if families[0] != families[1] and families != ("bert", "distilbert"):
        yield (
            "distillation.init_from_teacher needs a student of the teacher's family, or a "
            f"distilbert of a bert, but the student is a {families[1]} and the teacher a "
            f"{families[0]}"
        )
        return
    found = zip(_shapes(run).items(), _shapes(teacher).values(), strict=True)
    for (name, own), wanted in found:
        if own != wanted:
            yield f"distillation.init_from_teacher needs the teacher's {name}, {wanted}, not {own}"


def _shapes(run: PretrainSettings) -> dict[str, int | str | None]:
    """What decides the shapes of the weights that a student takes, and which of them belong to one
    head, by the field that declares it; the number of layers is free."""
    return {
        "size.hidden_size": run.size.hidden_size,
        "size.num_heads": run.size.num_heads,
        "size.intermediate_size": run.size.intermediate_size,
        "model.max_position": run.model.max_position,
        "model.embedding_size": embedding_width(run.model, run.size),
        "model.positions": run.model.positions,
        "model.norm": run.model.norm,
    }
