"""A small PyTorch network on 8 x 8 images of digits."""

import numpy as np
import torch
from torch import nn

from bhpt.bench.live.job import Config, Pickled
from bhpt.bench.live.sklearn_jobs import _DIGITS

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
