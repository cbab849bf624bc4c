"""An imported checkpoint, given by `model.checkpoint`, without further pretraining."""

from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.recipes.pretrain import Pretrain

checkpoint = Pretrain(
    recipe="checkpoint",
    objective=Objective(),  # replaced by the objective that the checkpoint's files give
    model=Architecture(family="checkpoint"),
    size=SIZES["nano"],  # never used
    budget=Budget(tokens=0),
)
