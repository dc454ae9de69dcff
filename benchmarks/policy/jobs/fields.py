"""Functions of few numbers: pictures by coordinates, differential equations, Gaussian processes.

Notation:
    A  arms, m  points of a step, n  points that are known.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .batched import Draw, Hypers, Model, Weights, dense, masked
from .deep_job import DeepJob, adam_rate, averaged, forward, on_device, pictures, shared, stack
from .ranges import Axis


def coordinates(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A network of sines from places to brightness; its signal-to-noise ratio goes up."""
    count, hidden = int(rng.choice([300, 800])), 32 * widen
    sines = bool(rng.random() < 0.6)
    if rng.random() < 0.5:
        picture = pictures(rng)[0][:4].reshape(4, 8, 8)
        plane = np.block([[picture[0], picture[1]], [picture[2], picture[3]]])
        at = rng.uniform(0, 15, (count + 300, 2))
        low = np.floor(at).astype(int)
        part = at - low
        y = sum(
            plane[np.minimum(low[:, 0] + i, 15), np.minimum(low[:, 1] + j, 15)]
            * np.abs(1 - i - part[:, 0])
            * np.abs(1 - j - part[:, 1])
            for i in (0, 1)
            for j in (0, 1)
        )
        x, name = at / 7.5 - 1, "digits"
    else:
        x = rng.uniform(-1, 1, (count + 300, 2))
        waves = rng.standard_normal((6, 2)) * rng.uniform(2, 12)
        y, name = np.sin(x @ waves.T + rng.uniform(0, 6, 6)).mean(axis=1), "waves"
    noise = float(rng.choice([0.0, 0.1]))
    given = y[:count] + noise * rng.standard_normal(count)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        place, value = on_device(x, draw), on_device(given, draw)
        held = on_device(y[count:], draw)
        inward = 2 if sines else 2 * hidden
        weights = stack(h, draw, same, (inward, hidden, hidden, 1))
        waves = torch.randn(2, hidden, generator=draw, device=draw.device)

        def answer(w: Weights, points: Tensor) -> Tensor:
            z = shared(points, arms)
            if sines:
                z = torch.sin(h.wide("frequency", 3) * dense(w, "dense0", z) / 1.4)
            else:
                turned = h.wide("frequency", 3) * (z @ waves)
                z = torch.relu(dense(w, "dense0", torch.cat([turned.sin(), turned.cos()], dim=2)))
            z = dense(w, "dense1", masked(z, h["width"]))
            z = torch.sin(z) if sines else torch.relu(z)
            return dense(w, "dense2", masked(z, h["width"]))[:, :, 0]

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged((answer(w, place[some]) - value[some]) ** 2, h)

        def measure(w: Weights) -> Tensor:
            return 10 * torch.log10(((answer(w, place[count:]) - held) ** 2).mean(dim=1) + 1e-9)

        return Model(weights, loss, measure, count)

    axes = (
        adam_rate("lr", 5e-4, 8e-3, "learning_rate"),
        Axis(
            "omega_0", (5.0, 20.0), (0.2, 200.0), log=True, always=True, also=("w0", "first_omega")
        )
        if sines
        else Axis(
            "sigma", (1.0, 6.0), (0.05, 60.0), log=True, always=True, also=("fourier_scale",)
        ),
        Axis("hidden_features", (16, hidden), (2, hidden), log=True, whole=True),
        Axis("weight_decay", (1e-7, 1e-4), (1e-9, 1.0), log=True),
        Axis("batch_size", (64, 128), (8, 128), log=True, whole=True, also=("num_points",)),
        Axis("final_lr_factor", (0.05, 0.5), (0.001, 1.0), log=True),
    )
    keys = {
        "omega_0": "frequency", "sigma": "frequency", "hidden_features": "width",
        "batch_size": "batch", "final_lr_factor": "final",
    }  # fmt: skip
    about = f"{name}, {count} points, noise {noise:g}, {'sines' if sines else 'Fourier features'}"
    fixed = {"batch": 128, "schedule": "linear", "final": 1.0, "frequency": 10.0}
    return DeepJob("coordinate-network", "negative PSNR", about, axes, keys, fixed, build)


def physics(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A network that solves -u'' + c u = f with u = 0 at both ends; the loss is its error."""
    pitch, stiff = float(rng.choice([1, 2, 3, 5])), float(rng.choice([0.0, 5.0]))
    hidden, points = 24 * widen, 64
    logs = bool(rng.random() < 0.5)
    sensors = int(rng.choice([0, 0, 8]))

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms, step = len(h["lr"]), 0.02
        grid = torch.linspace(-1, 1, 101, device=draw.device).view(-1, 1)
        inside = torch.linspace(-0.98, 0.98, points, device=draw.device).view(-1, 1)
        ends = torch.tensor([[-1.0], [1.0]], device=draw.device)
        few = torch.linspace(-0.9, 0.9, max(sensors, 1), device=draw.device).view(-1, 1)

        def truth(x: Tensor) -> Tensor:
            return torch.sin(np.pi * pitch * x)[:, 0]

        def u(w: Weights, x: Tensor) -> Tensor:
            z = h.wide("frequency", 3) * shared(x, arms)
            return forward(w, h, z, None, activation=torch.tanh)[:, :, 0]

        def loss(w: Weights, some: Tensor) -> Tensor:
            x = inside[some]
            bent = (u(w, x + step) - 2 * u(w, x) + u(w, x - step)) / step**2
            force = ((np.pi * pitch) ** 2 + stiff) * truth(x)
            law = ((-bent + stiff * u(w, x) - force) / (np.pi * pitch) ** 2) ** 2
            edge = (u(w, ends) ** 2).mean(dim=1)
            found = h["gain"] * averaged(law, h) + h["other_gain"] * edge
            if sensors:
                found = found + h["third_gain"] * ((u(w, few) - truth(few)) ** 2).mean(dim=1)
            return found

        def measure(w: Weights) -> Tensor:
            wrong = ((u(w, grid) - truth(grid)) ** 2).mean(dim=1) / (truth(grid) ** 2).mean()
            return torch.log10(wrong + 1e-9) if logs else wrong.sqrt()

        return Model(stack(h, draw, same, (1, hidden, hidden, 1)), loss, measure, points)

    axes = (
        adam_rate("learning_rate", 1e-3, 1e-2, "lr"),
        Axis("lambda_bc", (1.0, 30.0), (0.01, 1e4), log=True, always=True, also=("bc_weight",)),
        Axis("lambda_pde", (0.1, 2.0), (1e-3, 100.0), log=True, also=("residual_weight",)),
        Axis("input_scale", (1.0, 5.0), (0.05, 40.0), log=True, also=("scale",)),
        Axis("hidden_dim", (12, hidden), (2, hidden), log=True, whole=True, also=("neurons",)),
        Axis("num_domain", (24, 64), (2, 64), log=True, whole=True, also=("n_collocation",)),
        Axis("beta2", (0.95, 0.999), (0.5, 0.9999)),
    )
    keys = {
        "learning_rate": "lr", "lambda_bc": "other_gain", "lambda_pde": "gain",
        "input_scale": "frequency", "hidden_dim": "width", "num_domain": "batch",
    }  # fmt: skip
    about = f"pitch {pitch:g}, stiffness {stiff:g}, {sensors} sensors"
    metric = "logarithm of the relative error" if logs else "relative error"
    fixed = {"batch": points, "other_gain": 10.0, "third_gain": 10.0, "frequency": 2.0}
    return DeepJob("physics-informed", metric, about, axes, keys, fixed, build)


def gaussian_process(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A Gaussian process whose kernel is fitted by Adam; its loss is often below 0."""
    count, size = int(rng.choice([20, 40, 60])) * widen, int(rng.integers(1, 6))
    x = rng.uniform(-1, 1, (count + 60, size))
    waves = rng.standard_normal((8, size)) * rng.uniform(1, 5)
    noise = float(rng.choice([0.02, 0.1, 0.5]))
    y = np.sin(x @ waves.T + rng.uniform(0, 6, 8)) @ rng.standard_normal(8)
    y = (y - y.mean()) / y.std() + noise * rng.standard_normal(len(y))
    rough = bool(rng.random() < 0.5)

    def build(h: Hypers, draw: Draw, _: bool) -> Model:
        arms = len(h["lr"])
        where, value = on_device(x, draw), on_device(y, draw)
        ones = torch.ones(arms, 1, device=draw.device)
        weights = {
            "length": h["frequency"].log().view(-1, 1).repeat(1, size),
            "scale": h["gain"].log().view(-1, 1) * ones,
            "noise": h["noise"].log().view(-1, 1) * ones,
            "mean": 0.0 * ones,
        }

        def kernel(w: Weights, a: Tensor, b: Tensor) -> Tensor:
            length = w["length"].clamp(-8, 8).exp().unsqueeze(1)
            far = ((a / length).unsqueeze(2) - (b / length).unsqueeze(1)) ** 2
            square = far.sum(dim=3)
            if rough:
                root = (square + 1e-9).sqrt() * 3**0.5
                near = (1 + root) * (-root).exp()
            else:
                near = (-0.5 * square).exp()
            return w["scale"].clamp(-8, 8).exp().unsqueeze(2) * near

        def solved(w: Weights) -> tuple[Tensor, Tensor]:
            a = shared(where[:count], arms)
            loud = w["noise"].clamp(-12, 8).exp().unsqueeze(2) + 1e-5
            whole = kernel(w, a, a) + loud * torch.eye(count, device=a.device)
            root = torch.linalg.cholesky_ex(whole)[0]
            apart = (value[:count] - w["mean"]).unsqueeze(2)
            return root, torch.cholesky_solve(apart, root)

        def loss(w: Weights, some: Tensor) -> Tensor:
            root, weight = solved(w)
            fit = ((value[:count] - w["mean"]) * weight[:, :, 0]).sum(dim=1)
            volume = 2 * root.diagonal(dim1=1, dim2=2).log().sum(dim=1)
            return 0.5 * (fit + volume) / count + 0.0 * some.sum()

        def measure(w: Weights) -> Tensor:
            root, weight = solved(w)
            across = kernel(w, shared(where[count:], arms), shared(where[:count], arms))
            guess = (across @ weight)[:, :, 0] + w["mean"]
            known = torch.linalg.solve_triangular(root, across.transpose(1, 2), upper=False)
            prior = w["scale"].clamp(-8, 8).exp() + w["noise"].clamp(-12, 8).exp()
            spread = (prior - (known**2).sum(dim=1)).clamp(min=1e-6)
            wrong = (value[count:] - guess) ** 2 / spread
            return 0.5 * (wrong + spread.log() + np.log(2 * np.pi)).mean(dim=1)

        return Model(weights, loss, measure, count)

    axes = (
        Axis("lr", (0.02, 0.2), (1e-4, 3.0), log=True, always=True, also=("learning_rate",)),
        Axis("lengthscale", (0.3, 2.0), (0.01, 50.0), log=True, also=("length_scale",)),
        Axis("noise", (0.005, 0.2), (1e-5, 10.0), log=True, also=("likelihood.noise", "alpha")),
        Axis("outputscale", (0.5, 2.0), (0.01, 100.0), log=True, also=("constant_value",)),
        Axis("beta1", (0.8, 0.95), (0.0, 0.99)),
        Axis("weight_decay", (1e-5, 1e-2), (1e-7, 3.0), log=True),
    )
    keys = {"lengthscale": "frequency", "outputscale": "gain"}
    about = f"{count} points, {size} numbers, noise {noise:g}, {'Matern' if rough else 'RBF'}"
    fixed = {"batch": 1, "noise": 0.1}
    return DeepJob(
        "gaussian-process", "negative predictive density", about, axes, keys, fixed, build
    )


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "coordinates": coordinates,
    "physics": physics,
    "gaussian_process": gaussian_process,
}
