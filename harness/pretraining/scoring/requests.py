"""What a pretrained model is asked about a text: what it reads, and the tokens it has to name.

A question has the form that the model was trained on, so that its answers are what it has learned.
Their log-probabilities sum to the score of the text. With the text 7 8 9, a candidate 8 in a gap:

    trained to name              reads                    names
    hidden tokens, both ways     [CLS] 7 [MASK] 9 [SEP]   8 at its place
    the next token               [CLS] 7 8 9              7, 8, 9, [SEP]
    dropped spans (T5)           [CLS] 7 x 9 [SEP]        (x) 8, then y
    the whole text (BART)        [CLS] 7 [MASK] 9 [SEP]   (7) 8, then 9

Whoever tells a text of a length of its own choice is scored with the token that ends it, too (the
end token, the next sentinel, what follows the gap): otherwise a candidate with which another
begins would be given the other's probability as well. First tokens are given, not scored.
"""

from dataclasses import dataclass

from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.transform import GapFiller
from harness.pretraining.objectives.vocabulary import Vocabulary


@dataclass(frozen=True)
class Text:
    """Tokens without special ones; where a candidate is asked about, its place among them."""

    tokens: tuple[int, ...]
    gap: tuple[int, int] | None = None
    """First place of the candidate, and the place after its last; none: the whole text."""


@dataclass(frozen=True)
class Request:
    """One input, special tokens included."""

    source: list[int]
    """What is given."""
    told: list[int]
    """What is told after it, or by a decoder; nothing where tokens are named in place."""
    named: list[int]
    """Places to name: in `told`, or in `source` where nothing is told."""
    tokens: list[int]
    """The right tokens there."""
    hidden: tuple[int, ...] = ()
    """Places in `source` that are seen from nowhere (permuted reading)."""


def default_objective(representation: str, vocabulary: Vocabulary) -> Objective:
    """What a network of unknown training is taken to have learned: by how it reads, and of an
    encoder-decoder by whether its tokenizer has sentinels."""
    to_text = "span_corruption" if len(vocabulary.sentinels) else "denoising_infill"
    names = {
        "causal": "clm",
        "prefix": "clm",
        "bilm": "bilm",
        "permuted": "plm",
        "cbow": "cbow",
        "encoder_decoder": to_text,
    }
    objective = OBJECTIVES[names.get(representation, "mlm")]
    assert isinstance(objective, Objective)
    return objective


def unsupported_request(objective: Objective) -> str:
    """Why nothing can be asked of a model trained on `objective`; empty if something can."""
    if objective.output.kind == "replaced_token":
        return "it was trained to tell replaced tokens from original ones, and names none"
    learned = objective.distillation
    if learned and not learned.token_weight and not learned.soft_target_weight:
        return "it was taught a teacher's states alone, and names no tokens"
    to_text = objective.predicts_text and objective.transform.kind != "prefix"
    if to_text and objective.transform.gap_filler is None:
        return (
            f"it was trained on texts in which nothing is missing ({objective.transform.kind}), so "
            "it has not learned to fill a gap"
        )
    return ""


def make_requests(text: Text, objective: Objective, vocabulary: Vocabulary) -> list[Request]:
    """The questions whose answers sum to the score of `text`.

    Whole texts: from left to right, log p(text, end) in one question, for an encoder-decoder with a
    source that is nothing but one gap; in place, the pseudo-log-likelihood of Salazar et al. 2020
    (ACL, section 2), one question a token, all others visible.

    Candidates in a gap: from left to right, log p of the whole text again, which is log
    p(candidate | text around it) but for a constant. In place, the candidate's tokens from left to
    right, its later ones hidden with the one to name (Kauf and Ivanova 2023, ACL, `PLL-word-l2r`):
    were they visible, a rare word of many pieces would be certain, because each gives away the
    others. Sums and no means over the tokens: only the sum is a log-probability, so that candidates
    of more pieces are not preferred; that they are a little at a disadvantage remains.

    Mode tokens of a mixture (UL2) are not given.
    """
    reading, output = objective.representation, objective.output.kind
    if reading == "cbow":
        return [_neighbours(text, vocabulary)]
    if output == "masked_token" or reading == "permuted":
        return _in_place(text, reading, vocabulary)
    if output == "next_token" or objective.transform.kind == "prefix":
        return [_continued(text, objective, vocabulary)]
    if output == "dropped_spans":
        return [_span(text, objective, vocabulary)]
    return [_whole(text, objective, vocabulary)]


def _in_place(text: Text, reading: str, vocabulary: Vocabulary) -> list[Request]:
    """A question a token, which is hidden by a mask or, in a permuted reading, from all sight."""
    begin, end = text.gap or (0, len(text.tokens))
    if reading == "causal":  # sees nothing of what follows a gap: the whole text tells
        begin, end = 0, len(text.tokens)
    row = [vocabulary.cls, *text.tokens, vocabulary.sep]
    questions = []
    for place in range(begin + 1, end + 1):
        hidden = range(place, end + 1) if text.gap and reading != "causal" else (place,)
        masked = [vocabulary.mask if i in hidden else token for i, token in enumerate(row)]
        if reading == "permuted":
            questions.append(Request(row, [], [place], [row[place]], tuple(hidden)))
        else:
            questions.append(Request(masked, [], [place], [row[place]]))
    return questions


def _neighbours(text: Text, vocabulary: Vocabulary) -> Request:
    """Each token from the vectors around it."""
    begin, end = text.gap or (0, len(text.tokens))
    row = [vocabulary.cls, *text.tokens, vocabulary.sep]
    return Request(row, [], list(range(begin + 1, end + 1)), row[begin + 1 : end + 1])


def _continued(text: Text, objective: Objective, vocabulary: Vocabulary) -> Request:
    """The text after its first token, or, of a prefix LM, after what stands before the gap."""
    given, source = 0, [vocabulary.cls]
    if objective.transform.kind == "prefix":
        given = text.gap[0] if text.gap else 0
        source = [vocabulary.cls, *text.tokens[:given], vocabulary.sep]
    told = [*text.tokens[given:], vocabulary.sep]
    return Request(source, told, list(range(len(told))), told)


def _span(text: Text, objective: Objective, vocabulary: Vocabulary) -> Request:
    """The tokens of a gap between sentinels, or without them (Raffel et al. 2020, 3.1.4)."""
    begin, end = gap = text.gap or (0, len(text.tokens))
    source = _with_hole(text, gap, objective, vocabulary)
    missing = list(text.tokens[begin:end])
    if objective.transform.gap_filler == "sentinel":
        first, second = (int(number) for number in vocabulary.sentinels[:2])
        told = [first, *missing, second, vocabulary.sep]
        return Request(source, told, list(range(1, len(told) - 1)), [*missing, second])
    told = [*missing, vocabulary.sep]
    return Request(source, told, list(range(len(told))), told)


def _whole(text: Text, objective: Objective, vocabulary: Vocabulary) -> Request:
    """The text from a source with a hole; the candidate and what ends it count."""
    begin, end = gap = text.gap or (0, len(text.tokens))
    told = [*text.tokens, vocabulary.sep]
    places = list(range(begin, end + 1))
    source = _with_hole(text, gap, objective, vocabulary)
    return Request(source, told, places, told[begin : end + 1])


def _with_hole(
    text: Text, gap: tuple[int, int], objective: Objective, vocabulary: Vocabulary
) -> list[int]:
    begin, end = gap
    fillers: dict[GapFiller | None, list[int]] = {
        "sentinel": [int(number) for number in vocabulary.sentinels[:1]],
        "mask": [vocabulary.mask],
        "mask_per_token": [vocabulary.mask] * (end - begin),
        "nothing": [],
    }
    filling = fillers[objective.transform.gap_filler]
    around = [*text.tokens[:begin], *filling, *text.tokens[end:]]
    return vocabulary.framed(around)
