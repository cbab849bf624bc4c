"""The site: whole, equal for equal stores, safe, and without anything from outside."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from shutil import copytree
from urllib.parse import unquote, urljoin, urlsplit

import pandas as pd
import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.core.files import DRAFT
from harness.leaderboard.boards import store_board
from harness.leaderboard.published import published_index
from harness.report.site import build
from harness.report.site.build import build_site
from harness.report.site.publish import MARK
from harness.store.store import Store
from tests.filled_store import EVIL, fill
from tests.paths import ROOT

QUICKSTART = str(ROOT / "experiments" / "quickstart.yaml")
DISAGREEMENTS = ["disagreements", QUICKSTART, "--task", "micro-sst2", "--arms", "bert", "roberta"]
VOID = {"meta", "br", "link", "input"}


class Page(HTMLParser):
    """Checks nesting; collects ids, links, tables and text."""

    def __init__(self, path):
        super().__init__()
        self.open, self.ids, self.links, self.named, self.text = [], [], [], [], ""
        self.heads = []
        self.feed(path.read_text(encoding="utf-8"))
        assert not self.open

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("src", "href") if name in given]
        self.named += [
            given[name] for name in ("for", "aria-labelledby", "aria-describedby") if name in given
        ]
        if tag == "th":
            self.heads.append(given.get("scope"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return fill(tmp_path_factory.mktemp("filled"))


@pytest.fixture(scope="module")
def site(store, tmp_path_factory) -> Path:
    return build_site(store, tmp_path_factory.mktemp("site") / "out").parent


def pages(site):
    return [path for path in sorted(site.rglob("*.html")) if "reports" not in path.parts]


def files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_every_board_report_and_published_table_has_a_page(site):
    found = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert found == {
        "index.html",
        "leaderboards/swag-v1.html",
        "reports/one/index.html",
        *(f"published/{name}.html" for name in published_index().index),
    }
    index = Page(site / "index.html")
    for part in ("SWAG", "one", "two", "no report yet", "Is ", "T5 model sizes"):
        assert part in index.text
    assert "reports/one/index.html" in index.links


def test_a_suite_that_no_experiment_declares_is_marked_as_without_a_board(tmp_path):
    store = fill(tmp_path / "store")
    for name, suite in {"alone": "mine-v1", "one": "swag-v1"}.items():
        left = store.experiments()["one"]
        folder = tmp_path / name
        copytree(left, folder)
        results = pd.read_parquet(left / "results.parquet").assign(suite=suite, experiment=name)
        results.to_parquet(folder / "results.parquet")
        store.record_experiment(name, suite, folder)
    site = build_site(store, tmp_path / "site").parent
    text = " ".join(Page(site / "index.html").text.split())
    assert text.count("unknown suite, no leaderboard") == 1
    assert "mine-v1 unknown suite" in text and "swag-v1 unknown suite" not in text
    assert not (site / "leaderboards" / "mine-v1.html").exists()


def test_every_page_is_sound_and_every_link_leads_somewhere(site):
    for path in pages(site):
        page = Page(path)
        assert [name for name, count in Counter(page.ids).items() if count > 1] == []
        assert set(page.named) <= set(page.ids), path
        assert page.heads and set(page.heads) <= {"col", "row", "rowgroup"}, path
        for link in page.links:
            if link == "data:,":  # no icon, and no request for one
                continue
            target = urlsplit(urljoin(path.as_uri(), link))
            assert target.scheme == "file", link
            assert Path(unquote(target.path)).is_file(), link
            assert not target.fragment or target.fragment in page.ids


def test_a_report_leads_back_to_the_first_page(site, store):
    page = site / "reports" / "one" / "index.html"
    (link,) = Page(page).links
    assert (page.parent / link).resolve() == (site / "index.html").resolve()
    assert "<nav" not in (store.root / "reports" / "one" / "index.html").read_text()


def test_nothing_comes_from_outside(site):
    for path in [*pages(site), *site.glob("*.css"), *site.glob("*.js")]:
        text = path.read_text().replace("url(#", "")  # parts of a figure
        assert "url(" not in text and "@import" not in text and "fetch(" not in text
        assert 'src="http' not in text and 'href="http' not in text


def test_names_of_users_stay_text(site):
    for path in (site / "index.html", site / "leaderboards" / "swag-v1.html"):
        assert EVIL not in path.read_text()
        assert EVIL in Page(path).text or EVIL in path.read_text().replace("&lt;", "<").replace(
            "&gt;", ">").replace("&#34;", '"')  # fmt: skip


def test_a_board_has_facets_costs_and_every_difference(site, store):
    page = site / "leaderboards" / "swag-v1.html"
    text = page.read_text()
    data = json.loads(re.search(r'<script type="application/json".*?>(.*?)</script>', text)[1])
    assert data["rows"][0] in ("one: good", "two: alike")
    assert f"one: {EVIL}" in data["rows"]
    assert 'data-family="bert" data-size="nano" data-budget="1,000 tokens"' in text
    assert '<select name="size"' in text and '<select name="family"' not in text  # all are bert
    assert "FLOPs of pretraining" in text
    board = store_board("swag-v1", store)
    names = [column.name for column in board.table.columns]  # the average would be the same
    for name, lines in zip(names, data["differences"].values(), strict=True):
        assert [line[:2] for line in lines] == [[0, 1], [0, 2], [1, 2]]
        for i, j, *numbers in lines:
            found = board.compared(data["rows"][i], data["rows"][j])[name]
            assert numbers[:3] == pytest.approx([found.estimate, found.low, found.high], abs=1e-4)
    assert set(data["bibtex"]) >= {"suite", "one", "two"}
    assert r"title = {Is \textless{}script\textgreater{}alert" in data["bibtex"]["one"]


def test_equal_stores_give_equal_bytes_and_a_site_is_written_anew(store, site, tmp_path):
    out = tmp_path / "again"
    build_site(store, out)
    with (out / MARK).open("a") as mark:
        mark.write("reports/gone/index.html\n")
    (out / "reports" / "gone").mkdir()
    (out / "reports" / "gone" / "index.html").write_text("of an older site")
    build_site(store, out)
    assert files(out) == files(site)
    assert not (out / "reports" / "gone").exists()


def test_other_files_are_left_alone(store, tmp_path):
    out = tmp_path / "pages"
    build_site(store, out)
    mine = [".git/HEAD", "CNAME", "reports/one/notes.txt", "leaderboards/mine.html"]
    for name in mine:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("mine")
    outside = tmp_path / "thesis.tex"
    outside.write_text("mine")
    with (out / MARK).open("a") as mark:
        mark.write(f"../thesis.tex\n{outside}\n..\n.git\n")
    build_site(store, out)
    assert [(out / name).read_text() for name in mine] == ["mine"] * 4
    assert outside.read_text() == "mine"


def test_a_folder_with_other_files_is_refused(store, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="must be new, empty or a site, but holds other files"):
        build_site(store, tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_a_site_stays_where_a_new_one_cannot_be_made(store, tmp_path):
    out = tmp_path / "site"
    build_site(store, out)
    before = files(out)

    def interrupted(suites):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_site(store, out, interrupted)
    assert files(out) == before


def test_a_site_stays_where_a_report_cannot_be_copied(store, tmp_path, monkeypatch):
    out = tmp_path / "site"
    build_site(store, out)
    before = files(out)

    def failing(*_):
        raise OSError("disk full")

    monkeypatch.setattr(build, "_copy_reports", failing)
    for folder in (out, tmp_path / "new"):
        with pytest.raises(OSError, match="disk full"):
            build_site(store, folder)
    assert files(out) == before
    assert not (tmp_path / "new").exists()


def test_a_link_to_nowhere_in_a_report_is_passed_over(store, tmp_path):
    link = store.root / "reports" / "one" / "gone.svg"
    link.symlink_to("nowhere.svg")
    build_site(store, tmp_path / "site")
    link.unlink()
    assert (tmp_path / "site" / "reports" / "one" / "index.html").is_file()
    assert not (tmp_path / "site" / "reports" / "one" / "gone.svg").is_symlink()


def test_a_first_site_that_was_killed_is_made_again(store, site, tmp_path):
    (tmp_path / "out" / DRAFT).mkdir(parents=True)
    build_site(store, tmp_path / "out")
    assert files(tmp_path / "out") == files(site)


@pytest.mark.parametrize("command", [["site"], ["report", QUICKSTART], DISAGREEMENTS])
def test_a_file_is_no_folder_to_write_to(command, tmp_path, monkeypatch):
    for late in (
        "harness.study.Study.write_report",
        "harness.report.disagreements.answers.find_disagreements",
    ):
        monkeypatch.setattr(late, lambda *_: 1 / 0)  # nothing is computed before
    (tmp_path / "file").write_text("mine")
    arguments = [*command, "--out", str(tmp_path / "file"), "--store", str(tmp_path / "store")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "must be a new folder or a writable one, but is a file" in result.output
    assert (tmp_path / "file").read_text() == "mine"


def test_without_a_store_an_existing_site_is_kept(site, tmp_path):
    copytree(site, tmp_path / "site")
    arguments = ["site", "--out", str(tmp_path / "site"), "--store", str(tmp_path / "typo")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2 and "there is no store" in result.output
    assert files(tmp_path / "site") == files(site)


def test_the_command_writes_into_the_store_and_an_empty_store_has_a_site(tmp_path):
    result = CliRunner().invoke(app, ["site", "--store", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.output.strip().endswith("site/index.html")
    assert "None in the store yet." in (tmp_path / "site" / "index.html").read_text()
    for path in pages(tmp_path / "site"):
        Page(path)
