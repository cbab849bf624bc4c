"""Summaries of news: CNN/DailyMail (several sentences) and XSum (one)."""

from harness.tasks.task import VALIDATION_AND_TEST, Column, HubData, Suite, Task

# For several sentences, ROUGE-L (whole text) and ROUGE-Lsum (by sentence) differ by ten points or
# more; papers on CNN/DailyMail report the second.
ROUGE = ("rouge2", "rouge1", "rougeL", "rougeLsum")
COLUMNS = ("rouge1", "rouge2", "rougeLsum")

SUMMARISATION_TASKS: tuple[Task, ...] = (
    Task(
        name="cnndm",
        kind="generation",
        data=HubData(
            path="abisee/cnn_dailymail",
            config="3.0.0",
            revision="96df5e686bee6baa90b8bee7c28b81fa3fa6223d",
        ),
        text_fields=("article",),
        label_field="highlights",  # a newline separates its sentences
        evaluation=VALIDATION_AND_TEST,
        metrics=ROUGE,
        train_size=287_113,
        licence="Apache 2.0",
        citation="Hermann et al. 2015, NeurIPS; See et al. 2017, ACL",
    ),
    Task(
        name="xsum",
        kind="generation",
        data=HubData(path="EdinburghNLP/xsum", revision="7d4d486c2f8ef850b1a11aead99b894ff3dd7da9"),
        text_fields=("document",),
        label_field="summary",
        evaluation=VALIDATION_AND_TEST,
        metrics=ROUGE,
        train_size=204_045,
        citation="Narayan et al. 2018, XSum, EMNLP",
    ),
)

SUMMARISATION_V1 = Suite(
    name="summarisation-v1",
    columns=tuple(
        Column(name=f"{task}_{metric}", task=task, split="test", metrics=(metric,))
        for task in ("cnndm", "xsum")
        for metric in COLUMNS
    ),
    average="rouge_mean",
    citation="See et al. 2017, ACL; Narayan et al. 2018, EMNLP",
)
