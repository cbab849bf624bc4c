"""Someone else's checkpoint: nothing is trained here; `model.checkpoint` says which."""

from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.recipes.pretrain import Pretrain

checkpoint = Pretrain(
    recipe="checkpoint",
    objective=Objective(),  # what the checkpoint's files tell stands in its place
    model=Architecture(family="checkpoint"),
    size=SIZES["nano"],  # never read
    budget=Budget(tokens=0),
)
