"""Continued pretraining: shared stages, inherited weights, held-out examples, errors."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from harness.analysis.frames.continued_pretraining import continued_losses_frame
from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import MicroworldCorpus, TaskCorpus
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.execution.stages.planned_data import HOLDOUT_SEED
from harness.execution.stages.pretrain import task_documents
from harness.experiment.arms import combinations, resolve_arm
from harness.experiment.declaration import Declaration
from harness.experiment.experiment import Experiment
from harness.experiment.source import DeclarationError
from harness.finetuning.continued_pretraining import ContinuedPretraining
from harness.models.build import load
from harness.plan.batch_seeds import BATCH_SEED
from harness.plan.factory import load_plan, make_plan
from harness.plan.plan import Plan, Stage
from harness.pretraining.optimizer import Optimizer
from harness.report.sections.pretraining import losses_table
from harness.tasks import TASKS
from harness.tasks.examples import split_holdout
from harness.tasks.load_examples import fingerprint, load_examples
from tests.stage_runner import StageRunner

BIOMED = {"source": "microworld", "domain": "biomed", "num_tokens": 6_000}
DAPT = {"corpus": BIOMED, "budget": {"tokens": 1_000}}
TAPT = {"corpus": "task", "budget": {"tokens": 1_000}}
CLM = {"corpus": BIOMED, "budget": {"tokens": 1_000}, "objective": "clm"}
PRETRAIN: dict[str, Any] = {
    "recipe": "roberta",
    "size": {"num_layers": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64},
    "corpus": {"source": "microworld", "num_tokens": 6_000},
    "tokenizer": {"algorithm": "wordpiece", "vocab_size": 400},
    "phases": [{"fraction": 1, "sequence_length": 64}],
    "batch_size": 4,
    "schedule": {"warmup_steps": None, "warmup_fraction": 0.1},
    "budget": {"tokens": 1_000},
}
TASK_NAMES = ["micro-chemprot", "micro-rct"]


def planned(*continued: dict[str, Any], seeds: int = 1, **pretrain: Any) -> Plan:
    experiment = Experiment.model_validate(
        {
            "name": "x",
            "question": "?",
            "pretrain": PRETRAIN | pretrain,
            "grid": {"text": {"arm": {"evaluate.continued_pretraining": list(continued)}}},
            "evaluate": {"suite": "micro-dapt-v1", "tasks": TASK_NAMES},
            "seeds": {"pretrain": seeds},
        }
    )
    arms = [resolve_arm(experiment, *picked) for picked in combinations(experiment.grid)]
    return make_plan(Declaration(experiment, tuple(arms)))


def of_kind(plan: Plan, kind: str) -> list[Stage]:
    return [stage for stage in plan.stages.values() if stage.kind == kind]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> StageRunner:
    return StageRunner(tmp_path_factory.mktemp("stages"))


def test_a_domain_is_shared_by_its_tasks() -> None:
    plan = planned(DAPT)
    (stage,) = of_kind(plan, "continue_pretraining")
    assert {plan.stages[run.key].parents["pretrain"] for run in plan.finetune_runs} == {stage.key}
    assert stage.parents["init_from"] == plan.pretrain_keys["arm", 0]
    assert len(of_kind(plan, "held_out_loss")) == 2  # before, and on the old text after


def test_the_text_of_a_task_gives_each_task_its_model() -> None:
    plan = planned(DAPT, TAPT)
    first, *own = of_kind(plan, "continue_pretraining")
    assert len(own) == 2
    assert {stage.parents["init_from"] for stage in own} == {first.key}
    again = planned(TAPT)
    assert first.key not in again.stages


def test_without_a_continued_run_nothing_changes() -> None:
    plain = planned()
    assert not of_kind(plain, "continue_pretraining") + of_kind(plain, "held_out_loss")
    assert set(plain.pretrain_keys.values()) <= set(planned(DAPT, TAPT).stages)


def test_other_budgets_share_the_loss_before() -> None:
    longer = planned({**DAPT, "budget": {"tokens": 2_000}})
    (key,) = {one.loss_before for one in planned(DAPT).continued_runs}
    assert {one.loss_before for one in longer.continued_runs} == {key}
    assert {one.key for one in longer.continued_runs} != {
        one.key for one in planned(DAPT).continued_runs
    }


def test_each_task_may_have_its_own_text() -> None:
    other = {**BIOMED, "domain": "news"}
    by_task = {"corpus": {"micro-chemprot": BIOMED, "micro-rct": other}, "budget": {"tokens": 500}}
    plan = planned(by_task)
    assert {one.task: one.corpus for one in plan.continued_runs} == {
        "micro-chemprot": "microworld biomed",
        "micro-rct": "microworld news",
    }


def test_null_settings_are_those_of_pretraining() -> None:
    (stage,) = of_kind(
        planned({**DAPT, "learning_rate": 0.5, "batch_size": 2}), "continue_pretraining"
    )
    run = stage.spec["pretrain"]
    assert (run["optimizer"]["learning_rate"], run["batch_size"]) == (0.5, 2)
    (stage,) = of_kind(planned(DAPT), "continue_pretraining")
    run, old = stage.spec["pretrain"], planned(DAPT).arms[0].pretrain
    assert Optimizer.model_validate(run["optimizer"]) == old.optimizer
    assert run["phases"] == ({"fraction": 1.0, "sequence_length": 64},)


def test_text_that_the_arm_has_read_comes_in_other_batches() -> None:
    """With the seed of pretraining, it would come in the same order again."""
    own = {**DAPT, "corpus": PRETRAIN["corpus"]}
    stages = of_kind(planned(own, DAPT, own, DAPT), "continue_pretraining")
    first, other, again, other_again = (stage.spec.get(BATCH_SEED) for stage in stages)
    assert other is None
    assert None not in {first, again, other_again} and first != again
    (other_seed,) = of_kind(planned(own, seeds=2), "continue_pretraining")[1:]
    assert other_seed.spec[BATCH_SEED] != first


def test_probes_use_the_last_model() -> None:
    fields = {"suite": "micro-dapt-v1", "tasks": TASK_NAMES, "probes": ["micro-blimp"]}
    experiment = Experiment.model_validate(
        {"name": "x", "question": "?", "pretrain": PRETRAIN}
        | {"evaluate": fields | {"continued_pretraining": [DAPT]}}
    )
    plan = make_plan(Declaration(experiment, (resolve_arm(experiment, {}, {}),)))
    (one,) = of_kind(plan, "probe")
    assert one.parents["pretrain"] == of_kind(plan, "continue_pretraining")[0].key


def test_costs_are_sums_over_the_runs() -> None:
    one, two = (
        planned(DAPT).total_continued_cost("arm"),
        planned(DAPT, DAPT).total_continued_cost("arm"),
    )
    assert one and two
    assert (one.tokens, two.tokens) == (1_024, 2_048)
    assert planned().total_continued_cost("arm") is None


def test_a_run_without_updates_keeps_the_weights(runner: StageRunner) -> None:
    plan = planned({**DAPT, "budget": {"tokens": 0}})
    (one,) = {one.key: one for one in plan.continued_runs}.values()
    runner.make(plan, one.key)
    first, then = (
        load(runner.out(key) / "model").network.state_dict()
        for key in (plan.pretrain_keys["arm", 0], one.key)
    )
    assert all(torch.equal(first[name], then[name]) for name in first)
    assert one.loss_before
    before, after = runner.make(plan, one.loss_before), runner.make(plan, one.key)
    assert before["validation_loss"] == pytest.approx(after["validation_loss"], rel=1e-5)


def test_both_stages_measure_the_same_pretraining_loss(runner: StageRunner) -> None:
    """Without updates, the loss stage agrees with the end of pretraining."""
    plan = planned({**DAPT, "budget": {"tokens": 0}})
    one = plan.continued_runs[0]
    assert one.pretrain_loss_before == plan.pretrain_keys["arm", 0]
    assert one.pretrain_loss_after
    old = runner.make(plan, plan.pretrain_keys["arm", 0])["validation_loss"]
    assert runner.make(plan, one.pretrain_loss_after)["validation_loss"] == pytest.approx(
        old, rel=1e-5
    )


def test_text_of_the_domain_lowers_its_loss(runner: StageRunner) -> None:
    plan = planned({**DAPT, "budget": {"steps": 60}, "learning_rate": 3e-3})
    keys = {
        key
        for one in plan.continued_runs
        for key in (one.key, one.loss_before, one.pretrain_loss_after)
        if key
    }
    for key in keys:
        runner.make(plan, key)
    losses = continued_losses_frame(runner.results(plan))
    assert list(losses["task"]) == TASK_NAMES
    assert (losses["loss_after"] < losses["loss_before"]).all()
    assert losses[["pretrain_loss_before", "pretrain_loss_after"]].notna().all().all()
    grid = losses_table(losses)
    assert [row[:2] for row in grid.rows] == [["arm", "microworld biomed"]]  # one run, two tasks


def test_the_objective_can_change_twice(runner: StageRunner) -> None:
    plan = planned(CLM, {**DAPT, "objective": "mlm"})
    causal, masked = of_kind(plan, "continue_pretraining")
    runner.make(plan, masked.key)
    assert load(runner.out(causal.key) / "model").representation == "causal"
    assert load(runner.out(masked.key) / "model").representation == "bidirectional"
    assert plan.arms[0].adapted.representation == "bidirectional"


def write_bert(folder: Path) -> Path:
    documents = read_documents(MicroworldCorpus(num_tokens=5_000))
    train(Tokenizer(vocab_size=400), (text for d in documents for text in d), folder)
    config = transformers.BertConfig(
        vocab_size=400,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    torch.manual_seed(0)
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert"))


def checkpoint_plan(folder: Path, *continued: dict[str, Any]) -> Plan:
    return planned(*continued, recipe="checkpoint", model={"checkpoint": str(folder)})


def test_pretraining_of_a_checkpoint_is_continued(runner: StageRunner, bert: Path) -> None:
    short = {**DAPT, "budget": {"steps": 2}, "sequence_length": 64, "batch_size": 2}
    plan = checkpoint_plan(bert, short)
    one = plan.continued_runs[0]
    assert one.loss_before
    assert one.pretrain_loss_after is None
    before = runner.make(plan, one.loss_before)["validation_loss"]
    runner.make(plan, one.key)
    theirs = transformers.BertForMaskedLM.from_pretrained(bert).state_dict()
    ours = load(runner.out(one.key) / "model").network.state_dict()
    moved = [name for name in theirs if not torch.equal(theirs[name], ours[name])]
    assert len(moved) > 0
    assert all(torch.allclose(theirs[name], ours[name], atol=0.01) for name in theirs)
    assert before == pytest.approx(torch.log(torch.tensor(400.0)).item(), rel=0.1)  # untrained


def test_continued_seeds_of_a_checkpoint_share_one_import(bert: Path) -> None:
    short = {**DAPT, "budget": {"steps": 2}, "sequence_length": 64, "batch_size": 2}
    theirs = {"recipe": "checkpoint", "model": {"checkpoint": str(bert)}}
    plan = planned(short, seeds=3, **theirs)
    runs = {one.pretrain_seed: one.key for one in plan.continued_runs}
    assert sorted(runs) == [0, 1, 2] and len(set(runs.values())) == 3
    assert len(of_kind(plan, "pretrain")) == 1
    assert {run.pretrain_seed for run in plan.finetune_runs} == {0, 1, 2}
    assert {run.pretrain_seed for run in planned(seeds=3, **theirs).finetune_runs} == {0}


def test_the_path_of_a_checkpoint_is_not_in_the_key(bert: Path, tmp_path: Path) -> None:
    short = {**DAPT, "sequence_length": 64, "batch_size": 2}
    there = tmp_path / "copy"
    there.mkdir()
    for file in bert.iterdir():
        (there / file.name).write_bytes(file.read_bytes())
    keys = [{one.key for one in checkpoint_plan(f, short).continued_runs} for f in (bert, there)]
    assert keys[0] == keys[1]


def test_the_text_of_a_task_has_no_held_out_examples() -> None:
    task = TASKS["micro-chemprot"]
    spec = {
        "task": task.name,
        "content": task.content,
        "fingerprint": fingerprint(task),
        "holdout_fraction": 0.1,
        "max_holdout_examples": 1_000,
    }
    texts = {" ".join(document) for document in task_documents(spec, TaskCorpus())}
    train_set, holdout = split_holdout(load_examples(task, "train"), 0.1, 1_000, HOLDOUT_SEED)
    assert texts == {text for (text,) in train_set.texts}
    held = {text for (text,) in holdout.texts} - {text for (text,) in train_set.texts}
    assert held
    assert not texts & held


def test_a_small_text_is_repeated_in_smaller_batches(runner: StageRunner) -> None:
    plan = planned({**TAPT, "budget": {"steps": 2}, "batch_size": 100_000})
    one = plan.continued_runs[0]
    figures = runner.make(plan, one.key)
    text = runner.make(plan, plan.stages[one.key].parents["tokens"])["train_tokens"]
    assert figures["steps"] == 2
    assert figures["tokens"] <= 2 * 1.1 * text


def test_labels_list_all_settings() -> None:
    step = ContinuedPretraining.model_validate({**CLM, "learning_rate": 1e-3})
    assert step.label == (
        "on microworld num_tokens=6000 domain=biomed, budget tokens=1000, objective clm, "
        "learning_rate 0.001"
    )


FILE = """name: study
question: Which?
pretrain:
  recipe: {recipe}
  corpus: {{source: microworld, num_tokens: 6_000}}
  schedule: {{warmup_steps: null}}
  budget: {{tokens: {tokens}}}
evaluate:
  suite: micro-dapt-v1
  tasks: [micro-chemprot, micro-rct]
  continued_pretraining:
    - {step}
"""


@pytest.mark.parametrize(
    ("step", "line", "message"),
    [
        ("{corpus: nowhere, budget: {tokens: 9}}", 12, "the corpus 'nowhere' is not known"),
        ("{corpus: task}", 12, "evaluate.continued_pretraining[0].budget"),
        ("{corpus: task, budget: {tokens: 9}, rate: 1}", 12, "rate"),
        ("{corpus: task, budget: {tokens: 9}, batch_size: 0}", 12, "must be at least 1"),
        ("{corpus: task, budget: {tokens: 9}, objective: mml}", 12, "did you mean 'mlm'"),
        ("{corpus: {micro-chemprot: task}, budget: {tokens: 9}}", 12, "none for micro-rct"),
        ("{corpus: {micro-cemprot: task}, budget: {tokens: 9}}", 12, "did you mean"),
        ("{corpus: task, budget: {tokens: 9}, objective: span_corruption}", 12, "encoder_decoder"),
        ("{corpus: task, budget: {tokens: 9}, sequence_length: 9_000}", 12, "max_position"),
        (
            "{corpus: {source: microworld, world: 3}, budget: {tokens: 9}}",
            12,
            "corpus.world must be 0",
        ),
        ("{corpus: {source: text, path: no.txt}, budget: {tokens: 9}}", 12, "matches no file"),
    ],
)
def test_errors_have_their_line(tmp_path: Path, step: str, line: int, message: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(FILE.format(recipe="roberta", tokens=1_000, step=step))
    with pytest.raises(DeclarationError) as error:
        load_plan(path)
    assert f"{path}:{line}: " in str(error.value)
    assert message in str(error.value)


def test_baselines_have_no_continued_pretraining(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    step = "{corpus: task, budget: {tokens: 9}}"
    path.write_text(FILE.format(recipe="bag_of_words", tokens=0, step=step))
    with pytest.raises(DeclarationError, match="needs a pretrained model"):
        load_plan(path)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({**DAPT, "objective": "rtd"}, "generator"),
        ({**DAPT, "budget": {"flops": 1e9}}, "FLOPs"),
        ({**DAPT, "sequence_length": 512}, "positions of the checkpoint"),
        ({**DAPT, "objective": "denoising", "sequence_length": 64}, "the checkpoint supports"),
    ],
)
def test_unsupported_settings_of_a_checkpoint(
    bert: Path, step: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        checkpoint_plan(bert, step)
