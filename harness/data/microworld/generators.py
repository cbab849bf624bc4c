"""The generators of tasks that need columns, sizes or train sets other than those of `Labelled`."""

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
from harness.data.microworld.retrieval import Ranked
from harness.data.microworld.sampling import Sampled
from harness.data.microworld.translation import Translated

DOMAIN_TASKS: dict[str, domains.DomainTask] = {
    f"{domain}_{topic}": domains.DomainTask(domain, number)
    for domain, topics in domains.TOPICS.items()
    for number, topic in enumerate(topics)
}
"""Generator to the domain task that it draws: `biomed_drugs`, ..."""

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
    Sampled("overlap", overlap.overlap, item_by_split={"train": overlap.biased_overlap}),
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
OTHERS: dict[str, Sampled | Translated | Ranked] = {
    **{sampled.name: sampled for sampled in _SAMPLED},
    **{f"translation_{name}": Translated(f"translation_{name}", name) for name in "abc"},
    "retrieval": Ranked("retrieval"),
}
"""Generator to the data set that it makes."""
