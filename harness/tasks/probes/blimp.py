"""BLiMP: 67 paradigms of 1,000 English minimal pairs each (Warstadt et al. 2020, TACL).

Seven published pairs are of two equal sentences, two in passive_1 and five in principle_A_case_2
(issue 10 of alexwarstadt/blimp). They are kept and tie for every model.
"""

from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData

PHENOMENA: dict[str, tuple[str, ...]] = {
    phenomenon: tuple(paradigms.split())
    for phenomenon, paradigms in {
        "anaphor_agreement": "anaphor_gender_agreement anaphor_number_agreement",
        "argument_structure": (
            "animate_subject_passive animate_subject_trans causative drop_argument inchoative "
            "intransitive passive_1 passive_2 transitive"
        ),
        "binding": (
            "principle_A_c_command principle_A_case_1 principle_A_case_2 principle_A_domain_1 "
            "principle_A_domain_2 principle_A_domain_3 principle_A_reconstruction"
        ),
        "control_raising": (
            "existential_there_object_raising existential_there_subject_raising "
            "expletive_it_object_raising tough_vs_raising_1 tough_vs_raising_2"
        ),
        "determiner_noun_agreement": (
            "determiner_noun_agreement_1 determiner_noun_agreement_2 "
            "determiner_noun_agreement_irregular_1 determiner_noun_agreement_irregular_2 "
            "determiner_noun_agreement_with_adj_2 determiner_noun_agreement_with_adj_irregular_1 "
            "determiner_noun_agreement_with_adj_irregular_2 "
            "determiner_noun_agreement_with_adjective_1"
        ),
        "ellipsis": "ellipsis_n_bar_1 ellipsis_n_bar_2",
        "filler_gap_dependency": (
            "wh_questions_object_gap wh_questions_subject_gap "
            "wh_questions_subject_gap_long_distance wh_vs_that_no_gap "
            "wh_vs_that_no_gap_long_distance wh_vs_that_with_gap wh_vs_that_with_gap_long_distance"
        ),
        "irregular_forms": ("irregular_past_participle_adjectives irregular_past_participle_verbs"),
        "island_effects": (
            "adjunct_island complex_NP_island "
            "coordinate_structure_constraint_complex_left_branch "
            "coordinate_structure_constraint_object_extraction left_branch_island_echo_question "
            "left_branch_island_simple_question sentential_subject_island wh_island"
        ),
        "npi_licensing": (
            "matrix_question_npi_licensor_present npi_present_1 npi_present_2 "
            "only_npi_licensor_present only_npi_scope sentential_negation_npi_licensor_present "
            "sentential_negation_npi_scope"
        ),
        "quantifiers": (
            "existential_there_quantifiers_1 existential_there_quantifiers_2 "
            "superlative_quantifiers_1 superlative_quantifiers_2"
        ),
        "subject_verb_agreement": (
            "distractor_agreement_relational_noun distractor_agreement_relative_clause "
            "irregular_plural_subject_verb_agreement_1 irregular_plural_subject_verb_agreement_2 "
            "regular_plural_subject_verb_agreement_1 regular_plural_subject_verb_agreement_2"
        ),
    }.items()
}
"""The 12 phenomena of the paper to their paradigms, which are the categories of the probe."""

BLIMP = Probe(
    name="blimp",
    kind="minimal_pairs",
    data=HubData(path="nyu-mll/blimp", revision="877fba0801ffb7cbd8c39c1ff314a46f053f6036"),
    categories=tuple(paradigm for paradigms in PHENOMENA.values() for paradigm in paradigms),
    fields=("sentence_good", "sentence_bad"),
    split="train",  # the only split; it is a test set in spite of its name
    chance=0.5,
    licence="CC BY 4.0",
    citation="Warstadt et al. 2020, BLiMP, TACL",
)
# Takes minutes on a CPU: a masked model needs one forward pass for each token of a sentence.
BLIMP_200 = BLIMP.model_copy(update={"name": "blimp-200", "max_items": 200})
