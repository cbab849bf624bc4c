"""micro-overlap-v1: are models over-sensitive to word overlap?

Overlap predicts the label in the train set, but not in the four cells of the evaluation set.
"""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Split, Suite, Task

CELLS = tuple(
    f"{overlap}_overlap_{answer}"
    for overlap in ("high", "low")
    for answer in ("entailed", "not_entailed")
)

MICRO_OVERLAP_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-overlap",
        "overlap",
        "HANS: McCoy et al. 2019, ACL",
        labels=("entailment", "not_entailment"),
        evaluation=(
            Split(name="validation"),
            *(Split(name=cell, of="validation", where={"cell": cell}) for cell in CELLS),
        ),
        chance=0.5,
        ceiling=0.954,
    ),
)

MICRO_OVERLAP_V1 = Suite(
    name="micro-overlap-v1",
    columns=tuple(
        Column(name=split, task="micro-overlap", split=split, metrics=("accuracy",))
        for split in ("validation", *CELLS)
    ),
    citation=microworld_citation("HANS: McCoy et al. 2019, ACL"),
)
