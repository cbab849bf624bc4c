"""The fuzzer that coverage guides: it finds failures, and reaches more of the harness with time."""

from pathlib import Path

import pytest

from benchmarks import fuzz_coverage, fuzz_target
from benchmarks.fuzz import FORMATS
from benchmarks.fuzz_coverage import COVERAGE, campaign, prepare


def test_valid_files_and_words_are_prepared(tmp_path: Path) -> None:
    prepare(FORMATS["published"], tmp_path)
    found = sorted((tmp_path / "corpus").iterdir())
    assert tuple(file.read_bytes() for file in found) == FORMATS["published"].valid
    words = (tmp_path / "words").read_text().splitlines()
    assert '"\\x2d\\x31"' in words and len(words) > 20  # -1
    assert all(word.isascii() and len(word) < 300 for word in words)


def test_coverage_is_read_from_what_the_fuzzer_prints() -> None:
    lines = "#3\tINITED cov: 33 ft: 40\n#9\tNEW    cov: 35 ft: 44\n#100\tDONE   cov: 41 ft: 60"
    assert COVERAGE.findall(lines) == ["33", "41"]


@pytest.mark.campaign  # the fuzzer instruments every module for seconds
def test_inputs_that_reach_more_are_found(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="it has no wheel for this machine")
    found, (valid, reached) = campaign("published", tmp_path, inputs=300, seed=1)
    assert found.total() >= 300 and found.keys() <= {"read", "refused"}
    assert reached > valid > 10
    assert not [*(tmp_path / fuzz_target.FAILED).iterdir()]


def test_a_fuzzer_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_coverage, "TARGET", "raise SystemExit('no libFuzzer here')")
    with pytest.raises(SystemExit, match="no libFuzzer here"):
        campaign("published", tmp_path, inputs=1, seed=1)
