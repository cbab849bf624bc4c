"""Files of CoNLL-2012, of invented sentences in its format."""

from pathlib import Path

import pytest

from harness.data import hub
from harness.data.conll2012 import rows
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples
from harness.tasks.preprocessing import PREPROCESSORS

REPOSITORY = "ontonotes/conll2012_ontonotesv5"
TEXT = """\
#begin document (toy_00); part 000
toy_00  0  0  Oda     NNP  (TOP(S(NP*)  -     -   -  Oda  (PERSON)  (ARG0*)  *        (0)
toy_00  0  1  wants   VBZ  (VP*         want  01  1  Oda  *         (V*)     *        -
toy_00  0  2  the     DT   (S(NP*       -     -   -  Oda  *         (ARG1*   (ARG1*   (1|(2
toy_00  0  3  tin     NN   *            -     -   -  Oda  *         *        *        2)
toy_00  0  4  cup     NN   *)           -     -   -  Oda  *         *        *)       1)
toy_00  0  5  mended  VBN  (VP*)))      mend  01  1  Oda  *         *)       (V*)     -
toy_00  0  6  .       .    *))          -     -   -  Oda  *         *        *        -

toy_00  0  0  Yes  UH  (TOP(INTJ*)  -  -  -  Bo  *  -
toy_00  0  1  .    .   *)           -  -  -  Bo  *  -

#end document
#begin document (toy_00); part 001
toy_00  1  0  She  PRP  (TOP(S(NP*)  -     -   -  -  *  (ARG1*)  (4)
toy_00  1  1  came VBD  (VP*)        come  01  1  -  *  (V*)     -
toy_00  1  2  .    .    *))          -     -   -  -  *  *        -

#end document
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror with one document in each split."""
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    for name in ("train", "development", "test"):
        place = f"conll-2012/v4/data/{name}/data/english/annotations/bc/toy/00"
        write(tmp_path / REPOSITORY / place / "toy_0000.v4_gold_conll", TEXT)
    return tmp_path / REPOSITORY


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_words_frames_and_mentions_are_as_annotated(folder: Path) -> None:
    (document,) = rows(folder, "train")
    assert document["document_id"] == "toy_00"
    first, second, third = document["sentences"]
    assert first["words"] == "Oda wants the tin cup mended .".split()
    assert first["srl_frames"] == [
        {"verb": "wants", "frames": "B-ARG0 B-V B-ARG1 I-ARG1 I-ARG1 I-ARG1 O".split()},
        {"verb": "mended", "frames": "O O B-ARG1 I-ARG1 I-ARG1 B-V O".split()},
    ]
    assert first["coref_spans"] == [[0, 0, 0], [2, 2, 3], [1, 2, 4]]
    assert second["srl_frames"] == [] and second["coref_spans"] == []
    assert (third["part_id"], third["coref_spans"]) == (1, [[4, 0, 0]])


def test_one_example_for_each_predicate(folder: Path) -> None:
    task = TASKS["ontonotes_srl"]
    for split in ("train", *task.evaluation):
        examples = load_examples(task, split)  # type: ignore[arg-type]
        assert len(examples) == 3
    assert examples.texts[1] == tuple("Oda wants the tin cup * mended * .".split())
    assert [task.labels[tag] for tag in examples.labels[1]] == (
        "O O B-ARG1 I-ARG1 I-ARG1 O B-V O O".split()
    )


def test_each_part_of_a_document_is_an_example(folder: Path) -> None:
    task = TASKS["ontonotes_coref"]
    for split in ("train", *task.evaluation):
        examples = load_examples(task, split)  # type: ignore[arg-type]
        assert examples.texts == [
            ("Oda wants the tin cup mended .", "Yes ."),
            ("She came .",),
        ]
    assert examples.labels.tolist() == [((0, 0, 0), (1, 2, 4), (2, 2, 3)), ((0, 0, 0),)]


def test_words_are_counted_over_sentences_and_repeated_mentions_dropped(folder: Path) -> None:
    sentence = {"part_id": 0, "words": ["It", "."], "coref_spans": [[3, 0, 0], [4, 0, 0]]}
    found = PREPROCESSORS["ontonotes_mentions"](
        {"document_id": ["a", "b"], "sentences": [[sentence] * 2, [sentence]]}
    )
    assert found["mentions"] == [[[3, 0, 0], [3, 2, 2]], [[3, 0, 0]]]
    assert found["sentences"] == [["It .", "It ."], ["It ."]]


def test_one_file_for_each_split_is_read_too(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        write(tmp_path / f"{name}.english.v4_gold_conll", TEXT)
    assert all(len(rows(tmp_path, split)) == 1 for split in ("train", "validation", "test"))


def test_other_languages_of_the_shared_task_are_left_out(folder: Path) -> None:
    other = TEXT.replace("toy_00", "other_00")
    place = "conll-2012/v4/data/train/data/chinese/annotations/bc/toy/00"
    write(folder / place / "other_0000.v4_gold_conll", other)
    write(folder / "train.arabic.v4_gold_conll", other)
    assert [one["document_id"] for one in rows(folder, "train")] == ["toy_00"]


def test_the_fingerprint_is_that_of_the_files(folder: Path) -> None:
    before = hub.fingerprint(REPOSITORY, "english_v4", None)
    write(next(folder.glob("**/*_gold_conll")), TEXT.replace("cup", "pan"))
    assert hub.fingerprint(REPOSITORY, "english_v4", None) != before


def test_a_document_twice_is_refused(folder: Path) -> None:
    write(folder / "conll-2012/v9/data/test/toy_0000.v9_gold_conll", TEXT)
    with pytest.raises(ValueError, match="has part 0 of toy_00, which another file"):
        hub.load(REPOSITORY, "english_v4", "test", None)


def test_a_line_of_another_length_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "train.v4_gold_conll", TEXT.replace("(ARG1*   (ARG1*", "(ARG1*"))
    with pytest.raises(ValueError, match=r"line 4: needs 14 columns, but has 13"):
        rows(tmp_path, "train")
    write(tmp_path / "train.v4_gold_conll", "#begin document (x); part 000\nx 0 0 Oda\n")
    with pytest.raises(ValueError, match="line 2: needs 12 columns, but has 4"):
        rows(tmp_path, "train")


def test_a_missing_split_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "train.v4_gold_conll", TEXT)
    with pytest.raises(ValueError, match=r"no English file \*development\* or \*dev\*"):
        rows(tmp_path, "validation")
    with pytest.raises(ValueError, match="the splits are train, validation, test"):
        rows(tmp_path, "dev2")


def test_an_unknown_label_is_refused(folder: Path) -> None:
    for file in folder.glob("**/*_gold_conll"):
        write(file, TEXT.replace("(ARG0*)", "(ARG9*)"))
    with pytest.raises(ValueError, match=r"the labels of ontonotes_srl must be .* one is 'B-ARG9'"):
        load_examples(TASKS["ontonotes_srl"], "train")
