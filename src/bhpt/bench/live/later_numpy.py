"""Later trainings in numpy that nothing was chosen on: a recommender, a Gaussian process."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit

from bhpt.bench.live.job import Pickled
from bhpt.domain import FloatArray, IntArray
from bhpt.spaces import Config

_USERS, _ITEMS = 150, 120


def _interactions() -> tuple[IntArray, IntArray]:
    """What users took, [N, 2], and four items a user that they took later, [users, 4]."""
    rng = np.random.default_rng(41)
    taste, kind = rng.standard_normal((_USERS, 5)), rng.standard_normal((_ITEMS, 5))
    wish = taste @ kind.T + rng.standard_normal(_ITEMS) + rng.gumbel(size=(_USERS, _ITEMS))
    taken = rng.permuted(wish.argsort(axis=1)[:, -16:], axis=1)
    users = np.repeat(np.arange(_USERS), 12)
    return np.column_stack([users, taken[:, :12].ravel()]), taken[:, 12:]


_TAKEN, _TAKEN_LATER = _interactions()


class ImplicitFeedback(Pickled):
    """Bayesian personalised ranking: what was taken is to score above what was not."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        factors, scale = int(config["factors"]), float(config["init_std"])
        self.users = scale * self.rng.standard_normal((_USERS, factors))
        self.items = scale * self.rng.standard_normal((_ITEMS, factors))
        self.biases = np.zeros(_ITEMS)

    def step(self) -> float:
        """Train one epoch; returns one minus the mean NDCG of the first ten of later items."""
        size, negatives = int(self.config["batch_size"]), int(self.config["num_negatives"])
        order = np.repeat(self.rng.permutation(len(_TAKEN)), negatives)
        with np.errstate(all="ignore"):
            for begin in range(0, len(order), size * negatives):
                self._batch(*_TAKEN[order[begin : begin + size * negatives]].T)
            scores = self.users @ self.items.T + self.biases
        return _missed(np.where(np.isfinite(scores), scores, -np.inf))

    def _batch(self, user: IntArray, item: IntArray) -> None:
        other = self.rng.integers(_ITEMS, size=len(item))
        rate, ridge = (float(self.config[name]) for name in ("learning_rate", "regularization"))
        taste, apart = self.users[user], self.items[item] - self.items[other]
        ahead = (taste * apart).sum(axis=1) + self.biases[item] - self.biases[other]
        push = expit(-ahead)
        for table, at, slope in (
            (self.users, user, push[:, None] * apart),
            (self.items, item, push[:, None] * taste),
            (self.items, other, -push[:, None] * taste),
            (self.biases, item, push),
            (self.biases, other, -push),
        ):
            np.add.at(table, at, rate * (slope - ridge * table[at]))


def _missed(scores: FloatArray) -> float:
    """One minus the mean NDCG@10 of the later items; what was taken before is not offered."""
    scores[_TAKEN[:, 0], _TAKEN[:, 1]] = -np.inf
    offered = scores.argsort(axis=1)[:, :-11:-1]
    hits = (offered[:, :, None] == _TAKEN_LATER[:, None, :]).any(axis=2)
    worth = 1 / np.log2(np.arange(2, 12))
    return float(1 - (hits @ worth).mean() / worth[:4].sum())


def _surface() -> tuple[FloatArray, FloatArray]:
    """Points in five dimensions, of which three matter, and a noisy function of them."""
    rng = np.random.default_rng(44)
    x = rng.uniform(-1, 1, (360, 5))
    y = np.sin(4 * x[:, 0]) + np.abs(x[:, 1]) * x[:, 2] + 0.1 * rng.standard_normal(360)
    return x, (y - y.mean()) / y.std()


_PLACES, _HEIGHTS = _surface()
_KNOWN = 110  # of these the process is learned, the others are predicted


class KernelLearning(Pickled):
    """A Gaussian process whose kernel is learned: Adam on the evidence of batches."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        start = [float(config["lengthscale"])] * 5
        start += [float(config["outputscale"]), float(config["noise"])]
        self.logs = np.log(start)
        self.moments, self.updates = np.zeros((2, 7)), 0

    def step(self) -> float:
        """Three steps; returns the mean negative log density of the other points."""
        with np.errstate(all="ignore"):
            for _ in range(3):
                size = int(self.config["batch_size"])
                self._move(self._slope(self.rng.permutation(_KNOWN)[:size]))
            return self._surprise()

    def _kernel(self, x: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The kernel, and its slopes by the logarithms of lengths, [5, N, M]."""
        squares = ((x[:, None] - z[None]) / np.exp(self.logs[:5])) ** 2
        r, scale = np.sqrt(squares.sum(axis=2)), float(np.exp(self.logs[5]))
        if self.config["kernel"] == "rbf":
            value = np.exp(-(r**2) / 2)
            slope = value
        elif self.config["kernel"] == "matern-1.5":
            fall = np.exp(-np.sqrt(3) * r)
            value, slope = (1 + np.sqrt(3) * r) * fall, 3 * fall
        else:
            fall = np.exp(-np.sqrt(5) * r)
            value = (1 + np.sqrt(5) * r + 5 / 3 * r**2) * fall
            slope = 5 / 3 * (1 + np.sqrt(5) * r) * fall
        return scale * value, scale * np.moveaxis(slope[:, :, None] * squares, 2, 0)

    def _noisy(self, kernel: FloatArray) -> FloatArray:
        floor = float(np.exp(self.logs[6])) + 1e-5
        return kernel + floor * np.eye(len(kernel))

    def _slope(self, rows: IntArray) -> FloatArray:
        """Slopes of the negative log evidence of a batch, a point."""
        kernel, by_length = self._kernel(_PLACES[rows], _PLACES[rows])
        inverse = cho_solve(cho_factor(self._noisy(kernel)), np.eye(len(rows)))
        weights = inverse @ _HEIGHTS[rows]
        pull = (inverse - np.outer(weights, weights)) / (2 * len(rows))
        noise = float(np.exp(self.logs[6]))
        return np.array(
            [*(by_length * pull).sum(axis=(1, 2)), (kernel * pull).sum(), noise * np.trace(pull)]
        )

    def _move(self, slope: FloatArray) -> None:
        self.updates += 1
        parts = np.array([[float(self.config["beta1"])], [0.99]])
        self.moments = parts * self.moments + (1 - parts) * np.stack([slope, slope**2])
        first, second = self.moments / (1 - parts**self.updates)
        moved = self.logs - float(self.config["lr"]) * first / (np.sqrt(second) + 1e-8)
        self.logs = np.clip(moved, -9.0, 5.0)

    def _surprise(self) -> float:
        known, other = _PLACES[:_KNOWN], _PLACES[_KNOWN:]
        lower, _ = cho_factor(self._noisy(self._kernel(known, known)[0]), lower=True)
        across = self._kernel(known, other)[0]
        white = solve_triangular(lower, across, lower=True)
        target = solve_triangular(lower, _HEIGHTS[:_KNOWN], lower=True)
        scale, noise = np.exp(self.logs[5:])
        variance = np.maximum(scale - (white**2).sum(axis=0), 1e-9) + noise + 1e-5
        off = _HEIGHTS[_KNOWN:] - white.T @ target
        return float(np.mean(np.log(2 * np.pi * variance) + off**2 / variance) / 2)
