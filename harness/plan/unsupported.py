"""Descriptions of unsupported tasks."""

from harness.plan.plan import Plan


def unsupported_lines(plan: Plan) -> list[str]:
    """One line for each group of arms that do not support the same tasks for the same reason."""
    tasks: dict[tuple[str, str], list[str]] = {}
    for (arm, task), why in plan.unsupported.items():
        tasks.setdefault((arm, why), []).append(task)
    arms: dict[tuple[str, str], list[str]] = {}
    num_tasks = len(plan.experiment.evaluate.chosen)
    for (arm, why), names in tasks.items():
        which = ", ".join(names) if len(names) < num_tasks else "any task"
        arms.setdefault((which, why), []).append(arm)
    return [f"{', '.join(names)} cannot do {which}: {why}" for (which, why), names in arms.items()]
