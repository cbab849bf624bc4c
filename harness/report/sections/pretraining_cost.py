"""The section on what one pretraining seed costs."""

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.results import Results
from harness.leaderboard.cells import number_cell
from harness.leaderboard.text_tables import TextTable
from harness.models.flops import FLOPS_CONVENTION
from harness.report.layout import Section
from harness.report.sections.pretraining import shared_runs

PLANNED = "with the declared vocabulary size"
"""Fewer entries may be learned from a small corpus."""
FORMATS = {"parameters": "{:,.0f}", "tokens": "{:,.0f}", "flops": "{:.2e}"}


def pretraining_cost_section(results: Results) -> Section:
    """The planned cost of one pretraining seed, arm by arm."""
    notes = [f"FLOPs are counted as follows: {FLOPS_CONVENTION}."]
    return Section("Cost of one pretraining seed", notes, tables={"": pretraining_table(results)})


def pretraining_table(results: Results) -> TextTable:
    """Planned parameters, tokens and FLOPs of one pretraining seed; arms that share a pretraining
    run share a row."""
    costs = pretraining_costs(results)
    firsts = {name: arms[0] for name, arms in shared_runs(results).items()}
    others = {str(name): str(name) for name in costs.index if name not in results.arms}
    rows = [
        [name, *(number_cell(costs[key].get(arm), form) for key, form in FORMATS.items())]
        for name, arm in {**firsts, **others}.items()
    ]
    return TextTable(["arm", f"parameters ({PLANNED})", "tokens", f"FLOPs ({PLANNED})"], rows)
