"""The written report: complete, equal for equal data, safe, and without anything from outside."""

import re
from collections import Counter
from html.parser import HTMLParser

import pandas as pd
import pytest
import yaml

from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.multiple_testing import benjamini_hochberg
from harness.report.difference_tables import interval, p_cell
from harness.report.page import write_report

FILES = {
    "index.html",
    "README.md",
    "leaderboard.csv",
    "leaderboard.md",
    "differences.csv",
    "verdicts.csv",
    "scores.csv",
    "stages.csv",
    "experiment.yaml",
    "loss.svg",
    "averages.svg",
    "differences.svg",
    "seeds.svg",
}
FIGURES = {name for name in FILES if name.endswith(".svg")}
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Checks nesting and collects ids, links and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.text = [], [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.note(attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.note(attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def note(self, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href"):
                self.links.append(value)


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def data(fabricate):
    return fabricate({"good": 0.95, "bad": 0.6}, expect=[("good", "bad")])


@pytest.fixture(scope="module")
def report(data, tmp_path_factory):
    """The folder of the report of `data`; not to be changed."""
    folder = tmp_path_factory.mktemp("report")
    write_report(data, folder)
    return folder


def test_a_report_has_all_its_files_and_parts(data, tmp_path):
    write_report(data.but(threats=["The machine was warm."]), tmp_path / "new" / "folder")
    files = read(tmp_path / "new" / "folder")
    assert files.keys() == FILES
    for name in ("index.html", "README.md"):
        text = files[name].decode()
        for part in (
            "Is good better?",
            "Nobody 2020",
            "confirmed",
            "BERT_BASE",
            "pretrain.recipe",
            "3.00e+12",
            "matrix products only",
            "have 3 pretraining seeds.",
            "The machine was warm.",
            "harness run made-up.yaml",
            "mean_of_columns",
            "Cost: 6,000,000 pretraining tokens, 1.20e+13 FLOPs",
            "Threats to validity",
        ):
            assert part in text, (name, part)
    assert "| pooling | cls |" in files["README.md"].decode()


def test_files_of_an_earlier_report_that_this_one_lacks_are_removed(data, fabricate, tmp_path):
    (tmp_path / "decisions.csv").write_text("mine")  # no report is there yet
    (tmp_path / "notes.md").write_text("mine")
    write_report(data, tmp_path)
    assert (tmp_path / "verdicts.csv").exists() and (tmp_path / "decisions.csv").exists()
    write_report(fabricate({"good": 0.95, "bad": 0.6}), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == FILES - {"verdicts.csv"} | {"notes.md"}


def test_files_that_are_of_no_report_are_not_overwritten(data, tmp_path):
    for name in ("experiment.yaml", "README.md"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(ValueError, match=f"has no report, but a file {name}"):
            write_report(data, tmp_path)
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "mine"}
        (tmp_path / name).unlink()


def test_a_report_whose_writing_was_interrupted_is_written_again(data, tmp_path, monkeypatch):
    """After any of its files, as by a kill."""
    total = len(FILES)
    for number in (1, 2, total - 1):
        out = tmp_path / str(number)
        written = []

        def write(path, text, written=written, number=number):
            if len(written) == number:
                raise KeyboardInterrupt
            written.append(path)
            path.write_text(text)

        with monkeypatch.context() as patch:
            patch.setattr("harness.report.page.write_atomically", write)
            with pytest.raises(KeyboardInterrupt):
                write_report(data, out)
        assert len(list(out.iterdir())) == number
        write_report(data, out)
        assert {path.name for path in out.iterdir()} >= FILES


def test_equal_data_gives_equal_bytes(data, report, tmp_path):
    write_report(data, tmp_path)
    assert read(tmp_path) == read(report)


def test_times_are_only_in_the_line_and_section_on_cost_and_in_the_provenance(
    data, report, tmp_path
):
    costs, totals = data.costs.assign(seconds=99.0), data.totals.assign(hours=77.0)
    write_report(data.but(costs=costs, totals=totals, provenance={"date": "today"}), tmp_path)
    one, two = read(report), read(tmp_path)
    assert {name for name in FILES if one[name] != two[name]} == {"index.html", "README.md"}
    for name in ("index.html", "README.md"):
        texts = [files[name].decode() for files in (one, two)]
        assert "77.00 hours" in texts[1]
        before = [re.sub(r"Cost: .* hours of", "", text) for text in texts]
        before = [re.split(r"<summary><(?:b|h2)>Cost</", text)[0] for text in before]
        assert before[0] == before[1] and len(before[0]) < len(texts[0])


def folded_titles(text):
    """Titles of the folded parts, from either format."""
    return re.findall(r"<summary><(?:b|h2)>(.*?)</(?:b|h2)></summary>", text)


def test_the_first_screen_has_question_answer_table_figure_and_cost(report):
    for name in ("index.html", "README.md"):
        text = (report / name).read_text()
        first = text.partition("<summary>")[0]
        for part in ("Is good better?", "confirmed", "points", "95 % interval", "good"):
            assert part in first, (name, part)
        for part in ("Benjamini", "pretrain.recipe", "2-sided"):
            assert part not in first, (name, part)
        titles = folded_titles(text)
        assert {"Differences", "Threats to validity", "Protocol", "Cost", "Downloads"} <= {*titles}
        assert len(titles) == len({*titles})
    readme = (report / "README.md").read_text()
    assert readme.count("![", 0, readme.index("<details>")) == 1
    assert readme.count("<details>") == readme.count("</details>")
    assert not re.search(r"</summary>\n[^\n]", readme)  # GitHub needs an empty line before a table


def test_runs_and_keys_are_downloads_only(data, report):
    for name in ("index.html", "README.md"):
        assert "good-sst2-0-0" not in (report / name).read_text()
    scores = pd.read_csv(report / "scores.csv")
    assert {*scores["key"]} == {*data.scores["key"]} and {*scores["pretrain_fraction"]} == {1.0}
    stages = pd.read_csv(report / "stages.csv")
    assert stages["finished"].all() and {*stages["key"]} == {*data.plan.stages}
    assert yaml.safe_load((report / "experiment.yaml").read_text())["arms"].keys() == {
        "good",
        "bad",
    }
    links = Page((report / "index.html").read_text()).links
    assert {link for link in links if not link.startswith(("#", "data:"))} == FILES - FIGURES - {
        "index.html",
        "README.md",
    }


def test_the_page_is_well_formed_and_needs_nothing_from_outside(report):
    text = (report / "index.html").read_text()
    page = Page(text)
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    links = set(page.links) - {"data:,"}  # an icon of nothing, or a browser asks for one
    assert all(link.startswith("#") or (report / link).is_file() for link in links)
    assert {link[1:] for link in links if link.startswith("#")} <= set(page.ids)
    assert {name[1:] for name in re.findall(r"url\((#[^)]+)\)", text)} <= set(page.ids)
    assert "<script" not in text


def test_hostile_text_stays_text(fabricate, tmp_path):
    evil = "<script>alert(1)</script>|`$x$"
    data = fabricate({evil: 0.9, "bad": 0.6}, expect=[(evil, "bad")])
    data = data.but(
        question=evil,
        source=evil,
        threats=[evil],
        provenance={evil: {evil: evil}, "spec": evil},
        differences={evil: {evil: evil}},
    )
    write_report(data, tmp_path)
    assert "<script" not in (tmp_path / "index.html").read_text()
    assert "alert(1)" in Page((tmp_path / "index.html").read_text()).text
    readme = (tmp_path / "README.md").read_text()
    assert "<script>" not in readme.replace("\\<script>", "")


def test_values_that_differ_are_written_in_words(data, tmp_path):
    phases = ({"share": 0.9, "length": 128}, {"share": 0.1, "length": 512})
    values = {"pretrain.phases": {"good": phases, "bad": None}}
    write_report(data.but(differences=values), tmp_path)
    line = "| pretrain.phases | share 0.9, length 128; share 0.1, length 512 | – |"
    assert line in (tmp_path / "README.md").read_text()


def test_differences_are_written_as_numbers(report):
    frame = pd.read_csv(report / "differences.csv")
    assert frame["column"].tolist() == ["sst2", "stsb", "mrpc", "average"]
    last = frame.iloc[-1]
    assert (last["first"], last["second"], last["expected"]) == ("good", "bad", True)
    assert last["low"] < last["difference"] < last["high"]
    assert 0 < last["p_value"] == last["p_holm"] < 0.001  # in digits, however small
    assert frame["p_holm"].notna().tolist() == [False, False, False, True]
    columns, average = frame["p_value"][:3], frame["p_value"][3:]
    adjusted = [*benjamini_hochberg(columns), *average]
    assert frame["p_benjamini_hochberg"].to_numpy() == pytest.approx(adjusted, rel=1e-3)


def test_threats_name_lost_and_constant_runs(data, tmp_path):
    def stuck(key):
        frame = data.predictions(key)
        return frame.assign(prediction=1.0) if key == "bad-sst2-0-0" else frame

    results = data.scores[data.scores["key"] != "bad-stsb-1-1"]
    write_report(data.but(scores=results, predictions=stuck), tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert "bad lacks scores: stsb (1 of 6)" in text
    assert "bad on sst2 (1)" in text


@pytest.mark.parametrize("skills", [{"only": 0.8}, {f"arm{i}": 0.8 for i in range(9)}])
def test_one_arm_and_many_arms(fabricate, skills, tmp_path):
    data = fabricate(skills, seeds=(1, 1))
    write_report(data, tmp_path)
    assert "these checkpoints only" in (tmp_path / "README.md").read_text()
    for name in ("README.md", "index.html"):
        is_alone = "No two arms have results to compare." in (tmp_path / name).read_text()
        assert is_alone == (len(skills) == 1), name


def test_an_experiment_without_any_result_still_has_a_report(data, tmp_path):
    empty = data.but(
        scores=data.scores.iloc[:0], curves=data.curves.iloc[:0], costs=data.costs.iloc[:0]
    )
    write_report(empty, tmp_path)
    assert "inconclusive" in (tmp_path / "README.md").read_text()
    assert read(tmp_path).keys() == FILES - FIGURES - {"scores.csv"}


def test_an_interval_without_width_around_zero_is_in_words():
    assert interval(Difference(0.0, 0.0, 0.0, 1.0)) == "equal in every run"
    assert interval(Difference(0.0, -0.01, 0.01, 1.0)) == "−0.0 to +0.0"
    assert [p_cell(value) for value in (None, 0.0004, 0.05)] == ["–", "< 0.001", "0.050"]
