"""Arms with different text whose vocabularies or held-out texts differ with it."""

from collections.abc import Iterator

from harness.data.corpora.sources import text_of_tokenizer
from harness.plan.plan import Plan


def unequal_text(plan: Plan) -> Iterator[str]:
    """An axis over the text that also changes the vocabulary or the text of the losses."""
    runs = [
        arm.pretrain
        for arm in plan.arms
        if arm.pretrain.model.facts.kind not in ("baseline", "checkpoint")
        and not arm.pretrain.budget.is_zero
    ]
    if len({run.corpus for run in runs}) < 2:
        return
    learned = {text_of_tokenizer(run.tokenizer.corpus or run.corpus) for run in runs}
    measured = {text_of_tokenizer(run.held_out or run.corpus) for run in runs}
    fields = {
        "vocabularies (pretrain.tokenizer.corpus)": len(learned) > 1,
        "held-out texts (pretrain.held_out)": len(measured) > 1,
    }
    if differing := [name for name, differs in fields.items() if differs]:
        yield (
            f"the arms pretrain on different text, and have different {' and '.join(differing)}, "
            "so that the text is not all that differs; set the fields to one corpus for all arms"
        )
