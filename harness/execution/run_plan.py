"""Runs a plan on a backend, with a progress display."""

from rich.console import Console

from harness.core.signals import terminated_as_interrupted
from harness.execution.backends import DEFAULT_BACKEND, LOCAL_BACKENDS, make_backend
from harness.execution.backends.processes import default_jobs
from harness.execution.declared import remember_expectations
from harness.execution.devices import devices_problem
from harness.execution.execution_result import Execution
from harness.execution.executor import execute
from harness.execution.job import Workspace
from harness.execution.progress import Display
from harness.execution.run_times import learned_run_times, remember_run_times
from harness.execution.time_left import learned_durations
from harness.experiment.plugins import needs_this_process
from harness.plan.plan import Plan
from harness.plan.plugin_checks import check_modules
from harness.store.store import Store


def run_plan(
    plan: Plan,
    store: Store,
    jobs: int | None = None,
    console: Console | None = None,
    executor: str | None = None,
    address: str | None = None,
) -> Execution:
    """Computes the results that the store lacks; the arguments are those of `Study.run`.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM. Finished stages are kept, and no worker remains.
        PluginError: a Lightning module of a plug-in fails, or has no loss.
        ValueError: the executor does not take these arguments, or is not installed; or this machine
            lacks the devices that the stages take; or the store cannot be written.
    """
    store.create_folder()
    done = store.finished()
    remember_expectations(plan, store, done)
    check_modules(stage for key, stage in plan.stages.items() if key not in done)
    in_process = any(needs_this_process(name) for name in plan.experiment.plugins)
    executor = executor or ("serial" if in_process else DEFAULT_BACKEND)
    if executor in LOCAL_BACKENDS and (why := devices_problem(plan, plan.to_compute(done))):
        raise ValueError(why)
    backend = make_backend(executor, Workspace(store.root), jobs or _jobs(plan, executor), address)
    earlier = learned_durations(done.values(), learned_run_times(store.root, executor))
    with (
        terminated_as_interrupted(),
        Display(plan, console or _default_console(), earlier) as display,
    ):
        execution = execute(plan, store, backend, display)
    if execution.computed:
        remember_run_times(store.root, executor, display.durations.times)
    return execution


def _jobs(plan: Plan, executor: str) -> int | None:
    """Stages at a time by default; null leaves it to the executor, which knows what a cluster
    has."""
    if executor not in LOCAL_BACKENDS:
        return None
    compute = plan.experiment.compute
    is_one = executor != DEFAULT_BACKEND or compute.devices != 1  # a stage would take all devices
    return 1 if is_one else default_jobs(compute, plan.has_small_networks)


def _default_console() -> Console:
    """Standard error, as standard output is the script's; quiet in notebooks, which have a bar."""
    console = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
    console.quiet = console.is_jupyter
    return console
