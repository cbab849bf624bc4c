"""`harness export`: a pretrained network leaves the store."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import DEFAULT_STORE, Overrides, StoreFolder, Variants, clear_errors, out


def export(
    run: Annotated[str, typer.Argument(help="experiment file, or the key of a network's stage")],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="new folder")],
    arm: Annotated[str | None, typer.Option(help="default: the only one")] = None,
    seed: Annotated[int | None, typer.Option(help="pretraining seed [default: the first]")] = None,
    set_: Overrides = None,
    variant: Variants = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Writes a pretrained model as transformers' AutoModel loads it, with its model card."""
    from harness.core.files import output_folder
    from harness.exchange.checkpoints import selection
    from harness.store.store import Store
    from harness.study import Study

    with clear_errors():
        output_folder(folder)
        if Path(run).suffix in (".yaml", ".yml"):
            study = Study.load(Path(run), set_ or (), store, variant or ())
            chosen, found = selection.of_experiment(study.results, arm, seed), study.store
        else:
            if arm is not None or seed is not None or set_ or variant:
                raise ValueError(
                    "--arm, --seed, --set and --variant need an experiment file, not a key"
                )
            found = Store(store)
            chosen = selection.of_stage(run, found)
        out.print(f"{selection.export(chosen, found, folder)}", markup=False)
