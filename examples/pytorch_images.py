"""Tune a convolutional image classifier in PyTorch; it is frozen and thawed with its optimiser.

python examples/pytorch_images.py "5min"
"""

import sys
from typing import Any

import torch
from sklearn.datasets import load_digits
from torch import nn

import bhpt
from bhpt.integrations.torch import TrainingState

SPACE = {
    "lr": (1e-4, 0.3, "log"),
    "momentum": (0.0, 0.98),
    "batch_size": [16, 32, 64, 128],
    "channels": (4, 32, "log"),
    "dropout": (0.0, 0.6),
}


def images() -> tuple[torch.Tensor, torch.Tensor]:
    """The digits data: 1,797 images of 8 x 8 pixels, and which digit each shows."""
    digits = load_digits()
    pixels = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    return pixels, torch.tensor(digits.target)


def network(config: dict[str, Any]) -> nn.Module:
    """Two convolutions and a linear layer."""
    channels = config["channels"]
    return nn.Sequential(
        nn.Conv2d(1, channels, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(channels, 2 * channels, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(config["dropout"]),
        nn.Linear(2 * channels * 16, 10),
    )


def train(config: dict[str, Any]) -> None:
    """Train one configuration for as long as it is asked to; report accuracy and loss."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the network is tiny: more would only wait for each other
    pixels, labels = images()
    model = network(config)
    optimizer = torch.optim.SGD(model.parameters(), config["lr"], momentum=config["momentum"])
    state = TrainingState(model=model, optimizer=optimizer)
    for _ in state.epochs():
        model.train()
        for rows in torch.randperm(1400).split(config["batch_size"]):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(pixels[rows]), labels[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            scores = model(pixels[1400:])
        accuracy = (scores.argmax(1) == labels[1400:]).float().mean().item()
        loss = nn.functional.cross_entropy(scores, labels[1400:]).item()
        bhpt.report({"accuracy": accuracy, "loss": loss}, checkpoint=state.save)


def main(budget: str) -> None:
    """Tune for accuracy."""
    result = bhpt.tune(
        train,
        SPACE,
        budget,
        metric="accuracy",
        mode="max",
        max_epochs=30,
        workers=2,
        study="runs/pytorch_images.db",
        if_exists="resume",
    )
    print(f"best accuracy {result.best_loss:.3f} with {result.best_params}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "60 epochs")
