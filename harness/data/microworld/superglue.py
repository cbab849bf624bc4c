"""Data sets modelled on SuperGLUE; its RTE is the one of `glue.py`."""

from dataclasses import dataclass

from harness.data.microworld import inference, passages, pronouns
from harness.data.microworld.labelled import Example, Labelled, MultipleChoice, Rows, noisy
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Texts


@dataclass(frozen=True)
class Grouped(Labelled):
    """Questions with several answers, each correct or not.

    `draw_texts` takes the number of correct answers and returns the passage, the question and the
    answers, the correct ones first.
    """

    columns: tuple[str, ...] = ("passage", "question", "answer")

    def __call__(self, split: str, world: int = 0) -> Rows:
        """Columns `passage`, `question`, `answer`, `label` and `group` (number of the question).

        Raises:
            ValueError: an unknown split.
        """
        groups = [example.group for example in self.made(split, world)]
        return {**super().__call__(split, world), "group": groups}

    def made(self, split: str, world: int) -> list[Example]:
        """The answers of a split, question by question."""
        sampler = self.sampler(split, world)
        made: dict[str, list[Example]] = {}
        while len(made) < self.sizes[split] // passages.NUM_ANSWERS:
            num_right = 1 + len(made) % (passages.NUM_ANSWERS - 1)
            texts = self.draw_texts(sampler, num_right)
            made.setdefault(texts[0], judged(texts, num_right, str(len(made)), sampler.draw))
        return [example for group in sampler.draw.order(list(made.values())) for example in group]


def judged(texts: Texts, num_right: int, group: str, draw: Draw) -> list[Example]:
    """One example for each answer, in random order."""
    passage, question, *answers = texts
    right = [int(place < num_right) for place in range(len(answers))]
    return [
        Example((passage, question, answer), noisy(draw, truth, 2), truth, group)
        for answer, truth in draw.order(list(zip(answers, right, strict=True)))
    ]


SUPERGLUE: tuple[Labelled, ...] = (
    Labelled("yes_no_question", passages.yes_or_no, columns=("passage", "question")),
    Labelled(
        "commitment",
        inference.commitment,
        columns=("premise", "hypothesis"),
        num_answers=3,
        sizes={"train": 250, "validation": 250},
    ),
    MultipleChoice("plausible_alternative", passages.plausible),
    Grouped("answer_correctness", passages.answers, sizes={"train": 999, "validation": 999}),
    MultipleChoice("entity_cloze", passages.filling),
    Labelled("same_reference", pronouns.same_reference, columns=("word", "sentence1", "sentence2")),
    Labelled("coreference", pronouns.coreference, columns=("text", "statement")),
)
