"""A linear model of which words occur: what a task gives away without any pretraining."""

from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.recipes.pretrain import Pretrain

bag_of_words = Pretrain(
    recipe="bag_of_words",
    objective=Objective(),  # never asked
    model=Architecture(family="bag_of_words"),
    size=SIZES["nano"],  # never read
    budget=Budget(tokens=0),
)
