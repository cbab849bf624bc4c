"""The site in a real browser: no error, sorted and searched by keyboard, sound at phone width."""

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
import yaml

from harness.report.site.build import build_site
from harness.store.recorded import SCORE_COLUMNS, SCORES_FILE, SPEC_FILE, recorded_experiments
from harness.tasks import SUITES, TASKS
from tests.browser import look, needs_chromium
from tests.filled_store import EVIL, fill

pytestmark = needs_chromium
NAMES = """const names = () => [...document.querySelectorAll("tbody tr.measured th")]
  .map((cell) => cell.textContent);"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    return build_site(fill(folder / "store"), folder / "out").parent


def test_a_board_is_sorted_by_its_heads(site):
    script = (
        NAMES
        + """
      const heads = [...document.querySelectorAll("thead th")];
      const score = heads.find((head) => head.textContent.startsWith("swag"));
      const before = names();
      score.querySelector("button").click();
      const down = [names(), score.getAttribute("aria-sort")];
      score.querySelector("button").click();
      const up = [names(), score.getAttribute("aria-sort")];
      heads[1].querySelector("button").click();
      const last = [...document.querySelectorAll("tbody tr")].map((row) => row.className);
      return { before, down, up, byName: names(), last,
               sorted: document.querySelectorAll("[aria-sort]").length };"""
    )
    seen = look(site / "leaderboards" / "swag-v1.html", script)
    assert seen["down"] == [seen["before"], "descending"]
    assert seen["up"] == [seen["before"][::-1], "ascending"]
    assert seen["byName"] == sorted(seen["before"])
    assert seen["sorted"] == 1
    assert f"one: {EVIL}" in seen["before"]
    measured = [name for name in seen["last"] if name in ("measured", "reference")]
    assert measured == sorted(measured)  # levels to read against stay below


def test_bounds_and_ranges_are_sorted_as_numbers(site):
    script = """
      const row = (text) => {
        const made = document.createElement("tr");
        made.insertCell().textContent = text;
        return made;
      };
      const rows = ["0.205", "< 0.001", "0.017", "0.001", "4", "1 to 3", "a to b"].map(row);
      rows.sort((a, b) => compare(value(a, 0), value(b, 0), 1));
      return { order: rows.map((one) => one.textContent) };"""
    seen = look(site / "leaderboards" / "swag-v1.html", script)
    order = ["< 0.001", "0.001", "0.017", "0.205", "1 to 3", "4", "a to b"]
    assert seen["order"] == order


def test_the_first_page_is_searched(site):
    script = """
      const field = document.getElementById("search");
      const shown = () => [...document.querySelectorAll(".listed tbody tr")]
        .filter((row) => row.offsetParent).length;
      const type = (words) => {
        field.value = words;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        return [shown(), document.getElementById("found").textContent];
      };
      const all = shown();
      return { all, arm: type("alike"), table: type("SUPERGLUE leader"), none: type("zzz"),
               again: type("")[0], visible: field.offsetParent !== null };"""
    seen = look(site / "index.html", script)
    assert seen["visible"]
    assert seen["arm"] == [2, "2 found"]  # the board that it stands on, and its experiment
    assert seen["table"] == [1, "1 found"]
    assert seen["none"] == [0, "0 found"]
    assert seen["again"] == seen["all"] == 23


def test_a_board_is_searched_and_keeps_what_scores_are_read_against(site):
    script = """
      const field = document.getElementById("search");
      field.value = "good";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      const shown = [...document.querySelectorAll("tbody tr")].filter((row) => row.offsetParent);
      const below = [...document.querySelectorAll(".listed tbody tr")]
        .filter((row) => !row.closest(".leaderboard"));
      return { arms: shown.filter((row) => row.className === "measured").length,
               signals: below.length > 0 && below.every((row) => row.offsetParent !== null),
               levels: shown.filter((row) => row.className === "reference").length,
               found: document.getElementById("found").textContent };"""
    seen = look(site / "leaderboards" / "swag-v1.html", script)
    assert seen == {"arms": 1, "signals": True, "levels": seen["levels"], "found": "1 found"}
    assert seen["levels"] > 0


def test_the_view_of_a_board_is_chosen_exported_and_kept_in_the_address(site):
    script = (
        NAMES
        + """
      const view = document.querySelector("form.view");
      const shown = () => names().filter((_, i) =>
        !document.querySelectorAll("tr.measured")[i].hidden).length;
      const changed = (one) => one.dispatchEvent(new Event("change", { bubbles: true }));
      const differences = () => [...document.querySelectorAll(".compared tbody tr")]
        .map((row) => [...row.cells].map((cell) => cell.textContent));
      const made = (format) => {
        document.querySelector(`[data-export=${format}]`).click();
        return document.getElementById("exported").value;
      };
      const all = shown();
      const size = view.elements.size;
      size.value = "nano";
      changed(size);
      const nano = shown();
      const column = [...view.querySelectorAll("[data-column]")].at(-1);
      column.checked = false;
      changed(column);
      const [first, second] = document.querySelectorAll("tr.measured:not([hidden])");
      first.click();
      second.querySelector("input").click();
      const there = differences();
      const state = location.hash;
      const texts = [made("CSV"), made("LaTeX"), made("BibTeX")];
      first.click();
      second.click();
      first.click();
      location.hash = "#size=tiny";
      await new Promise((done) => addEventListener("hashchange", done, { once: true }));
      const other = [shown(), differences().length];
      location.hash = state;
      await new Promise((done) => addEventListener("hashchange", done, { once: true }));
      return { all, nano, there, state, texts, other, back: [shown(), differences()] };"""
    )
    seen = look(site / "leaderboards" / "swag-v1.html", script)
    assert (seen["all"], seen["nano"]) == (3, 2)
    assert "size=nano" in seen["state"] and "hide=" in seen["state"]
    assert [line[0] for line in seen["there"]] == ["swag (acc)"]
    assert seen["there"][0][1].startswith("+") and " to +" in seen["there"][0][2]
    assert seen["other"] == [1, 0]
    assert seen["back"] == [2, seen["there"]]
    table, latex, bibtex = seen["texts"]
    rows = list(csv.reader(io.StringIO(table)))
    assert rows[0][:3] == ["rank", "arm", "swag (acc)"] and len({len(row) for row in rows}) == 1
    assert {row[1] for row in rows} >= {"one: good", f"one: {EVIL}"}
    assert "two: alike" not in table and "two" not in bibtex
    assert latex.count("&") == (len(rows[0]) - 1) * len(rows)
    assert "@misc{experiment-one," in bibtex


@pytest.fixture(scope="module")
def board_of_tasks(tmp_path_factory) -> Path:
    """The page of a board with several tasks, one of them with two columns."""
    folder = tmp_path_factory.mktemp("tasks")
    store = fill(folder / "store")
    one = recorded_experiments(store)[0]
    rows = [
        ("three", "good", "glue-v1", task, split.name, metric, 0.5, 0, 0, f"{task}-0")
        for task in SUITES["glue-v1"].tasks
        for split in TASKS[task].evaluation
        for metric in TASKS[task].metrics
    ]
    recorded = folder / "three"
    recorded.mkdir()
    pd.DataFrame(rows, columns=SCORE_COLUMNS).to_parquet(recorded / SCORES_FILE)
    (recorded / SPEC_FILE).write_text(yaml.safe_dump(one.spec))
    store.record_experiment("three", "glue-v1", recorded)
    return build_site(store, folder / "out").parent / "leaderboards" / "glue-v1.html"


def test_a_task_is_chosen_and_kept_in_the_address(board_of_tasks):
    script = """
      const radios = [...document.querySelectorAll(".tasks input")];
      const chosen = () => radios.filter((radio) => radio.checked).map((radio) => radio.value);
      const shown = () => [...document.querySelectorAll("thead")][0].rows[0].cells;
      const heads = () => [...shown()].filter((head) => !head.hidden)
        .map((head) => head.textContent.trim());
      const all = heads().length, first = chosen();
      radios.find((radio) => radio.value === "mnli").click();
      const mnli = heads(), state = location.hash, wide = (await shownAt(390)).scrollWidth;
      radios[0].click();
      const again = [heads().length, location.hash];
      location.hash = state;
      await new Promise((done) => addEventListener("hashchange", done, { once: true }));
      const linked = [chosen(), heads()];
      const box = [...document.querySelectorAll("[data-column]")][1];
      box.click();
      return { all, first, mnli, wide, again, linked, mixed: chosen(),
               visible: radios.every((radio) => radio.offsetParent),
               named: radios[1].labels[0].textContent.trim() };"""
    seen = look(board_of_tasks, script)
    assert seen["visible"] and seen["first"] == [""] and seen["named"] == "mnli"
    assert sum("mnli" in head for head in seen["mnli"]) == 2
    assert [head[:4] for head in seen["mnli"] if "mnli" not in head] == [
        "rank",
        "arm",
        "aver",
        "seed",
    ]
    assert seen["again"] == [seen["all"], ""] and seen["wide"] <= 390
    assert seen["linked"] == [["mnli"], seen["mnli"]]
    assert seen["mixed"] == []


def test_a_board_of_one_task_offers_no_choice(site):
    script = """
      const set = document.querySelector(".tasks");
      return { shown: set.offsetParent !== null, radios: set.querySelectorAll("input").length };"""
    seen = look(site / "leaderboards" / "swag-v1.html", script)
    assert (seen["shown"], seen["radios"]) == (False, 0)


@pytest.mark.parametrize(
    "page", ["index", "leaderboards/swag-v1", "published/superglue_leaderboard"]
)
def test_a_phone_shows_all_in_its_width_and_a_keyboard_reaches_it(site, page):
    script = """
      const kinds = "a, button, input, select, textarea, summary, [tabindex]";
      const reached = [...document.querySelectorAll(kinds)];
      return { hidden: reached.filter((one) => one.tabIndex < 0).length,
               skip: reached[0].getAttribute("href"),
               heads: document.querySelectorAll("thead th").length,
               buttons: document.querySelectorAll("thead th > button").length,
               wide: (await shownAt(390)).scrollWidth };"""
    seen = look(site / f"{page}.html", script)
    assert seen["wide"] <= 390
    assert seen["hidden"] == 0
    assert seen["skip"] == "#main"
    assert seen["buttons"] == seen["heads"] > 0
