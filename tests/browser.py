"""Pages in a real browser: Chromium alone, with a script added to a copy of a page that does what a
person does and writes what it sees into the page."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium to show pages with")
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
const shownAt = async (width) => {  // in a frame: a window cannot be as narrow as a phone
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
"""`await shownAt(390)` is the page as it is at that width."""


def look(page: Path, script: str) -> dict[str, Any]:
    """What `script` returns in the page, which may have no error and say nothing on the console."""
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
