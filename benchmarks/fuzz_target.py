"""The process of `fuzz_coverage.py` in which libFuzzer mutates and reads the files of a format."""

import os
import sys
from pathlib import Path

OUTCOMES, FAILED, INPUTS, CACHE = "outcomes.txt", "failed", "inputs", "cache"
"""A line of each input; folders of inputs that failed, of the input, and of caches of libraries."""


def main() -> None:
    """Reads inputs of a format until libFuzzer ends the process.

    Arguments of the command line: the format, a folder with the folders FAILED, INPUTS and CACHE,
    and those of libFuzzer.
    """
    import atheris

    program, name, place, *arguments = sys.argv
    folder = Path(place)

    with atheris.instrument_imports(include=["harness"]):  # so nothing may import it before
        from benchmarks import fuzz as formats
    formats.datasets.config.HF_DATASETS_CACHE = folder / CACHE
    os.chdir(folder / INPUTS)

    def read(content: bytes) -> None:
        for file in filter(Path.is_file, Path.cwd().iterdir()):
            file.unlink()
        result = formats.outcome(formats.FORMATS[name], content, Path.cwd())
        with (folder / OUTCOMES).open("a") as lines:
            lines.write(f"{result}\n")
        if result not in ("read", "refused"):
            number = sum(1 for _ in (folder / FAILED).iterdir())
            (folder / FAILED / str(number)).write_bytes(content)

    atheris.Setup([program, *arguments], read)
    atheris.Fuzz()
