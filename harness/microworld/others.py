"""Tasks in other shapes than classes and scores, and those with a train set of another kind."""

from collections.abc import Callable

from harness.microworld import continuation, likeness, overlap, reading, summaries, tagging
from harness.microworld import domains as dapt
from harness.microworld import transfer as reviews
from harness.microworld.labelled import Rows
from harness.microworld.retrieval import Ranked
from harness.microworld.sampling import Sampled
from harness.microworld.translation import Translated

DOMAIN_TASKS: dict[str, dapt.DomainTask] = {
    "biomed_drugs": dapt.DomainTask("biomed", 0),
    "biomed_trials": dapt.DomainTask("biomed", 1),
    "cs_citations": dapt.DomainTask("cs", 0),
    "cs_terms": dapt.DomainTask("cs", 1),
    "news_slant": dapt.DomainTask("news", 0),
    "news_topics": dapt.DomainTask("news", 1),
    "reviews_products": dapt.DomainTask("reviews", 0),
    "reviews_praise": dapt.DomainTask("reviews", 1),
}
"""Name of a task to what it asks of a domain."""

_SAMPLED = (
    Sampled("reading", reading.answerable, reading.SIZES, all_words=True),
    Sampled("reading_or_not", reading.maybe_answerable, reading.SIZES, all_words=True),
    Sampled("continuation", continuation.continuation),
    Sampled("entities", tagging.entities),
    Sampled("parts_of_speech", tagging.parts_of_speech),
    Sampled("likeness", likeness.likeness, likeness.TEST),
    Sampled("relatedness", likeness.relatedness, likeness.TEST),
    Sampled("summary", summaries.summary, summaries.SIZES),
    Sampled("headline", summaries.headline, summaries.SIZES),
    Sampled("overlap", overlap.overlap, other_makes={"train": overlap.biased_overlap}),
    Sampled("food_to_film", reviews.food_or_film, reviews.SIZES, {"train": reviews.food}),
    *(
        Sampled(name, task.validation, dapt.SIZES, {"train": task.train})
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
