"""Checks of expectations about quantities that runs must measure."""

from collections.abc import Iterator, Sequence
from itertools import product

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems, declared_expectations
from harness.experiment.checks.scales import scale_problems
from harness.experiment.expectation import Both, Comparison, Expectation, RankAgreement, Trend
from harness.experiment.experiment import Experiment
from harness.experiment.lines import FIELDS, line_of
from harness.experiment.outcomes import GAP, quantities_of, reached_level
from harness.pretraining.objectives.held_out import has_held_out_loss, predicts_every_token
from harness.pretraining.objectives.outputs import WithGenerator


def quantity_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Expectations about a quantity that an arm does not measure, and those about a score that hold
    or fail whatever the results."""
    yield from scale_problems(experiment)
    yield from _diagnostic_problems(experiment, arms)
    yield from _unmeasured_problems(experiment, arms)
    yield from _reached_level_problems(experiment, arms)


def _diagnostic_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Expectations about a quantity whose diagnostic an arm does not have."""
    measured = {arm.name: arm.evaluate.diagnostics for arm in arms}
    for keys, expected in declared_expectations(experiment):
        for diagnostic in _diagnostics(expected):
            without = [
                arm for arm in expected.arms if diagnostic not in measured.get(arm, (diagnostic,))
            ]
            if without:
                yield (
                    keys,
                    f"{'.'.join(map(str, keys[:-1]))}: '{expected}' needs evaluate.diagnostics: "
                    f"[{diagnostic}], which {without[0]} does not have",
                )


def _diagnostics(expected: Expectation) -> Iterator[str]:
    """The diagnostics that its outcome, or its two outcomes, need."""
    outcomes = expected.by if isinstance(expected, RankAgreement) else (expected.outcome,)
    measured = (one.diagnostic for outcome in outcomes for one in quantities_of(outcome))
    yield from dict.fromkeys(filter(None, measured))


def _unmeasured_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Expectations about a quantity or a probe that runs of an arm do not have."""
    by_name = {arm.name: arm for arm in arms}
    for keys, expected in declared_expectations(experiment):
        outcomes = expected.by if isinstance(expected, RankAgreement) else (expected.outcome,)
        names = dict.fromkeys(part for outcome in outcomes for part in outcome.split(GAP))
        named = [by_name[name] for name in expected.arms if name in by_name]
        for name, arm in product(names, named):
            if needed := _lacking(experiment, name, arm):
                where = ".".join(map(str, keys[:-1]))
                yield keys, f"{where}: '{expected}' needs {needed}, but {arm.name} has none"
                break


def _lacking(experiment: Experiment, name: str, arm: Arm) -> str:
    """What an arm needs to have values of an outcome, and lacks; empty if nothing is known to
    lack, as of a module of a plug-in."""
    run, last = arm.pretrain, arm.pretrain.objectives[-1]
    is_trained = run.model.facts.kind not in ("baseline", "checkpoint")
    is_measured = {
        "loss": (is_trained and has_held_out_loss(last), "a held-out loss of pretraining"),
        "bits_per_byte": (is_trained and predicts_every_token(last), "left-to-right pretraining"),
        "generator_accuracy": (
            is_trained and isinstance(last.output, WithGenerator),
            "a generator",
        ),
    }
    if run.module:
        is_measured = {}
    is_measured["forgetting"] = arm.evaluate.sequential, "evaluate.sequential"
    is_measured["finetuning_spread"] = (
        len(experiment.seeds.finetune) > 1,
        "a second fine-tuning seed",
    )
    probe = name.partition("/")[0]
    if probe in experiment.evaluate.probes:
        is_measured[name] = probe in arm.evaluate.probes, f"the probe {probe}"
    has_values, needed = is_measured.get(name, (True, ""))
    return "" if has_values else needed


def _reached_level_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Expectations about the tokens, labels or epochs until a score reaches a level that the form
    does not fit, or of whose arms one has no curve, or another."""
    by_name = {arm.name: arm for arm in arms}
    for keys, expected in declared_expectations(experiment):
        if not (reached := reached_level(expected.outcome)):
            continue
        where = f"{'.'.join(map(str, keys[:-1]))}: '{expected}'"
        named = [by_name[name] for name in expected.arms if name in by_name]
        if reached.amount == "tokens":
            problem = _without_curve(named)
        else:
            lines = (_without_line(experiment, arms, arm, reached.amount) for arm in named)
            problem = next(filter(None, lines), "")
        if problem := _unfit(expected) or problem:
            yield keys, f"{where} {problem}"


def _unfit(expected: Expectation) -> str:
    """Runs that do not reach the level count with their whole budget, which makes differences
    smaller: equality, gains and levels would follow from it."""
    if isinstance(expected, (Both, Comparison, Trend)):
        return ""
    return (
        "must have the form 'arm < arm', 'arm < arm < arm' or 'arm < arm and arm < arm', as runs "
        "that never reach the level count with their whole budget"
    )


def _without_line(experiment: Experiment, arms: Sequence[Arm], arm: Arm, amount: str) -> str:
    """Why the scores of an arm by its number of labels or epochs make no curve."""
    line = line_of(experiment, arms, arm.name, amount)
    if len(line) < 2 or len(set(line.values())) < len(line) or None in line.values():
        return f"needs an axis of different numbers for {FIELDS[amount]}, which {arm.name} lacks"
    if arm.searched(FIELDS[amount].rpartition(".")[2]):
        return f"needs {FIELDS[amount]} of the axis, but the search of {arm.name} chooses it"
    if arm.name != (last := list(line)[-1]):
        return f"must name {last} instead of {arm.name}: the one with the most {amount} on its line"
    return ""


def _without_curve(arms: Sequence[Arm]) -> str:
    """Why the scores of arms in the course of pretraining cannot be compared."""
    for arm in arms:
        run = arm.pretrain
        if run.model.checkpoint or run.budget.is_zero or not run.checkpoint_fractions:
            return f"needs pretrain.checkpoint_fractions, which {arm.name} does not have"
        if run.budget.seconds is not None:
            return f"needs a budget in tokens, steps or flops, but that of {arm.name} is in seconds"
        if set(run.checkpoint_fractions) != set(arms[0].pretrain.checkpoint_fractions):
            return (
                f"needs equal pretrain.checkpoint_fractions, but {arms[0].name} and {arm.name} "
                "have others"
            )
    return ""
