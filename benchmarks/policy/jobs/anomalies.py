"""What is unlike the rest of a table of numbers, with the names of PyOD.

Auto-encoders and deep support vector data description; losses are negative areas under the curve of
receivers (ROC AUC), on rows whose labels are not told.

Notation:
    A  arms, m  rows of a step, C  columns, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .batched import Draw, Hypers, Model, Weights, masked
from .deep_job import DeepJob, adam_rate, averaged, forward, on_device, shared, stack
from .ranges import Axis

HELD = 400


def _rows(rng: np.random.Generator, few: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Standardised rows [n, C], which of the last `HELD` are strange, and in words."""
    columns, inner = int(rng.choice([8, 20, 40])), int(rng.integers(2, 6))
    groups, dirty = int(rng.integers(1, 5)), float(rng.choice([0.0, 0.05, 0.15]))
    count = few + HELD
    strange = rng.random(count) < np.where(np.arange(count) < few, dirty, 0.25)
    centre = 2 * rng.standard_normal((groups, inner))
    code = centre[rng.integers(groups, size=count)] + rng.standard_normal((count, inner))
    way = int(rng.integers(3))
    if way == 0:  # codes from elsewhere
        code[strange] = 2.5 * rng.standard_normal((int(strange.sum()), inner))
    first, second = rng.standard_normal((inner, 16)), rng.standard_normal((16, columns))
    x = np.tanh(0.7 * code @ first) @ second + 0.3 * rng.standard_normal((count, columns))
    if way > 0:  # all or some columns belong to other rows
        mixed = np.column_stack([rng.permutation(x[:, c]) for c in range(columns)])
        taken = strange[:, None] & (rng.random((count, columns)) < (1.0, 0.4)[way - 1])
        x = np.where(taken, mixed, x)
    x = (x - x[:few].mean(axis=0)) / (x[:few].std(axis=0) + 1e-9)
    words = ("from elsewhere", "of columns of other rows", "with some columns of other rows")[way]
    return x, strange[few:], f"{few} rows of {columns}, {dirty:g} strange, {words}"


def area(scores: Tensor, strange: Tensor) -> Tensor:
    """Negative chance that a strange row scores above a usual one, NaN if lost, [A]."""
    high, low = scores[:, strange], scores[:, ~strange]
    above = (high.unsqueeze(2) > low.unsqueeze(1)).float().mean(dim=(1, 2))
    even = (high.unsqueeze(2) == low.unsqueeze(1)).float().mean(dim=(1, 2))
    return torch.where(scores.isfinite().all(dim=1), -above - even / 2, torch.nan)


def _auto_encoder(
    h: Hypers, draw: Draw, same: bool, x: Tensor, strange: Tensor, hidden: int, deepest: int
) -> Model:
    """Rows that go badly through a narrow place are strange."""
    few, arms, columns = len(x) - HELD, len(h["lr"]), x.shape[1]
    weights = stack(h, draw, same, (columns, hidden, deepest), "into")
    weights |= stack(h, draw, same, (deepest, hidden, columns), "out")

    def off(w: Weights, rows: Tensor, using: Draw | None) -> Tensor:
        code = masked(forward(w, h, rows, using, "into", torch.relu), h["rank"])
        return ((forward(w, h, code, using, "out", torch.relu) - rows) ** 2).mean(dim=2)

    def loss(w: Weights, some: Tensor) -> Tensor:
        return averaged(off(w, shared(x[some], arms), draw), h)

    def measure(w: Weights) -> Tensor:
        return area(off(w, shared(x[few:], arms), None), strange)

    return Model(weights, loss, measure, few)


def _description(
    h: Hypers, draw: Draw, same: bool, x: Tensor, strange: Tensor, hidden: int, deepest: int
) -> Model:
    """Rows that a network without biases leaves far from where it began are strange."""
    few, arms, columns = len(x) - HELD, len(h["lr"]), x.shape[1]
    layers = stack(h, draw, same, (columns, hidden, deepest), "into")
    nothing = {n: v for n, v in layers.items() if n.endswith("_bias")}
    weights = {n: v for n, v in layers.items() if n not in nothing}
    with torch.no_grad():
        middle = forward(layers, h, shared(x[:few], arms), None, "into").mean(dim=1, keepdim=True)
    middle = torch.where(middle.abs() < 0.1, 0.1, middle)
    weights["radius"] = torch.full((arms, 1), 0.1, device=draw.device)

    def away(w: Weights, rows: Tensor, using: Draw | None) -> Tensor:
        out = forward(
            {n: v for n, v in w.items() if n != "radius"} | nothing, h, rows, using, "into"
        )
        return (masked(out - middle, h["rank"]) ** 2).sum(dim=2)

    def loss(w: Weights, some: Tensor) -> Tensor:
        far = away(w, shared(x[some], arms), draw)
        outside = torch.relu(far - w["radius"] ** 2) / h["margin"].view(-1, 1)
        soft = averaged(outside, h) + w["radius"][:, 0] ** 2
        return torch.where(h["objective"] > 0, soft, averaged(far, h))

    def measure(w: Weights) -> Tensor:
        return area(away(w, shared(x[few:], arms), None), strange)

    return Model(weights, loss, measure, few)


def _axes(describes: bool, hidden: int, deepest: int) -> tuple[Axis, ...]:
    own = (
        Axis("nu", (0.02, 0.2), (1e-3, 0.99), log=True, also=("contamination",)),
        Axis("objective", values=("one-class", "soft-boundary")),
    )
    return (
        adam_rate("lr", 5e-4, 1e-2, "learning_rate"),
        Axis("hidden_neurons", (max(hidden // 4, 8), hidden), (2, hidden), log=True, whole=True,
             also=("hidden_dim", "h_dim")),
        Axis("rep_dim", (3, max(deepest // 2, 4)), (1, deepest), log=True, whole=True,
             also=("latent_dim", "bottleneck_dim")),
        *(own if describes else ()),
        Axis("dropout_rate", (0.0, 0.2), (0.0, 0.8), also=("dropout",)),
        Axis("l2_regularizer", (1e-5, 0.1), (1e-7, 3.0), log=True, also=("weight_decay",)),
        Axis("batch_size", (32, 128), (2, 128), log=True, whole=True),
        Axis("optimizer", values=("adam", "sgd"), also=("optimizer_name",)),
        Axis("beta_1", (0.85, 0.95), (0.0, 0.99)),
    )  # fmt: skip


def anomaly(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Strange rows by how badly they are copied, or by how far they are mapped."""
    few, describes = int(rng.choice([200, 800, 3000])), bool(rng.random() < 0.4)
    rows, strange, what = _rows(rng, few)
    hidden, deepest = 16 * widen, 16

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        x = on_device(rows, draw)
        told = torch.tensor(strange, device=draw.device)
        make = _description if describes else _auto_encoder
        return make(h, draw, same, x, told, hidden, deepest)

    keys = {
        "hidden_neurons": "width", "rep_dim": "rank", "nu": "margin",
        "dropout_rate": "drop", "l2_regularizer": "l2", "batch_size": "batch", "beta_1": "beta1",
    }  # fmt: skip
    fixed = {"batch": 32, "margin": 0.1, "rank": 8}
    about = f"{'deep SVDD' if describes else 'auto-encoder'}, {what}"
    axes = _axes(describes, hidden, deepest)
    return DeepJob("anomaly-detection", "negative ROC AUC", about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"anomaly": anomaly}
