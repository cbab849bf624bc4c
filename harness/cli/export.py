"""`harness export`: a pretrained model for transformers."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion, options


def export(
    run: Annotated[str, typer.Argument(help="experiment file, or key of a pretraining stage")],
    folder: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="new folder [default: none, to push only]")
    ] = None,
    arm: Annotated[
        str | None,
        typer.Option(help="arm [default: the only one]", autocompletion=completion.arms),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="pretraining seed [default: the first]")] = None,
    push_to_hub: Annotated[
        str | None, typer.Option(metavar="NAME", help="repository on the Hub: user/name")
    ] = None,
    private: Annotated[bool, typer.Option(help="a new repository is private")] = False,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Writes a pretrained model for AutoModel, or uploads it. Both include a model card."""
    from harness.core.files import output_folder
    from harness.exchange.checkpoints import hub_upload, selection
    from harness.store.store import Store

    with options.clear_errors():
        options.require(
            folder is not None or push_to_hub is not None, "OUT or --push-to-hub is required"
        )
        if folder:
            output_folder(folder)
        if options.is_experiment(run):
            study = options.load_study(Path(run), set_, variant, store)
            chosen, found = selection.of_experiment(study.results, arm, seed), study.store
        else:
            needed = "--arm, --seed, --set and --variant need an experiment file, not a key"
            options.require(arm is None and seed is None and not set_ and not variant, needed)
            found = Store(store)
            chosen = selection.of_stage(run, found)
        if folder:
            options.out.print(f"{selection.export(chosen, found, folder)}")
        if push_to_hub:
            address = hub_upload.push_to_hub(chosen, found, push_to_hub, private)
            options.out.print(address)
