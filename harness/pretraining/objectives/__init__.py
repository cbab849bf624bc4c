"""AXIS: pretraining objectives. Objective = transform x representation x output.

Batches of an objective are made here; networks are trained on them in
`harness.pretraining.learners`.
"""

from typing import Any

from harness.pretraining.objectives import outputs
from harness.pretraining.objectives.objective import Component, Mixture, Objective
from harness.pretraining.objectives.transforms import (
    denoising,
    identifiers,
    masking,
    order,
    spans,
)


def _dropped_spans(transform: Any) -> Objective:
    return Objective(
        transform=transform, representation="encoder_decoder", output=outputs.DroppedSpans()
    )


def _t5(**transform: Any) -> Objective:
    return _dropped_spans(spans.SpanCorruption(**transform))


def _whole_text(transform: Any) -> Objective:
    return Objective(
        transform=transform, representation="encoder_decoder", output=outputs.WholeText()
    )


_CLM = Objective(transform=order.Identity(), representation="causal", output=outputs.NextToken())


def _ul2() -> Mixture:
    """Tay et al. 2023, section 3.1: R, S and X denoisers in equal parts with mode tokens."""

    def part(weight: float, mode: str, mean: float, rate: float) -> Component:
        objective = _t5(mean_span_length=mean, mask_rate=rate)
        return Component(weight=weight, mode_token=mode, objective=objective)

    sequential = _dropped_spans(order.Prefix(min_target_fraction=0.25, max_target_fraction=0.25))
    third = 1 / 3
    return Mixture(
        mixture=(
            *(part(third / 2, "[NLU]", mean, 0.15) for mean in (3, 8)),
            Component(weight=third, mode_token="[S2S]", objective=sequential),
            *(
                part(third / 4, "[NLG]", mean, rate)
                for mean, rate in ((3, 0.5), (8, 0.5), (64, 0.15), (64, 0.5))
            ),
        )
    )


def _unilm() -> Mixture:
    """Dong et al. 2019, sections 2.2 to 2.4: one cloze task under four attention masks, with NSP
    where both directions are seen. The segments are those of microsoft/unilm, seq2seq_loader.py.

    The bidirectional part is last, so that tasks and probes read in both directions.
    """
    # Section 2.4: 80 % single tokens, 20 % bigrams or trigrams, here of equal shares.
    transform = masking.NgramMasking(max_ngram=3, shares=(0.8, 0.1, 0.1), unit="token")

    def part(weight: float, segments: tuple[int, int], **fields: Any) -> Component:
        objective = Objective(transform=transform, **fields)
        return Component(weight=weight, segments=segments, objective=objective)

    return Mixture(
        mixture=(
            part(1 / 6, (2, 2), representation="causal"),
            part(1 / 6, (3, 3), representation="right_to_left"),
            part(1 / 3, (4, 5), representation="prefix"),
            part(1 / 3, (0, 1), sentence_pair="nsp"),
        ),
        dupe_factor=10,  # the text is prepared as BERT's (section 2.4)
    )


def _codet5() -> Mixture:
    """Wang et al. 2021, section 3.2: span corruption and masked identifiers in equal parts, the
    former last, so that held-out losses are of it."""
    parts = (_dropped_spans(identifiers.MaskedIdentifiers()), _t5())
    return Mixture(mixture=tuple(Component(objective=part) for part in parts))


OBJECTIVES: dict[str, Objective | Mixture] = {
    "mlm": Objective(),
    "whole_word_mlm": Objective(transform=masking.TokenMasking(whole_word=True)),
    "ngram_mlm": Objective(transform=masking.NgramMasking()),  # Lan et al. 2020, section 3.1
    "span_mlm": Objective(transform=masking.SpanMasking()),  # Joshi et al. 2020, section 3.1
    "spanbert": Objective(transform=masking.SpanMasking(), span_boundary=True),  # with section 3.2
    "mlm_nsp": Objective(sentence_pair="nsp"),  # Devlin et al. 2019, section 3.1
    "mlm_sop": Objective(sentence_pair="sop"),  # Lan et al. 2020, section 3.1
    "clm": _CLM,  # Radford et al. 2018, section 3.1
    "bilm": Objective(  # Peters et al. 2018, section 3.1
        transform=order.Identity(), representation="bilm", output=outputs.NextToken()
    ),
    "sequence_autoencoder": Objective(  # Dai and Le 2015, section 2
        transform=order.Identity(), representation="causal", output=outputs.WholeText()
    ),
    "cbow": Objective(  # Mikolov et al. 2013, section 3.1
        transform=order.Identity(), representation="cbow", output=outputs.MaskedToken()
    ),
    "cbow_negative_sampling": Objective(  # Mikolov et al. 2013b, section 2.2
        transform=order.Identity(), representation="cbow", output=outputs.SampledToken()
    ),
    "skipgram": Objective(  # Mikolov et al. 2013b, section 2.2
        transform=order.ContextWindow(), representation="skipgram", output=outputs.SampledToken()
    ),
    "glove": Objective(  # Pennington et al. 2014, section 3
        transform=order.Identity(), representation="skipgram", output=outputs.Cooccurrence()
    ),
    "plm": Objective(  # Yang et al. 2019, section 2.2
        transform=order.PermutationOrder(), representation="permuted", output=outputs.NextToken()
    ),
    "rtd": Objective(output=outputs.ReplacedToken()),  # Clark et al. 2020, section 2
    # Meng et al. 2021, section 3.2: corrective LM alone, and with sequence contrastive learning
    "corrective_lm": Objective(output=outputs.CorrectedToken(contrast=None)),
    "coco_lm": Objective(output=outputs.CorrectedToken()),
    # Raffel et al. 2020, section 3.1.4 (the baseline), and tables 3 and 4
    "span_corruption": _t5(),
    "iid_corruption": _t5(noise="iid"),
    "drop_corruption": _t5(noise="iid", replacement="drop"),
    "mass": _whole_text(spans.SpanCorruption(noise="iid", replacement="mask_token")),
    "bert_style": _whole_text(
        spans.SpanCorruption(noise="iid", replacement="mask_token", random_token_rate=0.1)
    ),
    "deshuffling": _whole_text(order.Deshuffling()),
    "prefix_lm": _dropped_spans(order.Prefix()),
    # Lewis et al. 2020, section 2.2 and table 1
    "denoising": _whole_text(denoising.Denoising(infill_rate=0.3, permute_sentences=1.0)),
    "denoising_mask": _whole_text(denoising.Denoising(mask_rate=0.15)),
    "denoising_delete": _whole_text(denoising.Denoising(delete_rate=0.15)),
    "denoising_infill": _whole_text(denoising.Denoising(infill_rate=0.3)),
    "denoising_permute": _whole_text(denoising.Denoising(permute_sentences=1.0)),
    "denoising_rotate": _whole_text(denoising.Denoising(rotate_rate=1.0)),
    # Wang et al. 2021, section 3.2: masked identifiers alone, and with span corruption
    "masked_identifiers": _dropped_spans(identifiers.MaskedIdentifiers()),
    "codet5": _codet5(),
    "skip_thought": Objective(  # Kiros et al. 2015, section 2.1
        transform=order.Identity(), representation="causal", output=outputs.NeighbourSentences()
    ),
    "ul2": _ul2(),
    "unilm": _unilm(),
    # half of the updates each
    "mlm_clm": Mixture(mixture=(Component(objective=Objective()), Component(objective=_CLM))),
}
