"""The folded sections of a report between its standard parts and the provenance, in their order."""

from collections.abc import Callable

from harness.analysis.results import Results
from harness.report.layout import Section
from harness.report.sections.adaptation import (
    adaptation_cost_section,
    changed_words_section,
    forgetting_section,
    label_count_section,
    layer_section,
)
from harness.report.sections.cost import cost_section
from harness.report.sections.curves import learning_section, loss_section
from harness.report.sections.decisions import decision_section
from harness.report.sections.pretrain_search import pretrain_search_section
from harness.report.sections.pretraining import continued_pretraining_section
from harness.report.sections.probes import probe_section
from harness.report.sections.protocol import protocol_section, vocabulary_section
from harness.report.sections.run_spread import spread_section
from harness.report.sections.search import chosen_section, search_section
from harness.report.sections.total_cost import total_cost_section
from harness.report.sections.transfer import transfer_section

SECTIONS: tuple[Callable[[Results], Section | None], ...] = (
    protocol_section,
    pretrain_search_section,
    chosen_section,
    vocabulary_section,
    cost_section,
    learning_section,
    decision_section,
    loss_section,
    transfer_section,
    spread_section,
    continued_pretraining_section,
    probe_section,
    search_section,
    adaptation_cost_section,
    label_count_section,
    layer_section,
    changed_words_section,
    forgetting_section,
    total_cost_section,
)
"""Each returns its section, or null if the results have nothing to show in it."""


def sections(results: Results) -> list[Section]:
    """The sections that the results have something to show in."""
    return [section for make in SECTIONS if (section := make(results))]
