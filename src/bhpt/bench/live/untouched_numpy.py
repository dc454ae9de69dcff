"""Trainings in numpy that nothing was chosen on: word vectors, regressions, a GRU, Q-learning."""

import numpy as np
from scipy.special import expit

from bhpt.bench.live.job import Pickled, log_loss
from bhpt.domain import FloatArray, IntArray
from bhpt.spaces import Config


def _corpus() -> tuple[IntArray, IntArray]:
    """Sentences of 12 words out of 60, [N, 12], to train on and to measure on; each has a topic."""
    rng = np.random.default_rng(31)
    topics = rng.dirichlet(np.full(60, 0.15), size=6)
    rows = np.stack([rng.choice(60, size=12, p=topics[one]) for one in rng.integers(6, size=260)])
    return rows[:130], rows[130:]


_SENTENCES, _HELD_SENTENCES = _corpus()


def _pairs(sentences: IntArray, window: int) -> IntArray:
    """Pairs of words that stand at most `window` places apart, [P, 2]."""
    shifts = range(1, window + 1)
    found = [np.stack([sentences[:, s:], sentences[:, :-s]], axis=-1) for s in shifts]
    return np.concatenate([one.reshape(-1, 2) for one in found])


class WordVectors(Pickled):
    """Skip-grams with negative samples, plain gradient descent."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        shape, scale = (60, int(config["vector_size"])), float(config["init_scale"])
        self.words = scale * self.rng.standard_normal(shape)
        self.contexts = scale * self.rng.standard_normal(shape)
        self.pairs = _pairs(_SENTENCES, int(config["window"]))

    def step(self) -> float:
        """Train one epoch; returns the validation loss with five fixed negatives a pair."""
        size, negative = int(self.config["batch_size"]), int(self.config["negative"])
        order = self.rng.permutation(len(self.pairs))[:1200]
        with np.errstate(all="ignore"):
            for begin in range(0, len(order), size):
                rows = self.pairs[order[begin : begin + size]]
                wrong = self.rng.integers(60, size=(len(rows), negative))
                self._batch(rows[:, 0], np.column_stack([rows[:, 1], wrong]))
            return self._held()

    def _batch(self, centre: IntArray, around: IntArray) -> None:
        vectors, others = self.words[centre], self.contexts[around]
        off = expit(np.einsum("nd,nkd->nk", vectors, others))
        off[:, 0] -= 1
        rate = float(self.config["alpha"])
        np.add.at(self.words, centre, -rate * np.einsum("nk,nkd->nd", off, others))
        np.add.at(self.contexts, around, -rate * off[:, :, None] * vectors[:, None, :])

    def _held(self) -> float:
        pairs = _pairs(_HELD_SENTENCES, 3)
        wrong = np.random.default_rng(2).integers(60, size=(len(pairs), 5))
        vectors = self.words[pairs[:, 0]]
        right = np.einsum("nd,nd->n", vectors, self.contexts[pairs[:, 1]])
        others = np.einsum("nd,nkd->nk", vectors, self.contexts[wrong])
        return float(np.mean(np.logaddexp(0, -right) + np.logaddexp(0, others).mean(axis=1)))


def _sparse_rows() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Inputs of which few matter, with noise, to train on and to measure on."""
    rng = np.random.default_rng(32)
    x = rng.standard_normal((450, 80)) @ np.diag(rng.uniform(0.3, 1.5, 80))
    weights = np.where(rng.random(80) < 0.12, rng.standard_normal(80), 0.0)
    y = x @ weights + 0.7 * rng.standard_normal(450)
    return x[:150], y[:150], x[150:], y[150:]


_SPARSE_X, _SPARSE_Y, _SPARSE_HELD_X, _SPARSE_HELD_Y = _sparse_rows()


class ElasticNet(Pickled):
    """Linear regression with both penalties: gradient steps, then a soft threshold."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        self.weights, self.speed = np.zeros(80), np.zeros(80)
        self.epoch = 0

    def step(self) -> float:
        """Train one epoch; returns the validation squared error."""
        given = self.config
        self.epoch += 1
        rate = float(given["lr"]) / self.epoch ** float(given["lr_decay"])
        parts = max(1, len(_SPARSE_X) // int(given["batch_size"]))
        with np.errstate(all="ignore"):
            for rows in np.array_split(self.rng.permutation(len(_SPARSE_X)), parts):
                off = _SPARSE_X[rows] @ self.weights - _SPARSE_Y[rows]
                slope = _SPARSE_X[rows].T @ off / len(rows) + float(given["l2"]) * self.weights
                self.speed = float(given["momentum"]) * self.speed - rate * slope
                moved = self.weights + self.speed
                cut = np.maximum(np.abs(moved) - rate * float(given["l1"]), 0.0)
                self.weights = np.sign(moved) * cut
            return float(np.mean((_SPARSE_HELD_X @ self.weights - _SPARSE_HELD_Y) ** 2))


def _signals() -> tuple[FloatArray, IntArray]:
    """Series of 14 steps with two channels, and which of three kinds each is."""
    rng = np.random.default_rng(33)
    x = rng.standard_normal((700, 14, 2))
    first, last = x[:, :4, 0].sum(axis=1), x[:, 9:, 1].sum(axis=1)
    kinds = (first > 0).astype(int) + (last + 0.5 * first > 0.5).astype(int)
    return x, kinds


_SERIES, _SERIES_KINDS = _signals()


class Gru(Pickled):
    """A recurrent network with gates, back-propagated by hand, Adam with clipped gradients."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        width, scale = int(config["units"]), float(config["init_gain"])
        shapes = {"gates": (width + 3, 2 * width), "new": (width + 3, width), "out": (width + 1, 3)}
        self.weights = {
            name: scale * self.rng.standard_normal(s) / np.sqrt(s[0]) for name, s in shapes.items()
        }
        self.moments = {name: np.zeros((2, *s)) for name, s in shapes.items()}
        self.updates = 0

    def step(self) -> float:
        """Train one epoch of 300 series; returns the validation log loss."""
        size = int(self.config["batch_size"])
        order = self.rng.permutation(300)
        with np.errstate(all="ignore"):
            for begin in range(0, 300, size):
                self._update(self._slopes(order[begin : begin + size]))
            chances = self._forward(_SERIES[300:])[1]
        return log_loss(_SERIES_KINDS[300:], chances)

    def _forward(self, x: FloatArray) -> tuple[list[tuple[FloatArray, ...]], FloatArray]:
        width = int(self.config["units"])
        state, one = np.zeros((len(x), width)), np.ones((len(x), 1))
        kept: list[tuple[FloatArray, ...]] = []
        for at in range(x.shape[1]):
            inputs = np.hstack([state, x[:, at], one])
            gates = expit(inputs @ self.weights["gates"])
            keep, reset = gates[:, :width], gates[:, width:]
            inner = np.hstack([reset * state, x[:, at], one])
            new = np.tanh(inner @ self.weights["new"])
            kept.append((state, inputs, keep, reset, inner, new))
            state = keep * state + (1 - keep) * new
        final = np.hstack([state, one])
        scores = final @ self.weights["out"]
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        kept.append((final,))
        return kept, chances / chances.sum(axis=1, keepdims=True)

    def _slopes(self, rows: IntArray) -> dict[str, FloatArray]:
        width = int(self.config["units"])
        kept, off = self._forward(_SERIES[rows])
        off[np.arange(len(rows)), _SERIES_KINDS[rows]] -= 1
        off /= len(rows)
        slopes = {name: np.zeros_like(one) for name, one in self.weights.items()}
        slopes["out"] = kept[-1][0].T @ off
        back = (off @ self.weights["out"].T)[:, :width]
        for state, inputs, keep, reset, inner, new in reversed(kept[:-1]):
            bent = back * (1 - keep) * (1 - new**2)
            slopes["new"] += inner.T @ bent
            to_inner = (bent @ self.weights["new"].T)[:, :width]
            to_keep = back * (state - new) * keep * (1 - keep)
            to_reset = to_inner * state * reset * (1 - reset)
            gates = np.hstack([to_keep, to_reset])
            slopes["gates"] += inputs.T @ gates
            through = (gates @ self.weights["gates"].T)[:, :width]
            back = back * keep + to_inner * reset + through
        return slopes

    def _update(self, slopes: dict[str, FloatArray]) -> None:
        self.updates += 1
        norm = np.sqrt(sum(float((one**2).sum()) for one in slopes.values()))
        clip = min(1.0, float(self.config["clip_norm"]) / (norm + 1e-12))
        means = np.array([float(self.config["beta1"]), 0.99])
        for name, slope in slopes.items():
            pushed = np.stack([slope * clip, (slope * clip) ** 2])
            part = means[:, None, None]
            self.moments[name] = part * self.moments[name] + (1 - part) * pushed
            first, second = self.moments[name] / (1 - part**self.updates)
            rate = float(self.config["learning_rate"])
            self.weights[name] = self.weights[name] - rate * first / (np.sqrt(second) + 1e-8)


def _curved() -> tuple[FloatArray, FloatArray]:
    """Points in six dimensions and a noisy smooth function of them."""
    rng = np.random.default_rng(34)
    x = rng.uniform(-1, 1, (700, 6))
    y = np.sin(3 * x[:, 0]) * x[:, 1] + np.exp(-2 * x[:, 2] ** 2) + 0.5 * x[:, 3]
    return x, y + 0.15 * rng.standard_normal(700)


_POINTS, _VALUES = _curved()


class KernelRegression(Pickled):
    """Regression with a kernel at every training point, gradient descent on its coefficients."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        apart = ((_POINTS[:, None] - _POINTS[None, :300]) ** 2).sum(axis=2)
        width = float(config["gamma"])
        shapes = {"rbf": np.exp(-width * apart), "laplace": np.exp(-np.sqrt(width * apart))}
        self.kernel = shapes[str(config["kernel"])]
        self.coefficients, self.speed = np.zeros(300), np.zeros(300)

    def step(self) -> float:
        """Train one epoch; returns the validation squared error."""
        given = self.config
        parts = max(1, 300 // int(given["batch_size"]))
        with np.errstate(all="ignore"):
            for rows in np.array_split(self.rng.permutation(300), parts):
                off = self.kernel[rows] @ self.coefficients - _VALUES[rows]
                slope = self.kernel[rows].T @ off / len(rows)
                slope = slope + float(given["ridge"]) * self.coefficients
                self.speed = float(given["momentum"]) * self.speed - float(given["eta"]) * slope
                self.coefficients = self.coefficients + self.speed
            return float(np.mean((self.kernel[300:] @ self.coefficients - _VALUES[300:]) ** 2))


_SIDE = 7
_MOVES = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])


class QLearning(Pickled):
    """Tabular Q-learning on a slippery grid with pits; an epoch is 25 episodes."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        self.values = np.full((_SIDE, _SIDE, 4), float(config["optimism"]))
        self.epoch = 0

    def step(self) -> float:
        """25 episodes; returns minus the mean reward of 15 greedy ones."""
        given = self.config
        self.epoch += 1
        explore = float(given["epsilon"]) * float(given["epsilon_decay"]) ** self.epoch
        for _ in range(25):
            self._episode(self.rng, explore, learn=True)
        fixed = np.random.default_rng(2)
        return -float(np.mean([self._episode(fixed, 0.0, learn=False) for _ in range(15)]))

    def _episode(self, rng: np.random.Generator, explore: float, *, learn: bool) -> float:
        rate, discount = float(self.config["alpha"]), float(self.config["gamma"])
        row, column, total = 0, 0, 0.0
        for _ in range(40):
            random = rng.random() < explore
            move = int(rng.integers(4)) if random else int(self.values[row, column].argmax())
            taken = int(rng.integers(4)) if rng.random() < 0.1 else move
            down, right = (min(max(at, 0), _SIDE - 1) for at in _MOVES[taken] + (row, column))
            reward, over = _reward(down, right)
            total += reward
            if learn:
                ahead = 0.0 if over else discount * float(self.values[down, right].max())
                self.values[row, column, move] += rate * (
                    reward + ahead - self.values[row, column, move]
                )
            row, column = down, right
            if over:
                break
        return total


def _reward(row: int, column: int) -> tuple[float, bool]:
    """What a place pays, and whether the episode is over there."""
    if (row, column) == (_SIDE - 1, _SIDE - 1):
        return 1.0, True
    if (row, column) in {(2, 2), (2, 3), (4, 5), (5, 1)}:
        return -1.0, True
    return -0.02, False
