"""Sequential looks at growing results: which one the verdicts of a report are.

With declared looks, verdicts are those of the last look that every arm has reached, from exactly
the first seeds of each arm, so that no seed is used between two looks. All declared looks are paid
for, made or not, because no record shows who has seen scores in other ways.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from harness.analysis.comparison.differences import Comparer, enough_seeds
from harness.analysis.results import Results
from harness.analysis.statistics.sequential import nominal_levels, repeated_p
from harness.experiment.expectation import Equality
from harness.leaderboard.build import experiment_comparer, experiment_table
from harness.plan.first_seeds import keys_of_seed
from harness.report.declared import declared_expectations, shares_finished
from harness.report.verdict import Claim
from harness.store.looks import MadeLook, read_looks, record_look

NOTE = (
    " Looks at {} seeds per arm were declared: verdicts are of exactly the first {} seeds of each "
    "arm. p is adjusted for the looks, and the intervals of expected differences include the true "
    "one at all looks in 95 %. All other figures are of all seeds that have finished and not "
    "adjusted; no verdict follows from them."
)


@dataclass(frozen=True)
class Look:
    """The last look that every arm has reached."""

    place: int
    """From 1; 0 before the first one."""
    counts: tuple[int, ...]
    """Numbers of seeds of all looks; the last is the end."""
    spending: str

    @property
    def num_seeds(self) -> int:
        """Seeds of each arm that it uses; 0 before the first look."""
        return self.counts[self.place - 1] if self.place else 0

    def level(self, sides: int = 2) -> float:
        """At which p of the test it is significant."""
        return nominal_levels(self.counts, self.spending, sides=sides)[self.place - 1]

    def judged(self, claim: Claim) -> Claim:
        """A claim on the seeds of this look, with p adjusted for looks; before the first look
        without the difference. What is counted has no level."""
        if claim.is_counted:
            return claim
        if not self.place:
            first = f"the first look is at {self.counts[0]} seeds of every arm"
            return replace(claim, found=None, look=first)
        found = claim.found
        if not found or not enough_seeds(found):
            return claim
        sides = 1 if isinstance(claim.expectation, Equality) else 2
        p_value = repeated_p(found.p_value, self.place - 1, self.counts, self.spending, sides)
        text = f"look {self.place} of {len(self.counts)}, at p < {self.level(sides):.2g}"
        adjusted = replace(found, p_value=p_value)
        return replace(claim, found=adjusted, look=text, p_of_look=found.p_value)


def made_looks(results: Results) -> Mapping[int, MadeLook]:
    """Number of seeds to the first time that its verdicts were shown."""
    return read_looks(results.store.root, results.experiment.name)


def current_look(results: Results) -> Look | None:
    """The last look that every arm has reached; null if no looks are declared. A declared look that
    was made stays one if it is taken out of the declaration: its share of the error is spent."""
    seeds, end = results.experiment.seeds, len(results.experiment.seeds.pretrain)
    made = results.get(made_looks).items()
    spent = {number for number, one in made if one.declared and number < end}
    if not (before := sorted(spent | {*seeds.looks})):
        return None
    counts, reached = (*before, end), results.get(finished_seeds)
    return Look(sum(count <= reached for count in counts), counts, seeds.spending)


def finished_seeds(results: Results) -> int:
    """How many of the first pretraining seeds every arm has all results of."""
    open_seeds = {
        seed for _, seed, key in keys_of_seed(results.plan) if key not in results.finished
    }
    seeds = results.experiment.seeds.pretrain
    return next((place for place, seed in enumerate(seeds) if seed in open_seeds), len(seeds))


def at_look(results: Results, look: Look, compared: Comparer) -> tuple[Results, Comparer]:
    """The results of the seeds of a look with a function that compares arms in them, with intervals
    at the level of the look (repeated confidence intervals, Jennison & Turnbull 1989, "Interim
    analyses: the repeated confidence interval approach", JRSS B 51). Before the first look, as they
    are.

    Raises:
        ValueError: two runs of a task were scored on different examples.
    """
    if not look.place:
        return results, compared
    part = results.get(_part)
    return part, experiment_comparer(part, part.get(experiment_table))


def _part(results: Results) -> Results:
    look = results.get(current_look)
    assert look
    return results.of_first_seeds(look.num_seeds, 1 - look.level())


def look_note(results: Results) -> str:
    """What verdicts at looks are, to follow another text; empty without looks."""
    look = results.get(current_look)
    if not look:
        return ""
    return NOTE.format(", ".join(map(str, look.counts)), look.num_seeds or look.counts[0])


def remember_look(results: Results) -> Results:
    """These results, of which the store keeps that their verdicts are shown: of a declared look, or
    of the seeds that have finished."""
    experiment, look = results.experiment, results.get(current_look)
    number = look.num_seeds if look else results.get(finished_seeds)
    if experiment.expectations and number > 1:
        planned = len(experiment.seeds.pretrain)
        record_look(results.store.root, experiment.name, number, planned, bool(look))
    return results


def threats_of_looks(results: Results) -> Iterator[str]:
    """A threat for looks that were not declared, that were declared after results, and after which
    another number of seeds was planned."""
    seeds, made = results.experiment.seeds, results.get(made_looks)
    look, end = results.get(current_look), len(results.experiment.seeds.pretrain)
    used = look.num_seeds if look else results.get(finished_seeds)
    earlier = [n for n, one in sorted(made.items()) if not one.declared and n < used]
    if earlier:
        yield (
            f"Verdicts were shown with {_listed(earlier)} seeds per arm before those with {used}, "
            "looks that were not declared (`seeds: {looks: ...}`): p and intervals do not account "
            "for them."
        )
    changed = [n for n, one in sorted(made.items()) if one.declared and one.planned != end]
    if changed:
        planned = made[changed[-1]].planned
        yield (
            f"Verdicts of looks at {_listed(changed)} seeds per arm were shown when {planned} were "
            f"planned, not {end}: the levels of looks hold for an end that is not changed."
        )
    declared = results.get(declared_expectations).get(seeds.looks_text)
    if declared and declared.finished:
        yield (
            f"The {seeds.looks_text} were first declared after {shares_finished(declared)}, at "
            f"{declared.time}; their levels hold for looks that are declared before."
        )


def _listed(numbers: list[int]) -> str:
    return " and ".join(map(str, numbers))
