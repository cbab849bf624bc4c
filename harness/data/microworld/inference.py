"""Sentence pairs: duplicate questions, and natural language inference.

The functions draw texts for a given label, as in `sentence_tasks.py`. The words of both sentences,
their patterns and the order of the things in them are independent of the label.
"""

from harness.data.microworld.sampler import Sampler, Texts

QUESTIONS = {
    "colour": ("what colour is {thing}?", "{thing} is what colour?"),
    "city": ("where is {thing}?", "{thing} is where?"),
    "kind": ("what is {thing}?", "{thing} is what?"),
    "person": ("who {deed} the {noun}?", "the {noun} was {participle} by who?"),
}
"""Topic of a question to its paraphrases."""
STATEMENTS = (
    "{person} {deed} the {affirmed}, not the {denied}.",
    "it was not the {denied} that {person} {deed}, it was the {affirmed}.",
    "the {affirmed} was {participle} by {person}, the {denied} was not.",
    "the {denied} was not {participle} by {person}, the {affirmed} was.",
)
"""Premises of inference: the event happened to one of two things and not to the other."""
CONCLUSIONS = ("{person} {deed} {mentioned}.", "{mentioned} was {participle} by {person}.")
"""Hypotheses of inference."""
DIALOGUE = (
    "what was {participle} by {person}? not the {denied}, the {affirmed}.",
    "what was {participle} by {person}? the {affirmed}, not the {denied}.",
    "as for the {affirmed}, it was {participle} by {person}. as for the {denied}, it was not.",
    "as for the {denied}, it was not {participle} by {person}. as for the {affirmed}, it was.",
)
"""Premises in dialogue style."""
REPLIES = ("what {person} {deed} is {mentioned}.", "as for {person}, {subject} {deed} {mentioned}.")
"""Hypotheses in dialogue style."""
REPORTS = (
    "{person} said that {subject} {deed} the {affirmed}, not the {denied}.",
    "{person} said that it was the {affirmed} that {subject} {deed}, not the {denied}.",
    "{person} said that it was not the {denied} that {subject} {deed}, it was the {affirmed}.",
)
"""Premises whose statement is embedded under a verb of speech."""


def duplicate(sampler: Sampler, label: int) -> Texts:
    """Modelled on QQP: are the questions paraphrases? 1 yes, 0 no.

    Non-duplicates are about different things (80 %) or about different properties of one thing.
    """
    draw, concept = sampler.draw, sampler.concept()
    one, other = sampler.names(concept)
    topics = draw.order(tuple(QUESTIONS))
    chosen = topics[0], topics[0]
    if label == 0 and draw.chance(0.2):
        chosen = topics[0], topics[1]
    elif label == 0:
        different = sampler.sibling if draw.chance(0.4) else sampler.stranger
        other = draw.pick(different(concept).names)
    person, verb = draw.pick(sampler.words.people), draw.pick(sampler.world.verbs)
    texts = []
    for topic, noun in zip(chosen, draw.order((one, other)), strict=True):
        slots = {"noun": noun, "deed": verb.past, "participle": verb.participle}
        slots["thing"] = f"the {noun} that {person} {verb.past}"
        texts.append(draw.pick(QUESTIONS[topic]).format_map(slots))
    return tuple(texts)


def inference(sampler: Sampler, label: int) -> Texts:
    """Modelled on MNLI: 0 entailment, 1 neutral, 2 contradiction."""
    return _judged(sampler, label, STATEMENTS, CONCLUSIONS)


def inference_in_dialogue(sampler: Sampler, label: int) -> Texts:
    """Modelled on MNLI's mismatched set: `inference` in a style not seen in training."""
    return _judged(sampler, label, DIALOGUE, REPLIES)


def commitment(sampler: Sampler, label: int) -> Texts:
    """Modelled on CommitmentBank: 0 entailment, 1 contradiction, 2 neutral."""
    return _judged(sampler, (0, 2, 1)[label], REPORTS, CONCLUSIONS)


def _judged(
    sampler: Sampler, label: int, premises: tuple[str, ...], hypotheses: tuple[str, ...]
) -> Texts:
    """A hypothesis about a thing that the premise affirms (0), omits (1) or denies (2)."""
    draw = sampler.draw
    affirmed, absent, denied = sampler.distinct(3)
    queried = (affirmed, absent, denied)[label]
    name, synonym = sampler.names(queried)
    person, pronouns = sampler.person()
    verb = draw.pick(sampler.world.verbs)
    slots = {
        "person": person,
        "subject": pronouns.subject,
        "deed": verb.past,
        "participle": verb.participle,
        "affirmed": name if label == 0 else draw.pick(affirmed.names),
        "denied": name if label == 2 else draw.pick(denied.names),
        "mentioned": sampler.mention(synonym, queried.kind),
    }
    return (draw.pick(premises).format_map(slots), draw.pick(hypotheses).format_map(slots))
