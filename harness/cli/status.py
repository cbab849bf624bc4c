"""`harness status`: the state of every stage."""

from harness.cli.options import (
    DEFAULT_STORE,
    Experiment,
    Overrides,
    StoreFolder,
    Variants,
    clear_errors,
    load_study,
    out,
)


def status(
    experiment: Experiment,
    set_: Overrides = None,
    variant: Variants = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Lists every stage as done, started, failed (with the error) or waiting."""
    with clear_errors():
        stages = load_study(experiment, set_, variant, store).status()
    for key, kind, label, state in stages.itertuples(index=False):
        out.print(f"{key}  {kind:20}  {label}: {state}", markup=False)
    out.print(f"{(stages['state'] == 'done').sum()} of {len(stages)} stages done")
