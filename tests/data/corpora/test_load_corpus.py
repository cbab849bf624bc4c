"""Documents from every kind of source, and fingerprints that follow the text and nothing else."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.data.corpora import CORPORA
from harness.data.corpora.load_corpus import fingerprint, read_documents, wikitext_articles
from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    JsonLinesCorpus,
    MicroworldCorpus,
    MixedCorpus,
    TextCorpus,
)

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
        (b'{"text": null}\n', r"a\.jsonl:1: "),
        (b'{"text": "\xff"}\n', "must be UTF-8 text"),
    ],
)
def test_damaged_jsonl_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(JsonLinesCorpus(path=str(tmp_path)))


@pytest.mark.parametrize(
    "content", [b"plain text", gzip.compress(b"A long text. " * 50, mtime=0)[:-20]]
)
def test_damaged_gzip_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt.gz").write_bytes(content)
    with pytest.raises(ValueError, match="must be gzip and UTF-8 text"):
        read(TextCorpus(path=str(tmp_path)))


def test_missing_files_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path, tmp_path / "*.txt"):
        with pytest.raises(ValueError, match=r"corpus\.path must name a \.txt"):
            fingerprint(TextCorpus(path=str(path)))


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
        ("jsonl", "train.parquet", "is a table"),
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
