"""Selects the network to export: that of an experiment's arm, or of a stage by its key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from harness.analysis.frames.scores import scores_frame
from harness.analysis.frames.trials import selected_trials
from harness.analysis.results import Results
from harness.core.config import unknown_name
from harness.core.files import DRAFT, atomic_folder, output_folder
from harness.exchange.checkpoints.bi_encoders import (
    is_bi_encoder,
    is_trained_further,
    pretrained,
    protocol_of_arm,
    protocol_of_stage,
    start_of,
)
from harness.exchange.checkpoints.card_data import (
    KINDS,
    Card,
    CardScores,
    MainScore,
    history,
    learned_vocab_size,
    recorded_run,
    with_chosen_settings,
)
from harness.exchange.checkpoints.eval_results import write_eval_results
from harness.exchange.checkpoints.model_card import write_card
from harness.experiment.arms import Arm
from harness.finetuning.protocol import Protocol
from harness.leaderboard.table import protocol_line
from harness.models.checkpoints import files, weight_files
from harness.models.checkpoints.sentence_embeddings import MODULES
from harness.plan.plan import FinetuneRun, ProbeRun
from harness.plan.protocol import protocol_of
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.store import StageResult, Store
from harness.tasks.task import Task

KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class SelectedModel:
    """A stage that leaves a network, with the content of its card."""

    record: StageResult
    tokenizer: str
    """Key of the stage that made the tokenizer."""
    card: Card
    embeds: Protocol | None = None
    """How it embeds texts; null: not at all, or as its own files say."""


def export(selected: SelectedModel, store: Store, out: Path) -> Path:
    """Writes network, tokenizer, model card and evaluation results to the new folder `out`. An
    imported checkpoint is copied, unless its files are gone or have changed.

    Raises:
        ValueError: `out` is not empty, files of the stage are damaged, or transformers has no
            equivalent class.
    """
    _check_empty(out)
    from harness.exchange.checkpoints.network import write_network  # loads torch

    tokenizer = store.finished([selected.tokenizer])
    folders = [store.all_files(selected.record), *(store.files(r) for r in tokenizer.values())]
    if len(folders) < 2:
        raise ValueError(
            f"the tokenizer of {selected.record.key} is not in the store: run the experiment again"
        )
    with atomic_folder(out) as draft:
        if original := imported_folder(selected.record, store):
            files.copy(original, draft)
            notes = []
        else:
            notes = write_network(folders[0] / "model", folders[1], draft, selected.embeds)
        if selected.card.scores:
            write_eval_results(selected.card.scores, draft)
        card = replace(
            selected.card,
            notes=notes,
            parameters=weight_files.num_weights(draft),
            weights=weight_files.weights_digest(draft),
        )
        write_card(replace(card, embeds_texts=(draft / MODULES).is_file()), draft)
    return out


def imported_folder(record: StageResult, store: Store) -> Path | None:
    """The folder of the checkpoint that a stage imported, if its files are those of the import;
    null for networks that were trained or exported here, which need `write_network`."""
    spec = store.spec(record)
    if "checkpoint" not in spec:
        return None
    name, revision = spec["checkpoint"]["name"], spec["checkpoint"].get("revision")
    try:
        folder = files.fetch(name, revision)
        is_same = files.fingerprint(name, revision) == spec["fingerprint"]
    except ValueError:  # no longer on the Hub, or damaged
        return None
    return folder if is_same and not files.own_family(folder) else None


def _check_empty(out: Path) -> None:
    """Raises ValueError for a folder with files, except those of an interrupted export."""
    output_folder(out)
    names = [path.name for path in out.iterdir()] if out.exists() else []
    if names and DRAFT not in names:
        raise ValueError(f"{out} must be a new or an empty folder; name another")


def of_experiment(results: Results, arm: str | None, seed: int | None) -> SelectedModel:
    """The network of an arm that its tasks start from: of a bi-encoder, that of the first
    fine-tuning seed.

    Args:
        arm: null: the only one.
        seed: pretraining seed; null: the first.

    Raises:
        ValueError: there is no such arm or seed, tasks start from different networks, or the
            pretraining is not finished.
    """
    arms = results.arms
    if arm is None and len(arms) > 1:
        raise ValueError(f"an arm must be given (--arm): one of {', '.join(arms)}")
    name = arm or arms[0]
    if name not in arms:
        raise ValueError(unknown_name("the arm", name, arms))
    seeds = [one for of, one in results.plan.pretrain_keys if of == name]
    seed = seeds[0] if seed is None else seed
    if seed not in seeds:
        raise ValueError(f"seed must be one of {', '.join(map(str, seeds))}, but is {seed}")
    record = results.store.find(_network(results, name, seed))
    if record is None:
        raise ValueError(f"the pretraining of {name}, seed {seed}, is not finished: run it first")
    chosen = next(one for one in results.plan.arms if one.name == name)
    title = results.experiment.name
    return _selected(
        record,
        results.store,
        name=f"{title if name == title else f'{title}: {name}'}, seed {seed}",
        seed=seed,
        run=chosen.pretrain,
        scores=_scores(results, chosen, seed),
        embeds=protocol_of_arm(chosen),
    )


def _network(results: Results, arm: str, seed: int) -> str:
    """Key of the network that the tasks and probes of an arm start from.

    Raises:
        ValueError: they start from different networks.
    """
    plan = results.plan
    starts: dict[str, dict[str, None]] = {}
    seed_of_tasks = results.experiment.seeds.finetune[0]
    runs: list[tuple[FinetuneRun | ProbeRun, str]] = [
        *((one, one.task) for one in results.finetune_runs if one.finetune_seed == seed_of_tasks),
        *((one, one.probe) for one in plan.probe_runs),
    ]
    for run, name in runs:
        if (run.arm, run.pretrain_seed) == (arm, seed):
            starts.setdefault(start_of(plan, run.key), {})[name] = None
    if len(starts) > 1:
        keys = "; ".join(f"{key} of {', '.join(names)}" for key, names in starts.items())
        raise ValueError(
            f"the tasks of {arm} start from different networks: name the key of one instead of the "
            f"experiment: {keys}"
        )
    return next(iter(starts), plan.pretrain_keys[arm, seed])


def _selected(
    record: StageResult,
    store: Store,
    name: str,
    seed: int | None = None,
    run: Pretrain | None = None,
    scores: CardScores | None = None,
    embeds: Protocol | None = None,
) -> SelectedModel:
    """A stage with its card; null: as recorded in the store, which does not name the recipe."""
    spec = store.spec(record)
    network, task_steps = pretrained(record, store)
    first, steps = history(network, store)
    card = Card(
        name=name,
        run=with_chosen_settings(run, first, store) if run else recorded_run(first, store),
        recipe=run.recipe if run else None,
        seed=int(store.spec(first).get("seed", 0)) if seed is None else seed,
        key=record.key,
        made_with=record.made_with,
        metrics=first.metrics,
        vocab_size=learned_vocab_size(first, store),
        steps=steps,
        task_steps=task_steps,
        scores=scores,
    )
    protocol = protocol_of_stage(record, spec) or embeds
    return SelectedModel(record, spec["parents"]["tokenizer"], card, protocol)


def of_stage(key: str, store: Store) -> SelectedModel:
    """The network of a stage of pretraining or continued pretraining, or a bi-encoder.

    Raises:
        ValueError: no finished stage has this key, or it is of another kind.
    """
    record = store.find(key) if KEY.fullmatch(key) else None
    if record is None:
        raise ValueError(
            f"{key!r} must be an experiment file (.yaml) or the key of a finished stage in the "
            "store; 'harness status --all' lists the keys"
        )
    if record.kind not in KINDS and not is_bi_encoder(record.kind, store.spec(record)):
        raise ValueError(
            f"export needs a stage of kind {' or '.join(KINDS)}, or a bi-encoder, but {key} is of "
            f"kind {record.kind}"
        )
    return _selected(record, store, f"stage {key}")


def _scores(results: Results, arm: Arm, seed: int) -> CardScores:
    frame = results.get(scores_frame)
    own = frame[(frame["arm"] == arm.name) & (frame["pretrain_seed"] == seed)]
    own = own if arm.networks == 1 else own.iloc[:0]  # scores of an ensemble are of no one network
    rows = [
        (str(task), str(split), str(metric), _spread(values), str(len(values)))
        for (task, split, metric), values in own.groupby(["task", "split", "metric"], sort=False)[
            "value"
        ]
    ]
    suite, plan = arm.evaluate.suite_value, results.plan
    return CardScores(
        experiment=results.experiment.name,
        question=results.experiment.question,
        suite=suite.name,
        rows=rows,
        protocol=protocol_line(protocol_of(plan)),
        citation=suite.citation,
        search=results.sweep.label if results.sweep else "none",
        selected=_selected_settings(results, arm),
        main=_main_scores(own, arm.evaluate.chosen),
        after_tasks=any(is_trained_further(plan, str(key)) for key in own["key"]),
    )


def _selected_settings(results: Results, arm: Arm) -> list[tuple[str, str]]:
    """(task, `learning_rate 0.0003, epochs 5`) of each finished search of an arm."""
    names, best = results.plan.searched, selected_trials(results)
    own = best[best["arm"] == arm.name].to_dict("records")
    each = len(own) > len({one["task"] for one in own})
    return [
        (
            f"{one['task']}, pretraining seed {one['pretrain_seed']}" if each else one["task"],
            ", ".join(f"{name} {_number(one[name])}" for name in names if pd.notna(one[name])),
        )
        for one in own
    ]


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _main_scores(scores: pd.DataFrame, tasks: Mapping[str, Task]) -> list[MainScore]:
    """The main score of each task whose runs all have one."""
    values = scores.groupby(["task", "split", "metric"])["value"]
    found = []
    for name, task in tasks.items():
        place = name, task.evaluation[0].name, task.metrics[0]
        if place in values.groups and (own := values.get_group(place)).notna().all():
            found.append(MainScore(task, 100 * float(own.mean()), len(own)))
    return found


def _spread(values: "pd.Series[float]") -> str:
    if values.isna().any():
        return "undefined"
    spread = f" ± {100 * values.std():.1f}" if len(values) > 1 else ""
    return f"{100 * values.mean():.1f}{spread}"
