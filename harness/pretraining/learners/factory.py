"""The learner of a declared run, with its network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from harness.data.corpora.packing import PAIR_FORMATS
from harness.models import FAMILY_FIELDS
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.embedding_noise import gaussian, perturb
from harness.models.word_vectors import copy_embeddings, init_embeddings
from harness.pretraining.learners.corrective import make_corrective
from harness.pretraining.learners.distillation import Distilled
from harness.pretraining.learners.learner import Learner
from harness.pretraining.learners.permutation import Permutation
from harness.pretraining.learners.replaced_token import make_replaced_token
from harness.pretraining.learners.skip_thought import SkipThought
from harness.pretraining.learners.static_vectors import CBOW, GloVe, SampledTokens
from harness.pretraining.learners.student_initialization import init_from_teacher
from harness.pretraining.learners.token_prediction import Baseline, BiLM, TokenPrediction
from harness.pretraining.objectives.outputs import Cooccurrence, NeighbourSentences
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain


@dataclass(frozen=True)
class Run:
    """The arguments of a learner."""

    spec: Pretrain
    tokens: Tokens
    seed: int
    folders: Mapping[str, Path]
    """Results of the runs `init_from` and `teacher`."""


def _network(run: Run) -> Backbone:
    """A new network, with the word vectors of a file if one is given, or the network of an imported
    checkpoint.

    Raises:
        ValueError: the file of vectors does not fit the network, or the checkpoint does not support
            the representation of the run.
    """
    spec = run.spec
    if spec.model.facts.kind != "checkpoint":
        backbone = build(spec.model, spec.size, run.tokens, spec.representation, run.seed)
        if spec.model.vectors:
            factorised = spec.model.family in FAMILY_FIELDS["embedding_size"]
            field = "model.embedding_size" if factorised else "size.hidden_size"
            init_embeddings(backbone, Path(spec.model.vectors), run.tokens.words, field)
        return backbone
    backbone = load(run.folders["init_from"] / "model")
    if spec.representation not in backbone.facts.representations:
        raise ValueError(
            f"the checkpoint can be read {', '.join(backbone.facts.representations)}, but "
            f"objective.representation is {spec.representation}"
        )
    backbone.representation = spec.representation
    backbone.network.train()
    return backbone


def _token_prediction(run: Run) -> Learner:
    backbone, objectives = _network(run), run.spec.objectives
    if share := objectives[-1].embedding_noise:
        perturb(backbone.network, partial(gaussian, share=share))
    return TokenPrediction(backbone, objectives, run.spec.model.initializer_range)


def _distillation(run: Run) -> Learner:
    settings = run.spec.objectives[-1].distillation
    assert settings is not None
    student = _token_prediction(run)
    teacher = load(run.folders["teacher"] / "model")
    if settings.init_from_teacher:
        init_from_teacher(student.backbone, teacher)
    return Distilled(student, teacher, settings, run.spec.model.initializer_range)


def _glove(run: Run) -> Learner:
    output = run.spec.objectives[-1].output
    assert isinstance(output, Cooccurrence)
    return GloVe(_network(run), output)


def _skip_thought(run: Run) -> Learner:
    output = run.spec.objectives[-1].output
    assert isinstance(output, NeighbourSentences)
    return SkipThought(_network(run), output)


LEARNERS: dict[str, Callable[[Run], Learner]] = {
    "token_prediction": _token_prediction,
    "replaced_token": lambda run: make_replaced_token(run.spec, run.tokens, run.seed),
    "corrected_token": lambda run: make_corrective(run.spec, run.tokens, run.seed),
    "distillation": _distillation,
    "bilm": lambda run: BiLM(_network(run)),
    "permutation": lambda run: Permutation(_network(run)),
    "cbow": lambda run: CBOW(_network(run)),
    "sampled_token": lambda run: SampledTokens(_network(run)),
    "cooccurrence": _glove,
    "neighbour_sentences": _skip_thought,
    "baseline": lambda run: Baseline(_network(run)),
}


def learner_name(spec: Pretrain) -> str:
    """Key into LEARNERS."""
    objective = spec.objectives[-1]
    special = {"permuted": "permutation", "bilm": "bilm", "cbow": "cbow"}
    if spec.model.facts.kind == "baseline":
        return "baseline"
    if objective.distillation:
        return "distillation"
    if objective.output.kind in LEARNERS:
        return objective.output.kind
    return special.get(objective.representation, "token_prediction")


def make_learner(
    spec: Pretrain, vocabulary: Vocabulary, seed: int, folders: Mapping[str, Path]
) -> Learner:
    """The learner of a run; its weights follow from the arguments, or from the run `init_from`.

    Raises:
        ValueError: the family does not fit the tokenizer.
    """
    tokens = Tokens(
        vocabulary.size,
        vocabulary.pad,
        vocabulary.cls,
        vocabulary.sep,
        pair_format=spec.packing.format in PAIR_FORMATS,
        words=vocabulary.words,
        pieces=vocabulary.pieces,
        special=tuple(np.flatnonzero(vocabulary.special).tolist()),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        learner = LEARNERS[learner_name(spec)](Run(spec, tokens, seed, folders))
    if "init_from" in folders:
        start = load(folders["init_from"] / "model").network
        if spec.starts_from_vectors:
            copy_embeddings(start, learner.backbone.network)
        else:
            learner.init_from(start.state_dict())
    learner.backbone.objective = spec.objectives[-1].model_dump(mode="json")
    return learner
