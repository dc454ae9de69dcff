"""Matrix factorisation of ratings, by stochastic gradients and by alternating least squares.

Notation:
    U  users, I  items, F  factors, R  ratings.
"""

import numpy as np

from .job import Job, squared
from .ranges import Axis, Config

GRADIENTS = (
    Axis("n_factors", (8, 64), (1, 128), log=True, whole=True),
    Axis("lr_all", (0.003, 0.02), (1e-5, 0.3), log=True, always=True),
    Axis("reg_all", (0.01, 0.2), (1e-5, 3.0), log=True, always=True),
    Axis("init_std_dev", (0.03, 0.3), (1e-3, 2.0), log=True),
)
LEAST_SQUARES = (
    Axis("factors", (4, 32), (1, 64), log=True, whole=True, always=True),
    Axis("regularization", (0.5, 20.0), (1e-3, 1000.0), log=True, always=True),
    Axis("init_scale", (0.03, 0.3), (1e-3, 3.0), log=True),
)


def factorisation(rng: np.random.Generator, longer: int = 1) -> Job:
    """Ratings of users for items, from their factors."""
    users, items = (int(n) for n in rng.integers(60, 300, size=2))
    rank = int(rng.integers(2, 12))
    count = int(rng.uniform(0.05, 0.4) * users * items)
    noise = float(rng.choice([0.1, 0.5, 1.0]))
    left, right = (rng.standard_normal((n, rank)) for n in (users, items))
    bias = rng.standard_normal(items)
    which = rng.permutation(users * items)[: 2 * count]
    u, i = which // items, which % items
    ratings = (left[u] * right[i]).sum(axis=1) / np.sqrt(rank) + bias[i]
    ratings = ratings + noise * rng.standard_normal(len(u))
    units = longer * int(rng.integers(10, 51))
    about = f"{users} users, {items} items, rank {rank}, {count} ratings, noise {noise:g}"
    base = squared(ratings[count:], ratings[:count].mean())
    gradients = bool(rng.random() < 0.65)

    def train(config: Config, seed: int) -> list[float]:
        run = _by_gradients if gradients else _by_least_squares
        inside, held = slice(0, count), slice(count, None)
        shape = (users, items)
        given = (u[inside], i[inside], ratings[inside])
        asked = (u[held], i[held], ratings[held])
        with np.errstate(all="ignore"):
            return [base, *run(config, seed, shape, given, asked, units)]

    axes = GRADIENTS if gradients else LEAST_SQUARES
    return Job("factorisation", "validation squared error", units, about, axes, train)


Ratings = tuple[np.ndarray, np.ndarray, np.ndarray]


def _by_gradients(
    config: Config, seed: int, shape: tuple[int, int], given: Ratings, held: Ratings, units: int
) -> list[float]:
    rng = np.random.default_rng(seed)
    factors = int(config.get("n_factors", 20))
    scale = float(config.get("init_std_dev", 0.1))
    rate, reg = float(config["lr_all"]), float(config["reg_all"])
    p, q = (scale * rng.standard_normal((n, factors)) for n in shape)
    bu, bi = np.zeros(shape[0]), np.zeros(shape[1])
    mean = float(given[2].mean())
    losses = []
    for _ in range(units):
        for some in np.array_split(rng.permutation(len(given[2])), max(1, len(given[2]) // 50)):
            a, b, r = (part[some] for part in given)
            error = r - mean - bu[a] - bi[b] - (p[a] * q[b]).sum(axis=1)
            step_p = rate * (error[:, None] * q[b] - reg * p[a])
            step_q = rate * (error[:, None] * p[a] - reg * q[b])
            np.add.at(p, a, step_p)
            np.add.at(q, b, step_q)
            np.add.at(bu, a, rate * (error - reg * bu[a]))
            np.add.at(bi, b, rate * (error - reg * bi[b]))
        a, b, r = held
        losses.append(squared(r, mean + bu[a] + bi[b] + (p[a] * q[b]).sum(axis=1)))
    return losses


def _by_least_squares(
    config: Config, seed: int, shape: tuple[int, int], given: Ratings, held: Ratings, units: int
) -> list[float]:
    rng = np.random.default_rng(seed)
    factors, reg = int(config["factors"]), float(config["regularization"])
    scale = float(config.get("init_scale", 0.1))
    both = [scale * rng.standard_normal((n, factors)) for n in shape]
    seen, rated = np.zeros(shape), np.zeros(shape)
    mean = float(given[2].mean())
    seen[given[0], given[1]] = 1.0
    rated[given[0], given[1]] = given[2] - mean
    losses = []
    for unit in range(units):
        side = unit % 2  # a unit solves one side
        mask, values = (seen, rated) if side == 0 else (seen.T, rated.T)
        other = both[1 - side]
        inner = np.einsum("ui,if,ig->ufg", mask, other, other) + reg * np.eye(factors)
        both[side] = np.linalg.solve(inner, (values @ other)[:, :, None])[:, :, 0]
        a, b, r = held
        losses.append(squared(r, mean + (both[0][a] * both[1][b]).sum(axis=1)))
    return losses
