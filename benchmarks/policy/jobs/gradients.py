"""Linear models whose steps are bounded in other ways: kernels, many clients, privacy, chains.

Support vector machines on random features, federated averaging, differentially private descent,
and Markov chains that sample a posterior. All are a few lines of NumPy a step.

Notation:
    N  examples, D  features, C  classes.
"""

from collections.abc import Callable

import numpy as np

from .data import Floats, Tabular, draw_tabular
from .job import Job
from .ranges import Axis, Config

KERNEL = (
    Axis("C", (0.3, 30.0), (1e-4, 1e4), log=True, always=True, also=("cost", "svc__C")),
    Axis("gamma", (0.01, 0.2), (1e-5, 30.0), log=True, always=True, also=("svc__gamma", "sigma")),
    Axis("n_components", (100, 300), (5, 400), log=True, whole=True, also=("D", "n_features")),
    Axis("class_weight", values=("none", "balanced")),
    Axis("kernel", values=("rbf", "laplacian")),
)
FEDERATED = (
    Axis("client_lr", (0.05, 0.5), (1e-4, 20.0), log=True, always=True, also=("lr", "eta_l")),
    Axis("server_lr", (0.5, 1.5), (0.01, 10.0), log=True, also=("global_lr", "eta_g")),
    Axis("local_epochs", (1, 5), (1, 20), whole=True, also=("E", "epochs")),
    Axis("fraction_fit", (0.2, 0.8), (0.03, 1.0), also=("C", "participation_rate")),
    Axis("batch_size", (8, 32), (2, 100), log=True, whole=True, also=("B", "bs")),
    Axis("proximal_mu", (1e-3, 0.1), (1e-5, 10.0), log=True, also=("mu",)),
    Axis("server_momentum", (0.0, 0.9), (0.0, 0.99)),
)
PRIVATE = (
    Axis("learning_rate", (0.1, 1.0), (1e-3, 50.0), log=True, always=True, also=("lr",)),
    Axis("noise_multiplier", (0.3, 1.2), (0.05, 20.0), log=True, also=("sigma", "noise_scale")),
    Axis("max_grad_norm", (0.2, 2.0), (1e-3, 50.0), log=True, also=("l2_norm_clip", "clip")),
    Axis("batch_size", (32, 128), (2, 400), log=True, whole=True, also=("lot_size",)),
    Axis("momentum", (0.0, 0.9), (0.0, 0.99)),
    Axis("weight_decay", (1e-5, 1e-3), (1e-7, 1.0), log=True),
)
CHAIN = (
    Axis("step_size", (0.05, 0.3), (1e-4, 5.0), log=True, always=True, also=("epsilon", "eps")),
    Axis("num_leapfrog_steps", (4, 20), (1, 60), log=True, whole=True, also=("n_steps", "L")),
    Axis("target_accept", (0.6, 0.9), (0.1, 0.999), also=("delta", "target_accept_prob")),
    Axis("adaptation_rate", (0.01, 0.1), (1e-4, 1.0), log=True, also=("gamma",)),
    Axis("mass_scale", (0.5, 2.0), (0.02, 50.0), log=True, also=("inverse_mass",)),
    Axis("jitter", (0.0, 0.3), (0.0, 1.0)),
)

Field = Callable[[Floats], Floats]


def _softmax(x: Floats) -> Floats:
    high = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(high / high.sum(axis=1, keepdims=True))


def _entropy(w: Floats, x: Floats, y: Floats) -> float:
    """Mean cross-entropy of a linear model; NaN where its weights are not finite."""
    if not np.isfinite(w).all():
        return float("nan")
    chances = _softmax(np.clip(x @ w, -1e6, 1e6))[np.arange(len(y)), y.astype(int)]
    return float(-np.log(np.clip(chances, 1e-12, 1.0)).mean())


def _slope(w: Floats, x: Floats, y: Floats) -> Floats:
    """Mean gradient of the cross-entropy."""
    error = _softmax(np.clip(x @ w, -1e6, 1e6))
    error[np.arange(len(y)), y.astype(int)] -= 1.0
    return np.asarray(x.T @ error / len(y))


def _with_ones(data: Tabular) -> tuple[Floats, Floats]:
    """Inputs to train on and to measure on, with a column of ones."""
    x, held = (np.column_stack([part, np.ones(len(part))]) for part in (data.x, data.held_x))
    return x, held


def kernel_machine(rng: np.random.Generator, longer: int = 1) -> Job:
    """A support vector machine on random features by Pegasos; its error or hinge loss."""
    data = draw_tabular(rng, 1200, values=False)
    units, part = longer * int(rng.integers(8, 41)), float(rng.choice([0.2, 0.5, 1.0]))
    error = bool(rng.random() < 0.6)
    waves = rng.standard_normal((data.x.shape[1], 400))
    heavy = rng.standard_cauchy((data.x.shape[1], 400))
    phase = rng.uniform(0, 2 * np.pi, 400)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        count = int(config.get("n_components", 200))
        gamma = float(config["gamma"])
        turn = heavy * gamma if config.get("kernel") == "laplacian" else waves * np.sqrt(2 * gamma)
        x, held = (
            np.sqrt(2 / count) * np.cos(one @ turn[:, :count] + phase[:count])
            for one in (data.x, data.held_x)
        )
        often = np.bincount(data.y.astype(int), minlength=data.classes) + 1.0
        even = config.get("class_weight") == "balanced"
        weight = (often.sum() / often / data.classes if even else np.ones(data.classes))[
            data.y.astype(int)
        ]
        signs = np.where(data.y[:, None] == np.arange(data.classes), 1.0, -1.0)
        shrink = 1 / (float(config["C"]) * len(x))
        w, step = np.zeros((count, data.classes)), 0
        losses = [float(np.mean(data.held_y != often.argmax())) if error else 1.0]
        for _ in range(units):
            for some in np.array_split(draw.permutation(len(x))[: int(part * len(x))], 20):
                step += 1
                rate = 1 / (shrink * (step + 10))
                inside = (signs[some] * (x[some] @ w) < 1) * weight[some, None]
                w = (1 - rate * shrink) * w + rate * x[some].T @ (inside * signs[some]) / len(some)
            said = held @ w
            wanted = np.where(data.held_y[:, None] == np.arange(data.classes), 1.0, -1.0)
            wrong = float(np.mean(said.argmax(axis=1) != data.held_y))
            losses.append(wrong if error else float(np.maximum(0, 1 - wanted * said).mean()))
        return losses

    metric = "validation error rate" if error else "validation hinge loss"
    about = f"{data.about}; {part:g} of the data a unit"
    return Job("kernel-machine", metric, units, about, KERNEL, train)


def federated(rng: np.random.Generator, longer: int = 1) -> Job:
    """Federated averaging of a linear model over clients with different data; a unit is a round."""
    data = draw_tabular(rng, 1500, values=False)
    clients, units = int(rng.integers(5, 31)), longer * int(rng.integers(8, 51))
    apart = float(rng.choice([0.0, 0.5, 1.0]))
    order = rng.permutation(len(data.y))
    sorted_part = int(apart * len(order))
    order[:sorted_part] = order[:sorted_part][data.y[order[:sorted_part]].argsort()]
    owns = np.array_split(order, clients)
    x, held = _with_ones(data)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        w = np.zeros((x.shape[1], data.classes))
        speed = np.zeros_like(w)
        count = max(1, round(float(config.get("fraction_fit", 0.5)) * clients))
        losses = [_entropy(w, held, data.held_y)]
        with np.errstate(all="ignore"):
            for _ in range(units):
                chosen = draw.permutation(clients)[:count]
                ends = [_local(config, w, x[owns[c]], data.y[owns[c]], draw) for c in chosen]
                change = np.mean(ends, axis=0) - w
                speed = float(config.get("server_momentum", 0.0)) * speed + change
                w = w + float(config.get("server_lr", 1.0)) * speed
                losses.append(_entropy(w, held, data.held_y))
        return losses

    about = f"{data.about}; {clients} clients, {apart:g} of the rows sorted by class"
    return Job("federated", "validation cross-entropy", units, about, FEDERATED, train)


def _local(c: Config, start: Floats, x: Floats, y: Floats, draw: np.random.Generator) -> Floats:
    """Weights after a client's own epochs."""
    w, size = start.copy(), int(c.get("batch_size", 16))
    for _ in range(int(c.get("local_epochs", 1))):
        for some in np.array_split(draw.permutation(len(y)), max(1, len(y) // size)):
            drag = float(c.get("proximal_mu", 0.0)) * (w - start)
            w = w - float(c["client_lr"]) * (_slope(w, x[some], y[some]) + drag)
    return w


def private(rng: np.random.Generator, longer: int = 1) -> Job:
    """A linear model by differentially private gradients: clipped row by row, with noise."""
    data = draw_tabular(rng, 1500, values=False)
    units, steps = longer * int(rng.integers(8, 51)), int(rng.choice([2, 5, 15]))
    x, held = _with_ones(data)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        w = np.zeros((x.shape[1], data.classes))
        speed = np.zeros_like(w)
        bound = float(config.get("max_grad_norm", 1.0))
        loud = bound * float(config.get("noise_multiplier", 0.7))
        size = min(int(config.get("batch_size", 64)), len(x))
        losses = [_entropy(w, held, data.held_y)]
        with np.errstate(all="ignore"):
            for _ in range(units):
                for _ in range(steps):
                    some = draw.integers(len(x), size=size)
                    error = _softmax(np.clip(x[some] @ w, -1e6, 1e6))
                    error[np.arange(size), data.y[some].astype(int)] -= 1.0
                    norm = np.sqrt((x[some] ** 2).sum(axis=1) * (error**2).sum(axis=1))
                    kept = np.minimum(1.0, bound / (norm + 1e-12))
                    total = x[some].T @ (error * kept[:, None])
                    noisy = (total + loud * draw.standard_normal(w.shape)) / size
                    speed = float(config.get("momentum", 0.0)) * speed + noisy
                    decay = float(config.get("weight_decay", 0.0)) * w
                    w = w - float(config["learning_rate"]) * (speed + decay)
                losses.append(_entropy(w, held, data.held_y))
        return losses

    about = f"{data.about}; {steps} steps a unit"
    return Job("private-training", "validation cross-entropy", units, about, PRIVATE, train)


def chain(rng: np.random.Generator, longer: int = 1) -> Job:
    """Hamiltonian chains on a Gaussian or a bent posterior; the loss is how far moments are off."""
    size, chains = int(rng.choice([2, 5, 10, 25])), 16
    scale = 10 ** rng.uniform(-1, 0.5, size)
    bend = float(rng.choice([0.0, 0.0, 0.3]))
    units, moves = longer * int(rng.integers(8, 51)), int(rng.choice([2, 5, 10]))
    logs = bool(rng.random() < 0.5)

    def energy(q: Floats) -> Floats:
        z = q / scale
        z = np.column_stack([z[:, 0], z[:, 1:] - bend * (z[:, :1] ** 2 - 1)])
        return np.asarray(0.5 * (z**2).sum(axis=1))

    def slope(q: Floats) -> Floats:
        z = q / scale
        rest = z[:, 1:] - bend * (z[:, :1] ** 2 - 1)
        first = z[:, 0] - 2 * bend * z[:, 0] * rest.sum(axis=1)
        return np.asarray(np.column_stack([first, rest]) / scale)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        q = 3.0 * draw.standard_normal((chains, size))
        step, losses, kept = float(config["step_size"]), [_off(q, scale)], [q]
        with np.errstate(all="ignore"):
            for _ in range(units):
                for _ in range(moves):
                    q, taken = _leap(config, q, step, draw, energy, slope)
                    goal = float(config.get("target_accept", taken))
                    step *= float(
                        np.exp(float(config.get("adaptation_rate", 0.05)) * (taken - goal))
                    )
                    kept.append(q)
                losses.append(_off(np.concatenate(kept[len(kept) // 4 :]), scale))
        return [float(np.log(one + 1e-9)) for one in losses] if logs else losses

    about = f"{size} dimensions, bend {bend:g}; {moves} moves of {chains} chains a unit"
    metric = "logarithm of the error of moments" if logs else "error of moments"
    return Job("markov-chain", metric, units, about, CHAIN, train)


def _off(q: Floats, scale: Floats) -> float:
    """Mean squared error of means and of logarithms of spreads, in units of the true spreads."""
    if not np.isfinite(q).all():
        return float("nan")
    spread = np.log(q.std(axis=0) / scale + 1e-6)
    return float(np.minimum(((q.mean(axis=0) / scale) ** 2 + spread**2).mean(), 1e3))


def _leap(
    c: Config, q: Floats, step: float, draw: np.random.Generator, energy: Field, slope: Field
) -> tuple[Floats, float]:
    """One move of all chains, and how many of them were taken."""
    mass = float(c.get("mass_scale", 1.0))
    step = step * (1 + float(c.get("jitter", 0.0)) * draw.uniform(-1, 1))
    p = np.sqrt(mass) * draw.standard_normal(q.shape)
    before = energy(q) + 0.5 * (p**2).sum(axis=1) / mass
    new = q
    p = p - 0.5 * step * slope(new)
    count = int(c.get("num_leapfrog_steps", 8))
    for at in range(count):
        new = np.clip(new + step * p / mass, -1e6, 1e6)
        p = p - (step if at + 1 < count else 0.5 * step) * slope(new)
    after = energy(new) + 0.5 * (p**2).sum(axis=1) / mass
    chance = np.exp(np.clip(before - after, -50, 0))
    chance = np.where(np.isfinite(chance), chance, 0.0)
    taken = draw.random(len(q)) < chance
    return np.where(taken[:, None], new, q), float(chance.mean())
