"""Published benchmarks: their tasks and suites, one file for each, and suites across them.

Left out: the generation of dialogue (no agreed metric).
"""

from harness.tasks.benchmarks.beir import BEIR_TASKS, BEIR_V1
from harness.tasks.benchmarks.code import CODE_TASKS, CODEXGLUE_V1, PYTHON_CODE_V1
from harness.tasks.benchmarks.dapt import DAPT_TASKS, DAPT_V1
from harness.tasks.benchmarks.dialogue import DIALOGUE_TASKS, DREAM_V1
from harness.tasks.benchmarks.food_to_film import FOOD_TO_FILM_TASK, FOOD_TO_FILM_V1
from harness.tasks.benchmarks.glue import GLUE_TASKS, GLUE_V1
from harness.tasks.benchmarks.inference import INFERENCE_TASKS, NLI_V1, OVERLAP_V1
from harness.tasks.benchmarks.multilingual import MULTILINGUAL_TASKS, PAWS_X_V1, XNLI_V1
from harness.tasks.benchmarks.ontonotes import ONTONOTES_TASKS
from harness.tasks.benchmarks.parsing import PARSING_TASKS
from harness.tasks.benchmarks.question_answering import QUESTION_ANSWERING_TASKS, UNIFIEDQA_V1
from harness.tasks.benchmarks.retrieval import RETRIEVAL_TASKS, RETRIEVAL_V1
from harness.tasks.benchmarks.squad import SQUAD_TASKS, SQUAD_V1
from harness.tasks.benchmarks.sts import STS_MEAN_V1, STS_TASKS, STS_V1
from harness.tasks.benchmarks.summarisation import SUMMARISATION_TASKS, SUMMARISATION_V1
from harness.tasks.benchmarks.superglue import SUPERGLUE_TASKS, SUPERGLUE_V1, SUPERGLUE_V2
from harness.tasks.benchmarks.swag import SWAG_TASKS, SWAG_V1
from harness.tasks.benchmarks.tagging import TAGGING_TASKS, TAGGING_V1
from harness.tasks.benchmarks.translation import TRANSLATION_TASKS, TRANSLATION_V1
from harness.tasks.task import Column, Suite, Task

# The six tasks of ELMo without those on OntoNotes; SQuAD and SNLI on their public splits.
ELMO_V1 = Suite(
    name="elmo-v1",
    columns=(
        Column(name="squad", task="squad1", metrics=("token_f1",)),
        Column(name="snli", task="snli", split="test", metrics=("accuracy",)),
        Column(name="ner", task="conll2003_ner", split="test", metrics=("entity_f1",)),
        Column(name="sst5", task="sst5", split="test", metrics=("accuracy",)),
    ),
    citation="Peters et al. 2018, ELMo, NAACL, table 1",
)

# With semantic roles, for users who have a copy of OntoNotes; without coreference.
ELMO_V2 = Suite(
    name="elmo-v2",
    columns=(
        *ELMO_V1.columns[:2],
        Column(name="srl", task="ontonotes_srl", split="test", metrics=("argument_f1",)),
        *ELMO_V1.columns[2:],
    ),
    citation="Peters et al. 2018, ELMo, NAACL, table 1",
)

# All six tasks.
ELMO_V3 = Suite(
    name="elmo-v3",
    columns=(
        *ELMO_V2.columns[:3],
        Column(name="coref", task="ontonotes_coref", split="test", metrics=("coref_f1",)),
        *ELMO_V2.columns[3:],
    ),
    citation="Peters et al. 2018, ELMo, NAACL, table 1",
)

REAL_TASKS: tuple[Task, ...] = (
    *GLUE_TASKS,
    *SUPERGLUE_TASKS,
    *SWAG_TASKS,
    *SQUAD_TASKS,
    *INFERENCE_TASKS,
    *TAGGING_TASKS,
    *ONTONOTES_TASKS,
    *PARSING_TASKS,
    *QUESTION_ANSWERING_TASKS,
    FOOD_TO_FILM_TASK,
    *DAPT_TASKS,
    *SUMMARISATION_TASKS,
    *TRANSLATION_TASKS,
    *MULTILINGUAL_TASKS,
    *STS_TASKS,
    *DIALOGUE_TASKS,
    *RETRIEVAL_TASKS,
    *BEIR_TASKS,
    *CODE_TASKS,
)

REAL_SUITES: tuple[Suite, ...] = (
    GLUE_V1,
    SUPERGLUE_V1,
    SUPERGLUE_V2,
    SWAG_V1,
    SQUAD_V1,
    NLI_V1,
    OVERLAP_V1,
    TAGGING_V1,
    UNIFIEDQA_V1,
    ELMO_V1,
    ELMO_V2,
    ELMO_V3,
    FOOD_TO_FILM_V1,
    DAPT_V1,
    SUMMARISATION_V1,
    TRANSLATION_V1,
    XNLI_V1,
    PAWS_X_V1,
    STS_V1,
    STS_MEAN_V1,
    DREAM_V1,
    RETRIEVAL_V1,
    BEIR_V1,
    PYTHON_CODE_V1,
    CODEXGLUE_V1,
)
