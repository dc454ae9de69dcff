"""A small PyTorch network on 8 x 8 images of digits."""

import numpy as np
import torch
from torch import nn

from bhpt.bench.live.job import Pickled
from bhpt.bench.live.sklearn_jobs import _DIGITS
from bhpt.spaces import Config

_DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def _images(x: object) -> torch.Tensor:
    return torch.as_tensor(np.asarray(x), dtype=torch.float32, device=_DEVICE).reshape(-1, 1, 8, 8)


class TorchNetwork(Pickled):
    """Two convolutions and a linear layer, SGD with momentum."""

    def __init__(self, config: Config) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        width = int(config["channels"])
        self.batch_size = int(config["batch_size"])
        self.model = nn.Sequential(
            *(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.Flatten()),
            *(nn.Dropout(config["dropout"]), nn.Linear(2 * width * 16, 10)),
        ).to(_DEVICE)
        self.optimiser = torch.optim.SGD(
            self.model.parameters(),
            lr=config["lr"],
            momentum=config["momentum"],
            weight_decay=config["weight_decay"],
        )
        self.rng = np.random.default_rng(0)
        self.epoch = 0

    def step(self) -> float:
        """Train one epoch; returns the validation log loss."""
        x, y = _images(_DIGITS.x), torch.as_tensor(_DIGITS.y, device=_DEVICE)
        order = torch.as_tensor(self.rng.permutation(len(x)), device=_DEVICE)
        torch.manual_seed(self.epoch)  # of the dropout, whichever process goes on
        self.epoch += 1
        self.model.train()
        for rows in order.split(self.batch_size):
            self.optimiser.zero_grad()
            nn.functional.cross_entropy(self.model(x[rows]), y[rows]).backward()
            self.optimiser.step()
        self.model.eval()
        with torch.no_grad():
            held = torch.as_tensor(_DIGITS.held_y, device=_DEVICE)
            scores = self.model(_images(_DIGITS.held_x))
            return float(nn.functional.cross_entropy(scores, held))


def _sequences() -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of six letters, and which of four kinds each is."""
    letters = np.random.default_rng(123).integers(0, 6, (1500, 12))
    kinds = (letters[:, -1] > letters[:, -2]) + 2 * ((letters == 2).sum(axis=1) >= 3)
    return torch.as_tensor(letters), torch.as_tensor(kinds)


class Lstm(Pickled):
    """A recurrent network that reads short sequences, Adam."""

    def __init__(self, config: Config) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        width = int(config["hidden_size"])
        self.batch_size, self.clip = int(config["batch_size"]), float(config["clip_norm"])
        self.letters = nn.Embedding(6, 8)
        self.memory = nn.LSTM(8, width, batch_first=True)
        self.kinds = nn.Linear(width, 4)
        self.optimiser = torch.optim.Adam(
            self._parameters(),
            lr=config["learning_rate"],
            betas=(config["beta1"], 0.999),
            weight_decay=config["weight_decay"],
        )
        self.rng = np.random.default_rng(0)

    def step(self) -> float:
        """Train one epoch; returns the validation log loss."""
        x, y = _sequences()
        for rows in torch.as_tensor(self.rng.permutation(500)).split(self.batch_size):
            self.optimiser.zero_grad()
            nn.functional.cross_entropy(self._scores(x[rows]), y[rows]).backward()
            nn.utils.clip_grad_norm_(self._parameters(), self.clip)
            self.optimiser.step()
        with torch.no_grad():
            return float(nn.functional.cross_entropy(self._scores(x[500:]), y[500:]))

    def _scores(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.memory(self.letters(x))
        scores: torch.Tensor = self.kinds(states[:, -1])
        return scores

    def _parameters(self) -> list[nn.Parameter]:
        parts = (self.letters, self.memory, self.kinds)
        return [weights for part in parts for weights in part.parameters()]
