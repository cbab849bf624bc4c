"""Tasks and suites of the micro-world, each modelled on a published benchmark.

The generators of their examples are in `harness.data.microworld`.
"""

from harness.tasks.micro.dapt import MICRO_DAPT_TASKS, MICRO_DAPT_V1
from harness.tasks.micro.dialogue import MICRO_DIALOGUE_TASKS, MICRO_DIALOGUE_V1
from harness.tasks.micro.food_to_film import MICRO_FOOD_TO_FILM_TASKS, MICRO_FOOD_TO_FILM_V1
from harness.tasks.micro.generation import (
    MICRO_MT_TASKS,
    MICRO_MT_V1,
    MICRO_SUM_TASKS,
    MICRO_SUM_V1,
)
from harness.tasks.micro.glue import MICRO_GLUE_TASKS, MICRO_GLUE_V1, MICRO_GLUE_V2
from harness.tasks.micro.ontonotes import MICRO_ELMO_V1, MICRO_ELMO_V2, MICRO_ONTONOTES_TASKS
from harness.tasks.micro.overlap import MICRO_OVERLAP_TASKS, MICRO_OVERLAP_V1
from harness.tasks.micro.retrieval import MICRO_RETRIEVAL_TASKS, MICRO_RETRIEVAL_V1
from harness.tasks.micro.squad import MICRO_SQUAD_TASKS, MICRO_SQUAD_V1
from harness.tasks.micro.sts import MICRO_STS_TASKS, MICRO_STS_V1
from harness.tasks.micro.superglue import (
    MICRO_SUPERGLUE_TASKS,
    MICRO_SUPERGLUE_V1,
    MICRO_SUPERGLUE_V2,
)
from harness.tasks.micro.swag import MICRO_SWAG_TASKS, MICRO_SWAG_V1
from harness.tasks.micro.tagging import MICRO_NER_TASKS, MICRO_NER_V1
from harness.tasks.task import Suite, Task

MICRO_TASKS: tuple[Task, ...] = (
    *MICRO_GLUE_TASKS,
    *MICRO_SUPERGLUE_TASKS,
    *MICRO_SWAG_TASKS,
    *MICRO_SQUAD_TASKS,
    *MICRO_NER_TASKS,
    *MICRO_ONTONOTES_TASKS,
    *MICRO_STS_TASKS,
    *MICRO_SUM_TASKS,
    *MICRO_MT_TASKS,
    *MICRO_DAPT_TASKS,
    *MICRO_OVERLAP_TASKS,
    *MICRO_FOOD_TO_FILM_TASKS,
    *MICRO_RETRIEVAL_TASKS,
    *MICRO_DIALOGUE_TASKS,
)

MICRO_SUITES: tuple[Suite, ...] = (
    MICRO_GLUE_V1,
    MICRO_GLUE_V2,
    MICRO_SUPERGLUE_V1,
    MICRO_SUPERGLUE_V2,
    MICRO_SWAG_V1,
    MICRO_SQUAD_V1,
    MICRO_NER_V1,
    MICRO_ELMO_V1,
    MICRO_ELMO_V2,
    MICRO_STS_V1,
    MICRO_SUM_V1,
    MICRO_MT_V1,
    MICRO_DAPT_V1,
    MICRO_OVERLAP_V1,
    MICRO_FOOD_TO_FILM_V1,
    MICRO_RETRIEVAL_V1,
    MICRO_DIALOGUE_V1,
)
