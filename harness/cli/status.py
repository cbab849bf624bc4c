"""`harness status`: the stages of an experiment."""

from harness.cli.options import (
    DEFAULT_STORE,
    Experiment,
    Overrides,
    StoreFolder,
    Variants,
    clear_errors,
    out,
)


def status(
    experiment: Experiment,
    set_: Overrides = None,
    variant: Variants = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Every stage: done, started, failed (with the reason), or waiting."""
    from harness.study import Study

    with clear_errors():
        stages = Study.load(experiment, set_ or (), store, variant or ()).status()
    for key, kind, label, state in stages.itertuples(index=False):
        out.print(f"{key}  {kind:20}  {label}: {state}", markup=False)
    out.print(f"{(stages['state'] == 'done').sum()} of {len(stages)} stages done")
