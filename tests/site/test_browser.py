"""The site in a real browser: no error, sorted and searched by keyboard, sound at phone width.

Chromium alone, with a script added to a copy of a page that does what a person does and writes what
it sees into the page."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.site import build_site
from tests.filled_store import EVIL, fill

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium to show pages with")

PRELUDE = """
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message ?? event.target.src)), true);
"""
PROBE = """
addEventListener("load", async () => {
  const seen = await (async () => { %s })();
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify({ ...seen, errors });
  document.body.append(note);
});
"""
NAMES = """const names = () => [...document.querySelectorAll("tbody tr.measured th")]
  .map((cell) => cell.textContent);"""

PHONE = """
const widthAt = async (width) => {  // in a frame: a window cannot be as narrow as a phone
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; border: 0`;
  const page = document.documentElement.outerHTML.replace(/<script[^]*?<\\/script>/g, "");
  frame.srcdoc = "<!doctype html>" + page;
  const loaded = new Promise((done) => frame.addEventListener("load", done));
  document.body.append(frame);
  await loaded;
  return frame.contentDocument.documentElement.scrollWidth;
};"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    return build_site(fill(folder / "store"), folder / "out").parent


def look(page: Path, script: str) -> dict:
    """What `script` returns in the page."""
    text = page.read_text()
    start = f"<head><script>{PRELUDE}</script>"
    end = f"<script>{PROBE % script}</script></body>"
    copy = page.with_name(f"probed-{page.name}")
    copy.write_text(text.replace("<head>", start).replace("</body>", end))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-extensions"]
    command += ["--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom"]
    run = subprocess.run(
        [*command, copy.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    copy.unlink()
    assert "CONSOLE" not in run.stderr, run.stderr
    (seen,) = re.findall(r'<pre id="seen">(.*?)</pre>', run.stdout, re.S)
    found = json.loads(html.unescape(seen))
    assert found.pop("errors") == []
    return found


def test_a_board_is_sorted_by_its_heads(site):
    script = (
        NAMES
        + """
      const heads = [...document.querySelectorAll("thead th")];
      const average = heads.find((head) => head.textContent.startsWith("average"));
      const before = names();
      average.querySelector("button").click();
      const down = [names(), average.getAttribute("aria-sort")];
      average.querySelector("button").click();
      const up = [names(), average.getAttribute("aria-sort")];
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
    assert seen["again"] == seen["all"] == 22


@pytest.mark.parametrize(
    "page", ["index", "leaderboards/swag-v1", "published/superglue_leaderboard"]
)
def test_a_phone_shows_all_in_its_width_and_a_keyboard_reaches_it(site, page):
    script = """
      const reached = [...document.querySelectorAll("a, button, input, [tabindex]")];
      return { hidden: reached.filter((one) => one.tabIndex < 0).length,
               skip: reached[0].getAttribute("href"),
               heads: document.querySelectorAll("thead th").length,
               buttons: document.querySelectorAll("thead th > button").length,
               wide: await widthAt(390) };"""
    seen = look(site / f"{page}.html", PHONE + script)
    assert seen["wide"] <= 390
    assert seen["hidden"] == 0
    assert seen["skip"] == "#main"
    assert seen["buttons"] == seen["heads"] > 0
