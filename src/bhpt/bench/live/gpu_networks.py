"""PyTorch networks for a GPU: images, a chaotic series, text and graphs.

Examples stay on the device, and one number an epoch comes back. Where there is no GPU the
processor trains them, slowly.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from bhpt.bench.live import gpu_data
from bhpt.bench.live.gpu_data import Examples
from bhpt.spaces import Config

_DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
_FILE = "training.pt"
_HELD_AT_ONCE = 512


class DeviceTraining(ABC):
    """A network, its optimiser and the epochs that it had; jobs say what is trained on what.

    Attributes:
        train: How many are trained on in an epoch.
        held: How many are measured on.
    """

    train: ClassVar[int] = 8192
    held: ClassVar[int] = 2048

    def __init__(self, config: Config) -> None:
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("high")
        torch.manual_seed(0)
        self.config = dict(config)
        self.network = self.begin().to(_DEVICE)
        self.optimiser = self.optimised(self.network)
        self.epoch = 0

    @staticmethod
    @abstractmethod
    def make(train: int, held: int) -> Examples:
        """So many examples to train and to measure on."""

    @abstractmethod
    def begin(self) -> nn.Module:
        """The untrained network."""

    @abstractmethod
    def optimised(self, network: nn.Module) -> torch.optim.Optimizer:
        """What trains it."""

    @abstractmethod
    def measure(self, said: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The validation loss."""

    def loss(self, said: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """What is trained for: the validation loss, unless a job has another."""
        return self.measure(said, y)

    def step(self) -> float:
        """Train one epoch; returns the validation loss, NaN where it diverged."""
        x, y = _placed(self.make, self.train, self.held)
        torch.manual_seed(self.epoch)  # order and dropout, whichever process goes on
        self.epoch += 1
        self.network.train()
        size = min(int(self.config["batch_size"]), self.train)
        order = torch.randperm(self.train, device=_DEVICE)
        for rows in order[: self.train // size * size].split(size):  # whole batches
            self.optimiser.zero_grad()
            self.loss(self.network(x[rows]), y[rows]).backward()
            if "max_norm" in self.config:
                nn.utils.clip_grad_norm_(self.network.parameters(), self.config["max_norm"])
            self.optimiser.step()
        self.network.eval()
        with torch.no_grad():
            parts = x[self.train :].split(_HELD_AT_ONCE)
            said = torch.cat([self.network(part) for part in parts])
            return float(self.measure(said, y[self.train :]))

    def save(self, folder: Path) -> None:
        """Write the weights, what the optimiser remembers and the epoch."""
        states = {"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict()}
        torch.save({**states, "epoch": self.epoch}, folder / _FILE)

    def load(self, folder: Path) -> None:
        """Read them back; no code of the file is run."""
        states = torch.load(folder / _FILE, map_location=_DEVICE, weights_only=True)
        self.network.load_state_dict(states["network"])
        self.optimiser.load_state_dict(states["optimiser"])
        self.epoch = int(states["epoch"])


@cache
def _placed(
    make: Callable[[int, int], Examples], train: int, held: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Examples on the device, made once a process."""
    made = make(train, held)
    return _tensor(made.x), _tensor(made.y)


def _tensor(values: np.ndarray) -> torch.Tensor:
    kind = torch.float32 if values.dtype.kind == "f" else torch.int64
    return torch.as_tensor(values, dtype=kind, device=_DEVICE)


class GlyphCnn(DeviceTraining):
    """Four convolutions with batch normalisation on noisy glyphs, SGD with momentum."""

    make = staticmethod(gpu_data.glyphs)

    def begin(self) -> nn.Module:
        """Two convolutions, half the size, two more, the mean of all places, a linear layer."""
        width = int(self.config["width"])
        widths = (1, width, width, 2 * width, 2 * width)
        parts: list[nn.Module] = [nn.Unflatten(1, (1, gpu_data.SIDE))]
        for before, after in pairwise(widths):
            conv = nn.Conv2d(before, after, 3, padding=1, bias=False)
            parts += [conv, nn.BatchNorm2d(after), nn.ReLU()]
            if before == after == width:
                parts.append(nn.MaxPool2d(2))
        parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(self.config["dropout"])]
        return nn.Sequential(*parts, nn.Linear(2 * width, gpu_data.GLYPHS))

    def optimised(self, network: nn.Module) -> torch.optim.Optimizer:
        """SGD with momentum."""
        return torch.optim.SGD(
            network.parameters(),
            lr=self.config["lr"],
            momentum=self.config["momentum"],
            weight_decay=self.config["weight_decay"],
        )

    def measure(self, said: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Log loss."""
        return functional.cross_entropy(said, y)

    def loss(self, said: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Log loss of smoothed labels."""
        smoothing = float(self.config["label_smoothing"])
        return functional.cross_entropy(said, y, label_smoothing=smoothing)


class _Recurrent(nn.Module):  # type: ignore[misc]  # torch has no types here
    """GRU layers with dropout between them, and a line from the last state to a change."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, depth = int(config["hidden_size"]), int(config["num_layers"])
        inputs = (gpu_data.VARIABLES, *[width] * depth)
        self.layers = nn.ModuleList(nn.GRU(*ends, batch_first=True) for ends in pairwise(inputs))
        self.dropout = nn.Dropout(config["dropout"])
        self.change = nn.Linear(width, gpu_data.VARIABLES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Where the series is expected, from what was seen of it."""
        states = x
        for layer in self.layers:
            states = self.dropout(layer(states)[0])
        return x[:, -1] + self.change(states[:, -1])


class ChaosGru(DeviceTraining):
    """A GRU that forecasts a chaotic series from noisy observations, Adam."""

    make = staticmethod(gpu_data.chaos)

    def begin(self) -> nn.Module:
        """GRU layers."""
        return _Recurrent(self.config)

    def optimised(self, network: nn.Module) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(
            network.parameters(),
            lr=self.config["lr"],
            betas=(self.config["beta1"], 0.999),
            weight_decay=self.config["weight_decay"],
        )

    def measure(self, said: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Squared error, as a part of the variance."""
        return functional.mse_loss(said, y)


class _Block(nn.Module):  # type: ignore[misc]
    """Attention to what came before and a hidden layer, each added to what comes in."""

    def __init__(self, heads: int, head_dim: int, dropout: float) -> None:
        super().__init__()
        width = heads * head_dim
        self.heads, self.rate = heads, dropout
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.asked = nn.Linear(width, 3 * width)
        self.answered = nn.Linear(width, width)
        self.hidden = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What goes to the next block."""
        split = self.asked(self.norms[0](x)).unflatten(2, (3, self.heads, -1))
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        x = x + self.dropout(self.answered(seen.transpose(1, 2).flatten(2)))
        return x + self.dropout(self.hidden(self.norms[1](x)))


class _Transformer(nn.Module):  # type: ignore[misc]
    """Letters and places, blocks, and what the next letter may be."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        heads, head_dim = int(config["num_heads"]), int(config["head_dim"])
        width = heads * head_dim
        self.letters = nn.Embedding(gpu_data.LETTERS, width)
        self.places = nn.Parameter(0.02 * torch.randn(gpu_data.LENGTH, width))
        self.dropout = nn.Dropout(config["dropout"])
        block = partial(_Block, heads, head_dim, float(config["dropout"]))
        self.blocks = nn.Sequential(*(block() for _ in range(int(config["num_layers"]))))
        self.next = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, gpu_data.LETTERS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the letter after each."""
        return self.next(self.blocks(self.dropout(self.letters(x) + self.places)))


class SourceTransformer(DeviceTraining):
    """A transformer that reads the sources of Python letter by letter, AdamW."""

    make = staticmethod(gpu_data.sources)
    held: ClassVar[int] = 1024

    def begin(self) -> nn.Module:
        """Blocks of attention."""
        return _Transformer(self.config)

    def optimised(self, network: nn.Module) -> torch.optim.Optimizer:
        """AdamW."""
        return torch.optim.AdamW(
            network.parameters(),
            lr=self.config["lr"],
            betas=(self.config["beta1"], 0.99),
            weight_decay=self.config["weight_decay"],
        )

    def measure(self, said: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Log loss of a letter."""
        return functional.cross_entropy(said.flatten(0, 1), y.flatten())


class _Graphs(nn.Module):  # type: ignore[misc]
    """Layers in which nodes hear their neighbours, then means and maxima over nodes."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = int(config["hidden_channels"])
        layers = range(int(config["num_layers"]))
        self.is_mean = config["aggr"] == "mean"
        self.enter = nn.Linear(gpu_data.FEATURES, width)
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in layers)
        self.heard = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in layers)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in layers)
        self.dropout = nn.Dropout(config["dropout"])
        self.leave = nn.Linear(2 * width, gpu_data.STRUCTURES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the structures."""
        near, nodes = x[..., : gpu_data.NODES], self.enter(x[..., gpu_data.NODES :])
        if self.is_mean:
            near = near / near.sum(2, keepdim=True).clamp(min=1)
        for own, heard, norm in zip(self.own, self.heard, self.norms, strict=True):
            said = norm(own(nodes) + heard(near @ nodes))
            nodes = nodes + self.dropout(functional.relu(said))
        return self.leave(torch.cat([nodes.mean(1), nodes.amax(1)], dim=1))


_OPTIMISERS = {
    "sgd": partial(torch.optim.SGD, momentum=0.9),
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
}


class GraphNetwork(DeviceTraining):
    """A network that tells how graphs came about, by one of four optimisers."""

    make = staticmethod(gpu_data.graphs)

    def begin(self) -> nn.Module:
        """Layers of messages."""
        return _Graphs(self.config)

    def optimised(self, network: nn.Module) -> torch.optim.Optimizer:
        """The optimiser that was asked for."""
        make = _OPTIMISERS[self.config["optimizer"]]
        lr, decay = self.config["lr"], self.config["weight_decay"]
        return make(network.parameters(), lr=lr, weight_decay=decay)

    def measure(self, said: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Log loss."""
        return functional.cross_entropy(said, y)
