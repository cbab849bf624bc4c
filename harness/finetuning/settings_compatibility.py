"""Which settings of fine-tuning suit an adaptation and a family, known at planning time."""

from collections.abc import Collection, Iterator

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.protocol import Finetune, Protocol
from harness.models import FAMILIES
from harness.pretraining.objectives.objective import ONE_STACK
from harness.tasks.task import Task

EMBEDDING_CHANGES = ("neftune_alpha", "sift_weight")
"""Settings that change the token embeddings of inputs in training."""
OF_START = ("mixout", "decay_toward")
"""Settings that keep a network near its pretrained weights."""
OF_WEIGHTS = ("layer_decay", "reinit_layers", "embeddings", *OF_START)
"""Settings about the weights of the pretrained network."""


def settings_problem(settings: Finetune, adaptation: Adaptation) -> str:
    """The error if a fine-tuning setting does not suit an adaptation; empty if all do."""
    for name in OF_WEIGHTS:
        if getattr(settings, name) is not None and not adaptation.whole:
            return (
                f"finetune.{name} is for adaptations that train the layers of the network, but "
                f"{adaptation.kind} does not; leave it out"
            )
    for name in OF_START if not adaptation.trains_matrices else ():
        if getattr(settings, name):
            return (
                f"finetune.{name} has no effect, as {adaptation.label} trains no matrices of the "
                "network; leave it out"
            )
    if settings.embeddings and not adaptation.trains_embeddings:
        return (
            f"finetune.embeddings has no effect, as {adaptation.label} trains no token embeddings; "
            "leave it out"
        )
    if settings.decay_toward and not settings.weight_decay:
        return (
            "finetune.weight_decay must be above 0 with decay_toward, but is 0; raise it, or leave "
            "decay_toward out"
        )
    for name in OF_START if settings.reinit_layers else ():
        if getattr(settings, name):
            return (
                f"finetune.{name} needs pretrained weights, but reinit_layers draws new ones; "
                "leave one out"
            )
    for name in EMBEDDING_CHANGES:
        if getattr(settings, name) and adaptation.kind in ("frozen", "prompt"):
            return (
                f"finetune.{name} is for adaptations that read the inputs in training, but "
                f"{adaptation.kind} does not; leave it out"
            )
    return ""


def outputs_problems(
    settings: Finetune, tasks: Collection[Task], protocol: Protocol
) -> Iterator[str]:
    """Problems of settings with tasks that have no output layer for classes, places or values; each
    message begins with the field, and names the first such task."""
    written = [task.name for task in tasks if answered_as_text(task, protocol)]
    in_pairs = [task.name for task in tasks if task.kind == "coreference"]
    if written and settings.auxiliary_lm_weight:
        yield (
            f"finetune.auxiliary_lm_weight must be 0 for {written[0]}, which is answered as text: "
            "its loss is the next-token loss of the targets alone"
        )
    if written and settings.auxiliary:
        yield (
            f"finetune.auxiliary must be left out for {written[0]}, which is answered as text by "
            "the token head that the auxiliary objectives train"
        )
    if written and settings.sift_weight:
        yield (
            f"finetune.sift_weight needs an output layer, but {written[0]} is answered as text; "
            "leave it out"
        )
    elif in_pairs and settings.sift_weight:
        yield (
            "finetune.sift_weight needs outputs that are classes, places or values, but those of "
            f"{in_pairs[0]} are scores of pairs of mentions; leave it out"
        )


def no_linear_layers(family: str) -> bool:
    """Whether the networks of a family have no linear layers below their token head."""
    return FAMILIES[family].kind in ("static", "recurrent")


def mixing_problem(settings: Finetune, family: str) -> str:
    """The error if the network of a family has no layers for mixout; empty if it has."""
    if not settings.mixout or not no_linear_layers(family):
        return ""
    return (
        "finetune.mixout needs a network with linear layers, but those of the family "
        f"{family} have none; leave it out"
    )


def fixed_problem(settings: Finetune, family: str) -> str:
    """The error if fixed embeddings leave nothing of a network to train; empty if they do not."""
    if not settings.embeddings or FAMILIES[family].kind != "static":
        return ""
    return (
        "finetune.embeddings is for networks with layers above their embeddings, but those of the "
        f"family {family} have none; leave it out, or set evaluate.adaptation: frozen"
    )


def noise_problem(settings: Finetune, family: str, representation: str) -> str:
    """The error if noise does not suit the embeddings of a network; empty if it does."""
    given = [name for name in EMBEDDING_CHANGES if getattr(settings, name)]
    if not given or (family != "xlnet" and representation in ONE_STACK):
        return ""
    return (
        f"finetune.{given[0]} is for networks read {', '.join(ONE_STACK)} other than xlnet, but "
        f"this {family} is read {representation}; leave it out"
    )
