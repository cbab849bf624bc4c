"""A report in a real browser: no error, nothing cut off, names of users stay text."""

from itertools import pairwise

import pytest

from harness.report.page import write_report
from tests.browser import look, needs_chromium

pytestmark = needs_chromium

EVIL = '<script>alert("1")</script>'
LONG = "learning_rate=0.0025/one_after_the_other/decaying"
QUESTION = "Is \"good\" <b>better</b> than 'bad'?"


@pytest.fixture(scope="module")
def page(fabricate, tmp_path_factory):
    skills = {"good": 0.9, EVIL: 0.6, LONG: 0.7, "another_arm_with_a_name": 0.5}
    folder = tmp_path_factory.mktemp("page")
    write_report(fabricate(skills, question=QUESTION, expect=[("good", EVIL)]), folder)
    return folder / "index.html"


def test_names_are_text_and_every_part_can_be_reached(page):
    script = """
      const all = (what) => [...document.querySelectorAll(what)];
      const opens = async (link) => {  // a link from outside opens the part that it leads to
        location.hash = link;
        await new Promise((done) => setTimeout(done, 100));
        return document.querySelector(link).checkVisibility();
      };
      return { title: document.querySelector("h1").textContent, bold: all("h1 b").length,
               arms: all("tr.measured th").map((cell) => cell.textContent),
               levels: all("h1, h2, h3").map((head) => Number(head.tagName[1])),
               open: all("details[open]").length, folds: all("details.part").length,
               opened: await opens("#threats-to-validity"),
               shown: document.querySelector("tr.measured").offsetParent !== null,
               unscoped: all("th:not([scope])").length,
               unnamed: all(".scroll:not([aria-label][tabindex])").length
                 + all("svg:not([aria-label] svg)").length };"""
    seen = look(page, script)
    assert seen["title"] == QUESTION
    assert seen["bold"] == 0
    assert {EVIL, LONG} <= set(seen["arms"])
    levels = seen["levels"]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert seen["open"] == 0 and seen["folds"] > 5
    assert seen["opened"] and seen["shown"]
    assert seen["unscoped"] == seen["unnamed"] == 0


def test_nothing_is_cut_off_on_phones_and_screens(page):
    script = """
      document.querySelectorAll("details").forEach((part) => { part.open = true; });
      const found = {};
      for (const width of [390, 1280]) {
        const page = await shownAt(width);
        const cut = [...page.querySelectorAll("svg")].flatMap((svg) => {
          const box = svg.getBoundingClientRect();
          return [...svg.querySelectorAll("text")].filter((text) => {
            const own = text.getBoundingClientRect();
            return own.left < box.left - 2 || own.right > box.right + 2
              || own.top < box.top - 2 || own.bottom > box.bottom + 2;
          }).map((text) => text.textContent);
        });
        const small = [...page.querySelectorAll("svg text")]
          .filter((text) => text.getBoundingClientRect().height < 9)
          .map((text) => text.textContent);
        found[width] = { wide: page.scrollWidth, cut, small };
        document.querySelector("iframe").remove();
      }
      return found;"""
    seen = look(page, script)
    for width in ("390", "1280"):
        assert seen[width]["wide"] <= int(width)
        assert seen[width]["cut"] == seen[width]["small"] == []
