"""The costs of arms, and their labels in tables and figures."""

COSTS = {
    "flops": "FLOPs of pretraining",
    "parameters": "parameters",
    "trained": "trained parameters",
}
