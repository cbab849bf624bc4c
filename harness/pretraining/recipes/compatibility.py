"""Incompatible settings of a pretraining run, one sentence each."""

from collections.abc import Iterator

from harness.data.corpora.packing import PAIR_FORMATS
from harness.models import Size
from harness.pretraining.objectives.distillation import Relations
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import Cooccurrence, NeighbourSentences, WithGenerator
from harness.pretraining.objectives.transforms.identifiers import MaskedIdentifiers
from harness.pretraining.objectives.transforms.spans import SpanCorruption, spans_needed
from harness.pretraining.recipes.pair_compatibility import mark_problems, pair_problems
from harness.pretraining.recipes.position_compatibility import position_problems, room_problems
from harness.pretraining.recipes.size_compatibility import size_problems
from harness.pretraining.recipes.static_compatibility import embedding_problems, static_problems
from harness.pretraining.recipes.teacher_compatibility import attention_problems, start_problems
from harness.pretraining.schedule import warmup_updates
from harness.pretraining.settings import PretrainSettings
from harness.pretraining.steps import planned_steps


def incompatibilities(run: PretrainSettings) -> Iterator[str]:
    """One sentence per incompatibility, basic ones first; later ones may follow from earlier."""
    if run.model.facts.kind == "checkpoint":
        if run.init_from or run.teacher:
            yield "imported weights are not trained: leave init_from and teacher out"
        return  # no other field of the run is used
    total = sum(phase.fraction for phase in run.phases)
    if abs(total - 1) > 1e-6:
        yield f"the fractions of phases must sum to 1, but they sum to {total:g}"
    longest = max(phase.sequence_length for phase in run.phases)
    yield from position_problems(run, longest)
    yield from pair_problems(run)
    yield from _network(run)
    yield from static_problems(run)
    yield from _vectors(run)
    yield from _characters(run)
    for objective in run.objectives:
        yield from _representation(run, objective)
        yield from _room(run, objective, longest)
    yield from mark_problems(run)
    yield from _teacher(run, longest)
    yield from _start(run)
    yield from _budget(run)


def _network(run: PretrainSettings) -> Iterator[str]:
    yield from size_problems(run)
    two_stacks = run.representation == "encoder_decoder"
    if not two_stacks and (run.model.share_decoder or run.model.num_decoder_layers):
        yield (
            "share_decoder and num_decoder_layers are for a network with a decoder, but "
            f"objective.representation is {run.representation}"
        )
    representations = [objective.representation for objective in run.objectives]
    if "encoder_decoder" in representations and not two_stacks:
        yield (
            "a mixture with a component read encoder_decoder must have such a one last, for the "
            f"last decides which network is built, but it is {representations[-1]}"
        )


def _representation(run: PretrainSettings, objective: Objective) -> Iterator[str]:
    facts = run.model.facts
    if objective.representation not in facts.representations:
        yield (
            f"a {run.model.family} can be read {', '.join(facts.representations)}, but "
            f"objective.representation is {objective.representation}"
        )
    if objective.shuffled_sources and run.batch_size == 1:
        yield "objective.shuffled_sources needs a batch_size of at least 2, but it is 1"
    if facts.kind == "baseline" and not run.budget.is_zero:
        yield f"a {run.model.family} learns nothing before its task: set budget.tokens to 0"
    output = objective.output
    if isinstance(output, WithGenerator) and facts.kind != "encoder":
        yield f"{output.kind} needs an encoder, but family is {run.model.family}"
    if isinstance(output, WithGenerator) and not run.model.has_own_block:
        yield (
            f"{output.kind} needs the published block, as its generator may be of another family: "
            "leave model.positions, model.norm and model.residual out"
        )
    if run.model.mask_decoder and (others := _beside_masked_tokens(objective)):
        yield (
            "model.mask_decoder decodes masked tokens alone, but there is also "
            f"{', '.join(others)}; leave one out"
        )
    if isinstance(output, WithGenerator) and objective.span_boundary:
        yield f"span_boundary needs the output masked_token, but it is {output.kind}"


def _vectors(run: PretrainSettings) -> Iterator[str]:
    """Vectors of a file or a run that other weights would replace, or that nothing would read. A
    run `init_from` of the same model has the same file."""
    last = run.objectives[-1]
    distillation = last.distillation
    counts = isinstance(last.output, Cooccurrence)
    others = {
        "distillation.init_from_teacher replaces": distillation and distillation.init_from_teacher,
        f"the output {last.output.kind} ignores": isinstance(last.output, WithGenerator),
        f"the output {last.output.kind} adds vectors of contexts to": counts,
    }
    given = {"init_from": run.starts_from_vectors, "model.vectors": run.model.vectors}
    sources = [name for name, is_given in given.items() if is_given]
    for other in (name for name, is_there in others.items() if sources and is_there):
        yield f"{other} the word vectors of {sources[0]}: leave one out"
    if len(sources) == 2:
        yield "init_from replaces the word vectors of model.vectors: leave one out"


def _characters(run: PretrainSettings) -> Iterator[str]:
    """What needs a vector for each token, which convolutions over characters compute."""
    last = run.objectives[-1]
    others = {
        "init_from of static vectors": run.starts_from_vectors,
        "model.vectors": run.model.vectors,
        "objective.span_boundary": last.span_boundary,
    }
    if run.model.characters:
        for other in (name for name, is_given in others.items() if is_given):
            yield (
                f"{other} needs an embedding for each token, which a network with "
                "model.characters has not: leave one out"
            )


def _beside_masked_tokens(objective: Objective) -> list[str]:
    """Parts of an objective that read other states than those that name masked tokens."""
    parts = {
        f"objective.output {objective.output.kind}": isinstance(
            objective.output, (WithGenerator, NeighbourSentences)
        ),
        f"objective.sentence_pair {objective.sentence_pair}": objective.sentence_pair != "none",
        "objective.span_boundary": objective.span_boundary,
        "objective.distillation": objective.distillation is not None,
    }
    return [name for name, is_there in parts.items() if is_there]


def _room(run: PretrainSettings, objective: Objective, longest: int) -> Iterator[str]:
    """Source and target must fit in one row, and sentinels suffice for all spans and the end."""
    transform = objective.transform
    yield from room_problems(run, objective, longest)
    if isinstance(transform, SpanCorruption) and transform.replacement == "sentinel":
        needed = spans_needed(transform, longest) + 1
        if run.tokenizer.sentinels < needed:
            yield (
                f"span_corruption of {longest} tokens needs tokenizer.sentinels of at least "
                f"{needed}, but it is {run.tokenizer.sentinels}"
            )
    if isinstance(transform, MaskedIdentifiers) and run.tokenizer.sentinels < 2:
        yield (
            "masked_identifiers needs tokenizer.sentinels of at least 2, for a name and the end, "
            f"but it is {run.tokenizer.sentinels}; CodeT5 has 100"
        )


def _teacher(run: PretrainSettings, longest: int) -> Iterator[str]:
    distillation, teacher = run.objectives[-1].distillation, run.teacher
    if (distillation is None) != (teacher is None):
        yield "objective.distillation and teacher need each other: give both"
    if distillation is None or teacher is None:
        return
    yield from _same_text(run, "teacher", teacher)
    if teacher.model.facts.kind != "encoder" or teacher.representation != "bidirectional":
        yield (
            "a teacher must be an encoder read bidirectional, but its family is "
            f"{teacher.model.family}, read {teacher.representation}"
        )
    if teacher.model.mask_decoder:
        yield (
            "a teacher must name tokens by the states of its last layer, but it has a "
            "mask_decoder: leave teacher.model.mask_decoder out"
        )
    if longest > teacher.model.max_position:
        yield (
            f"sequence_length must be at most teacher.model.max_position = "
            f"{teacher.model.max_position}, but is {longest}"
        )
    if run.packing.format in PAIR_FORMATS and teacher.packing.format not in PAIR_FORMATS:
        yield (
            "a teacher of pairs must have read pairs: teacher.packing.format must be "
            f"{' or '.join(PAIR_FORMATS)}, but is {teacher.packing.format}"
        )
    outputs = [objective.output.kind for objective in teacher.objectives]
    if distillation.soft_target_weight and "masked_token" not in outputs:
        yield (
            "distillation.soft_target_weight needs a teacher with output masked_token, but it is "
            f"{outputs[-1]}"
        )
    ours, theirs = run.size, teacher.size
    if distillation.cosine_weight and ours.hidden_size != theirs.hidden_size:
        yield (
            "distillation.cosine_weight needs a student as wide as its teacher, but hidden_size is "
            f"{ours.hidden_size}, and the teacher's {theirs.hidden_size}"
        )
    weights = distillation.hidden_weight, distillation.attention_weight
    yield from layer_problems(*weights, ours, theirs)
    if distillation.attention_weight or distillation.relations:
        yield from attention_problems(run.model.family, teacher.model.family)
    if distillation.init_from_teacher:
        yield from start_problems(run, teacher)
    yield from _relations(distillation.relations, ours, theirs)


def layer_problems(
    hidden_weight: float, attention_weight: float, ours: Size, theirs: Size
) -> Iterator[str]:
    """Why the layers of a student of size `ours` cannot be compared with those of its teacher."""
    if attention_weight and ours.num_heads != theirs.num_heads:
        yield (
            "distillation.attention_weight needs as many heads as the teacher has, "
            f"{theirs.num_heads}, but num_heads is {ours.num_heads}"
        )
    if (hidden_weight or attention_weight) and theirs.num_layers % ours.num_layers:
        yield (
            "distillation.hidden_weight and attention_weight need a teacher with a multiple of the "
            f"student's layers, but it has {theirs.num_layers}, and num_layers is {ours.num_layers}"
        )


def _relations(relations: Relations | None, ours: Size, theirs: Size) -> Iterator[str]:
    if relations is None:
        return
    for name, size in (("the student's", ours), ("the teacher's", theirs)):
        heads = relations.heads_for(theirs.num_heads)
        if size.attention_size % heads:
            yield (
                f"distillation.relations.heads must divide {name} hidden size, "
                f"{size.attention_size}, but is {heads}"
            )
    if (relations.teacher_layer or 1) > theirs.num_layers:
        yield (
            "distillation.relations.teacher_layer must be at most the teacher's number of layers, "
            f"{theirs.num_layers}, but is {relations.teacher_layer}"
        )


def _start(run: PretrainSettings) -> Iterator[str]:
    start = run.init_from
    if start is None:
        return
    if start.model.facts.kind == "checkpoint":
        yield (
            "init_from cannot be a checkpoint; give the run itself recipe: checkpoint, and train "
            "it further by evaluate.continued_pretraining"
        )
        return
    yield from _same_text(run, "init_from", start)
    if run.starts_from_vectors:
        yield from embedding_problems(run, start)
        return
    if (start.model, start.size) != (run.model, run.size):
        yield "init_from must have the model and the size of the run itself"
    pairs = [one.packing.format in PAIR_FORMATS for one in (start, run)]
    if run.model.facts.segments and pairs[0] != pairs[1]:
        yield "init_from and the run itself must both read pairs, or neither: see packing.format"
    stacks = [one.representation == "encoder_decoder" for one in (start, run)]
    if stacks[0] != stacks[1]:
        yield (
            "init_from and the run itself must be one network, with a decoder or without, but "
            f"they are read {start.representation} and {run.representation}"
        )


def _same_text(run: PretrainSettings, role: str, other: PretrainSettings) -> Iterator[str]:
    texts = [(one.tokenizer, one.corpus, one.held_out) for one in (other, run)]
    if texts[0] != texts[1]:
        yield f"{role} must have the corpus, held_out and the tokenizer of the run itself"


def _budget(run: PretrainSettings) -> Iterator[str]:
    if len(set(run.checkpoint_fractions)) < len(run.checkpoint_fractions):
        yield f"checkpoint_fractions must differ, but are {list(run.checkpoint_fractions)}"
    if run.budget.flops and not planned_steps(run):
        yield f"budget.flops = {run.budget.flops:g} does not pay for one update; give more"
        return
    if run.schedule.warmup_steps and not run.budget.seconds and (steps := planned_steps(run)):
        try:
            warmup_updates(run.schedule, steps)
        except ValueError as error:
            yield str(error)
