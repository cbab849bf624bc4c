"""The end of a run in the terminal: verdicts and threats."""

from dataclasses import dataclass
from html import escape

from harness.analysis.results import Results
from harness.report.comparison import compared_arms, compared_table
from harness.report.difference_tables import claimed_figure, claimed_interval
from harness.report.expectations import claims
from harness.report.run_scores import all_run_scores
from harness.report.threats import findings
from harness.report.verdict import Verdict, judge


@dataclass(frozen=True)
class Summary:
    """What a report concludes."""

    verdicts: tuple[str, ...]
    """A line for each expected difference: whether it is confirmed, refuted or inconclusive, with
    the difference in its outcome and the interval."""
    threats: tuple[str, ...]
    """A sentence or two on each threat to validity that was found."""

    @property
    def _lists(self) -> dict[str, tuple[str, ...]]:
        parts = {"expected": self.verdicts, "threats to validity": self.threats}
        return {title: lines for title, lines in parts.items() if lines}

    def __str__(self) -> str:
        return "\n".join(
            line
            for title, lines in self._lists.items()
            for line in (f"{title}:", *(f"- {line}" for line in lines))
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return "".join(
            f"<p>{title}:</p><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
            for title, lines in self._lists.items()
        )


def summary(results: Results) -> Summary:
    """Verdicts and threats, as in the report.

    Raises:
        ValueError: runs of a task were scored on different examples.
    """
    table, pairs = results.get(compared_table)
    threats, _ = findings(results, table, pairs, results.get(all_run_scores))
    verdicts = (_line(judge(one)) for one in claims(results, results.get(compared_arms)))
    return Summary(tuple(verdicts), tuple(threats))


def _line(verdict: Verdict) -> str:
    claim = verdict.claim
    interval = f" ({known})" if (known := claimed_interval(claim)) else ""
    figures = f", {claimed_figure(claim)}{interval}" if claim.found else ""
    predicted = f"; {claim.predicted}" if claim.predicted else ""
    return f"{claim.expectation}: {verdict.word}{figures}; {verdict.reason}{predicted}"
