"""Documents from every kind of source, and fingerprints that follow the text and nothing else."""

import gzip
import json
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from harness.data.corpora import CORPORA
from harness.data.corpora.load_corpus import fingerprint, read_documents
from harness.data.corpora.local_files import source_of
from harness.data.corpora.size import expected_bytes
from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    JsonLinesCorpus,
    MicroworldCorpus,
    MixedCorpus,
    ParquetCorpus,
    TextCorpus,
)
from harness.data.corpora.wikitext import wikitext_articles

LINES = [
    "",
    " = Red Kite = \n",
    "",
    " The red kite is a bird . It eats 1 @,@ 500 well @-@ fed mice . \n",
    "",
    " = = Range = = \n",
    "",
    " = Played , W = \n",
    " It lives in Wales . \n",
    "",
    " = Blue Tit = \n",
    "",
    " A <unk> bird . \n",
]
ARTICLES = [
    [
        "Red Kite",
        "The red kite is a bird .",
        "It eats 1,500 well-fed mice .",
        "Range",
        "= Played , W =",
        "It lives in Wales .",
    ],
    ["Blue Tit", "A <unk> bird ."],
]


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with mirrors of a line set and of a row set."""
    sets = {"Salesforce/wikitext": LINES, "some/rows": ["One. Two.", "", "Three."]}
    for path, rows in sets.items():
        folder = tmp_path / "hub" / path
        (folder / "plain").mkdir(parents=True)
        (folder / "README.md").write_text(
            "---\nconfigs:\n- config_name: plain\n  data_files:\n"
            "  - split: train\n    path: plain/train-*\n---\n\nA card.\n"
        )
        pq.write_table(pa.table({"text": rows}), folder / "plain" / "train-0.parquet")
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "hub"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "hub"


def read(corpus: Corpus) -> list[list[str]]:
    assert not isinstance(corpus, MixedCorpus)
    return list(read_documents(corpus))


def test_wikitext_lines_are_joined_to_articles(mirror: Path) -> None:
    corpus = HubCorpus(path="Salesforce/wikitext", config="plain")
    assert read(corpus) == ARTICLES
    assert list(wikitext_articles(LINES))[1:] == ARTICLES


def test_other_hub_sets_have_a_document_per_row(mirror: Path) -> None:
    corpus = HubCorpus(path="some/rows", config="plain")
    assert read(corpus) == [["One.", "Two."], ["Three."]]
    assert read(corpus.model_copy(update={"max_documents": 1})) == [["One.", "Two."]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "some/where"}, "HARNESS_DATA must contain a folder"),
        ({"config": "other"}, "config other.*plain"),
        ({"split": "test"}, "split test.*train"),
        ({"text_field": "body"}, "corpus.text_field.*'body'.*text"),
    ],
)
def test_what_a_mirror_lacks_is_named(mirror: Path, change: dict[str, str], message: str) -> None:
    corpus = HubCorpus(path="some/rows", config="plain").model_copy(update=change)
    with pytest.raises(ValueError, match=message):
        read(corpus)


def test_hub_fingerprint_follows_the_files_of_the_config(
    mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = HubCorpus(path="some/rows", config="plain", revision="abc")
    before = fingerprint(corpus)
    (mirror / "some/rows/plain/other-0.parquet").write_bytes(b"not of this config")
    assert fingerprint(corpus) == before
    pq.write_table(pa.table({"text": ["Four."]}), mirror / "some/rows/plain/train-0.parquet")
    assert fingerprint(corpus) != before
    with pytest.raises(ValueError, match="no config 'other'; it has plain"):
        fingerprint(corpus.model_copy(update={"config": "other"}))
    monkeypatch.delenv("HARNESS_DATA")
    assert fingerprint(corpus) == "hub:some/rows@abc/plain/train"


def test_text_documents_lie_between_blank_lines(tmp_path: Path) -> None:
    text = "\n\nOne is\nwrapped. Two.\n \n\nThree.\r\nFour."
    (tmp_path / "b.txt").write_text(text, newline="")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\ufeffZero.\n".encode()))
    (tmp_path / "notes.md").write_text("left out")
    expected = [["Zero."], ["One is wrapped.", "Two."], ["Three.", "Four."]]
    assert read(TextCorpus(path=str(tmp_path))) == expected
    assert read(TextCorpus(path=str(tmp_path / "*.txt"))) == expected[1:]
    assert read(TextCorpus(path=str(tmp_path / "b.txt"))) == expected[1:]


def test_jsonl_lines_are_paragraphs(tmp_path: Path) -> None:
    rows = [{"text": "History\nIt began. It ended."}, {"text": " "}, {"text": "\u00dcber."}]
    lines = "\n".join(json.dumps(row) for row in rows) + "\n\n"
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    expected = [["History", "It began.", "It ended."], ["\u00dcber."]]
    assert read(JsonLinesCorpus(path=str(tmp_path))) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "a"}\n{"text": ', r"a\.jsonl:2: every line must be a JSON object"),
        (b'{"body": "a"}\n', r"a\.jsonl:1: .*'text'.*it has body"),
        (b'["a"]\n', r"a\.jsonl:1: .*it has list"),
        (b'{"text": null}\n', r"a\.jsonl:1: .*, but it has null there"),
        (b'{"text": ["a"]}\n', r"a\.jsonl:1: .*, but it has list there"),
        (b'{"text": "\xff"}\n', "must be UTF-8 text"),
        (
            b'{"text": "ab\\ud83d c"}\n',
            r"a\.jsonl:1: .*half .*\\ud83d, at character 3",
        ),
        (b'{"text": "a", "id": ' + b"9" * 5000 + b"}", r"a\.jsonl:1: every line must be"),
    ],
)
def test_damaged_jsonl_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(JsonLinesCorpus(path=str(tmp_path)))


@pytest.mark.parametrize(
    "content",
    [
        b"plain text",
        gzip.compress(b"A long text. " * 50, mtime=0)[:-20],
        gzip.compress(b"A long text. ", mtime=0)[:10] + b"\xff" * 20,  # no deflated data
    ],
)
def test_damaged_gzip_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt.gz").write_bytes(content)
    with pytest.raises(ValueError, match="must be gzip and UTF-8 text"):
        read(TextCorpus(path=str(tmp_path)))


def test_missing_files_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path, tmp_path / "*.txt"):
        with pytest.raises(ValueError, match=r"corpus\.path must name a \.txt"):
            fingerprint(TextCorpus(path=str(path)))


def test_hidden_files_are_read_only_where_they_are_named(tmp_path: Path) -> None:
    """Such as copies that editors keep, whose documents would be in the text twice."""
    for name in ("a.txt", ".checkpoints/a.txt", "b/._a.txt", "b/a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"Text of {name.replace('.', '')}.")
    visible = [["Text of atxt."], ["Text of b/atxt."]]
    for path in (tmp_path, tmp_path / "**/*.txt"):
        assert read(TextCorpus(path=str(path))) == visible
    for named in (".checkpoints", ".checkpoints/*.txt", ".*/a.txt", ".checkpoints/a.txt"):
        assert read(TextCorpus(path=str(tmp_path / named))) == [["Text of checkpoints/atxt."]]


def test_endings_may_be_in_upper_case(tmp_path: Path) -> None:
    (tmp_path / "A.TXT").write_text("One.")
    (tmp_path / "B.TXT.GZ").write_bytes(gzip.compress(b"Two."))
    (tmp_path / "c.txt").write_text("Three.")
    assert read(TextCorpus(path=str(tmp_path))) == [["One."], ["Two."], ["Three."]]
    (tmp_path / "B.TXT.GZ").write_bytes(b"Two.")
    with pytest.raises(ValueError, match=r"B\.TXT\.GZ must be gzip and UTF-8 text"):
        read(TextCorpus(path=str(tmp_path / "B.TXT.GZ")))
    assert [source_of(name) for name in ("a.JSONL", "a.Parquet")] == ["jsonl", "parquet"]


def test_file_fingerprint_follows_content_not_place(tmp_path: Path) -> None:
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_text("Same.")
    other.write_text("Same.")
    assert fingerprint(TextCorpus(path=str(one))) == fingerprint(TextCorpus(path=str(other)))
    other.write_text("Else!")
    assert fingerprint(TextCorpus(path=str(one))) != fingerprint(TextCorpus(path=str(other)))


def test_microworld_documents_and_fingerprint() -> None:
    corpus = MicroworldCorpus(num_tokens=2000)
    assert read(corpus) == read(corpus)
    assert read(corpus) != read(corpus.model_copy(update={"seed": 1}))
    prints = {
        fingerprint(corpus.model_copy(update=change))
        for change in ({}, {"seed": 1}, {"world": 1}, {"num_tokens": 3000})
    }
    assert len(prints) == 4
    assert fingerprint(corpus.model_copy(update={"max_documents": 5})) == fingerprint(corpus)


def test_fingerprints_load_nothing_heavy() -> None:
    code = (
        "import sys; from harness.data.corpora import CORPORA, load_corpus;"
        " from harness.tasks import TASKS, load_examples;"
        " [load_corpus.fingerprint(c) for c in CORPORA.values()];"
        " [load_examples.fingerprint(t) for t in TASKS.values()];"
        " print([m for m in ('torch', 'datasets', 'transformers') if m in sys.modules])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "HARNESS_DATA"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(
    "HARNESS_DATA" not in os.environ, reason="HARNESS_DATA names no folder of mirrors"
)
@pytest.mark.parametrize(("split", "articles"), [("validation", 60), ("test", 60)])
def test_wikitext_has_its_published_number_of_articles(split: str, articles: int) -> None:
    # Merity et al. 2017, table 1
    corpus = CORPORA["wikitext2"].model_copy(update={"split": split})
    assert len(read(corpus)) == articles


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("text", "train.csv", "is a table; write its texts to a .jsonl file"),
        ("text", "train.tsv.gz", "is a table"),
        ("text", "dump.txt.bz2", r"compressed singly by gzip or zstd \(.gz, .zst\), .* unpack it"),
        ("text", "books.tar.gz", "unpack it"),
        ("jsonl", "rows.jsonl.xz", "unpack it"),
        ("jsonl", "train.parquet", "must be parquet for parquet files alone, but is jsonl"),
        ("text", "wiki.jsonl", "holds JSON; set corpus.source to jsonl"),
    ],
)
def test_files_that_are_no_text_are_refused(
    tmp_path: Path, source: str, name: str, message: str
) -> None:
    (tmp_path / name).write_text("text,label\na,1\n")
    kind = TextCorpus if source == "text" else JsonLinesCorpus
    for path in (tmp_path / name, tmp_path / "*"):
        with pytest.raises(ValueError, match=message) as error:
            fingerprint(kind(path=str(path)))
        assert "\n" not in str(error.value) and name in str(error.value)


def test_a_message_names_the_folder_of_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=rf"'no\.txt' matches no file in {tmp_path}"):
        fingerprint(TextCorpus(path="no.txt"))
    with pytest.raises(ValueError, match=r"matches no file$"):
        fingerprint(TextCorpus(path=str(tmp_path / "no.txt")))


def write_table(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


ROWS: list[dict[str, object]] = [
    {"text": "A b c. D e.", "grade": 3},
    {"text": "F.", "grade": 1},
    {"text": "", "grade": 4},
    {"text": "G h\ni.", "grade": 2},
]


def test_all_formats_give_the_same_documents(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", ROWS)
    write_table(tmp_path / "a.parquet", ROWS)
    whole = (tmp_path / "a.jsonl").read_bytes()
    with gzip.open(tmp_path / "b.jsonl.gz", "wb") as file:
        file.write(whole)
    with pa.output_stream(tmp_path / "c.jsonl.zst", compression="zstd") as file:
        file.write(whole)
    expected = [["A b c.", "D e."], ["F."], ["G h", "i."]]
    for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl.zst"):
        assert read(JsonLinesCorpus(path=str(tmp_path / name))) == expected
    assert read(ParquetCorpus(path=str(tmp_path))) == expected
    assert len(read(JsonLinesCorpus(path=str(tmp_path)))) == 3 * len(expected)


def test_all_frames_of_a_zstd_file_are_read(tmp_path: Path) -> None:
    """Several compressed files one after another are a compressed file."""
    for number in range(2):
        with pa.output_stream(tmp_path / f"{number}.part", compression="zstd") as file:
            file.write(f"Text {number}.\n\n".encode())
    parts = [path.read_bytes() for path in sorted(tmp_path.glob("*.part"))]
    (tmp_path / "a.txt.zst").write_bytes(b"".join(parts))
    assert read(TextCorpus(path=str(tmp_path))) == [["Text 0."], ["Text 1."]]
    (tmp_path / "a.txt.zst").write_bytes(b"".join(parts)[:-3])
    with pytest.raises(ValueError, match=r"a\.txt\.zst must be zstd and UTF-8 text, but"):
        read(TextCorpus(path=str(tmp_path)))


def test_documents_are_sorted_by_a_field_or_their_words(tmp_path: Path, mirror: Path) -> None:
    write_lines(tmp_path / "a.jsonl", ROWS)
    by_grade = [["F."], ["G h", "i."], ["A b c.", "D e."]]
    corpus = JsonLinesCorpus(path=str(tmp_path / "a.jsonl"), sort_by="grade")
    assert read(corpus) == by_grade
    write_table(mirror / "some/rows/plain/train-0.parquet", ROWS)
    assert read(HubCorpus(path="some/rows", config="plain", sort_by="grade")) == by_grade
    assert read(corpus.model_copy(update={"sort_by": "num_words"})) == by_grade
    with pytest.raises(ValueError, match=r"a\.jsonl:1: .*a value of 'level' .*has text, grade"):
        read(corpus.model_copy(update={"sort_by": "level"}))
    with pytest.raises(ValueError, match=r"sort_by must be a column .*'level': it has text, grade"):
        read(HubCorpus(path="some/rows", config="plain", sort_by="level"))
    write_lines(tmp_path / "a.jsonl", [*ROWS, {"text": "J.", "grade": "high"}])
    with pytest.raises(ValueError, match="sort_by must be a field of numbers or of text alone"):
        read(corpus)
    write_lines(tmp_path / "a.jsonl", [*ROWS, {"text": "J.", "grade": math.nan}])
    with pytest.raises(ValueError, match=r"a\.jsonl:5: .*a value of 'grade' .*has NaN there"):
        read(corpus)
    with pytest.raises(ValidationError, match="sort_by must be 'num_words'"):
        TextCorpus(path="a.txt", sort_by="grade")


def test_a_size_bounds_what_is_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"text": "x" * 400}] * 10)
    corpus = JsonLinesCorpus(path=str(tmp_path), max_bytes=1_000)
    assert len(read(corpus)) == 3
    assert expected_bytes(corpus) == 1_000
    assert expected_bytes(corpus.model_copy(update={"max_bytes": 10**6})) == 10 * 413
    assert expected_bytes(corpus.model_copy(update={"steps": ({"kind": "normalise"},)})) == 1_000


@pytest.mark.skipif(
    "HARNESS_DATA" not in os.environ, reason="HARNESS_DATA names no folder of mirrors"
)
def test_a_stream_has_the_documents_of_the_fetched_copy() -> None:
    fetched = HubCorpus(path="Salesforce/wikitext", config="wikitext-2-v1", max_documents=100)
    streamed = HubCorpus.model_validate({**fetched.model_dump(), "streaming": True})
    assert read(streamed) == read(fetched)


@pytest.mark.skipif(find_spec("zstandard") is not None, reason="zstandard is installed")
def test_a_stream_that_needs_a_package_names_it(mirror: Path) -> None:
    file = mirror / "some" / "packed" / "train.jsonl.zst"
    file.parent.mkdir(parents=True)
    with pa.output_stream(str(file), compression="zstd") as stream:
        stream.write(b'{"text": "A sentence."}')
    with pytest.raises(ValueError, match="pip install zstandard"):
        read(HubCorpus(path="some/packed", streaming=True, max_documents=2))


def test_a_shuffled_stream_has_all_documents_in_an_order_of_its_seed(
    mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # datasets 5 sleeps at the end of each shuffled stream.
    monkeypatch.setattr("datasets.config.SLEEP_TIME_ON_THREADS_SHUTDOWN", 0, raising=False)
    for shard in range(3):
        rows: list[dict[str, object]] = [{"text": f"T{shard}{row}."} for row in range(20)]
        write_table(mirror / f"some/rows/plain/train-{shard}.parquet", rows)
    whole = HubCorpus(path="some/rows", config="plain", streaming=True, max_bytes=10_000)
    orders = [read(whole.model_copy(update={"shuffle_seed": seed})) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    unshuffled = read(whole)
    assert all(sorted(order) == sorted(unshuffled) for order in orders)
    assert unshuffled != orders[0]


def test_streaming_must_be_bounded() -> None:
    with pytest.raises(ValidationError, match="max_bytes or max_documents must bound"):
        HubCorpus(path="some/rows", streaming=True)
    with pytest.raises(ValidationError, match="sort_by must be null with streaming: true"):
        HubCorpus(path="some/rows", streaming=True, max_documents=9, sort_by="num_words")
    with pytest.raises(ValidationError, match="shuffle_seed must go with streaming: true"):
        HubCorpus(path="some/rows", shuffle_seed=0)
    assert HubCorpus(path="some/rows", streaming=False) == HubCorpus(path="some/rows")


def test_a_long_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.data.corpora.local_files.MAX_CHARACTERS", 1_000)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "' + "b" * 2_000)
    (tmp_path / "a.txt").write_text("a\n\n" + "word " * 100 + "\n" + "word\n" * 200)
    (tmp_path / "b.txt").write_text("a\n\n" + "word " * 1_000)
    write_table(tmp_path / "a.parquet", [{"text": "b" * 2_000}])
    for corpus, where in (
        (JsonLinesCorpus(path=str(tmp_path)), r"a\.jsonl:2"),
        (TextCorpus(path=str(tmp_path / "a.txt")), r"a\.txt"),
        (TextCorpus(path=str(tmp_path / "b.txt")), r"b\.txt:3"),
        (ParquetCorpus(path=str(tmp_path)), r"a\.parquet, row 1"),
    ):
        with pytest.raises(ValueError, match=where + r": a document must have at most 1,000 char"):
            read(corpus)


def test_a_file_that_vanishes_is_named(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{name}.\n\n")
    documents = read_documents(TextCorpus(path=str(tmp_path)))
    assert next(iter(documents)) == ["a.txt."]
    (tmp_path / "b.txt").unlink()
    with pytest.raises(ValueError, match=r"b\.txt must be UTF-8 text, but .*No such file"):
        list(documents)


def test_both_halves_of_a_character_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(r'{"text": "a \ud83d\ude00"}')
    assert read(JsonLinesCorpus(path=str(tmp_path))) == [["a \U0001f600"]]


def test_a_parquet_file_that_is_no_unicode_is_named(tmp_path: Path) -> None:
    buffers = pa.array([b"fine.", b"not \xff\xfe"], pa.binary()).buffers()
    text = pa.Array.from_buffers(pa.string(), 2, buffers)
    pq.write_table(pa.table({"text": text}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet must be a readable parquet file, but"):
        read(ParquetCorpus(path=str(tmp_path)))


def test_other_columns_of_a_parquet_file_are_not_read(tmp_path: Path) -> None:
    """Such as dates beyond Python's last year."""
    late = pa.array([2**61], pa.timestamp("us"))
    table = {"text": ["one."], "grade": [1], "crawled": late}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    corpus = ParquetCorpus(path=str(tmp_path))
    assert read(corpus) == [["one."]]
    assert read(corpus.model_copy(update={"sort_by": "grade"})) == [["one."]]


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", ROWS)
    whole = (tmp_path / "a.parquet").read_bytes()
    corpus = ParquetCorpus(path=str(tmp_path))
    for damaged in (b"", b"no parquet", whole[:-20]):
        (tmp_path / "a.parquet").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.parquet must be a readable parquet file, but"):
            read(corpus)
    (tmp_path / "a.parquet").write_bytes(whole)
    with pytest.raises(ValueError, match=r"row 1: .*text in 'body'.*it has text, grade"):
        read(corpus.model_copy(update={"text_field": "body"}))
