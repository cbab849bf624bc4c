"""Tagging: named entities, parts of speech, chunks."""

from harness.tasks.task import VALIDATION_AND_TEST, HubData, Suite, Task, main_columns

ENTITY_METRICS = ("entity_f1", "entity_f1_strict")

# Tags in the order of the Hub's schema, in IOB2 (the original of 2003 is in IOB1).
NER_TAGS = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")
CHUNK_TYPES = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP")
CHUNK_TAGS = ("O", *(f"{place}-{name}" for name in CHUNK_TYPES for place in "BI"))
POS_TAGS = (
    *('"', "''", "#", "$", "(", ")", ",", ".", ":", "``", "CC", "CD", "DT", "EX", "FW", "IN"),
    *("JJ", "JJR", "JJS", "LS", "MD", "NN", "NNP", "NNPS", "NNS", "NN|SYM", "PDT", "POS", "PRP"),
    *("PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG", "VBN", "VBP"),
    *("VBZ", "WDT", "WP", "WP$", "WRB"),
)


def _conll(name: str, field: str, tags: tuple[str, ...], metrics: tuple[str, ...]) -> Task:
    return Task(
        name=name,
        kind="tagging",
        data=HubData(path="lhoestq/conll2003"),  # its commit could not be established
        text_fields=("tokens",),
        label_field=field,
        labels=tags,
        evaluation=VALIDATION_AND_TEST,
        metrics=metrics,
        # "O" everywhere finds no entity; the share of the most frequent part of speech is unknown
        chance=0.0 if metrics == ENTITY_METRICS else None,
        train_size=14_041,
        licence="Reuters corpus: research only",
        citation="Tjong Kim Sang and De Meulder 2003, CoNLL",
    )


TAGGING_TASKS: tuple[Task, ...] = (
    _conll("conll2003_ner", "ner_tags", NER_TAGS, ENTITY_METRICS),
    _conll("conll2003_pos", "pos_tags", POS_TAGS, ("accuracy_tags",)),
    _conll("conll2003_chunk", "chunk_tags", CHUNK_TAGS, ENTITY_METRICS),
    Task(
        name="ncbi_disease",
        kind="tagging",
        # The Hub has a script, which `datasets` no longer runs: a mirror needs a parquet copy. The
        # commit could not be established.
        data=HubData(path="ncbi/ncbi_disease", config="ncbi_disease"),
        text_fields=("tokens",),
        label_field="ner_tags",
        labels=("O", "B-Disease", "I-Disease"),
        evaluation=VALIDATION_AND_TEST,
        metrics=ENTITY_METRICS,
        chance=0.0,
        train_size=5433,  # on the Hub; some copies lack sentences without words
        citation="Doğan et al. 2014, NCBI disease corpus, Journal of Biomedical Informatics",
    ),
)

TAGGING_V1 = Suite(
    name="tagging-v1",
    columns=main_columns(TAGGING_TASKS, "test"),
    citation="Tjong Kim Sang and De Meulder 2003, CoNLL; Doğan et al. 2014",
)
