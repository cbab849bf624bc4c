"""Things and persons that the texts of an example are about."""

from harness.data.microworld.grammar import HE, SHE, with_article
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sentence_tasks import Examiner
from harness.data.microworld.world import Concept, Kind


def cast(examiner: Examiner, size: int) -> list[Concept]:
    """Concepts of as many different kinds, at most six."""
    kinds = examiner.draw.order(examiner.world.kinds)[:size]
    return [examiner.draw.pick(examiner.words.members(kind)) for kind in kinds]


def mention(draw: Draw, name: str, kind: Kind) -> str:
    """A thing by a name of it, or by its kind."""
    return f"the {name}" if draw.chance(0.5) else with_article(kind.name)


def predicate(draw: Draw, kind: Kind) -> str:
    """What members of this kind only do, or what is done to them only, in the past."""
    return draw.pick(
        [verb.past for verb in kind.subject_verbs]
        + [f"was {verb.participle}" for verb in kind.object_verbs]
    )


def person_and_pronoun(examiner: Examiner) -> tuple[str, str]:
    """A name and the pronoun of its bearer."""
    words, woman = examiner.words, examiner.draw.chance(0.5)
    name = examiner.draw.pick(words.women if woman else words.men)
    return name, SHE.subject if woman else HE.subject
