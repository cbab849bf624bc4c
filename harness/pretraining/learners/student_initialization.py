"""Initial weights of a student from its teacher (Sanh et al. 2019, section 3)."""

import re

from harness.models.backbone import Backbone

LAYER = re.compile(r"(.*\.layers?\.)(\d+)(\..*)")
"""A weight of one of the stacked layers."""

BERT_TO_DISTILBERT = (
    ("bert.encoder.", "distilbert.transformer."),
    ("bert.embeddings.", "distilbert.embeddings."),
    ("attention.self.query", "attention.q_lin"),
    ("attention.self.key", "attention.k_lin"),
    ("attention.self.value", "attention.v_lin"),
    ("attention.output.dense", "attention.out_lin"),
    ("attention.output.LayerNorm", "sa_layer_norm"),
    ("intermediate.dense", "ffn.lin1"),
    ("output.dense", "ffn.lin2"),
    ("output.LayerNorm", "output_layer_norm"),
    ("cls.predictions.transform.dense", "vocab_transform"),
    ("cls.predictions.transform.LayerNorm", "vocab_layer_norm"),
    ("cls.predictions.decoder", "vocab_projector"),
)
"""Parts of BERT and their names in DistilBERT (huggingface/transformers, research project
distillation, scripts/extract_distilbert.py), replaced in this order."""


def init_from_teacher(student: Backbone, teacher: Backbone) -> None:
    """Copies the teacher's embeddings, token head and evenly spaced layers into the student.

    Raises:
        ValueError: family or widths of student and teacher differ.
    """
    weights = teacher.network.state_dict()
    if (teacher.family, student.family) == ("bert", "distilbert"):
        weights = {_renamed(name): weight for name, weight in weights.items()}
    elif teacher.family != student.family:
        raise ValueError(
            "distillation.init_from_teacher needs a student of the teacher's family, or a "
            f"distilbert of a bert, but the student is a {student.family} and the teacher a "
            f"{teacher.family}"
        )
    kept = kept_layers(_num_layers(teacher), _num_layers(student))
    wanted = student.network.state_dict()
    found = {name: weights.get(_of_teacher(name, kept)) for name in wanted}
    for name, weight in found.items():
        if weight is None or weight.shape != wanted[name].shape:
            raise ValueError(
                "distillation.init_from_teacher needs a student as wide as its teacher, but "
                f"they differ in {name}"
            )
    student.network.load_state_dict(found)


def kept_layers(num_teacher: int, num_student: int) -> list[int]:
    """The teacher's layers, counted from 0, that initialise the student: evenly spaced, with
    the first and the last; of 12 layers 0, 2, 4, 7, 9, 11 as in scripts/extract_distilbert.py."""
    steps = max(1, num_student - 1)
    return [round(layer * (num_teacher - 1) / steps) for layer in range(num_student)]


def _num_layers(backbone: Backbone) -> int:
    return int(backbone.network.config.num_hidden_layers)


def _renamed(name: str) -> str:
    for bert, distilbert in BERT_TO_DISTILBERT:
        name = name.replace(bert, distilbert)
    return name


def _of_teacher(name: str, kept: list[int]) -> str:
    """The teacher's name of the student's weight `name`."""
    match = LAYER.fullmatch(name)
    if match is None:
        return name
    before, layer, after = match.groups()
    return f"{before}{kept[int(layer)]}{after}"
