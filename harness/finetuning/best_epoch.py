"""The weights of the best epoch of a run (`protocol.selection: best`)."""

from torch import Tensor, nn


class BestEpoch:
    """Keeps a copy of the weights with the highest score, the first of ties, and no others: those
    of all epochs would not fit into memory."""

    def __init__(self) -> None:
        self.score = 0.0
        self.weights: dict[str, Tensor] = {}

    def offer(self, score: float, model: nn.Module) -> None:
        """Takes the score of an epoch, and the model at its end."""
        if not self.weights or score > self.score:
            self.score = score
            self.weights = {name: value.clone() for name, value in model.state_dict().items()}

    def restore(self, model: nn.Module) -> None:
        """Gives a model the weights that are kept, if any."""
        if self.weights:
            model.load_state_dict(self.weights)
