"""Inference and sentiment beyond GLUE, and robustness to misleading word overlap.

SNLI and SST-5 are two of the six tasks of ELMo (Peters et al. 2018). `mnli_binary` merges neutral
and contradiction of MNLI. It is also evaluated where all words of the hypothesis are in the
premise: on part of MNLI, and on HANS, where half of such pairs are not entailment. Entailed and
other pairs are separate splits, because high accuracy on one kind would mask errors on the other.
"""

from harness.tasks.task import VALIDATION_AND_TEST, Column, HubData, Prompt, Split, Suite, Task

HEURISTICS = ("lexical_overlap", "subsequence", "constituent")
ANSWERS = {"entailed": "0", "not_entailed": "1"}


def _overlap(name: str) -> Split:
    where = {"overlap": "full", "label": ANSWERS[name]}
    return Split(name=f"overlap_{name}", of="validation_matched", where=where)


def _hans(heuristic: str, name: str) -> Split:
    """A part of HANS, which is optional: the Hub has it as a script, which `datasets` no longer
    runs.

    Its commit could not be established.
    """
    return Split(
        name=f"hans_{heuristic}_{name}",
        of="validation",
        path="jhu-cogsci/hans",
        config="plain_text",
        where={"heuristic": heuristic, "label": ANSWERS[name]},
        optional=True,
    )


OVERLAP = (
    *(_overlap(name) for name in ANSWERS),
    *(_hans(heuristic, name) for name in ANSWERS for heuristic in HEURISTICS),
)

# Prompts: Gao et al. 2021, LM-BFF, table 1.
INFERENCE_TASKS: tuple[Task, ...] = (
    Task(
        name="snli",
        kind="classification",
        data=HubData(
            path="stanfordnlp/snli",
            config="plain_text",
            revision="cdb5c3d5eed6ead6e5a341c8e56e669bb666725b",
        ),
        prepare="drop_unlabelled",
        text_fields=("premise", "hypothesis"),
        labels=("entailment", "neutral", "contradiction"),
        prompt=Prompt(pattern="{premise}? {answer}, {hypothesis}", answers=("Yes", "Maybe", "No")),
        evaluation=VALIDATION_AND_TEST,
        metrics=("accuracy",),
        chance=3368 / 9824,  # "entailment", on the test set
        train_size=549_367,  # with a label, of 550,152
        licence="CC BY-SA 4.0",
        citation="Bowman et al. 2015, SNLI, EMNLP",
    ),
    Task(
        name="sst5",
        kind="classification",
        data=HubData(path="SetFit/sst5", revision="e51bdcd8cd3a30da231967c1a249ba59361279a3"),
        text_fields=("text",),
        labels=("very negative", "negative", "neutral", "positive", "very positive"),
        prompt=Prompt(
            pattern="{text} It was {answer}.",
            answers=("terrible", "bad", "okay", "good", "great"),
        ),
        evaluation=VALIDATION_AND_TEST,
        metrics=("accuracy",),
        chance=633 / 2210,  # "negative", on the test set
        train_size=8544,
        citation="Socher et al. 2013, EMNLP",
    ),
    Task(
        name="mnli_binary",
        kind="classification",
        data=HubData(
            path="nyu-mll/glue", config="mnli", revision="bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"
        ),
        prepare="binary_nli",
        text_fields=("premise", "hypothesis"),
        labels=("entailment", "not_entailment"),
        evaluation=(Split(name="validation_matched"), *OVERLAP),
        metrics=("accuracy",),
        chance=(9815 - 3479) / 9815,  # "not_entailment"
        train_size=392_702,
        licence="OANC, CC BY and CC BY-SA, by genre",
        citation="Williams et al. 2018, NAACL; McCoy et al. 2019, HANS, ACL",
    ),
)

NLI_V1 = Suite(
    name="nli-v1",
    columns=(
        Column(name="snli", task="snli", split="test", metrics=("accuracy",)),
        Column(name="mnli_m", task="mnli", split="validation_matched", metrics=("accuracy",)),
        Column(name="mnli_mm", task="mnli", split="validation_mismatched", metrics=("accuracy",)),
        Column(name="rte", task="superglue_rte", metrics=("accuracy",)),
        Column(name="cb", task="cb", metrics=("accuracy",)),
    ),
    citation="Bowman et al. 2015; Williams et al. 2018; Wang et al. 2019",
)

OVERLAP_V1 = Suite(
    name="overlap-v1",
    columns=tuple(
        Column(name=split.name, task="mnli_binary", split=split.name, metrics=("accuracy",))
        for split in (Split(name="validation_matched"), *OVERLAP)
    ),
    citation="McCoy et al. 2019, HANS, ACL",
)
