"""All parameters of a network in one buffer, and optimisers that are a few kernels over it."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


class FlatParameters:
    """Moves a network's parameters and gradients into two flat buffers that they then view.

    Convolution kernels lie in channels-last order, which the GPU prefers.

    Attributes:
        values: All the parameters.
        gradients: All their gradients, in the same order.
    """

    def __init__(self, model: nn.Module) -> None:
        parameters = list(model.parameters())
        size = sum(parameter.numel() for parameter in parameters)
        device = parameters[0].device
        self.values = torch.empty(size, device=device)
        self.gradients = torch.zeros(size, device=device)
        start = 0
        for parameter in parameters:
            end = start + parameter.numel()
            view = _shaped(self.values[start:end], parameter.shape)
            view.copy_(parameter.data)
            parameter.data = view
            parameter.grad = _shaped(self.gradients[start:end], parameter.shape)
            start = end


def _shaped(chunk: Tensor, shape: torch.Size) -> Tensor:
    if len(shape) != 4:
        return chunk.view(shape)
    outputs, inputs, height, width = shape
    return chunk.view(outputs, height, width, inputs).permute(0, 3, 1, 2)


class Optimizer:
    """Updates flat parameters; every number that changes lives on the device.

    Attributes:
        rate: The learning rate, a scalar tensor that may be refilled between steps.
        state: What else changes from step to step.
    """

    def __init__(self, flat: FlatParameters) -> None:
        self.flat = flat
        self.rate = torch.zeros((), device=flat.values.device)
        self.state: list[Tensor] = []

    def step(self) -> None:
        """Moves the parameters along the gradients that the flat buffer holds."""
        raise NotImplementedError


class Momentum(Optimizer):
    """Gradient descent with heavy-ball momentum, which may be 0."""

    def __init__(self, flat: FlatParameters, momentum: float) -> None:
        super().__init__(flat)
        self.momentum = momentum
        self.velocity = torch.zeros_like(flat.values)
        self.state = [self.velocity]

    def step(self) -> None:
        """One step."""
        self.velocity.mul_(self.momentum).add_(self.flat.gradients)
        self.flat.values.sub_(self.rate * self.velocity)


class Adagrad(Optimizer):
    """Steps shrink with the root of the summed squared gradients, which starts at 0.1."""

    def __init__(self, flat: FlatParameters) -> None:
        super().__init__(flat)
        self.squares = torch.full_like(flat.values, 0.1)
        self.state = [self.squares]

    def step(self) -> None:
        """One step."""
        gradients = self.flat.gradients
        self.squares.addcmul_(gradients, gradients)
        self.flat.values.sub_(self.rate * gradients / self.squares.sqrt().add_(1e-10))


class Adam(Optimizer):
    """Adam with its usual constants."""

    def __init__(self, flat: FlatParameters) -> None:
        super().__init__(flat)
        self.mean = torch.zeros_like(flat.values)
        self.square = torch.zeros_like(flat.values)
        self.steps = torch.zeros((), device=flat.values.device)
        self.state = [self.mean, self.square, self.steps]

    def step(self) -> None:
        """One step."""
        gradients = self.flat.gradients
        self.steps.add_(1)
        self.mean.mul_(0.9).add_(gradients, alpha=0.1)
        self.square.mul_(0.999).addcmul_(gradients, gradients, value=0.001)
        mean = self.mean / (1 - 0.9**self.steps)
        square = self.square / (1 - 0.999**self.steps)
        self.flat.values.sub_(self.rate * mean / (square.sqrt() + 1e-8))


def optimizer_of(settings: Mapping[str, Any], flat: FlatParameters) -> Optimizer:
    """The optimiser that a configuration names."""
    match settings["optimizer"]:
        case "sgd" | "momentum":
            return Momentum(flat, settings["momentum"])
        case "adagrad":
            return Adagrad(flat)
        case "adam":
            return Adam(flat)
        case other:
            raise ValueError(f"no optimiser is called '{other}'")
