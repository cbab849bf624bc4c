"""Orthogonal fine-tuning, by `peft`."""

from peft import OFTConfig, inject_adapter_in_model
from torch import nn

from harness.finetuning.adaptation import Oft
from harness.finetuning.methods.parts import modules_called
from harness.finetuning.methods.targets import target_pattern
from harness.finetuning.task_model import TaskModel


def oft(model: TaskModel, adaptation: Oft) -> None:
    """Multiplies the target projections [out, in] by a block-diagonal rotation of their inputs. A
    block is the Cayley transform (I - Q)(I + Q)^-1 of a skew-symmetric matrix Q, initially 0, whose
    upper triangle is trained (Qiu et al. 2023, section 3.3).

    Raises:
        ValueError: the network does not have a target, or the blocks do not fit its inputs.
    """
    network = model.backbone.network
    pattern = target_pattern(network, adaptation.targets)
    _check_blocks(network, pattern, adaptation.block_size)
    config = OFTConfig(
        oft_block_size=adaptation.block_size,
        use_cayley_neumann=False,  # a truncated series, which is orthogonal only near 0
        target_modules=pattern,
    )
    inject_adapter_in_model(config, network)


def _check_blocks(network: nn.Module, pattern: str, block_size: int) -> None:
    """`peft` would take another size."""
    for name, module in modules_called(network, pattern):
        if isinstance(module, nn.Linear) and module.in_features % block_size:
            raise ValueError(
                f"adaptation.block_size must divide the {module.in_features} inputs of {name}, "
                f"but is {block_size}"
            )
