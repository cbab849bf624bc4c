"""A linear bag-of-words model: what a task needs no pretraining for."""

from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.recipes.pretrain import Pretrain

bag_of_words = Pretrain(
    recipe="bag_of_words",
    objective=Objective(),  # never used
    model=Architecture(family="bag_of_words"),
    size=SIZES["nano"],  # never used
    budget=Budget(tokens=0),
)
