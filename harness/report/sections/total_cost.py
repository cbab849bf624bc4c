"""What the experiment cost: one line, and a section with the cost of each arm."""

from harness.analysis.frames.costs import ALL_ARMS, total_costs
from harness.analysis.results import Results
from harness.leaderboard.text_tables import TextTable
from harness.models.flops import FLOPS_CONVENTION
from harness.plan.corpora import corpus_lines
from harness.report.arm_tables import time
from harness.report.layout import Section
from harness.report.sections.curves import hours
from harness.report.sections.pretraining import pretraining_table

NOTES = (
    "Tokens and planned FLOPs of pretraining, and hours of computation, summed over all finished "
    "stages and seeds. Stages that arms share count for each of them, and once for all arms. "
    "Stages computed in parallel add up, so the run took fewer hours. Hours depend on the machine.",
    f"FLOPs are counted as follows: {FLOPS_CONVENTION}.",
)
TRIALS_NOTE = (
    "Trials of the search of pretraining settings count in hours alone: tokens and FLOPs are those "
    "of the reported runs."
)


def cost_line(results: Results) -> str:
    """Tokens, FLOPs and hours of the whole experiment."""
    spent = results.get(total_costs).loc[ALL_ARMS]
    return (
        f"{spent['tokens']:,.0f} pretraining tokens, {spent['flops']:.2e} FLOPs of pretraining, "
        f"{spent['hours']:.2f} hours of computation"
    )


def total_cost_section(results: Results) -> Section:
    """The cost of each arm."""
    tables = {
        "": _totals(results),
        "One pretraining seed, as planned": pretraining_table(results),
        "Seconds by kind of stage, without tokenization": time(results),
    }
    read = [f"{line}." for line in corpus_lines(results.plan)]
    tuned = [TRIALS_NOTE] if results.experiment.sweep.pretrain else []
    return Section("Cost", (*NOTES, *tuned, *read), hours(results), tables)


def _totals(results: Results) -> TextTable:
    spent = results.get(total_costs)
    rows = [
        [str(arm), f"{one['tokens']:,.0f}", f"{one['flops']:.2e}", f"{one['hours']:.2f}"]
        for arm, one in spent.iterrows()
        if arm != ALL_ARMS or len(spent) > 2
    ]
    return TextTable(["arm", "pretraining tokens", "FLOPs of pretraining", "hours"], rows)
