"""Reading experiment files: valid ones, and one clear line for every error."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from harness.cli import app
from harness.data.corpora import size
from harness.experiment.declaration import from_data, load
from harness.experiment.source import DeclarationError
from harness.pretraining.objectives.transforms.masking import TokenMasking
from tests.paths import EXPERIMENTS, ROOT

BROKEN = sorted((Path(__file__).parent / "broken").glob("*.yaml"))
"""The first lines of each are the expected errors: `# error: LINE: START OF THE MESSAGE`."""

VALID = """\
name: nsp
question: Does next-sentence prediction help?
expect: none/mask_rate=0.15 > nsp/mask_rate=0.15
pretrain:
  recipe: bert
  size: nano
  corpus: {source: microworld, num_tokens: 100_000}
  objective: mlm
  phases:
    - {fraction: 1.0, sequence_length: 64}
  budget: {tokens: 1e6}
grid:
  pretrain.objective.sentence_pair: [nsp, none]
  pretrain.objective.transform.mask_rate: [0.15, 0.3]
seeds: {pretrain: 2, finetune: [0, 7]}
evaluate: {suite: micro-glue-v1, tasks: [micro-cola], finetune: {epochs: 5}}
sweep: {trials: 4, space: {learning_rate: {low: 1e-4, high: 1e-3, log: true}, batch_size: [16, 32]}}
"""

NO_PAIRS = ["grid={pretrain.batch_size: [8, 16]}", "expect=[]"]
"""Overrides of VALID without NSP, which needs two held-out documents."""


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    return write(tmp_path, VALID)


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "study.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def problems(path: Path, *overrides: str) -> list[str]:
    """The errors without the name of the file."""
    with pytest.raises(DeclarationError) as caught:
        load(path, overrides)
    assert str(caught.value).splitlines() == list(caught.value.problems)  # one line each
    return [problem.removeprefix(f"{path}") for problem in caught.value.problems]


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_shipped_experiments_are_valid(path: Path) -> None:
    declaration = load(path)
    assert declaration.experiment.name == path.stem
    first = path.read_text().splitlines()[0]
    schema = (path.parent / first.removeprefix("# yaml-language-server: $schema=")).resolve()
    assert schema == ROOT / "experiments" / "experiment.schema.json"


def test_a_valid_file(valid: Path) -> None:
    declaration = load(valid)
    assert [arm.name for arm in declaration.arms] == [
        "nsp/mask_rate=0.15",
        "nsp/mask_rate=0.3",
        "none/mask_rate=0.15",
        "none/mask_rate=0.3",
    ]
    pretrain = declaration.arms[1].pretrain
    transform: Any = pretrain.objectives[0].transform
    assert (pretrain.objective.sentence_pair, transform.mask_rate) == ("nsp", 0.3)
    assert pretrain.objective.masking == "dynamic"  # that of `mlm`, not of the recipe
    assert pretrain.budget.tokens == 1_000_000
    assert declaration.experiment.seeds.pretrain == (0, 1)
    assert declaration.overrides == ()


def test_a_base_without_pretrain_is_enough_if_every_arm_sets_it(tmp_path: Path) -> None:
    file = tmp_path / "arms.yaml"
    file.write_text(
        "{name: x, question: which?, grid: {model: {a: {pretrain.size: nano}, "
        "b: {pretrain.size: tiny}}}}"
    )
    assert [arm.pretrain.size.hidden_size for arm in load(file).arms] == [64, 128]


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_broken_file(path: Path) -> None:
    mark = "# error: "
    lines = path.read_text().splitlines()
    expected = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
    found = [problem.removeprefix(":") for problem in problems(path)]
    assert len(found) == len(expected), found
    for problem, start in zip(found, expected, strict=True):
        assert problem.startswith(start)


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_broken_file_on_the_command_line(path: Path) -> None:
    result = CliRunner().invoke(app.app, ["plan", str(path)])
    assert result.exit_code == 2
    assert f"{path}:" in result.output and "Traceback" not in result.output


def test_there_are_fifty_broken_files() -> None:
    assert len(BROKEN) >= 50


def test_no_such_file(valid: Path) -> None:
    missing = valid.with_name("stady.yaml")
    assert problems(missing) == [f": there is no such file; did you mean {valid}?"]


def test_a_folder(valid: Path) -> None:
    assert problems(valid.parent) == [" is a folder; name an experiment file in it: study.yaml"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", ":1: the file must be a mapping with name, question, pretrain, but it is empty"),
        (b"name: a\nquestion: \xff\n", ":2: the file must be UTF-8 text"),
        (VALID.encode("utf-16"), ":1: the file must be UTF-8 text"),
        (b"name: a\nquestion: \x00\n", ":2: not YAML: special characters are not allowed"),
        (b"name: " + b"[" * 1000, ":1: values are nested deeper than 32 levels"),
        (b"#" * 1_000_001, ":1: the file must have at most 1,000,000 characters"),
        (b"name: " + b"9" * 5000, f":1: '{'9' * 37}...' cannot be read as int"),
    ],
    ids=["empty", "not_utf8", "utf16", "null_byte", "deep", "long", "endless_number"],
)
def test_unreadable_text(tmp_path: Path, text: bytes, expected: str) -> None:
    assert problems(write(tmp_path, text))[0] == expected


def test_nested_aliases_are_limited(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 10):
        lines.append(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]")
    (problem,) = problems(write(tmp_path, "\n".join(lines)))
    assert "with its aliases the file has over 100,000 values" in problem


def test_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    text = "\ufeff" + VALID.replace("\n", "\r\n")
    assert load(write(tmp_path, text)).experiment.name == "nsp"


def test_anchors_and_merge_keys(tmp_path: Path) -> None:
    text = VALID.partition("grid:")[0].replace("expect", "source") + (
        "grid:\n"
        "  published:\n"
        "    bert: &bert {pretrain.recipe: bert, pretrain.batch_size: 16}\n"
        "    large: {<<: *bert, pretrain.batch_size: 32}\n"
    )
    arms = load(write(tmp_path, text)).arms
    assert [arm.pretrain.batch_size for arm in arms] == [16, 32]


def test_overrides_are_applied_and_kept(valid: Path) -> None:
    overrides = [
        "pretrain.budget.tokens=2_000",
        "pretrain.objective.transform.whole_word=true",
        "grid.pretrain.objective.sentence_pair=[sop, none]",
        "expect=none/mask_rate=0.3 > sop/mask_rate=0.3",
        "evaluate.protocol.pooling=max",
    ]
    declaration = load(valid, overrides)
    assert declaration.overrides == tuple(overrides)
    arm = declaration.arms[0]
    assert arm.name == "sop/mask_rate=0.15"
    assert arm.pretrain.budget.tokens == 2_000
    assert arm.pretrain.objectives[0].transform == TokenMasking(whole_word=True)
    assert arm.pretrain.objective.masking == "dynamic"  # that of `mlm`
    assert arm.evaluate.protocol.pooling == "max"


RATES = """
  mask.rate:
    low: {pretrain.objective.transform.mask_rate: 0.15, pretrain.batch_size: 8}
    low.er: {pretrain.objective.transform.mask_rate: 0.1, pretrain.batch_size: 16}
"""
"""An axis with values that differ in two fields, and dots in the labels."""


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("low.pretrain.batch_size=4", {"low": (0.15, 4), "low.er": (0.1, 16)}),
        ("low.er.pretrain.batch_size=4", {"low": (0.15, 8), "low.er": (0.1, 4)}),
        ("low.er.pretrain.seed_x=4", {}),
        ("new.pretrain.batch_size=4", {"low": (0.15, 8), "low.er": (0.1, 16), "new": (0.15, 4)}),
        ("low={pretrain.batch_size: 4}", {"low": (0.15, 4), "low.er": (0.1, 16)}),
    ],
)
def test_an_override_may_set_a_field_of_one_value_of_an_axis(
    tmp_path: Path, override: str, expected: dict[str, tuple[float, int]]
) -> None:
    start = "name: x\nquestion: q?\npretrain: {recipe: bert, size: nano, corpus: microworld}\ngrid:"
    path, override = write(tmp_path, start + RATES), f"grid.mask.rate.{override}"
    if not expected:
        with pytest.raises(
            DeclarationError, match=f"^--set {override}: pretrain: the field 'seed_x'"
        ):
            load(path, [override])
        return
    found = {arm.name: arm.pretrain for arm in load(path, [override]).arms}
    assert found.keys() == expected.keys()
    for name, run in found.items():
        rate, batch_size = expected[name]
        assert run.objectives[0].transform == TokenMasking(mask_rate=rate)
        assert run.batch_size == batch_size


@pytest.mark.parametrize("text", ["5e-4", "1.5e4", "-1e+2", "2.e3"])
def test_numbers_that_yaml_1_1_reads_as_text_get_a_hint(text: str) -> None:
    data = yaml.safe_load(f"{{name: x, question: why, pretrain: {{optimizer: {{eps: {text}}}}}}}")
    with pytest.raises(
        DeclarationError, match=rf"eps must be a number.*'{re.escape(text)}'"
    ) as error:
        from_data(data)
    (line,) = [line for line in error.value.problems if "eps" in line]
    assert yaml.safe_load(line.rpartition("; write ")[2]) == float(text)


def test_a_variant_may_set_a_field_of_one_value_of_an_axis(tmp_path: Path) -> None:
    text = (
        "name: x\nquestion: q?\npretrain: {recipe: bert, size: nano, corpus: microworld}\n"
        f"variants:\n  large: {{grid.mask.rate.low.pretrain.batch_size: 64}}\ngrid:{RATES}"
    )
    found = load(write(tmp_path, text), variants=["large"])
    assert [arm.pretrain.batch_size for arm in found.arms] == [64, 16]
    changed = {"grid.mask.rate.low.pretrain.batch_size": (8, 64)}
    assert found.source and found.source.varied == {"large": changed}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("seeds.pretrain", "an override must have the form path=value, such as seeds.pretrain=3"),
        ("=3", "an override must have the form path=value, such as seeds.pretrain=3"),
        ("seeds.pretrain=0", "seeds.pretrain must be 1 to 1000 replicates, but is 0"),
        ("seeds.pretrian=1", "seeds: the field 'pretrian' is not known; did you mean 'pretrain'?"),
        ("name.first=x", "name.first is inside a value without fields"),
        ("extends=quickstart", "extends must be set in the file; overrides and variants come"),
        ("pretrain.budget.tokens=[1,", "not YAML: while parsing a flow node"),
        ("pretrain.budget.tokens=many", "pretrain.budget.tokens must be a whole number"),
        (
            "pretrain.size=nanno",
            "pretrain.size: the size 'nanno' is not known; did you mean 'nano'?",
        ),
        (
            "evaluate.suite=null",
            "evaluate.suite must be a name in 'harness list suites', or",
        ),
        ("pretrain=3", "pretrain must be a mapping of names to values, but is 3"),
        ("pretrain.size=", "pretrain.size must be a mapping of fields, but is null"),
        (
            "grid.pretrain.objective.sentence_pair=[nsp, x]",
            "pretrain.objective.sentence_pair must be 'nsp'",
        ),
        ("grid.pretrain.batch_size=8", "grid.pretrain.batch_size must be a list of values, or a"),
        ("a.b=1", "an experiment: the field 'a' is not known"),
    ],
)
def test_errors_of_an_override_name_it(valid: Path, override: str, expected: str) -> None:
    found = [problem for problem in problems(valid, override) if problem.startswith("--set")]
    assert len(found) == 1 and found[0].startswith(f"--set {override}: {expected}")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("pretrain.lr=1e-4", "'lr' is not known; did you mean pretrain.optimizer.learning_rate?"),
        ("pretrain.mask_rate=0.3", "did you mean pretrain.objective.transform.mask_rate?"),
        ("evaluate.finetune.lr=1e-4", "did you mean 'learning_rate'?"),
        ("lr=1e-4", "did you mean pretrain.optimizer.learning_rate or evaluate.finetune.learn"),
        ("evaluate.weight_decay=0", "did you mean evaluate.finetune.weight_decay?"),
        ("pretrain.model.layers=3", "did you mean pretrain.size.num_layers?"),
        ("pretrain.model.hidden_size=64", "did you mean pretrain.size.hidden_size?"),
        ("pretrain.model.num_attention_heads=2", "did you mean pretrain.size.num_heads?"),
        ("pretrain.vocab_size=900", "did you mean pretrain.tokenizer.vocab_size?"),
        ("pretrain.epochs=3", "did you mean pretrain.budget?"),
        ("pretrain.budget.epochs=3", "'epochs' is not known; known: tokens, steps"),
        ("pretrain.budget.updates=3", "did you mean 'steps'?"),
        ("sweep.lr=1e-4", "did you mean sweep.space.learning_rate?"),
        ("sweep.search_space=3", "did you mean 'space'?"),
        ("tasks=[micro-sst2]", "did you mean evaluate.tasks?"),
        ("seed=1", "did you mean 'seeds'?"),
        ("evaluate.tasks=[sst2]", "did you mean 'micro-sst2'? it is a task of glue-v1: set evalua"),
        ("evaluate.tasks=train.csv", "or a mapping to data of your own, such as {reviews: {data:"),
        ("pretrain.corpus=my.txt", "is the path 'my.txt'; write {source: text, path: my.txt}"),
        ("pretrain.corpus=a/*.jsonl.gz", "write {source: jsonl, path: a/*.jsonl.gz}"),
        ("pretrain.budget=1M", "must be a mapping with a unit, such as {tokens: 1M}, but is '1M'"),
        ("evaluate.max_length=64", "did you mean evaluate.protocol.max_sequence_length?"),
        (
            "pretrain.corpus=redpajama",
            "or a mapping, such as {source: hub, path: allenai/c4, config: de}",
        ),
        ("pretrain.budget.tokens=1.5x", "must be a whole number, but is '1.5x'"),
        ("pretrain.budget.tokens=1.2345k", "must be a whole number, but is '1.2345k'"),
    ],
)
def test_what_users_of_other_tools_write_gets_a_hint(
    valid: Path, override: str, expected: str
) -> None:
    found = [problem for problem in problems(valid, override) if problem.startswith("--set")]
    assert len(found) == 1 and expected in found[0]


def test_a_file_among_the_names_of_tasks_is_answered_with_its_mapping(
    valid: Path, tmp_path: Path
) -> None:
    file = tmp_path / "reviews.csv"
    file.write_text("text,label\n")
    (problem,) = problems(valid, f"evaluate.tasks=[{file}]")
    assert problem.endswith(f"are a mapping, such as {{reviews: {{data: {file}}}}}")


def test_a_count_may_have_a_unit(valid: Path) -> None:
    (arm, *_) = load(valid, ["pretrain.budget.tokens=1.5M"]).arms
    assert arm.pretrain == load(valid, ["pretrain.budget.tokens=1_500_000"]).arms[0].pretrain
    assert arm.pretrain.budget.tokens == 1_500_000


def test_missing_data_are_found_beside_other_problems(valid: Path) -> None:
    overrides = [
        "evaluate.tasks={mine: {data: nowhere.csv}}",
        "pretrain.corpus={source: text, path: nowhere/*.txt}",
        "expect=[nsp > none/mask_rate=0.15]",
        "compute.loggers=[paper]",
    ]
    with pytest.raises(DeclarationError) as caught:
        load(valid, overrides, with_data=True)
    for override, problem in zip(overrides, caught.value.problems, strict=True):
        assert problem.startswith(f"--set {override}: ")


def test_missing_data_has_a_line(valid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(valid, with_data=True)
    overrides = ["pretrain.corpus={source: text, path: nowhere/*.txt}", "evaluate.suite=glue-v1"]
    monkeypatch.setenv("HARNESS_DATA", str(valid.parent))
    with pytest.raises(DeclarationError) as caught:
        load(valid, [*overrides, "evaluate.tasks=[rte]"], with_data=True)
    corpus, task = caught.value.problems
    assert corpus.startswith(f"--set {overrides[0]}: pretrain.corpus.path must name a .txt")
    assert task.startswith("--set evaluate.tasks=[rte]: rte: HARNESS_DATA must contain a folder")


def test_a_missing_mirror_of_a_corpus_is_named_with_its_field(
    valid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    given = "pretrain.held_out={source: hub, path: me/mine}"
    with pytest.raises(DeclarationError) as caught:
        load(valid, [given], with_data=True)
    (problem,) = caught.value.problems
    assert problem.startswith(f"--set {given}: pretrain.held_out: HARNESS_DATA must contain")


def test_a_corpus_of_one_document_is_refused_before_a_run(valid: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("A tiger is a cat.\nIt is large.\n")
    given = f"pretrain.corpus={{source: text, path: {text}}}"
    advice = "must have at least 2 documents .* but has 1; blank lines separate documents"
    with pytest.raises(DeclarationError, match=advice):
        load(valid, [given, *NO_PAIRS], with_data=True)
    held_out = f"pretrain.held_out={{source: text, path: {text}}}"
    assert load(valid, [given, held_out], with_data=True)
    text.write_text("A tiger is a cat.\n\nIt is large.\n")
    assert load(valid, [given, *NO_PAIRS], with_data=True)


@pytest.mark.parametrize(("share", "needed"), [(0.01, 101), (0.1, 11), (0.5, 4), (0.9, 20)])
def test_random_pairs_of_held_out_text_need_two_documents(
    valid: Path, tmp_path: Path, share: float, needed: int
) -> None:
    """Of a share of 1 %, the first and the 101st document are held out."""
    text = tmp_path / "text.txt"
    corpus = f"pretrain.corpus={{source: text, path: {text}, validation_fraction: {share}}}"
    text.write_text("A tiger is a cat. It is large.\n\n" * needed)
    assert load(valid, [corpus], with_data=True)
    text.write_text("A tiger is a cat. It is large.\n\n" * (needed - 1))
    held_out = f"at least {needed} documents with text, two of them held out for sentence_pair nsp"
    with pytest.raises(DeclarationError, match=f"{held_out} .* but has {needed - 1}"):
        load(valid, [corpus], with_data=True)
    assert load(valid, [corpus, *NO_PAIRS], with_data=True)


@pytest.mark.parametrize(
    "source",
    [
        "{source: text, path: FOLDER}",
        "{source: mixture, sources: {a: {source: text, path: FOLDER}, b: microworld}}",
    ],
)
def test_text_that_is_not_utf_8_is_refused_before_a_run(
    source: str, valid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("A tiger.\n\nA bear.\n\nA lion.\n")
    (folder / "b.txt").write_bytes("A café.\n\nA bear.\n".encode("latin-1"))
    given = f"pretrain.corpus={source.replace('FOLDER', str(folder))}"
    with pytest.raises(DeclarationError) as caught:
        load(valid, [given, *NO_PAIRS], with_data=True)
    (problem,) = caught.value.problems
    assert f"pretrain.corpus.path: {folder}/b.txt must be UTF-8 text, but 'utf-8' " in problem
    assert problem.endswith("; convert it to UTF-8, for example with iconv")
    monkeypatch.setattr(size, "MAX_COUNTED_BYTES", 10)
    assert load(valid, [given, *NO_PAIRS], with_data=True)
    monkeypatch.undo()
    (folder / "b.txt").write_text("A café.\n\nA bear.\n")
    assert load(valid, [given, *NO_PAIRS], with_data=True)


@pytest.mark.parametrize("fields", ["", ", max_documents: 3"])
@pytest.mark.parametrize("role", ["corpus", "held_out", "tokenizer.corpus"])
def test_rows_without_text_are_refused_before_a_run(
    role: str, fields: str, valid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "a.jsonl"
    rows.write_text('{"text": "A tiger."}\n{"text": "A bear."}\n{"title": "A lion."}\n')
    given = f"pretrain.{role}={{source: jsonl, path: {rows}{fields}}}"
    late = f"pretrain.{role}.path: {rows}:3: every document must be an object with text in 'text'"
    if fields:
        assert load(valid, [given, *NO_PAIRS], with_data=True)  # left to the stage
    else:
        with pytest.raises(DeclarationError, match=re.escape(late)):
            load(valid, [given, *NO_PAIRS], with_data=True)
    rows.write_text('{"title": "A lion."}\n')
    monkeypatch.setattr(size, "MAX_COUNTED_BYTES", 10)
    with pytest.raises(DeclarationError, match=re.escape(late.replace(":3:", ":1:"))):
        load(valid, [given, *NO_PAIRS], with_data=True)


names = st.sampled_from(
    ["name", "pretrain", "grid", "size", "budget", "tokens", "objective", "pair", "source", "low"]
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    names,
    st.sampled_from(["nsp", "nano", "mlm", "bert", "text", "a > b", "bert_grid", "micro-cola"]),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(names | st.text(), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_file_is_valid_or_a_clear_error(tmp_path: Path, data: st.DataObject) -> None:
    tree = copy.deepcopy(yaml.safe_load(VALID))
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(tree, data)
    load_or_refuse(write(tmp_path, yaml.safe_dump(tree, allow_unicode=True)))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.integers(0, len(VALID)), length=st.integers(0, 9), text=st.text(max_size=6))
def test_a_garbled_file_is_valid_or_a_clear_error(
    tmp_path: Path, start: int, length: int, text: str
) -> None:
    garbled = VALID[:start] + text + VALID[start + length :]
    load_or_refuse(write(tmp_path, garbled.encode(errors="surrogatepass")))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.lists(names, min_size=1, max_size=3).map(".".join), value=values)
def test_any_override_is_valid_or_a_clear_error(tmp_path: Path, path: str, value: object) -> None:
    text = yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()
    load_or_refuse(write(tmp_path, VALID), f"{path}={text}")


def mutate(tree: dict[str, Any], data: st.DataObject) -> None:
    """Changes, adds or removes a random value."""
    holder: Any = tree
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        inner = holder[key]
        if not isinstance(inner, (dict, list)) or data.draw(st.booleans()):
            break
        holder = inner
    action = data.draw(st.sampled_from(["change", "remove", "add"]))
    if action == "remove":
        del holder[key]
    elif action == "add" and isinstance(holder, dict):
        holder[data.draw(names | st.text())] = data.draw(values)
    else:
        holder[key] = data.draw(values)


def load_or_refuse(path: Path, *overrides: str) -> None:
    """Fails on anything but a declaration or printable errors with their place."""
    for problem in refusal(path, overrides):
        assert problem.startswith((str(path), "--set")) and problem.isprintable()


def refusal(path: Path, overrides: tuple[str, ...]) -> tuple[str, ...]:
    try:
        load(path, overrides)
    except DeclarationError as error:
        return error.problems or ("an error without a message",)
    return ()
