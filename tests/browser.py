"""Pages in a real browser: Chromium runs a script in a copy of the page, which acts as a user and
writes what it finds into the page."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")
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
IN_A_FRAME = """
const shownAt = async (width) => {  // a window cannot be as narrow as a phone
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 800px; border: 0`;
  const page = document.documentElement.outerHTML.replace(/<script[^]*?<\\/script>/g, "");
  frame.srcdoc = "<!doctype html>" + page;
  const loaded = new Promise((done) => frame.addEventListener("load", done));
  document.body.append(frame);
  await loaded;
  return frame.contentDocument.documentElement;
};
"""
"""`await shownAt(390)` is the page at that width in pixels."""


def look(page: Path, script: str) -> dict[str, Any]:
    """The object that `script` returns in the page; errors and console output fail the test."""
    text = page.read_text()
    start = f"<head><script>{PRELUDE}</script>"
    end = f"<script>{PROBE % (IN_A_FRAME + script)}</script></body>"
    copy = page.with_name(f"probed-{page.name}")
    copy.write_text(end.join(text.replace("<head>", start, 1).rsplit("</body>", 1)))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-extensions"]
    command += ["--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom"]
    run = subprocess.run(
        [*command, copy.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    copy.unlink()
    assert "CONSOLE" not in run.stderr, run.stderr
    (seen,) = re.findall(r'<pre id="seen">(.*?)</pre>', run.stdout, re.S)
    found: dict[str, Any] = json.loads(html.unescape(seen))
    assert found.pop("errors") == []
    return found
