"""The networks, and what each kind is trained and measured by."""

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

CLASSES = 10
PIXELS = 28 * 28


class Block(nn.Module):
    """Two convolutions and a shortcut, which is padded with zero channels where it grows."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.stride = stride
        self.grown = outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        """[N, inputs, H, W] to [N, outputs, H / stride, W / stride]."""
        h = functional.relu(self.first_norm(self.first(x)), inplace=True)
        h = self.second_norm(self.second(h))
        if self.stride != 1:
            x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.grown))
        return functional.relu(h + x)


class ResNet(nn.Module):
    """Residual network for 32x32 images: 6 * blocks + 2 layers in three stages.

    Args:
        blocks: Blocks in a stage.
        width: Channels of the first stage; each further stage has twice as many.
    """

    def __init__(self, blocks: int, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(3, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        inputs = width
        for outputs, stride in ((width, 1), (2 * width, 2), (4 * width, 2)):
            for number in range(blocks):
                layers.append(Block(inputs, outputs, stride if number == 0 else 1))
                inputs = outputs
        self.features = nn.Sequential(*layers)
        self.classify = nn.Linear(inputs, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """[N, 3, 32, 32] to class scores [N, 10]."""
        scores: Tensor = self.classify(self.features(x).mean((2, 3)))
        return scores


class AlexNet(nn.Module):
    """Five convolutions and three fully connected layers, sized for 32x32 images.

    Args:
        batch_norm: Whether each convolution is followed by batch normalisation.
        filters: Filters of the first convolution; the other layers grow in proportion.
    """

    def __init__(self, batch_norm: bool, filters: int) -> None:
        super().__init__()

        def convolve(inputs: int, outputs: int, stride: int = 1) -> list[nn.Module]:
            layer = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=not batch_norm)
            norm = [nn.BatchNorm2d(outputs)] if batch_norm else []
            return [layer, *norm, nn.ReLU()]

        self.features = nn.Sequential(
            *convolve(3, filters, stride=2),
            nn.MaxPool2d(2),
            *convolve(filters, 3 * filters),
            nn.MaxPool2d(2),
            *convolve(3 * filters, 6 * filters),
            *convolve(6 * filters, 4 * filters),
            *convolve(4 * filters, 4 * filters),
            nn.MaxPool2d(2),
        )
        units = 16 * filters  # 4 x filters channels of 2 x 2 are left
        self.classify = nn.Sequential(
            nn.Linear(units, units),
            nn.ReLU(),
            nn.Linear(units, units),
            nn.ReLU(),
            nn.Linear(units, CLASSES),
        )

    def forward(self, x: Tensor) -> Tensor:
        """[N, 3, 32, 32] to class scores [N, 10]."""
        scores: Tensor = self.classify(self.features(x).flatten(1))
        return scores


ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


class FullyConnected(nn.Module):
    """Two hidden layers with dropout, for 28x28 images."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        first, second = settings["units1"], settings["units2"]
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(PIXELS, first),
            ACTIVATIONS[settings["act1"]](),
            nn.Dropout(settings["drop1"]),
            nn.Linear(first, second),
            ACTIVATIONS[settings["act2"]](),
            nn.Dropout(settings["drop2"]),
            nn.Linear(second, CLASSES),
        )

    def forward(self, x: Tensor) -> Tensor:
        """[N, 1, 28, 28] to class scores [N, 10]."""
        scores: Tensor = self.layers(x)
        return scores


class AutoEncoder(nn.Module):
    """Variational auto-encoder with one hidden layer on either side, for 28x28 images."""

    def __init__(self, units: int, latent: int) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(PIXELS, units), nn.Tanh())
        self.mean = nn.Linear(units, latent)
        self.log_variance = nn.Linear(units, latent)
        self.decode = nn.Sequential(nn.Linear(latent, units), nn.Tanh(), nn.Linear(units, PIXELS))

    def forward(self, x: Tensor) -> Tensor:
        """[N, 1, 28, 28] to the negative evidence lower bound of each image in nats, [N]."""
        h = self.encode(x)
        mean, log_variance = self.mean(h), self.log_variance(h).clamp(-12, 12)
        code = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        misfit = functional.binary_cross_entropy_with_logits(
            self.decode(code), x.flatten(1), reduction="none"
        ).sum(1)
        divergence = 0.5 * (mean * mean + log_variance.exp() - 1 - log_variance).sum(1)
        bound: Tensor = misfit + divergence
        return bound


def build(settings: Mapping[str, Any]) -> nn.Module:
    """The network that a task's settings, overridden by a configuration, describe.

    Args:
        settings: `arch`, and what that architecture needs.

    Returns:
        The network with freshly drawn weights.
    """
    match settings["arch"]:
        case "resnet":
            return ResNet(settings["blocks"], settings["width"])
        case "alexnet":
            return AlexNet(settings["batch_norm"], settings["filters"])
        case "fcnet":
            return FullyConnected(settings)
        case "vae":
            return AutoEncoder(settings["units"], settings["latent"])
        case other:
            raise ValueError(f"no architecture is called '{other}'")


class Goal(Protocol):
    """What a kind of network is trained and measured by.

    Attributes:
        measures: Names of the held-out measures; the first is `loss`.
    """

    measures: tuple[str, ...]

    def objective(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """The training loss of a batch, a mean over its examples."""

    def totals(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Each measure, summed over the examples of a batch."""


class Classification:
    """Cross-entropy is trained, error rate and cross-entropy are measured.

    Args:
        half: Whether the network computes in bfloat16 on the GPU.
    """

    measures: tuple[str, ...] = ("loss", "cross_entropy")

    def __init__(self, half: bool) -> None:
        self.half = half

    def _scores(self, model: nn.Module, x: Tensor) -> Tensor:
        half = self.half and x.is_cuda
        with torch.autocast(x.device.type, torch.bfloat16, enabled=half, cache_enabled=False):
            scores: Tensor = model(x)
        return scores.float()

    def objective(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy."""
        return functional.cross_entropy(self._scores(model, x), y)

    def totals(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """How many are wrong, and the summed cross-entropy."""
        scores = self._scores(model, x)
        wrong = (scores.argmax(1) != y).float().sum()
        return torch.stack([wrong, functional.cross_entropy(scores, y, reduction="sum")])


class Likelihood:
    """The negative evidence lower bound is both trained and measured."""

    measures: tuple[str, ...] = ("loss",)

    def objective(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:  # noqa: ARG002
        """Mean negative bound."""
        bounds: Tensor = model(x)
        return bounds.mean()

    def totals(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:  # noqa: ARG002
        """Summed negative bound."""
        bounds: Tensor = model(x)
        return bounds.sum()[None]


def goal_of(settings: Mapping[str, Any]) -> Goal:
    """What the network of these settings is trained by."""
    if settings["arch"] == "vae":
        return Likelihood()
    return Classification(half=settings["arch"] in ("resnet", "alexnet"))
