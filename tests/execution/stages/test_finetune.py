"""The stages that search, fine-tune and score."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import pytorch_lightning as pl
from transformers import PreTrainedTokenizerFast

from harness.core.compute import Compute
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.execution.stages.context import StageContext
from harness.execution.stages.finetune import finetune, train_tasks
from harness.execution.stages.planned_data import read_examples
from harness.execution.stages.search import trial, tune
from harness.execution.stages.task_runner import TaskRunner, head_file
from harness.finetuning.heads.head import TaskHead
from harness.models import MODELS, Size
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.trainer import CALLBACKS
from harness.tasks import TASKS
from harness.tasks.load_examples import fingerprint, load_examples
from harness.tasks.metrics import METRICS
from harness.tasks.perturbation import Perturbation, perturbed
from harness.tasks.scores import load_counts, score

SIZE = Size(num_layers=1, hidden_size=16, num_heads=1, intermediate_size=64)
SWEEP = {"sampler": "random", "space": {"learning_rate": [1e-3, 1e-2]}}
TRIAL = ("trial", "value", "state", "seconds", "epochs_run")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    texts = load_examples(TASKS["micro-mrpc"], "train").texts
    train(Tokenizer(vocab_size=300), (text for pair in texts for text in pair), folder)
    return folder


OF_EVERY_KIND = (
    "micro-mrpc",
    "micro-stsb",
    "micro-copa",
    "micro-squad2",
    "micro-ner",
    "micro-sts",
)
"""A task of each kind that has a head."""


def context_of(
    folder: Path, tokenizer: Path, family: str, kind: str, task: str = "micro-mrpc", **spec: Any
) -> StageContext:
    for name in ("pretrain/model", kind, "state", "shared"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    size = len(PreTrainedTokenizerFast.from_pretrained(tokenizer))
    model = MODELS[family]
    tokens = Tokens(size, pad=0, start=2, end=3, pair_format=True)
    build(model, SIZE, tokens, model.facts.representations[0], 0).save(folder / "pretrain/model")
    common = {
        "task": task,
        "content": TASKS[task].content,
        "fingerprint": fingerprint(TASKS[task]),
        "adaptation": "full",
        "protocol": {"max_train_examples": 64, "max_sequence_length": 48, "both_orders": True},
        "finetune": {"epochs": 1},
    }
    return StageContext(
        spec=common | spec,
        inputs={"pretrain": folder / "pretrain", "tokenizer": tokenizer},
        out=folder / kind,
        state=folder / "state",
        shared=folder / "shared",
        compute=Compute(),
        progress=lambda *_, **__: None,
    )


def test_symmetric_tasks_compare_two_texts() -> None:
    symmetric = {name for name, task in TASKS.items() if task.symmetric}
    assert symmetric >= {"mrpc", "qqp", "stsb", "micro-mrpc", "micro-stsb"}
    assert not symmetric & {"mnli", "rte", "qnli", "wnli", "micro-rte", "micro-qnli"}
    assert all(len(TASKS[name].text_fields) == 2 for name in symmetric)


@pytest.mark.parametrize("family", ["majority", "bag_of_words"])
def test_a_baseline_is_tuned_and_scored(family: str, tokenizer: Path, tmp_path: Path) -> None:
    tried = [
        context_of(tmp_path, tokenizer, family, f"trial{number}", sweep=SWEEP, trial=number)
        for number in range(2)
    ]
    scores = [trial(one)["value"] for one in tried]
    gathered = context_of(tmp_path, tokenizer, family, "tune", sweep={**SWEEP, "trials": 2})
    gathered = replace(gathered, inputs={f"trial{i}": one.out for i, one in enumerate(tried)})
    assert tune(gathered)["best"] == max(score for score in scores if score is not None)
    assert json.loads((gathered.out / "best.json").read_text()).keys() == {"learning_rate"}
    rows = pd.read_csv(gathered.out / "trials.csv")
    assert list(rows.columns) == [*TRIAL, "learning_rate"] and list(rows.value) == scores
    scoring = context_of(tmp_path, tokenizer, family, "finetune", seed=0)
    metrics = finetune(scoring)
    assert metrics["train_loss"] is None and metrics["diverged"] == metrics["steps"] == 0
    accuracy = metrics["validation/accuracy"]
    assert accuracy is not None
    rows = pd.read_parquet(scoring.out / "predictions.parquet")
    assert accuracy == pytest.approx((rows.label == rows.prediction).mean())


def test_trials_do_not_depend_on_their_order(tokenizer: Path, tmp_path: Path) -> None:
    sweep = {**SWEEP, "space": {"learning_rate": {"low": 1e-4, "high": 1e-2}, "epochs": [1, 2]}}
    found = {}
    for order in ((0, 1), (1, 0)):
        for number in order:
            (tmp_path / f"{order}").mkdir(exist_ok=True)
            given = context_of(tmp_path / f"{order}", tokenizer, "bert", f"trial{number}",
                        sweep=sweep, trial=number)  # fmt: skip
            trial(given)
            found[order, number] = json.loads((given.out / "trial.json").read_text())
            assert found[order, number].pop("seconds") > 0
    for number in (0, 1):
        assert found[(0, 1), number] == found[(1, 0), number]
    assert found[(0, 1), 0]["params"] != found[(0, 1), 1]["params"]


def test_a_trial_that_diverges_is_a_result(tokenizer: Path, tmp_path: Path) -> None:
    sweep = {**SWEEP, "space": {"learning_rate": [1e30], "epochs": [3]}}
    trial(given := context_of(tmp_path, tokenizer, "bert", "trial0", sweep=sweep, trial=0))
    found = json.loads((given.out / "trial.json").read_text())
    assert found["state"] == "diverged" and found["value"] == -1


def studied(folder: Path, tokenizer: Path, trials: int, **sweep: Any) -> pd.DataFrame:
    """The trials of a study of tpe over the same store."""
    space = {"learning_rate": [1e-3, 1e-2], "adaptation.rank": [1, 2], "epochs": [2, 3]}
    fields = {"sampler": "tpe", "trials": trials, "space": space, **sweep}
    protocol = {"max_train_examples": 16, "max_sequence_length": 48, "max_holdout_examples": 20}
    more: dict[str, Any] = {"study": "of-ranks", "adaptation": "lora", "protocol": protocol}
    given = context_of(folder, tokenizer, "bert", "tune", sweep=fields, **more)
    assert tune(given)["trials"] == trials
    return pd.read_csv(given.out / "trials.csv")


def test_a_study_is_continued_and_ends_trials_early(tokenizer: Path, tmp_path: Path) -> None:
    few = studied(tmp_path, tokenizer, 2, pruner="median")
    more = studied(tmp_path, tokenizer, 8, pruner="median")
    pd.testing.assert_frame_equal(more[:2], few)
    assert set(more.state) <= {"complete", "pruned"} and (more.epochs_run <= more.epochs).all()
    scoring = context_of(tmp_path, tokenizer, "bert", "finetune", adaptation="lora", seed=0)
    chosen = json.loads((tmp_path / "tune/best.json").read_text())
    finetune(replace(scoring, inputs={**scoring.inputs, "tune": tmp_path / "tune"}))
    settings = json.loads((scoring.out / "settings.json").read_text())
    assert settings["learning_rate"] == chosen["learning_rate"]
    assert settings["adaptation"]["rank"] == chosen["adaptation.rank"]


@pytest.mark.parametrize(
    ("family", "adaptation"), [("elmo", "frozen"), ("static", "frozen"), ("bart", "full")]
)
def test_networks_are_scored(family: str, adaptation: str, tokenizer: Path, tmp_path: Path) -> None:
    metrics = finetune(
        context_of(tmp_path, tokenizer, family, "finetune", adaptation=adaptation, seed=0)
    )
    assert metrics["steps"] == 2 and metrics["validation/accuracy"] is not None


@pytest.mark.parametrize("name", OF_EVERY_KIND)
@pytest.mark.parametrize("family", ["bert", "majority", "bag_of_words"])
def test_a_task_of_every_kind_is_scored(
    family: str, name: str, tokenizer: Path, tmp_path: Path
) -> None:
    scoring = context_of(tmp_path, tokenizer, family, "finetune", task=name, seed=0)
    metrics, task = finetune(scoring), TASKS[name]
    split = task.evaluation[0].name
    found = {key.split("/")[1] for key in metrics if key.startswith(f"{split}/")}
    assert found == set(task.metrics)
    trained = family == "bert" and task.train is not None
    assert bool(metrics["steps"]) == trained and (metrics["train_loss"] is not None) == trained
    rows = pd.read_parquet(scoring.out / "predictions.parquet")
    assert len(rows) == sum(len(load_examples(task, one)) for one in task.evaluation)
    main = f"{split}/{task.metrics[0]}"
    # A constant has no correlation, and what is undefined no counts.
    assert (main in load_counts(scoring.out / "counts.npz")) == (metrics[main] is not None)


@pytest.mark.parametrize("name", ["micro-srl", "micro-coref"])
def test_roles_and_entities_are_learnt_as_tags(name: str, tokenizer: Path, tmp_path: Path) -> None:
    protocol = {"max_train_examples": 400, "max_sequence_length": 128}
    settings = {"epochs": 2, "batch_size": 16, "learning_rate": 2e-2}
    scoring = context_of(
        *(tmp_path, tokenizer, "bert", "finetune", name),
        seed=0,
        protocol=protocol,
        finetune=settings,
    )
    metrics = finetune(scoring)
    assert metrics["steps"] == 50
    found = metrics[f"validation/{TASKS[name].metrics[0]}"]
    assert found is not None and found > 0.05  # a constant has 0
    counts = load_counts(scoring.out / "counts.npz")
    for metric in TASKS[name].metrics:
        units = counts[f"validation/{metric}"]
        assert len(units) == 1_000
        assert METRICS[metric].from_counts(units.sum(axis=0)) == pytest.approx(
            metrics[f"validation/{metric}"]
        )


def test_names_of_tasks_are_no_paths(tokenizer: Path, tmp_path: Path) -> None:
    """The heads of jointly trained tasks have files of their own in the folder of the stage, and
    those of older stores, which had the names of the tasks, are found."""
    task, other = "../../../mine", "..-..-..-mine"
    part = {"content": TASKS["micro-mrpc"].content, "fingerprint": fingerprint(TASKS["micro-mrpc"])}
    tasks = [{"task": name, **part} for name in (task, other)]
    joint: dict[str, Any] = {"tasks": tasks, "mixing": {}, "seed": 0}
    trained = context_of(tmp_path / "a/b", tokenizer, "bert", "joint", **joint)
    train_tasks(trained)
    assert not list(tmp_path.rglob("mine.safetensors"))
    heads = list((trained.out / "heads").iterdir())
    assert len(heads) == 2
    scoring = context_of(tmp_path / "a/b", tokenizer, "bert", "finetune", seed=0)
    scoring = replace(scoring, spec={**scoring.spec, "task": task})
    inputs = {**scoring.inputs, "head": trained.out, "body": trained.out}
    first = finetune(replace(scoring, inputs=inputs))
    head_file(trained.out, other).rename(trained.out / "heads/old name.safetensors")
    old = replace(scoring, inputs=inputs, spec={**scoring.spec, "task": "old name"})
    assert finetune(old).keys() == first.keys()


@pytest.mark.parametrize(("family", "task"), [("lead", "micro-sum"), ("copy", "micro-mt-a")])
def test_texts_are_copied_and_scored(
    family: str, task: str, tokenizer: Path, tmp_path: Path
) -> None:
    metrics = finetune(context_of(tmp_path, tokenizer, family, "finetune", task=task, seed=0))
    score = metrics[f"{TASKS[task].evaluation[0].name}/{TASKS[task].metrics[0]}"]
    assert score is not None and 0 < score < 1


@pytest.mark.parametrize("name", [name for name in OF_EVERY_KIND if TASKS[name].train])
def test_the_best_epoch_can_be_kept(name: str, tokenizer: Path, tmp_path: Path) -> None:
    protocol = {"max_train_examples": 32, "max_sequence_length": 48, "selection": "best"}
    scoring = context_of(
        tmp_path, tokenizer, "gpt2", "finetune", task=name, seed=0, protocol=protocol
    )
    assert finetune(scoring)["steps"]


def test_scores_of_every_epoch_are_logged_and_change_no_result(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[dict[str, float]] = []

    class Logged(pl.Callback):
        def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
            logged.append({name: float(x) for name, x in trainer.callback_metrics.items()})

    monkeypatch.setitem(CALLBACKS, "logged", Logged)
    spec: dict[str, Any] = {"protocol": {"max_train_examples": 32, "max_sequence_length": 32}}
    spec |= {"finetune": {"epochs": 2, "batch_size": 16}, "seed": 0}
    context = context_of(tmp_path, tokenizer, "bert", "finetune", **spec)
    plain = finetune(context)
    frame = pd.read_parquet(context.out / "predictions.parquet")
    assert not any("holdout" in name for row in logged for name in row)
    logged.clear()
    found = finetune(replace(context, compute=Compute(score_every_epoch=True)))
    assert found["train_loss"] == plain["train_loss"] and found["holdout"] == plain["holdout"]
    pd.testing.assert_frame_equal(pd.read_parquet(context.out / "predictions.parquet"), frame)
    names = [f"holdout/{name}" for name in TASKS["micro-mrpc"].metrics]
    assert [set(names) <= row.keys() for row in logged] == [False, True, True, True]
    assert logged[-1][names[0]] == pytest.approx(plain["holdout"])


def test_an_unsupported_pooling_is_refused(tokenizer: Path, tmp_path: Path) -> None:
    protocol = {"pooling": "cls", "max_train_examples": 64}
    with pytest.raises(ValueError, match=r"protocol\.pooling = cls"):
        finetune(context_of(tmp_path, tokenizer, "gpt2", "finetune", protocol=protocol, seed=0))


def test_training_scores_are_those_of_the_training_examples(
    tokenizer: Path, tmp_path: Path
) -> None:
    """They alone need no recorder, so the run is the same as without them."""
    (tmp_path / "other").mkdir()
    plain = finetune(context_of(tmp_path / "other", tokenizer, "bert", "finetune", seed=0))
    given = context_of(tmp_path, tokenizer, "bert", "finetune", seed=0)
    given = replace(given, spec={**given.spec, "diagnostics": ["train_scores"]})
    assert finetune(given) == plain
    runner = TaskRunner(given)
    train = runner.train_examples
    assert train is not None and len(train) == 64
    found = score(runner.task, train, runner.run(0).predict(train))
    (row,) = pd.read_parquet(given.out / "records.parquet").itertuples()
    assert (row.record, row.name, row.value) == ("train_scores", "accuracy", found["accuracy"])


def test_names_of_special_tokens_in_a_text_are_text(tokenizer: Path, tmp_path: Path) -> None:
    head = TaskRunner(context_of(tmp_path, tokenizer, "bert", "finetune", seed=0)).head
    named, plain = tokens_of_pair(head, "a [SEP] [MASK] b"), tokens_of_pair(head, "a b")
    assert named.count(head.tokenizer.sep_token_id) == plain.count(head.tokenizer.sep_token_id) == 2
    assert head.tokenizer.mask_token_id not in named and len(named) > len(plain)


def tokens_of_pair(head: TaskHead, text: str) -> list[int]:
    """Tokens of a pair of `text` and another."""
    examples = load_examples(TASKS["micro-mrpc"], "train").head(1)
    row: list[int] = head.encode(replace(examples, texts=[(text, "c")])).input_ids[0].tolist()
    return row


def test_attribution_is_measured_after_training(tokenizer: Path, tmp_path: Path) -> None:
    """The run is the same as without it; pairs of symmetric tasks are read in both orders."""
    (tmp_path / "other").mkdir()
    plain = finetune(context_of(tmp_path / "other", tokenizer, "bert", "finetune", seed=0))
    given = context_of(tmp_path, tokenizer, "bert", "finetune", seed=0)
    given = replace(given, spec={**given.spec, "diagnostics": ["changed_words"]})
    assert finetune(given) == plain
    found = pd.read_parquet(given.out / "records.parquet").set_index("name")["value"]
    assert 0 <= found["strongest"] <= 1 and 0 < found["chance"] < 1


@pytest.mark.parametrize("family", ["bert", "bag_of_words"])
def test_noise_is_in_the_reported_examples_alone(
    family: str, tokenizer: Path, tmp_path: Path
) -> None:
    found = {}
    for name, noise in (("plain", None), ("noisy", {"typos": 1.0})):
        (tmp_path / name).mkdir()
        given = context_of(
            tmp_path / name, tokenizer, family, "finetune", "micro-sst2", seed=0, perturb=noise,
            finetune={"epochs": 5, "learning_rate": 1e-2},
        )  # fmt: skip
        found[name] = finetune(given)
        runner = TaskRunner(given)
    trained = ("train_loss", "holdout", "steps")
    assert [found["plain"][one] for one in trained] == [found["noisy"][one] for one in trained]
    examples = read_examples(
        runner.task, runner.task.evaluation[0], runner.context.spec["fingerprint"]
    )
    expected = score(
        runner.task, examples, runner.run(0).predict(perturbed(examples, Perturbation(typos=1)))
    )
    assert found["noisy"]["validation/accuracy"] == expected["accuracy"]
    if family == "bag_of_words":  # the network learns nothing in a second
        assert expected["accuracy"] != found["plain"]["validation/accuracy"]


LEARNED: dict[str, Any] = {
    "epochs": 1,
    "auxiliary": {"objectives": [{"objective": "mlm"}, {"objective": "clm"}], "weights": "learned"},
}


@pytest.mark.parametrize("task", [name for name in OF_EVERY_KIND if TASKS[name].train])
def test_weights_of_auxiliary_objectives_are_learned_from_the_holdout(
    task: str, tmp_path: Path, tokenizer: Path
) -> None:
    given = context_of(tmp_path, tokenizer, "bert", "finetune", task, seed=0, finetune=LEARNED)
    given = replace(given, spec={**given.spec, "diagnostics": ["auxiliary_weights"]})
    runner = TaskRunner(given)
    train_set, holdout = runner.training_data.train, runner.training_data.holdout
    whole = load_examples(TASKS[task], "train")
    assert holdout is not None and holdout.num_items >= 100
    assert runner.train_examples is not None
    trained = {repr(one) for one in runner.train_examples.texts}
    assert not trained & {repr(one) for one in runner._split[1].texts}
    assert {repr(one) for one in runner._split[1].texts} <= {repr(one) for one in whole.texts}
    metrics = finetune(given)
    frame = pd.read_parquet(given.out / "records.parquet")
    table = frame.pivot(index="step", columns="name", values="value")
    assert len(table) == metrics["steps"] == -(-train_set.num_items // 32)
    assert table.sum(axis=1).to_numpy() == pytest.approx(3)
    assert table.iloc[0].tolist() == pytest.approx([1, 1, 1])
    assert table.iloc[-1].nunique() == 3
    assert (
        json.loads((given.out / "settings.json").read_text())["auxiliary"]["weights"] == "learned"
    )


def test_fixed_weights_need_no_holdout(tmp_path: Path, tokenizer: Path) -> None:
    fixed = {"auxiliary": {**LEARNED["auxiliary"], "weights": "fixed"}}
    given = context_of(tmp_path, tokenizer, "bert", "finetune", seed=0, finetune=fixed)
    assert TaskRunner(given).training_data.holdout is None


def test_new_layers_are_drawn_for_training_alone(tokenizer: Path, tmp_path: Path) -> None:
    """`reinit_layers` leaves a network alone that is only scored: after its training on several
    tasks, and on tasks without a train set."""
    part = {"content": TASKS["micro-stsb"].content, "fingerprint": fingerprint(TASKS["micro-stsb"])}
    joint: dict[str, Any] = {"tasks": [{"task": "micro-stsb", **part}], "mixing": {}, "seed": 0}
    trained = context_of(tmp_path, tokenizer, "bert", "joint", **joint)
    train_tasks(trained)
    scored = {"micro-stsb": {"head": trained.out, "body": trained.out}, "micro-sts": {}}
    for name, before in scored.items():
        found = []
        for new in ({}, {"reinit_layers": 1}):
            settings = {"epochs": 1, **new}
            scoring = context_of(
                tmp_path, tokenizer, "bert", "finetune", name, seed=0, finetune=settings
            )
            finetune(replace(scoring, inputs={**scoring.inputs, **before}))
            rows = pd.read_parquet(scoring.out / "predictions.parquet")
            found.append(rows.prediction.to_list())
        assert found[0] == found[1], name
