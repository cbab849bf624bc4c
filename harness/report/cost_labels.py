"""The costs that scores are plotted against, and their labels."""

COSTS = {
    "flops": "FLOPs of pretraining",
    "parameters": "parameters",
    "trained": "trained parameters",
}
