"""Diagnostics: by hand, deterministic, and for every adaptation."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.experiment.evaluation import Evaluate
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.diagnostics import (
    AFTER_TRAINING,
    AUXILIARY_WEIGHTS,
    DIAGNOSTICS,
    DIAGNOSTICS_COLUMNS,
)
from harness.finetuning.diagnostics.recorder import (
    Recorder,
    gradient_norms,
    matrices,
    pooled_states,
    relative_change,
)
from harness.finetuning.heads.classification import Classification
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.inputs import Encoded, Ragged
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import Finetuned, finetune
from harness.models import FAMILIES, MODELS, Size
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.layer_names import EMBEDDINGS, HEAD
from harness.tasks import TASKS
from tests.finetuning.methods.models import merge

SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
LAYERS = ["layer 1", "layer 2"]
RECORDED = set(DIAGNOSTICS) - {*AFTER_TRAINING, AUXILIARY_WEIGHTS}
OWN = [
    (name, facts.representations[0])
    for name, facts in FAMILIES.items()
    if facts.kind not in ("baseline", "checkpoint")
]


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Classification:
    folder = tmp_path_factory.mktemp("tokenizer")
    train(Tokenizer(vocab_size=80), iter(["the cat saw a dog in rain"] * 9), folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    return Classification(TASKS["micro-sst2"], Protocol(), tokenizer)


def saved(folder: Path, family: str, reading: str) -> Path:
    tokens = Tokens(vocab_size=20, pad=0, start=2, end=3, pair_format=True)
    model = MODELS[family].model_copy(update={"max_position": 64})
    build(model, SIZE, tokens, reading, 0).save(folder)
    return folder


def inputs(n: int) -> Encoded:
    """Whether token 5 occurs."""
    rng = np.random.default_rng(0)
    rows = [[2, *rng.integers(5, 10, rng.integers(2, 6)).tolist(), 3] for _ in range(n)]
    labels = np.array([int(5 in row) for row in rows])
    return Encoded(Ragged.of(rows), Ragged.of([[0] * len(row) for row in rows]), labels, 0.0)


def recorded(
    folder: Path, head: Classification, adaptation: str = "full", **settings: Any
) -> tuple[pd.DataFrame, Finetuned]:
    recorder = Recorder(RECORDED, head, inputs(20))
    run = finetune(
        folder,
        [TaskData(head, inputs(32))],
        Finetune(**{"epochs": 2, "batch_size": 16, "learning_rate": 1e-3, **settings}),
        seed=1,
        adaptation=ADAPTATIONS[adaptation],
        callbacks=[recorder],
    )
    return recorder.frame(run.model.part(0)), run


def values(frame: pd.DataFrame, record: str) -> dict[str, float]:
    rows = frame[frame["record"] == record]
    return dict(zip(rows["layer"], rows["value"], strict=True))


def test_changes_are_those_of_the_weights(head: Classification, tmp_path: Path) -> None:
    frame, run = recorded(saved(tmp_path, "bert", "bidirectional"), head)
    assert list(frame.columns) == DIAGNOSTICS_COLUMNS
    change = values(frame, "weight_change")
    assert list(change) == [EMBEDDINGS, *LAYERS, HEAD]
    before = dict(load(tmp_path).named_parameters())
    after = dict(run.model.part(0).backbone.named_parameters())
    names = [n for n, p in before.items() if ".layer.1." in n and p.ndim == 2]
    assert len(names) == 6
    old = torch.cat([before[n].detach().flatten() for n in names])
    new = torch.cat([after[n].detach().flatten() for n in names])
    assert change["layer 2"] == pytest.approx(float((new - old).norm() / old.norm()), rel=1e-4)
    curve = frame[frame["record"] == "loss_curve"]
    assert list(curve["step"]) == [1, 2, 3, 4] == list(range(1, run.steps[0] + 1))
    assert curve["value"][-2:].mean() == pytest.approx(run.losses[0])


def test_relative_change_by_hand() -> None:
    pairs = [(torch.ones(2, 2), 3 * torch.ones(2, 2)), (torch.zeros(1, 5), torch.ones(1, 5))]
    assert relative_change(pairs) == pytest.approx(np.sqrt((16 + 5) / 4))


def test_recording_changes_nothing_and_is_deterministic(
    head: Classification, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, only the used rows of the embeddings are trained, the same up to rounding."""
    folder = saved(tmp_path, "bert", "bidirectional")
    one, run = recorded(folder, head)
    again, _ = recorded(folder, head)
    pd.testing.assert_frame_equal(one, again)
    settings = Finetune(epochs=2, batch_size=16, learning_rate=1e-3)
    used = finetune(folder, [TaskData(head, inputs(32))], settings, seed=1)
    monkeypatch.setattr("harness.finetuning.run.use_rows", lambda *_: None)
    plain = finetune(folder, [TaskData(head, inputs(32))], settings, seed=1)
    weights = (one.model.parameters() for one in (run, plain, used))
    for mine, theirs, rounded in zip(*weights, strict=True):
        assert torch.equal(mine, theirs)
        torch.testing.assert_close(mine, rounded, atol=2e-5, rtol=2e-4)


def test_first_gradients_are_those_of_ten_updates(head: Classification, tmp_path: Path) -> None:
    recorder = Recorder({"first_gradient_norms", "gradient_norms"}, head, inputs(20))
    settings = Finetune(epochs=6, batch_size=16, learning_rate=1e-2)
    folder = saved(tmp_path, "bert", "bidirectional")
    data = [TaskData(head, inputs(32))]
    run = finetune(folder, data, settings, seed=1, callbacks=[recorder])
    frame = recorder.frame(run.model.part(0))
    first, every = values(frame, "first_gradient_norms"), values(frame, "gradient_norms")
    assert list(first) == list(every) == [EMBEDDINGS, *LAYERS, HEAD]
    for layer, norms in recorder.norms.items():
        assert len(norms) == 12
        assert first[layer] == pytest.approx(np.mean([float(norm) for norm in norms[:10]]))
        assert every[layer] == pytest.approx(np.mean([float(norm) for norm in norms]))


def test_gradient_norms_by_hand(tmp_path: Path) -> None:
    """Of gradients of ones, the norm is the square root of their number."""
    model = Classifier(load(saved(tmp_path, "bert", "bidirectional")), 2, Protocol())
    network: Any = model.backbone.network
    for parameter in network.base_model.encoder.layer[1].parameters():
        parameter.grad = torch.ones_like(parameter)
    (norm,) = gradient_norms(model).items()
    count = 4 * (32 * 32 + 32) + 2 * 32 * 128 + 128 + 32 + 2 * 2 * 32
    assert norm == ("layer 2", pytest.approx(np.sqrt(count)))


def test_a_larger_learning_rate_changes_more(head: Classification, tmp_path: Path) -> None:
    folder = saved(tmp_path, "bert", "bidirectional")
    little, _ = recorded(folder, head, learning_rate=1e-5)
    much, _ = recorded(folder, head, learning_rate=1e-2)
    for layer in LAYERS:
        assert values(little, "weight_change")[layer] < values(much, "weight_change")[layer]
        assert values(little, "similarity")[layer] > values(much, "similarity")[layer]


def test_a_frozen_network_stays_as_it_was(head: Classification, tmp_path: Path) -> None:
    frame, _ = recorded(saved(tmp_path, "bert", "bidirectional"), head, "frozen")
    change, similar = values(frame, "weight_change"), values(frame, "similarity")
    assert change[EMBEDDINGS] == change["layer 1"] == change["layer 2"] == 0 < change[HEAD]
    assert list(values(frame, "gradient_norms")) == [HEAD]
    assert list(values(frame, "effective_rank")) == [HEAD]
    assert similar == pytest.approx(dict.fromkeys([EMBEDDINGS, *LAYERS], 1.0))


@pytest.mark.parametrize(("family", "reading"), OWN)
def test_every_family_is_recorded(
    family: str, reading: str, head: Classification, tmp_path: Path
) -> None:
    frame, _ = recorded(saved(tmp_path, family, reading), head, epochs=1)
    assert set(frame["record"]) == RECORDED
    assert np.isfinite(frame["value"]).all()
    assert values(frame, "similarity").keys() <= {
        EMBEDDINGS,
        *LAYERS,
        *(f"decoder {n}" for n in (1, 2)),
    }
    assert (values(frame, "weight_change")[EMBEDDINGS] > 0) and HEAD in values(
        frame, "gradient_norms"
    )


@pytest.mark.parametrize("adaptation", ["lora", "dora", "adalora", "vera", "oft", "boft", "ia3"])
def test_mergeable_updates_count_as_weight_changes(
    adaptation: str, head: Classification, tmp_path: Path
) -> None:
    frame, run = recorded(saved(tmp_path, "bert", "bidirectional"), head, adaptation)
    change = values(frame, "weight_change")
    before = dict(load(tmp_path).named_parameters())
    merge(run.model.part(0))
    after = dict(run.model.part(0).backbone.named_parameters())
    names = [n for n, p in before.items() if ".layer.0." in n and p.ndim == 2]
    old = torch.cat([before[n].detach().flatten() for n in names])
    new = torch.cat([after[n].detach().flatten() for n in names])
    assert change["layer 1"] == pytest.approx(float((new - old).norm() / old.norm()), rel=1e-3)
    assert change["layer 1"] > 0 == change[EMBEDDINGS]
    rank = values(frame, "effective_rank")["layer 1"]
    assert 1 <= rank <= ({"lora": 8, "adalora": 12}.get(adaptation, 32))


@pytest.mark.parametrize("adaptation", ["adapters", "prefix", "prompt_tuning"])
def test_other_added_parameters_change_no_matrix(
    adaptation: str, head: Classification, tmp_path: Path
) -> None:
    frame, _ = recorded(saved(tmp_path, "bert", "bidirectional"), head, adaptation)
    change, similar = values(frame, "weight_change"), values(frame, "similarity")
    assert change["layer 1"] == change["layer 2"] == change[EMBEDDINGS] == 0 < change[HEAD]
    assert 0 < similar["layer 2"] < 1 + 1e-9
    norms = values(frame, "gradient_norms")
    assert norms["layer 1" if adaptation == "adapters" else EMBEDDINGS] > 0


def test_states_are_means_over_the_tokens(head: Classification, tmp_path: Path) -> None:
    backbone = load(saved(tmp_path, "bert", "bidirectional")).eval()
    model = Classifier(backbone, 2, Protocol())
    pooled = pooled_states(model, head, inputs(70))
    ids = torch.as_tensor(np.asarray(inputs(70).input_ids[3]))[None].long()
    out = backbone(ids, None, torch.zeros_like(ids), output_hidden_states=True).hidden_states
    assert out is not None
    for name, states in zip([EMBEDDINGS, *LAYERS], out, strict=True):
        torch.testing.assert_close(pooled[name][3], states[0].mean(0).detach())
        assert pooled[name].shape == (70, 32)


def test_the_pretrained_head_is_left_out_next_to_a_new_one(tmp_path: Path) -> None:
    model = Classifier(load(saved(tmp_path, "bert", "bidirectional")), 2, Protocol())
    names = matrices(model)
    assert "head.weight" in names and not any("predictions" in name for name in names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["weight_changes"], "the diagnostic"),
        (["similarity", "similarity"], "the diagnostic 'similarity' is given twice"),
    ],
)
def test_diagnostics_are_checked(names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Evaluate.read({"diagnostics": names})
