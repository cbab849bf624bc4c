"""Files of published tables: one clear line for each way in which a cell can be wrong."""

from pathlib import Path

import pytest

from harness.leaderboard.published import leaderboards_folder, printed, published_index
from harness.leaderboard.published_files import FILES, read_file, read_scores

HEAD = "system,task,split,metric,value,sd\n"


def test_the_shipped_files_pass() -> None:
    names = [file.stem for file in (leaderboards_folder() / "published").glob("*.csv")]
    assert set(names) == {*FILES, *published_index().index}
    assert all(len(printed(name)) for name in names)


def test_a_table_of_scores(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = "BERT,sst2,test,accuracy,93.5,\nBERT,x,test,masked_lm_loss,712,\nBERT,y,test,f1,-3,0.5\n"
    path.write_text(HEAD + rows)
    assert read_scores(path)["value"].tolist() == ["93.5", "712", "-3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"must be a CSV file in UTF-8, but: No columns to parse"),
        ("system,task,metric,value\n", r"must have the columns .* but lacks split"),
        (HEAD, "must have systems in its first column, and rows"),
        ("task,split,metric,value\nsst2,test,f1,3\n", "must have systems in its first column"),
        (HEAD + "BERT,sst2,test,accuracy,abc,\n", "row 1 must have a number of -100 to 100 as its"),
        (HEAD + "BERT,sst2,test,accuracy,8460,\n", "accuracy, but has '8460'"),
        (HEAD + "BERT,sst2,test,accuracy,nan,\n", "accuracy, but has 'nan'"),
        (HEAD + "BERT,sst2,test,accuracy,,\n", "accuracy, but has ''"),
        (HEAD + "BERT,x,test,masked_lm_loss,-1,\n", "a number of 0 or more as its masked_lm_loss"),
        (
            HEAD + "BERT,sst2,test,accuracy,84,-1\n",
            "must have a number of 0 to 100 as its sd",
        ),
        (HEAD + "BERT,a,test,f1,84,\n" * 2, "row 2 gives a value again: BERT, a, test, f1"),
        (HEAD + "B\x1b[31m,a,test,f1,84,\n", r"visible text in system, but has 'B\\x1b\[31m'"),
        ("system,da\tta,task,split,metric,value\nB,x,a,test,f1,84\n", r"column 2 must .*'da\\tta'"),
        (HEAD + f"B,a,test,{'f' * 999},x,\n", r"as its f{80}, but has 'x'$"),
        (HEAD + "ELMo, base,sst2,test,f1,84,1\n", "must be a CSV file in UTF-8, but: Length of"),
        (HEAD + '"B,a,test,f1,84,\n', "must be a CSV file in UTF-8, but: "),
    ],
)
def test_a_wrong_table(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_scores(path)
    assert str(caught.value).startswith(str(path)) and str(caught.value).isprintable()


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "index.csv"
    with pytest.raises(ValueError, match="No such file"):
        read_file(path)
    path.write_bytes(b"table\n\xff\n")
    with pytest.raises(ValueError, match="must be a CSV file in UTF-8"):
        read_file(path)
    path.write_text("table,kind\na,b\n")
    with pytest.raises(ValueError, match="but lacks title, citation"):
        read_file(path, FILES["index"])
