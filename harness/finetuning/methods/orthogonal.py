"""Orthogonal fine-tuning, by `peft`."""

import torch
from peft import BOFTConfig, OFTConfig, inject_adapter_in_model
from peft.tuners.boft import layer as boft_layer
from torch import Tensor, nn

from harness.finetuning.methods.parts import modules_called
from harness.finetuning.methods.targets import target_pattern
from harness.finetuning.projection_updates import Boft, Oft, Rotation
from harness.finetuning.task_model import TaskModel


class BlockDiagonal:
    """What `peft`'s CUDA extension `fbd_cuda` computes, in torch.

    Without an extension, `peft` warns and silently takes a single butterfly factor.
    """

    def forward(self, blocks: Tensor) -> tuple[Tensor]:
        """Block-diagonal matrices [N, D x H, D x H] of blocks [N, D, H, H]."""
        return (torch.stack([torch.block_diag(*some) for some in blocks]),)

    def backward(self, gradient: Tensor, blocks: Tensor) -> tuple[Tensor]:
        """Gradient [N, D, H, H] of the blocks, given that [N, D x H, D x H] of the matrices."""
        n, d, h, _ = blocks.shape
        return (gradient.view(n, d, h, d, h).diagonal(dim1=1, dim2=3).movedim(-1, 1).contiguous(),)


def oft(model: TaskModel, adaptation: Oft) -> None:
    """Multiplies the target projections [out, in] by a block-diagonal rotation of their inputs. A
    block is the Cayley transform (I - Q)(I + Q)^-1 of a skew-symmetric matrix Q, initially 0, whose
    upper triangle is trained (Qiu et al. 2023, section 3.3).

    Raises:
        ValueError: the network does not have a target, or the blocks do not fit its inputs.
    """
    config = OFTConfig(
        oft_block_size=adaptation.block_size,
        use_cayley_neumann=False,  # a truncated series, which is orthogonal only near 0
        target_modules=_fitting_targets(model, adaptation),
    )
    inject_adapter_in_model(config, model.backbone.network)


def boft(model: TaskModel, adaptation: Boft) -> None:
    """Multiplies the target projections [out, in] by a rotation of their inputs, the product of
    `butterfly_factors` block-diagonal ones under the permutations of a butterfly (Liu et al. 2024,
    section 4), and by a scale of each output, initially 1, which is `peft`'s. A block is the Cayley
    transform of (R - R^T) / 2 for a trained matrix R, initially 0.

    Raises:
        ValueError: as of `oft`.
    """
    boft_layer._FBD_CUDA = BlockDiagonal()  # type: ignore[assignment]  # null: it is compiled
    config = BOFTConfig(
        boft_block_size=adaptation.block_size,
        boft_n_butterfly_factor=adaptation.butterfly_factors,
        boft_dropout=adaptation.dropout,
        target_modules=_fitting_targets(model, adaptation),
    )
    inject_adapter_in_model(config, model.backbone.network)


def _fitting_targets(model: TaskModel, adaptation: Rotation) -> str:
    """The pattern of the targets, whose inputs the blocks fit: `peft` would take another size."""
    pattern = target_pattern(model, adaptation.targets)
    for name, module in modules_called(model.backbone.network, pattern):
        if isinstance(module, nn.Linear) and (why := adaptation.misfit(module.in_features)):
            raise ValueError(
                f"adaptation {adaptation.kind}: the width of the inputs of {name}, "
                f"{module.in_features}, {why}"
            )
    return pattern
