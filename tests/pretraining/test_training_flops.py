"""FLOPs of an update against PyTorch's count of what the learners do with a batch."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from harness.data.tokenizers import Tokenizer
from harness.models import MODELS, Size
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.crops import crops
from harness.pretraining.objectives.negatives import NegativeSampling
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import Contrast, CorrectedToken, SampledToken
from harness.pretraining.objectives.targets import assemble
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.order import ContextWindow
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import training_flops_per_step
from tests.pretraining.objectives.transforms.texts import VOCAB, WORDS, equal_rows

SIZE = Size(num_layers=2, hidden_size=48, num_heads=3, intermediate_size=192)
ROWS, TOKENS = 3, 33  # the target of a whole text is then of 32 tokens, and takes no padding

CASES = [
    *(("mlm", family) for family in ("bert", "roberta", "deberta", "deberta_v3", "modernbert")),
    ("spanbert", "albert"),
    ("clm", "gpt"),
    ("clm", "llama"),
    ("rtd", "electra"),
    ("rtd", "electra_small"),
    ("corrective_lm", "bert"),
    ("corrective_lm", "electra_small"),
    ("deshuffling", "t5"),
    ("deshuffling", "t5_shared"),
    ("denoising_mask", "bart"),
]


def make_spec(name: str, model: str) -> Pretrain:
    objective = OBJECTIVES[name]
    assert isinstance(objective, Objective)
    architecture = MODELS[model].model_copy(update={"max_position": 64})
    return Pretrain(
        size=SIZE,
        model=architecture,
        objective=objective,
        phases=(Phase(fraction=1, sequence_length=TOKENS),),
        batch_size=ROWS,
        tokenizer=Tokenizer(vocab_size=VOCAB),
        budget=Budget(steps=1),
    )


def counted(spec: Pretrain) -> int:
    """FLOPs of one update, with every product of the attention in sight."""
    rows, objective = equal_rows(ROWS, TOKENS - 2), spec.objectives[0]
    noise = apply_transform(objective.transform, rows, np.random.default_rng(0), WORDS)
    batch = assemble(rows, noise, objective, None, WORDS, 0)
    batch |= crops(rows, objective, np.random.default_rng(0), WORDS)
    sampling = NegativeSampling(rows.tokens.ravel(), WORDS)
    batch |= sampling.sample(batch, objective, np.random.default_rng(0))
    learner = make_learner(spec, WORDS, 0, {})
    for module in learner.modules():
        config: Any = getattr(module, "config", None)
        if config is not None:
            config._attn_implementation = "eager"
    learner.train()
    with FlopCounterMode(display=False) as counter:
        answers = learner.predictions(
            {name: torch.from_numpy(part) for name, part in batch.items()}
        )
        losses = [F.cross_entropy(logits, targets) for logits, targets in answers.values()]
        torch.stack(losses).sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize(("objective", "model"), CASES)
def test_an_update_costs_what_is_counted(objective: str, model: str) -> None:
    spec = make_spec(objective, model)
    assert counted(spec) == pytest.approx(training_flops_per_step(spec), rel=1e-9)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_contrast_costs_its_crop_and_its_cosines(dropout: float) -> None:
    """Of 31 tokens, 30: with the first and the last, they take no padding."""
    spec = make_spec("corrective_lm", "bert")
    objective = Objective(output=CorrectedToken(contrast=Contrast(crop=0.97)))
    model = spec.model.model_copy(update={"dropout": dropout, "attention_dropout": dropout})
    spec = spec.model_copy(update={"objective": objective, "model": model})
    assert counted(spec) == pytest.approx(training_flops_per_step(spec), rel=1e-9)


@pytest.mark.parametrize("samples", [1, 5])
def test_a_sampled_token_costs_its_output_vectors(samples: int) -> None:
    """Of 31 tokens, 60 pairs of neighbours; lookups are free."""
    output = SampledToken(negatives=samples)
    spec = make_spec("skipgram", "static")
    changes = {"transform": ContextWindow(size=1), "output": output}
    spec = spec.model_copy(update={"objective": spec.objectives[0].model_copy(update=changes)})
    assert counted(spec) == training_flops_per_step(spec)
    assert counted(spec) == ROWS * 3 * 2 * 60 * 48 * (1 + samples)


@pytest.mark.parametrize("objective", ["mlm", "plm"])
def test_the_backward_pass_of_xlnet_is_cheaper(objective: str) -> None:
    """Its encodings of distances are constants, and the last layer's content stream is not read
    when the other predicts: no gradients, which backward = 2 x forward counts all the same."""
    spec = make_spec(objective, "xlnet")
    share = counted(spec) / training_flops_per_step(spec)
    assert 0.75 < share < 1
