"""Conformance of every task and suite: metadata that holds together."""

from string import Formatter

import pytest

from harness.tasks import SUITES, TASKS
from harness.tasks.custom import fitting_metrics
from harness.tasks.metrics import METRICS
from harness.tasks.micro import MICRO_TASKS
from harness.tasks.preprocessing import PREPROCESSORS
from harness.tasks.probes import PROBES
from harness.tasks.task import COMPARED, CollectionData, HubData, MicroworldData, Split, Task

TABLE_1 = ["mnli_m", "mnli_mm", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte"]
NOT_PINNED = {
    "lhoestq/conll2003",
    "ncbi/ncbi_disease",
    "universal-dependencies/universal_dependencies",
    "bentrevett/multi30k",
    "zapsdcn/chemprot",
    "zapsdcn/citation_intent",
    "zapsdcn/sciie",
    "zapsdcn/hyperpartisan_news",
    "vannacute/AmazonReviewHelpfulness",
    "jhu-cogsci/hans",
    "sagnikrayc/mctest",
    "uci/sentiment-labelled-sentences",
    "google/code_x_glue_cc_defect_detection",
    "google/code_x_glue_cc_clone_detection_big_clone_bench",
    "google/code_x_glue_ct_code_to_text",
    *(f"BeIR/{name}" for name in ("arguana", "fiqa", "nfcorpus", "scifact")),
    *(f"BeIR/{name}-qrels" for name in ("arguana", "fiqa", "nfcorpus", "scifact")),
}
"""Hub repositories whose commit could not be established: the list only ever gets shorter."""


@pytest.mark.parametrize("name", TASKS)
def test_task(name: str) -> None:
    task = TASKS[name]
    assert task.name == name
    assert 1 <= len(task.text_fields) <= 2
    assert len(set(task.labels)) == len(task.labels)
    assert task.licence and task.citation
    assert (task.train_size > 0) is (task.train is not None)
    assert task.prepare is None or task.prepare in PREPROCESSORS


@pytest.mark.parametrize("name", TASKS)
def test_fields_fit_the_kind(name: str) -> None:
    task = TASKS[name]
    assert (len(task.labels) >= 2) is (task.kind in ("classification", "tagging"))
    assert (task.choices_field is not None) is (task.kind == "multiple_choice")
    assert not task.symmetric or len(task.text_fields) == 2
    texts = dict.fromkeys(("extraction", *COMPARED), 2) | {"tagging": 1, "coreference": 1}
    assert len(task.text_fields) == texts.get(task.kind, len(task.text_fields))
    assert task.train is not None or task.kind in COMPARED


def test_generated_data_have_the_licence_of_the_harness() -> None:
    probes = [probe for probe in PROBES.values() if isinstance(probe.data, MicroworldData)]
    licences = {task.licence for task in MICRO_TASKS} | {probe.licence for probe in probes}
    assert licences == {"Apache-2.0"}


@pytest.mark.parametrize("name", TASKS)
def test_metrics_fit_the_kind(name: str) -> None:
    task = TASKS[name]
    assert set(task.metrics) <= set(fitting_metrics(task)) & set(METRICS)
    assert len(set(task.metrics)) == len(task.metrics)
    grouped = [metric for metric in task.metrics if METRICS[metric].grouped]
    assert not grouped or task.has_groups
    assert task.metrics[0] not in grouped or task.group_field


@pytest.mark.parametrize("name", TASKS)
def test_levels_are_in_order(name: str) -> None:
    task = TASKS[name]
    chance = 0.0 if task.chance is None else task.chance
    ceiling = 1.0 if task.ceiling is None else task.ceiling
    assert 0 <= chance < ceiling <= 1


@pytest.mark.parametrize("name", TASKS)
def test_splits_have_names_of_their_own(name: str) -> None:
    task = TASKS[name]
    assert task.evaluation
    for splits in (task.evaluation, task.test):
        assert len({split.name for split in splits}) == len(splits)
    assert not {place(task, s) for s in task.evaluation} & {place(task, s) for s in task.test}
    for split in task.evaluation:
        assert split.name != task.train and place(task, split) != place(task, None)


def place(task: Task, split: Split | None) -> tuple[str, str | None, str | None]:
    """What identifies the data of a split, or of train."""
    if split is None:
        return "", None, task.train
    return split.path or "", split.config, split.of or split.name


@pytest.mark.parametrize("name", TASKS)
def test_prompts_read_the_texts_that_models_read(name: str) -> None:
    task = TASKS[name]
    if task.prompt is None:
        return
    fields = [field for _, field, _, _ in Formatter().parse(task.prompt.pattern) if field]
    assert fields.count("answer") == 1
    assert set(fields) - {"answer"} <= {field for field in task.text_fields if "{" not in field}
    assert "answer" not in task.text_fields
    of_its_own = task.kind == "multiple_choice"
    assert len(task.prompt.answers) == (0 if of_its_own else len(task.labels))
    assert len(set(task.prompt.answers)) == len(task.prompt.answers)


@pytest.mark.parametrize("name", TASKS)
def test_hub_data_are_pinned(name: str) -> None:
    data = TASKS[name].data
    if not isinstance(data, HubData):
        return
    places = [(data.path, data.revision)]
    if isinstance(data, CollectionData):
        places.append((data.collection, data.collection_revision))
    places += [(split.path, split.revision) for split in TASKS[name].evaluation if split.path]
    for path, revision in places:
        if path in NOT_PINNED:
            assert revision is None
        else:
            assert revision and len(revision) == 40 and set(revision) <= set("0123456789abcdef")


@pytest.mark.parametrize("name", SUITES)
def test_suite(name: str) -> None:
    suite = SUITES[name]
    assert suite.name == name and name.rpartition("-v")[2].isdigit()
    assert len(set(suite.tasks)) == len(suite.tasks)
    assert {column.task for column in suite.columns} == set(suite.tasks)
    assert len({column.name for column in suite.columns}) == len(suite.columns)
    for column in suite.columns:
        task = TASKS[column.task]
        assert set(column.metrics) <= set(task.metrics)
        assert column.split in {split.name for split in task.evaluation}


def test_glue_columns_follow_the_published_table() -> None:
    # Devlin et al. 2019, table 1; WNLI, which it leaves out, comes last
    assert [column.name for column in SUITES["glue-v1"].columns] == [*TABLE_1, "wnli"]


def test_glue_has_nine_tasks_and_the_diagnostic_set() -> None:
    assert len(SUITES["glue-v1"].tasks) == 9
    diagnostic = [split for split in TASKS["mnli"].evaluation if split.config == "ax"]
    assert [(split.name, split.optional) for split in diagnostic] == [("test", True)]
    assert "ax" not in {column.split for column in SUITES["glue-v1"].columns}
