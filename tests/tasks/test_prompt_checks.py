"""Prompts of the user's own tasks, and of shipped ones."""

from typing import Any

import pytest

from harness.tasks import TASKS
from harness.tasks.prompt_checks import check_prompt
from harness.tasks.task import Task

ANSWERS = ("bad", "fine", "good")


def task_of(prompt: dict[str, Any], **fields: Any) -> Task:
    known: dict[str, Any] = {
        "name": "mine",
        "kind": "classification",
        "data": {"source": "jsonl", "files": {"train": "train.jsonl"}},
        "text_fields": ("text", "{a}: {b}"),
        "labels": ("no", "perhaps", "yes"),
        "metrics": ("accuracy",),
        "prompt": prompt,
    }
    return Task.model_validate(known | fields)


@pytest.mark.parametrize(
    ("pattern", "answers", "message"),
    [
        ("{text} It was", ANSWERS, "have one {answer} in its pattern, but it is '{text} It was'"),
        ("{text} {answer} {answer}", ANSWERS, "have one {answer}"),
        ("{text was {answer}", ANSWERS, "have one {answer}"),
        ("It was {answer}", ANSWERS, "have texts in its pattern (text, 0, 1 in braces)"),
        ("{txt} was {answer}", ANSWERS, "have texts in its pattern"),
        ("{2} was {answer}", ANSWERS, "have texts in its pattern"),
        ("{} was {answer}", ANSWERS, "have texts in its pattern"),
        ("{text} was {answer}", ANSWERS[:2], "have an answer for each of 3 labels, but has 2"),
        ("{text} was {answer}", (), "have an answer for each of 3 labels, but has 0"),
        ("{text} was {answer}", ("a", "b", "a"), "have answers that differ and are not empty"),
        ("{text} was {answer}", ("a", "b", " "), "have answers that differ and are not empty"),
    ],
)
def test_prompts_that_nothing_can_answer(
    pattern: str, answers: tuple[str, ...], message: str
) -> None:
    """Without the check, a class is never predicted, or the run ends in a traceback."""
    with pytest.raises(ValueError, match="the prompt of 'mine' must") as caught:
        check_prompt(task_of({"pattern": pattern, "answers": answers}))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_choices_are_the_answers() -> None:
    fields: dict[str, Any] = {"kind": "multiple_choice", "choices_field": "choices", "labels": ()}
    check_prompt(task_of({"pattern": "{0} {answer}"}, **fields))
    with pytest.raises(ValueError, match="must have no answers, as each example has its own"):
        check_prompt(task_of({"pattern": "{0} {answer}", "answers": ANSWERS}, **fields))


@pytest.mark.parametrize("pattern", ["{text} was {answer}", "{1}? {answer}, {0}"])
def test_prompts_as_they_must_be(pattern: str) -> None:
    check_prompt(task_of({"pattern": pattern, "answers": ANSWERS}))


def test_prompts_of_shipped_tasks() -> None:
    prompted = [task for task in TASKS.values() if task.prompt]
    for task in prompted:
        check_prompt(task)
    assert len(prompted) > 20
