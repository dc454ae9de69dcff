"""What a deep-learning job is, and the layers that several of them share.

Notation:
    A  arms, m  examples of a step, D  units.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked, matrix
from .ranges import Axis, Config

Activation = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class DeepJob:
    """One training job on the device.

    Attributes:
        kind: By which tables are grouped.
        metric: What its losses are.
        about: Data and fixed settings in words.
        axes: What may be tuned, by the names of its users.
        keys: From these names to the canonical ones of `batched`.
        fixed: Canonical settings that the table fixes.
        build: From hyper-parameters and a draw to the model.
    """

    kind: str
    metric: str
    about: str
    axes: tuple[Axis, ...]
    keys: dict[str, str]
    fixed: Config
    build: Callable[[Hypers, Draw, bool], Model]


def adam_rate(name: str, low: float, high: float, *also: str) -> Axis:
    """A learning rate with its sensible interval; wide searches reach a hundredfold further."""
    return Axis(name, (low, high), (low / 100, high * 100), log=True, always=True, also=also)


def as_wide(rng: np.random.Generator, times: float) -> float:
    """By how much a table's rates are multiplied: two of three write them as wide networks want.

    A network so many times as wide as ours wants rates a part of ours.
    """
    return float(rng.choice([1.0, times, times]))


def entropy(logits: Tensor, targets: Tensor, smoothing: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of each arm, [A]; logits [A, n, V], targets [n]."""
    logs = logits.log_softmax(dim=-1)
    right = -logs.gather(2, targets.view(1, -1, 1).expand(len(logits), -1, 1))[:, :, 0].mean(dim=1)
    if smoothing is None:
        return right
    return (1 - smoothing) * right - smoothing * logs.mean(dim=(1, 2))


def surprises(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each example, [A, m]; logits [A, m, V], targets [m]."""
    logs = logits.log_softmax(dim=-1)
    return -logs.gather(2, targets.view(1, -1, 1).expand(len(logits), -1, 1))[:, :, 0]


def smoothed(losses: Tensor, logits: Tensor, h: Hypers) -> Tensor:
    """Losses of each example, a part of them for all classes alike (label smoothing), [A, m].

    Args:
        losses: Of each example without it, [A, m].
        logits: Of the classes, [A, m, V].
        h: Hyper-parameters; `smoothing` is that part.
    """
    even = -logits.log_softmax(dim=2).mean(dim=2)
    smooth = h["smoothing"].view(-1, 1)
    return (1 - smooth) * losses + smooth * even


def averaged(losses: Tensor, h: Hypers) -> Tensor:
    """Mean over as many examples as each arm's batch has, [A]; losses [A, m]."""
    inside = torch.arange(losses.shape[1], device=losses.device) < h["batch"].view(-1, 1)
    return (losses * inside).sum(dim=1) / inside.sum(dim=1)


def stack(
    h: Hypers, draw: Draw, same: bool, sizes: tuple[int, ...], prefix: str = "dense"
) -> Weights:
    """Weights of fully connected layers, named by the prefix and a number."""
    weights = {}
    for layer, (rows, columns) in enumerate(pairwise(sizes)):
        weights[f"{prefix}{layer}"] = matrix(
            draw, len(h["lr"]), rows, columns, 1.4 * h["init_scale"], same
        )
        weights[f"{prefix}{layer}_bias"] = torch.zeros(len(h["lr"]), columns, device=draw.device)
    return weights


def forward(
    w: Weights,
    h: Hypers,
    x: Tensor,
    draw: Draw | None,
    prefix: str = "dense",
    activation: Activation = functional.silu,
) -> Tensor:
    """Through all layers of a prefix; [A, m, rows] to [A, m, columns]."""
    layers = sum(name.startswith(prefix) for name in w) // 2
    for layer in range(layers):
        x = dense(w, f"{prefix}{layer}", x)
        if layer + 1 < layers:
            x = dropped(masked(activation(x), h["width"]), h["drop"], draw)
    return x


def shared(x: Tensor, arms: int) -> Tensor:
    """The same for all arms, without a copy."""
    return x.unsqueeze(0).expand(arms, *x.shape)


def on_device(x: np.ndarray, draw: Draw) -> Tensor:
    """Numbers where the draw is: whole ones stay whole, others become 32 bits."""
    kind = torch.int64 if np.issubdtype(x.dtype, np.integer) else torch.float32
    return torch.tensor(np.asarray(x), dtype=kind, device=draw.device)


def pictures(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The digits that scikit-learn carries, in another order: pixels up to 1, and classes."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    x, y = load_digits(return_X_y=True)
    order = rng.permutation(len(x))
    return x[order] / 16.0, y[order]
