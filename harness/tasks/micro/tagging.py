"""Tagging of named entities and of parts of speech (micro-ner-v1), and of heads."""

from harness.data.microworld.dependencies import HEAD_TAGS
from harness.data.microworld.tagging import ENTITY_TAGS, POS_TAGS
from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Suite, Task

MICRO_NER_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-ner",
        "entities",
        "CoNLL-2003: Tjong Kim Sang and De Meulder 2003",
        kind="tagging",
        text_fields=("tokens",),
        label_field="tags",
        metrics=("entity_f1", "entity_f1_strict", "accuracy_tags"),
        labels=ENTITY_TAGS,
        chance=0.0,
        ceiling=1.0,
    ),
    microworld_task(
        "micro-pos",
        "parts_of_speech",
        "the Penn Treebank: Marcus et al. 1993",
        kind="tagging",
        text_fields=("tokens",),
        label_field="tags",
        metrics=("accuracy_tags",),
        labels=POS_TAGS,
        chance=0.153,
        ceiling=1.0,
    ),
    microworld_task(
        "micro-heads",
        "word_heads",
        "Universal Dependencies: Nivre et al. 2016, LREC",
        kind="tagging",
        text_fields=("words",),
        label_field="heads",
        metrics=("accuracy_tags",),
        labels=HEAD_TAGS,
        chance=0.376,
        ceiling=1.0,
    ),
)

MICRO_NER_V1 = Suite(
    name="micro-ner-v1",
    columns=(
        Column(name="NER", task="micro-ner", metrics=("entity_f1",)),
        Column(name="POS", task="micro-pos", metrics=("accuracy_tags",)),
    ),
    citation=microworld_citation("CoNLL-2003 and the Penn Treebank"),
)
