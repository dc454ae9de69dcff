"""Later networks in numpy that nothing was chosen on: a CNN, and one that balances a pole."""

import numpy as np
from scipy.special import expit
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

from bhpt.bench.live.job import Pickled, log_loss
from bhpt.domain import FloatArray, IntArray
from bhpt.spaces import Config


def _images() -> tuple[FloatArray, IntArray]:
    """The 8 x 8 digits with noise, and what they are."""
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(42)
    order = rng.permutation(len(x))
    return (x / 16 + 0.35 * rng.standard_normal(x.shape)).reshape(-1, 8, 8)[order], y[order]


_DIGITS, _DIGIT_CLASSES = _images()


class DigitsCnn(Pickled):
    """A convolution, the largest of each 2 x 2 places, and a dense layer; SGD with momentum."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        filters, side = int(config["num_filters"]), int(config["kernel_size"])
        shapes = ((side**2 + 1, filters), (16 * filters + 1, 10))
        self.weights = [self.rng.standard_normal(s) * np.sqrt(2 / s[0]) for s in shapes]
        self.speeds = [np.zeros(s) for s in shapes]

    def step(self) -> float:
        """Train one epoch of 500 images; returns the validation log loss."""
        size = int(self.config["batch_size"])
        order = self.rng.permutation(500)
        with np.errstate(all="ignore"):
            for begin in range(0, 500, size):
                self._batch(order[begin : begin + size])
            dense = _pooled(self._patches(_DIGITS[500:]) @ self.weights[0])[0]
            return log_loss(_DIGIT_CLASSES[500:], _chances(_with_one(dense) @ self.weights[1]))

    def _patches(self, images: FloatArray) -> FloatArray:
        """What each filter sees at each place, and a one: [N, 8, 8, side² + 1]."""
        side = int(self.config["kernel_size"])
        edge = side // 2
        padded = np.pad(images, ((0, 0), (edge, edge), (edge, edge)))
        seen = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(1, 2))
        return _with_one(seen.reshape(len(images), 8, 8, side**2))

    def _batch(self, rows: IntArray) -> None:
        patches = self._patches(_DIGITS[rows])
        dense, largest = _pooled(patches @ self.weights[0])
        rate = float(self.config["dropout"])
        kept = (self.rng.random(dense.shape) >= rate) / (1 - rate)
        inputs = _with_one(dense * kept)
        off = _chances(inputs @ self.weights[1])
        off[np.arange(len(rows)), _DIGIT_CLASSES[rows]] -= 1
        off /= len(rows)
        back = (off @ self.weights[1].T)[:, :-1] * kept * (dense > 0)
        spread = largest * back.reshape(len(rows), 4, 1, 4, 1, -1)
        flat = spread.reshape(-1, spread.shape[-1])
        self._move([patches.reshape(len(flat), -1).T @ flat, inputs.T @ off])

    def _move(self, slopes: list[FloatArray]) -> None:
        lr, momentum, decay = (
            float(self.config[name]) for name in ("lr", "momentum", "weight_decay")
        )
        for at, slope in enumerate(slopes):
            whole = slope + decay * self.weights[at]
            self.speeds[at] = momentum * self.speeds[at] - lr * whole
            self.weights[at] = self.weights[at] + self.speeds[at]


def _with_one(x: FloatArray) -> FloatArray:
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def _pooled(maps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The largest of each 2 x 2 places where it is positive, [N, 16 F], and which they are."""
    blocks = maps.reshape(len(maps), 4, 2, 4, 2, -1)
    top = blocks.max(axis=(2, 4), keepdims=True)
    return np.maximum(top, 0.0).reshape(len(maps), -1), (blocks == top).astype(float)


def _chances(scores: FloatArray) -> FloatArray:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    normal: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return normal


_STEPS = 100  # of an episode at most


class PolicyGradient(Pickled):
    """REINFORCE with a baseline: a pole on a cart that gusts push; an epoch is 32 episodes."""

    def __init__(self, config: Config) -> None:
        self.config = dict(config)
        self.rng = np.random.default_rng(1)
        width = int(config["hidden_size"])
        self.weights = [self.rng.standard_normal((5, width)) / 2, np.zeros(width + 1)]
        self.moments = [np.zeros((2, *one.shape)) for one in self.weights]
        self.updates = 0

    def step(self) -> float:
        """32 episodes; returns minus the mean reward of a step in 40 others."""
        size = int(self.config["n_episodes"])
        with np.errstate(all="ignore"):
            for _ in range(0, 32, size):
                self._update(*self._episodes(self.rng, size))
            rewards = self._episodes(np.random.default_rng(2), 40)[3]
        return -float(rewards.sum() / (40 * _STEPS))

    def _episodes(
        self, rng: np.random.Generator, count: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Inputs, chances to push right, pushes and rewards by step and episode."""
        state = rng.uniform(-0.1, 0.1, (count, 4))
        alive = np.ones(count)
        seen = np.zeros((_STEPS, count, 5))
        chances, pushes, rewards = np.zeros((3, _STEPS, count))
        for at in range(_STEPS):
            seen[at] = _with_one(state)
            hidden = _with_one(np.tanh(seen[at] @ self.weights[0]))
            chances[at] = expit(hidden @ self.weights[1])
            pushes[at] = rng.random(count) < chances[at]
            state = _swung(state, 20 * pushes[at] - 10 + 6 * rng.standard_normal(count))
            alive = alive * (np.abs(state[:, 0]) < 2.4) * (np.abs(state[:, 2]) < 0.3)
            rewards[at] = alive * (1 - np.abs(state[:, 0]) / 2.4)
            if not alive.any():
                break
            state = state * alive[:, None]
        return seen, chances, pushes, rewards

    def _update(
        self, seen: FloatArray, chances: FloatArray, pushes: FloatArray, rewards: FloatArray
    ) -> None:
        """A step of Adam along the policy's gradient, with a bonus for entropy."""
        to_come = np.zeros_like(rewards)
        for at in reversed(range(_STEPS)):
            ahead = to_come[at + 1] if at + 1 < _STEPS else 0.0
            to_come[at] = rewards[at] + float(self.config["gamma"]) * ahead
        ran = rewards > 0
        better = to_come - to_come.mean(axis=1, keepdims=True)
        better = better / (better[ran].std() + 1e-8) if ran.any() else better
        odds = np.log((chances + 1e-8) / (1 - chances + 1e-8))
        bonus = float(self.config["entropy_coef"]) * odds * chances * (1 - chances)
        push = ran * (bonus - better * (pushes - chances)) / max(1, int(ran.sum()))
        inner = np.tanh(seen @ self.weights[0])
        back = push[:, :, None] * self.weights[1][:-1] * (1 - inner**2)
        slopes = [
            np.einsum("tni,tnh->ih", seen, back),
            np.einsum("tn,tnh->h", push, _with_one(inner)),
        ]
        self._move(slopes)

    def _move(self, slopes: list[FloatArray]) -> None:
        self.updates += 1
        norm = np.sqrt(sum(float((one**2).sum()) for one in slopes))
        clip = min(1.0, float(self.config["max_grad_norm"]) / (norm + 1e-12))
        for at, slope in enumerate(slopes):
            first, second = self.moments[at]
            first = 0.9 * first + 0.1 * clip * slope
            second = 0.999 * second + 0.001 * (clip * slope) ** 2
            self.moments[at] = np.stack([first, second])
            mean, square = first / (1 - 0.9**self.updates), second / (1 - 0.999**self.updates)
            rate = float(self.config["learning_rate"])
            self.weights[at] = self.weights[at] - rate * mean / (np.sqrt(square) + 1e-8)


def _swung(state: FloatArray, force: FloatArray) -> FloatArray:
    """A cart of 1 kg with a pole of 0.1 kg and 1 m, 0.02 s later."""
    _, speed, angle, turn = state.T
    sine, cosine = np.sin(angle), np.cos(angle)
    pull = (force + 0.05 * turn**2 * sine) / 1.1
    swing = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    drive = pull - 0.05 * swing * cosine / 1.1
    rates = np.stack([speed, drive, turn, swing], axis=1)
    later: FloatArray = state + 0.02 * rates
    return later
