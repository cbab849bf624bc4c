"""Checks of the prompt that a task declares."""

from collections.abc import Iterator
from string import Formatter

from harness.tasks.patterns import is_pattern
from harness.tasks.task import Prompt, Task

ANSWER = "answer"
"""Field of a pattern in whose place the answer stands."""


def check_prompt(task: Task) -> None:
    """Checks that a prompt reads texts of the task and has a place and a word for each answer.

    Raises:
        ValueError: it does not.
    """
    if task.prompt and task.kind in ("classification", "multiple_choice"):
        for problem in _problems(task, task.prompt):
            raise ValueError(f"the prompt of {task.name!r} must {problem}")


def _problems(task: Task, prompt: Prompt) -> Iterator[str]:
    pattern, answers = prompt.pattern, prompt.answers
    try:
        fields = [name for _, name, _, _ in Formatter().parse(pattern) if name is not None]
    except ValueError:
        fields = []
    if fields.count(ANSWER) != 1:
        yield f"have one {{{ANSWER}}} in its pattern, but it is {pattern!r}"
    named = [field for field in task.text_fields if not is_pattern(field)]
    known = [*named, *map(str, range(len(task.text_fields)))]
    texts = [field for field in fields if field != ANSWER]
    if not texts or not set(texts) <= set(known):
        yield f"have texts in its pattern ({', '.join(known)} in braces), but it is {pattern!r}"
    if task.kind == "multiple_choice" and answers:
        yield "have no answers, as each example has its own choices"
    if task.kind == "classification" and len(answers) != len(task.labels):
        yield f"have an answer for each of {len(task.labels)} labels, but has {len(answers)}"
    if len(set(answers)) < len(answers) or not all(map(str.strip, answers)):
        yield f"have answers that differ and are not empty, but has {list(answers)}"
