"""Semantic roles and coreference, modelled on OntoNotes, and ELMo's six tasks."""

from harness.data.microworld.mentions import MENTION_TAGS
from harness.data.microworld.roles import ROLE_TAGS
from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Suite, Task

MICRO_ONTONOTES_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-srl",
        "semantic_roles",
        "PropBank: Palmer et al. 2005, CL; Carreras and Màrquez 2005, CoNLL",
        kind="tagging",
        prepare="marked_predicate",
        text_fields=("tokens",),
        label_field="tags",
        metrics=("argument_f1",),
        labels=ROLE_TAGS,
        chance=0.0,
        ceiling=1.0,
    ),
    # Mentions are found, and each is given the number of its entity, as in the targets of Zhang et
    # al. 2023, "Seq2seq is all you need for coreference resolution", EMNLP.
    microworld_task(
        "micro-coref",
        "mention_clusters",
        "the CoNLL-2012 shared task: Pradhan et al. 2012, CoNLL",
        kind="tagging",
        text_fields=("words",),
        label_field="tags",
        metrics=("coref_f1", "muc", "b_cubed", "ceaf_e"),
        labels=MENTION_TAGS,
        chance=0.0,
        ceiling=1.0,
    ),
    microworld_task(
        "micro-coref-documents",
        "mention_documents",
        "the CoNLL-2012 shared task: Pradhan et al. 2012, CoNLL",
        kind="coreference",
        text_fields=("sentences",),
        label_field="mentions",
        metrics=("coref_f1", "muc", "b_cubed", "ceaf_e"),
        chance=0.0,
        ceiling=1.0,
    ),
)

MICRO_ELMO_V1 = Suite(
    name="micro-elmo-v1",
    columns=(
        Column(name="SQuAD", task="micro-squad", metrics=("token_f1",)),
        Column(name="SNLI", task="micro-mnli", split="validation_matched", metrics=("accuracy",)),
        Column(name="SRL", task="micro-srl", metrics=("argument_f1",)),
        Column(name="Coref", task="micro-coref", metrics=("coref_f1",)),
        Column(name="NER", task="micro-ner", metrics=("entity_f1",)),
        Column(name="SST", task="micro-sst2", metrics=("accuracy",)),
    ),
    citation=microworld_citation("ELMo's six tasks: Peters et al. 2018, NAACL, table 1"),
)
"""SST-5 has two classes here, and SNLI the genres of MNLI."""

MICRO_ELMO_V2 = Suite(
    name="micro-elmo-v2",
    columns=(
        *MICRO_ELMO_V1.columns[:3],
        Column(name="Coref", task="micro-coref-documents", metrics=("coref_f1",)),
        *MICRO_ELMO_V1.columns[4:],
    ),
    citation=microworld_citation("ELMo's six tasks: Peters et al. 2018, NAACL, table 1"),
)
"""With mentions in documents in place of tags in passages."""
