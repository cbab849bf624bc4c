"""Requests that score a text with a pretrained model: inputs, and the tokens to predict in them.

A request has the format of the model's pretraining objective. The log-probabilities of its targets
sum to the score of the text. With the text 7 8 9 and the candidate 8 in a gap:

    objective                    input                    targets
    masked tokens                [CLS] 7 [MASK] 9 [SEP]   8 at its position
    the next token               [CLS] 7 8 9              7, 8, 9, [SEP]
    dropped spans (T5)           [CLS] 7 x 9 [SEP]        (x) 8, then y
    the whole text (BART)        [CLS] 7 [MASK] 9 [SEP]   (7) 8, then 9

Where the model generates a target of free length, the score includes the token that ends it (the
end token, the next sentinel, the token after the gap): otherwise a candidate that is a prefix of
another would include the other's probability. Tokens in parentheses are given, not scored.
"""

from dataclasses import dataclass, replace

from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary


@dataclass(frozen=True)
class Text:
    """A text to score, without special tokens, or a candidate within it."""

    tokens: tuple[int, ...]
    gap: tuple[int, int] | None = None
    """Start and end (exclusive) of the candidate; None scores the whole text."""


@dataclass(frozen=True)
class Request:
    """One input, special tokens included."""

    source: list[int]
    continuation: list[int]
    """Follows the source, or is the decoder's text; empty if the targets are in the source."""
    positions: list[int]
    """Positions to predict: in `continuation`, or in `source` if that is empty."""
    targets: list[int]
    hidden: tuple[int, ...] = ()
    """Positions in `source` that no position sees (permuted representation)."""


def default_objective(representation: str, vocabulary: Vocabulary) -> Objective:
    """The objective assumed for a network of unknown pretraining.

    It follows from the representation and, for an encoder-decoder, from whether the tokenizer has
    sentinels.
    """
    to_text = "span_corruption" if len(vocabulary.sentinels) else "denoising_infill"
    names = {
        "causal": "clm",
        "prefix": "clm",
        "bilm": "bilm",
        "permuted": "plm",
        "cbow": "cbow",
        "skipgram": "skipgram",
        "encoder_decoder": to_text,
    }
    objective = OBJECTIVES[names.get(representation, "mlm")]
    assert isinstance(objective, Objective)
    return objective


def unsupported_request(objective: Objective) -> str:
    """Why a model trained on `objective` cannot score texts; empty if it can."""
    if objective.output.kind == "replaced_token":
        return "it was trained to detect replaced tokens, not to predict tokens"
    if objective.output.kind == "corrected_token":  # samples stand at the masks
        return "it was trained to correct replaced tokens, not to predict masked ones"
    if objective.output.kind == "sampled_token":
        return "it was trained to tell tokens from sampled ones, not to predict tokens"
    if objective.output.kind == "cooccurrence":
        return "it was trained on counts of co-occurrence, not to predict tokens"
    if objective.output.kind == "neighbour_sentences":
        return "it was trained to embed sentences: the decoders, which predict tokens, are not kept"
    if objective.output.kind == "next_token" and objective.representation == "bidirectional":
        return "it has seen the tokens that it was trained to predict"
    learned = objective.distillation
    if learned and not learned.token_weight and not learned.soft_target_weight:
        return "it was trained on its teacher's states alone, not to predict tokens"
    to_text = objective.predicts_text and objective.transform.kind != "prefix"
    if to_text and objective.transform.gap_filler is None:
        return (
            f"it was trained on texts without gaps ({objective.transform.kind}), so it has not "
            "learned to fill them"
        )
    return ""


def make_requests(text: Text, objective: Objective, vocabulary: Vocabulary) -> list[Request]:
    """The requests whose log-probabilities sum to the score of `text`.

    Whole texts: left-to-right models give log p(text, end) in one request, encoder-decoders from a
    source that is one gap. In-position models give the pseudo-log-likelihood of Salazar et al. 2020
    (ACL, section 2): one request per token, with all others visible.

    Candidates in a gap: left-to-right models give log p of the whole text, which is
    log p(candidate | context) up to a constant. In-place models predict the candidate's tokens from
    left to right, with its later tokens masked as well (Kauf and Ivanova 2023, ACL,
    `PLL-word-l2r`): if they were visible, the pieces of a rare word would give each other away.
    Scores are sums over the tokens, not means, because only the sum is a log-probability; longer
    candidates therefore score slightly lower.

    Mode tokens of a mixture (UL2) are not given.
    """
    representation, output = objective.representation, objective.output.kind
    if representation == "cbow":
        return [_context_window(text, vocabulary)]
    if output == "masked_token" or representation == "permuted":
        return _in_place(text, representation, vocabulary)
    if output == "next_token" or objective.transform.kind == "prefix":
        return [_continued(text, objective, vocabulary)]
    if output == "dropped_spans":
        return [_span(text, objective, vocabulary)]
    return [_whole(text, objective, vocabulary)]


def left_to_right(text: Text, objective: Objective, vocabulary: Vocabulary) -> list[Request]:
    """The requests that predict each token of the gap from the tokens before it alone, as when the
    text is written from left to right.

    In-place models, such as encoders, predict a mask at the end of the text so far, again for each
    token; encoder-decoders read the tokens before the gap, and a gap. Mode tokens are not given.
    """
    assert text.gap
    begin, end = text.gap
    if objective.output.kind == "masked_token" or objective.representation == "permuted":
        parts = [Text(text.tokens[: place + 1], (place, place + 1)) for place in range(begin, end)]
        return [make_requests(part, objective, vocabulary)[-1] for part in parts]
    if objective.output.kind == "next_token" and objective.transform.kind != "prefix":
        (whole,) = make_requests(Text(text.tokens[:end]), objective, vocabulary)
        return [
            replace(whole, positions=whole.positions[begin:end], targets=whole.targets[begin:end])
        ]
    (one,) = make_requests(Text(text.tokens[:end], text.gap), objective, vocabulary)
    number = end - begin  # without the token that ends the gap
    return [replace(one, positions=one.positions[:number], targets=one.targets[:number])]


def _in_place(text: Text, representation: str, vocabulary: Vocabulary) -> list[Request]:
    """One request per token, which is masked or, if permuted, hidden from all positions."""
    begin, end = text.gap or (0, len(text.tokens))
    one_way = representation in ("causal", "right_to_left")
    if one_way:  # does not see what lies beyond the gap: scores the whole text
        begin, end = 0, len(text.tokens)
    row = [vocabulary.cls, *text.tokens, vocabulary.sep]
    requests = []
    for position in range(begin + 1, end + 1):
        hidden = range(position, end + 1) if text.gap and not one_way else (position,)
        masked = [vocabulary.mask if i in hidden else token for i, token in enumerate(row)]
        if representation == "permuted":
            requests.append(Request(row, [], [position], [row[position]], tuple(hidden)))
        else:
            requests.append(Request(masked, [], [position], [row[position]]))
    return requests


def _context_window(text: Text, vocabulary: Vocabulary) -> Request:
    """Each token is predicted from the vectors around it."""
    begin, end = text.gap or (0, len(text.tokens))
    row = [vocabulary.cls, *text.tokens, vocabulary.sep]
    return Request(row, [], list(range(begin + 1, end + 1)), row[begin + 1 : end + 1])


def _continued(text: Text, objective: Objective, vocabulary: Vocabulary) -> Request:
    """The text after [CLS] or, for a prefix LM, after the text before the gap."""
    given, source = 0, [vocabulary.cls]
    if objective.transform.kind == "prefix":
        given = text.gap[0] if text.gap else 0
        source = [vocabulary.cls, *text.tokens[:given], vocabulary.sep]
    target = [*text.tokens[given:], vocabulary.sep]
    return Request(source, target, list(range(len(target))), target)


def _span(text: Text, objective: Objective, vocabulary: Vocabulary) -> Request:
    """The tokens of the gap, between sentinels if it has any (Raffel et al. 2020, 3.1.4)."""
    begin, end = gap = text.gap or (0, len(text.tokens))
    source = _source_with_gap(text, gap, objective, vocabulary)
    missing = list(text.tokens[begin:end])
    if objective.transform.gap_filler == "sentinel":
        first, second = (int(number) for number in vocabulary.sentinels[:2])
        target = [first, *missing, second, vocabulary.sep]
        return Request(source, target, list(range(1, len(target) - 1)), [*missing, second])
    target = [*missing, vocabulary.sep]
    return Request(source, target, list(range(len(target))), target)


def _whole(text: Text, objective: Objective, vocabulary: Vocabulary) -> Request:
    """The text from a source with a gap; scores the candidate and the token after it."""
    begin, end = gap = text.gap or (0, len(text.tokens))
    target = [*text.tokens, vocabulary.sep]
    positions = list(range(begin, end + 1))
    source = _source_with_gap(text, gap, objective, vocabulary)
    return Request(source, target, positions, target[begin : end + 1])


def _source_with_gap(
    text: Text, gap: tuple[int, int], objective: Objective, vocabulary: Vocabulary
) -> list[int]:
    begin, end = gap
    fillers: dict[str | None, list[int]] = {
        "sentinel": [int(number) for number in vocabulary.sentinels[:1]],
        "mask": [vocabulary.mask],
        "mask_per_token": [vocabulary.mask] * (end - begin),
        "nothing": [],
    }
    filling = fillers[objective.transform.gap_filler]
    context = [*text.tokens[:begin], *filling, *text.tokens[end:]]
    return vocabulary.framed(context)
