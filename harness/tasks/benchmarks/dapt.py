"""The eight tasks, in four domains, of Don't Stop Pretraining (Gururangan et al. 2020).

Reported on the test set, as there: micro-F1 for ChemProt and RCT, macro-F1 for the rest (table 5).
ChemProt and SciERC classify the relation between two marked mentions, so they also represent
relation extraction.

Sizes and splits are those of the Hub. They differ from the paper for AG News and IMDB, whose 5000
validation examples are taken from train there (as the hold-out is here), and for RCT, for which the
paper's table has 18,040 training sentences and the released set ten times as many.
"""

from harness.tasks.task import (
    VALIDATION_AND_TEST,
    HubData,
    Prompt,
    Split,
    Suite,
    Task,
    main_columns,
)

TEST = (Split(name="test"),)
MICRO, MACRO = ("micro_f1", "macro_f1"), ("macro_f1", "accuracy")

# Chance is the share of the test set's largest class for micro-F1, which equals accuracy, and
# 1 / classes for macro-F1: predictions drawn with the class frequencies p have F1 p for each class,
# and no other random or constant prediction has a higher mean.
CHEMPROT = (
    *("ACTIVATOR", "AGONIST", "AGONIST-ACTIVATOR", "AGONIST-INHIBITOR", "ANTAGONIST"),
    *("DOWNREGULATOR", "INDIRECT-DOWNREGULATOR", "INDIRECT-UPREGULATOR", "INHIBITOR"),
    *("PRODUCT-OF", "SUBSTRATE", "SUBSTRATE_PRODUCT-OF", "UPREGULATOR"),
)
ACL_ARC = ("Background", "CompareOrContrast", "Extends", "Future", "Motivation", "Uses")
SCIERC = (
    *("COMPARE", "CONJUNCTION", "EVALUATE-FOR", "FEATURE-OF", "HYPONYM-OF", "PART-OF", "USED-FOR"),
)


# The commits of these copies of the paper's files, and of Helpfulness, could not be established.
def _copied(name: str, path: str, labels: tuple[str, ...], train_size: int, citation: str) -> Task:
    micro = name == "chemprot"
    return Task(
        name=name,
        kind="classification",
        data=HubData(path=f"zapsdcn/{path}"),
        text_fields=("text",),
        labels=labels,
        evaluation=VALIDATION_AND_TEST,
        metrics=MICRO if micro else MACRO,
        chance=1255 / 3469 if micro else 1 / len(labels),
        train_size=train_size,
        citation=citation,
    )


DAPT_TASKS: tuple[Task, ...] = (
    _copied("chemprot", "chemprot", CHEMPROT, 4169, "Kringelum et al. 2016, Database"),
    Task(
        name="rct",
        kind="classification",
        data=HubData(
            path="armanc/pubmed-rct20k", revision="091aec1e2384a20b2b36eb96177755ca13dd0b42"
        ),
        prepare="lower_labels",
        text_fields=("text",),
        labels=("background", "conclusions", "methods", "objective", "results"),
        evaluation=VALIDATION_AND_TEST,
        metrics=MICRO,
        chance=9897 / 30_135,  # "methods"
        train_size=180_040,
        citation="Dernoncourt and Lee 2017, PubMed 200k RCT, IJCNLP",
    ),
    _copied("acl_arc", "citation_intent", ACL_ARC, 1688, "Jurgens et al. 2018, TACL"),
    _copied("scierc", "sciie", SCIERC, 3219, "Luan et al. 2018, EMNLP"),
    # "true": the article is hyperpartisan
    _copied("hyp", "hyperpartisan_news", ("false", "true"), 516, "Kiesel et al. 2019, SemEval"),
    Task(
        name="agnews",
        kind="classification",
        data=HubData(path="fancyzhx/ag_news", revision="eb185aade064a813bc0b7f42de02595523103ca4"),
        text_fields=("text",),
        labels=("World", "Sports", "Business", "Sci/Tech"),
        # Schick and Schuetze 2021, Exploiting Cloze Questions, section 4.1
        prompt=Prompt(
            pattern="{answer} News: {text}", answers=("World", "Sports", "Business", "Tech")
        ),
        evaluation=TEST,
        metrics=MACRO,
        chance=1 / 4,
        train_size=120_000,
        licence="non-commercial",
        citation="Zhang et al. 2015, NeurIPS",
    ),
    Task(
        name="helpful",
        kind="classification",
        data=HubData(path="vannacute/AmazonReviewHelpfulness"),
        text_fields=("text",),
        labels=("helpful", "unhelpful"),
        evaluation=TEST,
        metrics=MACRO,
        chance=1 / 2,
        train_size=115_251,
        citation="McAuley et al. 2015, SIGIR",
    ),
    Task(
        name="imdb",
        kind="classification",
        data=HubData(
            path="stanfordnlp/imdb",
            config="plain_text",
            revision="e6281661ce1c48d982bc483cf8a173c1bbeb5d31",
        ),
        text_fields=("text",),
        labels=("neg", "pos"),
        # Gao et al. 2021, LM-BFF, table 1, for reviews of films
        prompt=Prompt(pattern="{text} It was {answer}.", answers=("terrible", "great")),
        evaluation=TEST,
        metrics=MACRO,
        chance=1 / 2,
        train_size=25_000,
        citation="Maas et al. 2011, ACL",
    ),
)

DAPT_V1 = Suite(
    name="dapt-v1",
    columns=main_columns(DAPT_TASKS, "test"),
    citation="Gururangan et al. 2020, Don't Stop Pretraining, ACL",
)
