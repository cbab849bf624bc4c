"""Members of plug-ins: their form, and where modules are found."""

import linecache
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import harness
from harness.experiment import plugins
from harness.experiment.declared_plugins import load_plugins
from harness.experiment.plugin_sources import digest_of
from harness.experiment.source import Source
from harness.models import SIZES
from harness.tasks import TASKS
from harness.tasks.task import Column, PluginData, Suite

SST2 = TASKS["micro-sst2"]
POMES = PluginData(name="pomes")
pytestmark = pytest.mark.usefixtures("forget_plugins")


class Mine(harness.Transform):
    """A transform with a kind of its own."""

    kind: Literal["mine"] = "mine"


class Nameless(harness.Transform):
    """Its kind is no literal."""

    kind: str = "nameless"


class Taken(harness.Transform):
    """Its kind is that of a shipped one."""

    kind: Literal["none"] = "none"


def four(settings: Any, rows: Any, rng: Any, vocabulary: Any) -> Any: ...


def suite(*columns: tuple[str, str, str], split: str = "validation") -> dict[str, Suite]:
    """A suite with columns (name, task, metric)."""
    made = [
        Column(name=name, task=task, split=split, metrics=(metric,))
        for name, task, metric in columns
    ]
    return {"own-v1": Suite(name="own-v1", columns=tuple(made), citation="")}


ROW = "must be (output, (representation, ...), (transform, ...))"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            {"COMBINATIONS": [("masked_token", "bidirectional", "none")]},
            f"a_plugin.COMBINATIONS[0] {ROW}, but is ('masked_token', 'bidirectional', 'none'): "
            "its [1] should be a valid tuple",
        ),
        (
            {"COMBINATIONS": [("masked", ("bidirectional",), ("none",))]},
            "a_plugin.COMBINATIONS[0]: the output 'masked' is not known; did you mean 'masked_to",
        ),
        (
            {"COMBINATIONS": [("next_token", ("causl",), ("none",))]},
            "a_plugin.COMBINATIONS[0]: the representation 'causl' is not known; did you mean 'ca",
        ),
        (
            {"COMBINATIONS": [("masked_token", ("bidirectional",), ("nune",))]},
            "a_plugin.COMBINATIONS[0]: the transform 'nune' is not known; did you mean 'none'?",
        ),
        (
            {"TRANSFORMS": {Mine: four}},
            "a_plugin.COMBINATIONS must have a row that names the transform 'mine'",
        ),
        (
            {"TRANSFORMS": {Mine: lambda rows: rows}},
            "a_plugin.TRANSFORMS[",
        ),
        (
            {"TRANSFORMS": {Nameless: four}},
            'a_plugin.TRANSFORMS[Nameless] must have a field kind: Literal["name"] = "name"',
        ),
        (
            {"TRANSFORMS": {Taken: four}},
            "a_plugin.TRANSFORMS[Taken]: 'none' is the kind of another transform",
        ),
        ({"SIZES": {"wide": {"num_layers": 1}}}, "a_plugin.SIZES['wide'] must be a Size, but is {"),
        ({"CALLBACKS": {"one": four}}, "a_plugin.CALLBACKS['one'] must be a class or function wi"),
        ({"MODULES": {"one": Mine}}, "a_plugin.MODULES['one'] must be a subclass of Pretraining"),
        ({"METRICS": {"one": 1}}, "a_plugin.METRICS['one'] must be a Metric, but is 1"),
        (
            {"METRICS": {"p@1": 1}},
            "a_plugin.METRICS['p@1'] must be a name of at most 120 letters, digits, spaces",
        ),
        (
            {"DATASETS": {"one": four}},
            "a_plugin.DATASETS['one'] must be a function from the name of a split to its examples",
        ),
        (
            {
                "DATASETS": {"poems": lambda split: []},
                "TASKS": {"one": SST2.model_copy(update={"name": "one", "data": POMES})},
            },
            "a_plugin.TASKS['one']: the data set 'pomes' is not known; did you mean 'poems'?",
        ),
        (
            {"METRICS_OF_KIND": {"regression": ("pearsen",)}},
            "a_plugin.METRICS_OF_KIND['regression']: the metric 'pearsen' is not known; did you",
        ),
        (
            {"TASKS": {"one": SST2.model_copy(update={"name": "one", "metrics": ("acuracy",)})}},
            "a_plugin.TASKS['one']: the metric 'acuracy' is not known; did you mean 'accuracy'?",
        ),
        (
            {"TASKS": {"one": SST2.model_copy(update={"name": "one", "metrics": ("rouge1",)})}},
            "a_plugin.TASKS['one']: the metric 'rouge1' cannot score tasks of kind classification",
        ),
        ({"SUITES": suite()}, "a_plugin.SUITES['own-v1'] must have columns with different names"),
        (
            {"SUITES": suite(("one", "micro-sst2", "accuracy"), ("one", "micro-rte", "accuracy"))},
            "a_plugin.SUITES['own-v1'] must have columns with different names, but has ['one', 'o",
        ),
        (
            {"SUITES": suite(("one", "micro-sst", "accuracy"))},
            "a_plugin.SUITES['own-v1']: the task 'micro-sst' is not known; did you mean 'micro-",
        ),
        (
            {"SUITES": suite(("one", "micro-sst2", "f1"))},
            "a_plugin.SUITES['own-v1']: of micro-sst2 the metric 'f1' is not known",
        ),
        (
            {"SUITES": suite(("one", "micro-sst2", "accuracy"), split="dev")},
            "a_plugin.SUITES['own-v1']: the split 'dev' is not known",
        ),
        (
            {"SIZES": {}, "COMBINATION": []},
            "the plug-in 'a_plugin' has COMBINATION, which is no registry; did you mean COMBINAT",
        ),
        ({"MODULE": {}}, "the plug-in 'a_plugin' has MODULE, which is no registry; did you mean"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_a_member_of_another_form_is_refused(members: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        plugins._add("a_plugin", type("Plugin", (), members), b"")
    assert str(caught.value).startswith(expected) and "\n" not in str(caught.value)


def test_a_module_beside_the_experiment_is_found_and_not_hidden(tmp_path: Path) -> None:
    text = "from harness.models import SIZES as KNOWN\nSIZES = {'my-size': KNOWN['nano']}\n"
    (tmp_path / "sizes_beside.py").write_text(text)
    plugins.load_plugin("sizes_beside", tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "sizes_beside.py").write_text(text)
    plugins.load_plugin("sizes_beside", tmp_path)
    with pytest.raises(ValueError, match="rename one of them"):
        plugins.load_plugin("sizes_beside", other)


def test_objects_of_one_name_are_one_plug_in_if_their_sources_are_equal() -> None:
    """As when the cell of a notebook is run again, or changed."""

    def first() -> type:
        class Notebook:
            SIZES: ClassVar = {"my-size": SIZES["nano"]}

        return Notebook

    def changed() -> type:
        class Notebook:
            SIZES: ClassVar = {"other-size": SIZES["nano"]}

        return Notebook

    assert plugins.add_plugin(first()) == plugins.add_plugin(first()) == "Notebook"
    with pytest.raises(ValueError, match="another plug-in 'Notebook' is loaded already; give this"):
        plugins.add_plugin(changed())
    assert "my-size" in SIZES and "other-size" not in SIZES


def test_constants_beside_the_registries_are_no_registries() -> None:
    members = {"SIZES": {}, "SIZE": 3, "MY_TASKS": {}, "_MODULE": {}, "TASK": "sst2"}
    plugins._add("a_plugin", type("Plugin", (), members), b"")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("size_beside", "no such module; did you mean 'sizes_beside'? put its file beside that of"),
        ("sizes_beside.py", "without folder or ending, but is 'sizes_beside.py'; did you mean 's"),
        ("./sizes_besid", "without folder or ending, but is './sizes_besid'; did you mean 'sizes"),
    ],
)
def test_a_name_that_is_not_found_has_a_hint(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "sizes_beside.py").write_text("SIZES = {}\n")
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        plugins.load_plugin(name, tmp_path)
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_a_class_of_a_notebook_has_the_source_of_its_cell() -> None:
    """As IPython runs a cell: in `__main__`, which has no file, with its lines in `linecache`."""
    cell = "class Cell:\n    SIZES = {}\n"
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(cell, "<ipython-input-1>", "exec"), scope)
    with pytest.raises(ValueError, match=r"put it into a \.py file, and list that file"):
        plugins.add_plugin(scope["Cell"])
    linecache.cache["<ipython-input-1>"] = (len(cell), None, cell.splitlines(True), "")
    try:
        assert plugins.add_plugin(scope["Cell"]) == "Cell"
    finally:
        del linecache.cache["<ipython-input-1>"]
    assert plugins._loaded["Cell"].digest == digest_of(cell.strip().encode())


def test_an_error_on_import_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong_on_import.py"
    file.write_text("SIZES = {}\nSIZES['foo']\n")
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        plugins.load_plugin("wrong_on_import", tmp_path)
    assert str(caught.value).endswith(f"cannot be imported: KeyError: 'foo' ({file}:2)")


def test_the_plug_ins_of_an_evaluation_are_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no file, and the path of its model is none."""
    text = "from harness.models import SIZES as KNOWN\nSIZES = {'worked': KNOWN['nano']}\n"
    (tmp_path / "working_sizes.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    source = Source.parse(Path("evaluate ../models/one"), "plugins: [working_sizes]")
    load_plugins(source)
    assert "worked" in SIZES


def test_an_edit_after_the_import_is_refused(tmp_path: Path) -> None:
    """A Python session keeps the first version, whose results would pass for those of the edit."""
    file = tmp_path / "edited_sizes.py"
    file.write_text("from harness.models import SIZES as KNOWN\nSIZES = {'own': KNOWN['nano']}\n")
    experiment = tmp_path / "one.yaml"
    experiment.write_text(
        "name: one\nquestion: Which?\nplugins: [edited_sizes]\npretrain: {size: own}\n"
    )
    harness.load(experiment)
    with file.open("a") as source:
        source.write("# another version\n")
    with pytest.raises(ValueError, match=r"one\.yaml:3: plugins: .* since this process imported"):
        harness.load(experiment)
    with pytest.raises(ValueError, match="since this process imported it: start a new process"):
        plugins.add_plugin("edited_sizes")
