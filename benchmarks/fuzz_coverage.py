"""Fuzzes the formats of `fuzz.py` guided by coverage: inputs that reach new code are mutated on.

    python benchmarks/fuzz_coverage.py [--inputs 2000] [--seed 1] [--formats all] [--keep FOLDER]

atheris, which is libFuzzer for Python, mutates the valid files of each format with the words of
`fuzz.py`, and counts the branches of `harness` that each takes. Prints a line for each format,
with the branches that the valid files and all inputs reach. Passes (exit 0) if no input failed;
those that did are kept in the folder.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.fuzz import FORMATS, PARTS, Format
from benchmarks.fuzz_target import CACHE, FAILED, INPUTS, OUTCOMES

TARGET = "from benchmarks.fuzz_target import main; main()"
LONGEST = 20_000
"""Bytes of an input."""
COVERAGE = re.compile(r"(?:INITED|DONE)\s+cov: (\d+)")


def prepare(one: Format, folder: Path) -> None:
    """Writes the valid files of a format, and the dictionary of words that are put into them."""
    for name in ("corpus", FAILED, INPUTS, CACHE):
        (folder / name).mkdir()
    for number, content in enumerate(one.valid):
        (folder / "corpus" / str(number)).write_bytes(content)
    escaped = ("".join(f"\\x{byte:02x}" for byte in part) for part in PARTS if len(part) < 64)
    (folder / "words").write_text("".join(f'"{word}"\n' for word in escaped))


def campaign(name: str, folder: Path, inputs: int, seed: int) -> tuple[Counter[str], list[int]]:
    """Fuzzes a format in a process of its own.

    Args:
        folder: an empty one.

    Returns:
        Outcome to number of inputs, and the branches that the valid files and all inputs reach.
    """
    prepare(FORMATS[name], folder)
    options = [f"-runs={inputs}", f"-seed={seed}", f"-max_len={LONGEST}", "-len_control=0"]
    options += ["-rss_limit_mb=0", "-timeout=60", f"-dict={folder / 'words'}"]
    command = [sys.executable, "-c", TARGET, name, str(folder), *options, str(folder / "corpus")]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    path = folder / OUTCOMES
    if done.returncode or not path.exists():
        sys.exit(f"{name}: the fuzzer ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return Counter(path.read_text().splitlines()), [*map(int, COVERAGE.findall(done.stderr))]


def main() -> None:
    """Prints a line for each format, and the inputs that failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=2_000, help="of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--keep", type=Path, help="folder of the inputs that failed")
    given = parser.parse_args()
    heads = ("inputs", "read", "refused", "failed", "coverage")
    print(f"{'format':12}" + "".join(f"{head:>10}" for head in heads))
    failed = 0
    for name in given.formats.split(","):
        with TemporaryDirectory() as folder:
            found, coverage = campaign(name, Path(folder), given.inputs, given.seed)
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                for file in (Path(folder) / FAILED).iterdir():
                    file.rename(given.keep / f"{name}-{file.name}")
        bad = {what: number for what, number in found.items() if what not in ("read", "refused")}
        counts = (found.total(), found["read"], found["refused"], sum(bad.values()))
        reached = " to ".join(str(one) for one in dict.fromkeys(coverage))
        print(f"{name:12}" + "".join(f"{one:>10}" for one in counts) + f"  {reached}", flush=True)
        for what, number in bad.items():
            print(f"  {number} x {what}")
        failed += sum(bad.values())
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
