"""`harness status`: the state of every stage."""

from harness.cli import options


def status(
    experiment: options.Experiment,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Lists every stage as done, started, failed (with the error) or waiting."""
    with options.clear_errors():
        stages = options.load_study(experiment, set_, variant, store).status()
    for key, kind, label, state in stages.itertuples(index=False):
        options.out.print(f"{key}  {kind:20}  {label}: {state}", markup=False)
    options.out.print(f"{(stages['state'] == 'done').sum()} of {len(stages)} stages done")
