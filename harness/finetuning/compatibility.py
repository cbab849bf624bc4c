"""What a pretrained model can do at all, known before anything is spent."""

from pathlib import Path

from harness.finetuning import baselines
from harness.finetuning.adaptation import Adaptation, Frozen, PromptTuning, Selective
from harness.finetuning.module_names import MODEL_TYPES, unsupported_adaptation
from harness.finetuning.protocol import Finetune, Protocol
from harness.models import FAMILIES, LEARNED_POSITIONS
from harness.models.checkpoints import files
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring.requests import unsupported_request
from harness.tasks.task import Task

WRITING = ("causal", "prefix", "encoder_decoder")
"""Readings from left to right, one token after the other."""


def answered_as_text(task: Task, protocol: Protocol) -> bool:
    """Whether `task` is answered with a text; where nothing is trained (similarity), never."""
    asked = protocol.answer == "text" and task.kind != "similarity"
    return task.kind == "generation" or asked


def can_search(family: str, reading: str) -> bool:
    """Whether texts are written by transformers' search, which keeps to a network's own reading: of
    a checkpoint whichever it has."""
    own = FAMILIES[family].representations
    own = own if FAMILIES[family].kind == "checkpoint" else own[:1]
    return reading in WRITING and reading in own


def settings_problem(settings: Finetune, adaptation: Adaptation) -> str:
    """Which field of fine-tuning does not go with an adaptation, and why; empty if all do."""
    for name in ("layer_decay", "reinit_layers"):
        if getattr(settings, name) is not None and not adaptation.whole:
            return (
                f"finetune.{name} is for adaptations that train the layers of the network, but "
                f"{adaptation.kind} does not; leave it out"
            )
    return ""


def layers_problem(settings: Finetune, adaptation: Adaptation, run: Pretrain) -> str:
    """Which layer is asked for that a network of our own has not; empty if there is none. Those of
    a checkpoint it says itself."""
    if run.model.facts.kind in ("baseline", "checkpoint") or run.model.checkpoint:
        return ""
    found = _num_layers(run)
    if settings.reinit_layers and settings.reinit_layers > found:
        return (
            f"finetune.reinit_layers must be at most {found}, the layers of the network, but is "
            f"{settings.reinit_layers}"
        )
    top = _num_states(run) - 1
    layer = adaptation.layer if isinstance(adaptation, Frozen) else None
    if layer is not None and not -top - 1 <= layer <= top:
        return (
            f"adaptation.layer must be {-top - 1} to {top} for a network whose states are those of "
            f"the embeddings and {top} layers, but is {layer}"
        )
    return ""


def _num_layers(run: Pretrain) -> int:
    """Layers with weights of their own; of an encoder-decoder those of both."""
    if run.model.family in ("static", "albert"):
        return 0 if run.model.family == "static" else 1
    both = run.representation == "encoder_decoder"
    return run.size.num_layers + (_num_decoder_layers(run) if both else 0)


def _num_states(run: Pretrain) -> int:
    """States that a head may read: of the embeddings and of each layer, of an encoder-decoder its
    decoder's."""
    if run.model.family == "static":
        return 1
    both = run.representation == "encoder_decoder"
    return 1 + (_num_decoder_layers(run) if both else run.size.num_layers)


def _num_decoder_layers(run: Pretrain) -> int:
    return run.model.num_decoder_layers or run.size.num_layers


def unsupported_reason(
    task: Task, protocol: Protocol, adaptation: Adaptation, run: Pretrain
) -> str:
    """Why a model pretrained by `run` cannot do `task`; empty if it can."""
    if FAMILIES[run.model.family].kind == "baseline":
        return baselines.unsupported_reason(run.model.family, task)
    if not adaptation.trains:
        return _asked(task, protocol, run)
    if not task.train and adaptation.kind not in ("full", "frozen"):
        return f"nothing is trained on the task, and {adaptation.kind} says what is"
    why = unsupported_adaptation(adaptation, _model_type(run)) or _too_little(
        protocol, adaptation, run
    )
    if not why and answered_as_text(task, protocol):
        return _writes(protocol, adaptation, run)
    return why


def _asked(task: Task, protocol: Protocol, run: Pretrain) -> str:
    if task.prompt is None or task.kind not in ("classification", "multiple_choice"):
        return "the task has no prompt"
    if protocol.num_fewshot and not task.train:
        return "the task has no train set to draw solved examples from"
    return unsupported_request(run.objective.components[-1][1])


def _too_little(protocol: Protocol, adaptation: Adaptation, run: Pretrain) -> str:
    """Fewer layers than are to be trained, or fewer positions than are to be read."""
    model = run.model
    if model.checkpoint:
        return ""  # its own numbers hold, and it says so itself
    if isinstance(adaptation, Selective) and adaptation.top_layers:
        found = _num_layers(run)
        if adaptation.top_layers > found:
            return f"its layers are {found}, fewer than the {adaptation.top_layers} to train"
    if isinstance(adaptation, PromptTuning) and model.family in LEARNED_POSITIONS:
        read = protocol.max_sequence_length + adaptation.length
        if read > model.max_position:
            return (
                f"its {model.max_position} positions are fewer than the {read} of an input with "
                f"{adaptation.length} vectors before it"
            )
    return ""


def _folder(run: Pretrain) -> Path | None:
    name = run.model.checkpoint
    return files.found(name, run.model.revision) if name else None


def _family(run: Pretrain) -> str:
    """Of a checkpoint that is a network of our own, its family here."""
    folder = _folder(run)
    return (files.own_family(folder) if folder else "") or run.model.family


def _model_type(run: Pretrain) -> str:
    """transformers' name of the kind of network; empty for a checkpoint that is not there yet."""
    if run.model.family != "checkpoint":
        return MODEL_TYPES.get(run.model.family, run.model.family)
    folder = _folder(run)
    return str(files.read_config(folder).get("model_type", "")) if folder else ""


def _writes(protocol: Protocol, adaptation: Adaptation, run: Pretrain) -> str:
    reading, family = run.representation, _family(run)
    if reading not in WRITING:
        return f"it writes no text, for it is read {reading}"
    if adaptation.kind == "frozen":
        return "its weights are frozen, and a task that is answered in words has no head to train"
    if protocol.num_beams > 1 and adaptation.kind == "prompt_tuning":
        return "after trained vectors it writes without a search, but num_beams is not 1"
    if protocol.num_beams > 1 and not can_search(family, reading):
        return f"a {family} read {reading} writes without a search, but num_beams is not 1"
    lengths = protocol.max_sequence_length, protocol.max_target_length
    longest = max(lengths) if reading == "encoder_decoder" else sum(lengths)
    if isinstance(adaptation, PromptTuning):
        longest += adaptation.length
    if longest > run.model.max_position:
        return (
            f"its {run.model.max_position} positions are fewer than the {longest} tokens of a "
            "source and a target"
        )
    return ""
