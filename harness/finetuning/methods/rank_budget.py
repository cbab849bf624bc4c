"""The ranks of AdaLoRA while it is trained, by `peft`."""

from typing import Any

import torch
from peft import AdaLoraConfig
from peft.tuners.adalora import RankAllocator
from torch import Tensor, nn

from harness.finetuning.projection_updates import Adalora


class RankBudget:
    """Sets singular values to zero after each update, so that the sum of the ranks of all
    projections falls from the initial to the final one by the cubic schedule of Zhang et al. 2023,
    appendix A. Those with the least importance (equations 7 to 11) fall first; the ones that are
    left after `reduced` updates stay."""

    def __init__(self, network: nn.Module, adaptation: Adalora, num_steps: int) -> None:
        """For a network that `methods.adapt` has changed.

        Args:
            num_steps: all updates of the training.
        """
        self.network, self.weight = network, adaptation.orthogonal_weight
        config = AdaLoraConfig(
            target_r=adaptation.rank,
            tinit=int(adaptation.initial_fraction * num_steps),
            tfinal=int(adaptation.final_fraction * num_steps),
            total_step=num_steps,
            deltaT=adaptation.interval,
            beta1=adaptation.beta1,
            beta2=adaptation.beta2,
        )
        self.allocator = RankAllocator(network, config, "default")
        self.reduced = num_steps - config.tfinal
        """Updates until the ranks are fixed."""
        self.step = 0
        """Finished updates."""
        self.kept: dict[str, list[bool]] = {}
        """Name of the singular values of a projection to which of them are not zero."""

    def penalty(self) -> Tensor:
        """Loss [] of singular vectors that are not orthogonal: the mean of ||P^T P - I|| and
        ||Q Q^T - I|| over all projections, in Frobenius norm as in the authors' code; equation 4
        has its squares."""
        named = dict(self.network.named_parameters())
        rows = [
            *(value for name, value in named.items() if "lora_A" in name),
            *(value.T for name, value in named.items() if "lora_B" in name),
        ]
        norms = [torch.linalg.norm(one @ one.T - torch.eye(len(one)).to(one)) for one in rows]
        return self.weight * torch.stack(norms).mean()

    @torch.no_grad()
    def reduce(self, *_: Any) -> None:
        """Called after each step of the optimiser, while the gradients are there."""
        self.step += 1
        if self.step > self.reduced:
            self.allocator.mask_using_rank_pattern(self.network, self.kept)
            return
        if self.step < self.reduced or not self.allocator.ipt:
            self._measure_importance()
        budget, due = self.allocator.budget_schedule(self.step)
        if due or self.step == self.reduced:
            self.kept = self.allocator.mask_to_budget(self.network, budget)

    def _measure_importance(self) -> None:
        for name, value in self.network.named_parameters():
            if "lora_E" in name and value.grad is None:  # the task does not read this projection
                value.grad = torch.zeros_like(value)
        self.allocator.update_ipt(self.network)
