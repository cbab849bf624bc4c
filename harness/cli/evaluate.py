"""`harness evaluate`: a Hugging Face checkpoint on a suite."""

from typing import Annotated

import typer

from harness.cli import options
from harness.cli.run import compute


def evaluate(
    model: Annotated[str, typer.Argument(help="folder of a model, or an id on the Hub")],
    suite: Annotated[str, typer.Option(help="a name in 'harness list suites'")] = "micro-glue-v1",
    seeds: Annotated[int, typer.Option(min=1, help="fine-tuning runs per task")] = 3,
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="only this task of the suite; repeatable"),
    ] = None,
    adaptation: Annotated[str, typer.Option(help="a name in 'harness list adaptations'")] = "full",
    revision: Annotated[str | None, typer.Option(help="commit, branch or tag on the Hub")] = None,
    name: Annotated[
        str | None, typer.Option(help="name in the leaderboard [default: the model's]")
    ] = None,
    jobs: options.Jobs = None,
    executor: options.Executor = "processes",
    address: options.Address = None,
    set_: options.Overrides = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Evaluates a Hugging Face checkpoint on a suite. It is fine-tuned and scored as the arms of
    experiments are."""
    from harness.experiment.checkpoint_experiment import load_evaluation
    from harness.study import Study

    with options.clear_errors():
        declaration = load_evaluation(
            model,
            suite,
            set_ or (),
            seeds=seeds,
            tasks=task or (),
            adaptation=adaptation,
            revision=revision,
            name=name,
        )
    study = Study(declaration, store)
    compute(study, jobs, executor, address)
