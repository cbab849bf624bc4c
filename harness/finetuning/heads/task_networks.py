"""Task networks: layers between a pretrained model and the output layer of a task.

Shapes: B rows, T tokens, H hidden size.
"""

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class BiLstm(nn.Module):
    """A bidirectional LSTM of one layer over the states of a backbone, as in the task models of
    ELMo (Peters et al. 2018, section 3.3 and appendix), whose widths and numbers of layers differ
    by task. Unless a width is given, each direction has half that of the states, rounded up, so
    that the output layer reads as many values as without it.

    Parameters: torch's, with both biases.
    """

    def __init__(self, hidden_size: int, width: int | None = None) -> None:
        super().__init__()
        width = ((width or hidden_size) + 1) // 2
        self.lstm = nn.LSTM(hidden_size, width, batch_first=True, bidirectional=True)
        self.width = 2 * width

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """[B, T, H] states to [B, T, width], the first half read from left to right; zeros at
        padding, which is not read.

        Args:
            mask: [B, T], 1 for real tokens, padded on the right.
        """
        lengths = mask.sum(1).cpu()
        packed = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
        found, _ = self.lstm(packed)
        outputs, _ = pad_packed_sequence(found, batch_first=True, total_length=states.shape[1])
        return outputs


def mlp(hidden: nn.Linear, dropout: float) -> nn.Sequential:
    """Dropout and a hidden layer with tanh (facebookresearch/fairseq, models/roberta/model.py,
    `RobertaClassificationHead`).

    Args:
        hidden: from H to H.
    """
    return nn.Sequential(nn.Dropout(dropout), hidden, nn.Tanh())
