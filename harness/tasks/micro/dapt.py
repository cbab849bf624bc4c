"""micro-dapt-v1: two classification tasks in each of four domains.

Only the corpus of a domain reveals the classes of its words (`MicroworldCorpus.domain`).
"""

from harness.data.microworld.examples import DOMAIN_TASKS
from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Prompt, Suite, Task, main_columns


def _task(
    name: str, generator: str, ceiling: float, modelled_on: str, prompt: Prompt | None = None
) -> Task:
    labels = DOMAIN_TASKS[generator].labels
    micro = generator.startswith("biomed")
    return microworld_task(
        name,
        generator,
        modelled_on,
        text_fields=("sentence1",),
        labels=labels,
        prompt=prompt,
        metrics=("micro_f1", "macro_f1") if micro else ("macro_f1", "micro_f1"),
        chance=1 / len(labels),
        ceiling=ceiling,
        train_size=500,
    )


NEWS = Prompt(
    pattern="in {answer} news, {sentence1}", answers=("world", "sports", "business", "science")
)
PRAISE = Prompt(pattern="a {answer} review: {sentence1}", answers=("negative", "positive"))
MICRO_DAPT_TASKS: tuple[Task, ...] = (
    _task("micro-chemprot", "biomed_drugs", 0.948, "ChemProt: Kringelum et al. 2016"),
    _task("micro-rct", "biomed_trials", 0.960, "RCT: Dernoncourt and Lee 2017"),
    _task("micro-acl-arc", "cs_citations", 0.950, "ACL-ARC: Jurgens et al. 2018"),
    _task("micro-scierc", "cs_terms", 0.954, "SciERC: Luan et al. 2018"),
    _task("micro-hyperpartisan", "news_slant", 0.962, "Hyperpartisan: Kiesel et al. 2019"),
    _task("micro-agnews", "news_topics", 0.978, "AG News: Zhang et al. 2015", NEWS),
    _task("micro-helpfulness", "reviews_products", 0.960, "Helpfulness: McAuley et al. 2015"),
    _task("micro-imdb", "reviews_praise", 0.964, "IMDB: Maas et al. 2011", PRAISE),
)

MICRO_DAPT_V1 = Suite(
    name="micro-dapt-v1",
    columns=main_columns(MICRO_DAPT_TASKS),
    citation=microworld_citation("Gururangan et al. 2020, ACL"),
)
