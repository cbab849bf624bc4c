"""The evaluation protocol of an experiment, as printed under tables."""

from harness.experiment.evaluation import Evaluate
from harness.plan.contract import flat_fields
from harness.plan.plan import Plan


def protocol_of(plan: Plan) -> dict[str, object]:
    """Name to value of the settings of fine-tuning; then, for each arm that deviates from the base,
    the deviating fields."""
    evaluate, sweep = plan.experiment.evaluate, plan.experiment.sweep
    protocol = {"adaptation": evaluate.adaptation.label, **evaluate.protocol.model_dump()}
    protocol["finetune"] = evaluate.finetune.model_dump()
    protocol["sweep"] = sweep.label
    return protocol | evaluate.other_tasks | _exceptions(plan)


def _exceptions(plan: Plan) -> dict[str, object]:
    base = _flat(plan.experiment.evaluate)
    changed = {
        arm.name: [
            f"{path} {value}"
            for path, value in _flat(arm.evaluate).items()
            if base.get(path) != value
        ]
        for arm in plan.arms
    }
    return {f"except {arm}": ", ".join(fields) for arm, fields in changed.items() if fields}


def _flat(evaluate: Evaluate) -> dict[str, object]:
    """Dotted path to value; the adaptation is one field."""
    fields = {path.removeprefix("."): value for path, value in flat_fields("", evaluate)}
    rest = {path: value for path, value in fields.items() if not path.startswith("adaptation.")}
    return {"adaptation": evaluate.adaptation.label, **rest}
