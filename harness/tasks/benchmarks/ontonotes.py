"""OntoNotes 5.0 in the splits of CoNLL-2012: semantic roles (PropBank) and coreference."""

from harness.tasks.task import VALIDATION_AND_TEST, HubData, Task

NUMBERED = tuple(f"ARG{number}" for number in (*range(6), "A"))
MODIFIERS = (
    *("ADJ", "ADV", "CAU", "COM", "DIR", "DIS", "DSP", "EXT", "GOL", "LOC", "LVB", "MNR", "MOD"),
    *("NEG", "PNC", "PRD", "PRP", "PRR", "PRX", "REC", "TMP"),
)
ROLES = ("V", *NUMBERED, *(f"ARGM-{name}" for name in MODIFIERS))
"""Labels of PropBank in CoNLL-2012."""
ROLE_TAGS = (
    "O",
    *(f"{place}-{prefix}{role}" for prefix in ("", "C-", "R-") for role in ROLES for place in "BI"),
)
"""Every label may be continued (C-) or referred to (R-); not all of them are."""
# The user's own copy, as files *_gold_conll or in the columns of the Hub's script, which `datasets`
# no longer runs: a mirror needs one of them.
CONLL2012 = HubData(
    path="ontonotes/conll2012_ontonotesv5",
    config="english_v4",
    revision="1161216f7e7185a4b2f4d0a4e0734dc7919dfa15",
)
LICENCE = "user agreement of the Linguistic Data Consortium (LDC2013T19)"

ONTONOTES_TASKS: tuple[Task, ...] = (
    Task(
        name="ontonotes_srl",
        kind="tagging",
        data=CONLL2012,
        prepare="ontonotes_roles",
        text_fields=("tokens",),
        label_field="tags",
        labels=ROLE_TAGS,
        evaluation=VALIDATION_AND_TEST,
        metrics=("argument_f1",),
        chance=0.0,  # "O" everywhere finds no argument
        train_size=253_070,  # predicates; for estimates of time only
        licence=LICENCE,
        citation="Pradhan et al. 2012, CoNLL; Palmer et al. 2005, PropBank, CL",
    ),
    Task(
        name="ontonotes_coref",
        kind="coreference",
        data=CONLL2012,
        prepare="ontonotes_mentions",
        text_fields=("sentences",),
        label_field="mentions",
        evaluation=VALIDATION_AND_TEST,
        metrics=("coref_f1", "muc", "b_cubed", "ceaf_e"),
        chance=0.0,  # without mentions
        train_size=2_802,  # parts of documents (Pradhan et al. 2012, table 2)
        licence=LICENCE,
        citation="the CoNLL-2012 shared task: Pradhan et al. 2012, CoNLL",
    ),
)
