"""Tasks in other shapes than classes and scores, and those with a train set of another kind."""

from collections.abc import Callable

from harness.data.microworld import (
    continuation,
    domain_transfer,
    domains,
    overlap,
    reading_comprehension,
    similarity,
    summaries,
    tagging,
)
from harness.data.microworld.labelled import Rows
from harness.data.microworld.retrieval import Ranked
from harness.data.microworld.sampling import Sampled
from harness.data.microworld.translation import Translated

DOMAIN_TASKS: dict[str, domains.DomainTask] = {
    "biomed_drugs": domains.DomainTask("biomed", 0),
    "biomed_trials": domains.DomainTask("biomed", 1),
    "cs_citations": domains.DomainTask("cs", 0),
    "cs_terms": domains.DomainTask("cs", 1),
    "news_slant": domains.DomainTask("news", 0),
    "news_topics": domains.DomainTask("news", 1),
    "reviews_products": domains.DomainTask("reviews", 0),
    "reviews_praise": domains.DomainTask("reviews", 1),
}
"""Name of a task to what it asks of a domain."""

_SAMPLED = (
    Sampled(
        "reading_comprehension",
        reading_comprehension.answerable,
        reading_comprehension.SIZES,
        all_words=True,
    ),
    Sampled(
        "unanswerable_reading_comprehension",
        reading_comprehension.maybe_answerable,
        reading_comprehension.SIZES,
        all_words=True,
    ),
    Sampled("continuation", continuation.continuation),
    Sampled("entities", tagging.entities),
    Sampled("parts_of_speech", tagging.parts_of_speech),
    Sampled("sentence_similarity", similarity.sentence_similarity, similarity.TEST),
    Sampled("relatedness", similarity.relatedness, similarity.TEST),
    Sampled("summary", summaries.summary, summaries.SIZES),
    Sampled("headline", summaries.headline, summaries.SIZES),
    Sampled("overlap", overlap.overlap, other_makes={"train": overlap.biased_overlap}),
    Sampled(
        "food_to_film",
        domain_transfer.food_or_film,
        domain_transfer.SIZES,
        {"train": domain_transfer.food},
    ),
    *(
        Sampled(name, task.validation, domains.SIZES, {"train": task.train})
        for name, task in DOMAIN_TASKS.items()
    ),
)
MAKERS: dict[str, Sampled | Translated | Ranked] = {
    **{sampled.name: sampled for sampled in _SAMPLED},
    **{f"translation_{name}": Translated(f"translation_{name}", name) for name in "abc"},
    "retrieval": Ranked("retrieval"),
}
"""Name to what makes the examples, with the answers of one who knows the world."""

OTHERS: dict[str, Callable[[str, int], Rows]] = {**MAKERS}
"""Name to what makes the columns of a split (of a world with this seed)."""
