"""Reinforcement learning: tables of action values on grids, and policy gradients on small controls.

Losses are negative mean returns of the latest episodes, as a sweep logs them: noisy, slow to
start, and able to collapse. All arms of a job share nothing but the task.

Notation:
    E  environments side by side, H  steps of a rollout, A  actions, O  observed numbers.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .job import Job
from .ranges import Axis, Config

Floats = NDArray[np.float64]

TABULAR = (
    Axis("alpha", (0.05, 0.5), (1e-3, 1.0), log=True, always=True),
    Axis("gamma", (0.9, 0.99), (0.3, 0.9999)),
    Axis("epsilon", (0.05, 0.3), (0.0, 1.0)),
    Axis("epsilon_decay", (0.98, 1.0), (0.8, 1.0)),
    Axis("q_init", (0.0, 1.0), (-5.0, 5.0)),
)
PPO = (
    Axis("learning_rate", (2e-4, 3e-3), (1e-6, 0.1), log=True, always=True),
    Axis("gamma", (0.95, 0.995), (0.5, 0.9999)),
    Axis("gae_lambda", (0.9, 0.98), (0.0, 1.0)),
    Axis("clip_range", (0.1, 0.3), (0.01, 0.9)),
    Axis("ent_coef", (1e-4, 0.01), (1e-8, 0.5), log=True),
    Axis("vf_coef", (0.3, 1.0), (0.01, 5.0), log=True),
    Axis("n_epochs", (3, 10), (1, 20), whole=True),
    Axis("batch_size", (32, 128), (8, 512), log=True, whole=True),
    Axis("max_grad_norm", (0.3, 1.0), (0.01, 10.0), log=True),
)


def q_learning(rng: np.random.Generator, longer: int = 1) -> Job:
    """Q-learning or SARSA on a random grid with walls, slips and traps."""
    side = int(rng.integers(4, 9))
    states, slip = side * side, float(rng.choice([0.0, 0.1, 0.3]))
    walls, traps = rng.random(states) < 0.15, rng.random(states) < 0.08
    goal = states - 1
    walls[[0, goal]] = traps[[0, goal]] = False
    units, episodes = longer * int(rng.integers(10, 51)), int(rng.choice([2, 5, 10]))
    on_policy = bool(rng.random() < 0.4)
    moves = ((-1, 0), (1, 0), (0, -1), (0, 1))

    def step(state: int, action: int) -> tuple[int, float, bool]:
        row, column = divmod(state, side)
        row, column = row + moves[action][0], column + moves[action][1]
        after = row * side + column
        if not (0 <= row < side and 0 <= column < side) or walls[after]:
            after = state
        if after == goal:
            return after, 1.0, True
        return (after, -1.0, True) if traps[after] else (after, -0.02, False)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        q = np.full((states, 4), float(config.get("q_init", 0.0)))
        alpha, gamma = float(config["alpha"]), float(config.get("gamma", 0.95))
        epsilon, decay = float(config.get("epsilon", 0.1)), float(config.get("epsilon_decay", 1.0))
        losses = [1.0]
        for _ in range(units):
            returns = []
            for _ in range(episodes):
                state, total, ends = 0, 0.0, False
                action = _greedy(q, state, epsilon, draw)
                for _ in range(4 * side):
                    taken = int(draw.integers(4)) if draw.random() < slip else action
                    after, reward, ends = step(state, taken)
                    following = _greedy(q, after, epsilon, draw)
                    ahead = q[after, following] if on_policy else q[after].max()
                    target = reward + (0.0 if ends else gamma * ahead)
                    q[state, action] += alpha * (target - q[state, action])
                    state, action, total = after, following, total + reward
                    if ends:
                        break
                returns.append(total)
                epsilon *= decay
            losses.append(-float(np.mean(returns)))
        return losses

    about = f"grid of {side} x {side}, slip {slip:g}, {episodes} episodes a unit"
    name = "SARSA" if on_policy else "Q-learning"
    return Job(
        "reinforcement-learning", "negative return", units, f"{name}; {about}", TABULAR, train
    )


def _greedy(q: Floats, state: int, epsilon: float, draw: np.random.Generator) -> int:
    return int(draw.integers(4)) if draw.random() < epsilon else int(q[state].argmax())


Physics = Callable[
    [Floats, NDArray[np.int64], np.random.Generator], tuple[Floats, Floats, NDArray[np.bool_]]
]


def _cart(scale: float) -> tuple[int, int, Callable[[int, np.random.Generator], Floats], Physics]:
    """Balancing a pole on a cart; `scale` is the length of the pole."""

    def reset(count: int, draw: np.random.Generator) -> Floats:
        return draw.uniform(-0.05, 0.05, (count, 4))

    def step(
        s: Floats, a: NDArray[np.int64], _: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        force = np.where(a == 1, 10.0, -10.0)
        cos, sin = np.cos(s[:, 2]), np.sin(s[:, 2])
        push = (force + 0.05 * scale * s[:, 3] ** 2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (scale * (4 / 3 - 0.1 * cos**2 / 1.1))
        move = push - 0.05 * scale * turn * cos / 1.1
        after = s + 0.02 * np.column_stack([s[:, 1], move, s[:, 3], turn])
        fallen = (np.abs(after[:, 0]) > 2.4) | (np.abs(after[:, 2]) > 0.21)
        return after, np.ones(len(s)), fallen

    return 4, 2, reset, step


def _point(goal: float) -> tuple[int, int, Callable[[int, np.random.Generator], Floats], Physics]:
    """Driving a point with inertia to a goal and staying there."""

    def reset(count: int, draw: np.random.Generator) -> Floats:
        return np.column_stack([draw.uniform(-1, 1, (count, 2)), np.zeros((count, 2))])

    def step(
        s: Floats, a: NDArray[np.int64], draw: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        pushes = np.array([[0.3, 0], [-0.3, 0], [0, 0.3], [0, -0.3], [0, 0]])[a]
        speed = 0.9 * s[:, 2:] + 0.1 * pushes + 0.01 * draw.standard_normal((len(s), 2))
        place = s[:, :2] + speed
        away = np.abs(place - goal).sum(axis=1)
        return np.column_stack([place, speed]), -away, away > 4.0

    return 4, 5, reset, step


def ppo(rng: np.random.Generator, longer: int = 1) -> Job:
    """Proximal policy optimisation on a small control task."""
    pole = bool(rng.random() < 0.6)
    size = float(rng.uniform(0.3, 0.8))
    observed, actions, reset, step = _cart(size) if pole else _point(size)
    units, envs = longer * int(rng.integers(15, 41)), int(rng.choice([4, 8]))
    steps, rollouts, longest = (
        int(rng.choice([32, 64])),
        int(rng.choice([1, 2])),
        200 if pole else 60,
    )

    def train(config: Config, seed: int) -> list[float]:
        with np.errstate(all="ignore"):
            learner = _Ppo(config, observed, actions, np.random.default_rng(seed))
            world = _World(reset, step, envs, longest, learner.draw)
            losses = [world.untrained(learner, pole)]
            for _ in range(units):
                for _ in range(rollouts):
                    learner.learn(*world.roll(learner, steps))
                losses.append(-world.recent())
            return losses

    task = f"pole of {size:.2f}" if pole else f"point to {size:.2f}"
    about = f"{task}, {envs} environments, {rollouts} rollouts of {steps} steps a unit"
    return Job("reinforcement-learning", "negative return", units, about, PPO, train)


class _World:
    """Environments side by side, restarted when their episodes end."""

    def __init__(
        self,
        reset: Callable[[int, np.random.Generator], Floats],
        step: Physics,
        envs: int,
        longest: int,
        draw: np.random.Generator,
    ) -> None:
        self.reset, self.step, self.longest, self.draw = reset, step, longest, draw
        self.state = reset(envs, draw)
        self.age, self.total = np.zeros(envs, int), np.zeros(envs)
        self.returns: list[float] = []

    def untrained(self, learner: "_Ppo", pole: bool) -> float:
        """What chance earns, as a loss."""
        self.roll(learner, 60 if pole else 2 * self.longest)
        return -self.recent()

    def recent(self) -> float:
        """Mean return of the latest episodes; of those on their way if none has ended."""
        return float(np.mean(self.returns[-20:])) if self.returns else float(self.total.mean())

    def roll(self, learner: "_Ppo", steps: int) -> tuple[Floats, ...]:
        """Act for some steps; what was seen, done and earned, each [H, E, ...]."""
        kept: list[tuple[Floats, ...]] = []
        for _ in range(steps):
            seen = self.state
            logits, value = learner.ahead(seen)
            chances = _softmax(logits)
            action = (chances.cumsum(axis=1) < self.draw.random((len(seen), 1))).sum(axis=1)
            action = np.minimum(action, logits.shape[1] - 1)
            after, reward, ended = self.step(seen, action, self.draw)
            self.age += 1
            self.total += reward
            over = ended | (self.age >= self.longest) | ~np.isfinite(after).all(axis=1)
            self.returns.extend(self.total[over].tolist())
            logp = np.log(chances[np.arange(len(seen)), action] + 1e-12)
            kept.append((seen, action, logp, reward, value, over.astype(float)))
            after[over] = self.reset(int(over.sum()), self.draw)
            self.age[over], self.total[over] = 0, 0.0
            self.state = after
        last = learner.ahead(self.state)[1]
        return (*(np.stack(part) for part in zip(*kept, strict=True)), last)


def _softmax(x: Floats) -> Floats:
    high = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(high / high.sum(axis=1, keepdims=True))


class _Ppo:
    """One hidden layer for actions and values, its gradients by hand, Adam."""

    def __init__(
        self, config: Config, observed: int, actions: int, draw: np.random.Generator
    ) -> None:
        self.draw, self.config, self.actions = draw, config, actions
        hidden = 32
        self.w = [
            draw.standard_normal((observed, hidden)) / np.sqrt(observed),
            np.zeros(hidden),
            draw.standard_normal((hidden, actions + 1)) * 0.1 / np.sqrt(hidden),
            np.zeros(actions + 1),
        ]
        self.m = [np.zeros_like(w) for w in self.w]
        self.v = [np.zeros_like(w) for w in self.w]
        self.t = 0

    def ahead(self, x: Floats) -> tuple[Floats, Floats]:
        """Logits and value."""
        out = np.tanh(x @ self.w[0] + self.w[1]) @ self.w[2] + self.w[3]
        return out[:, :-1], out[:, -1]

    def learn(
        self, x: Floats, a: Floats, logp: Floats, r: Floats, v: Floats, over: Floats, last: Floats
    ) -> None:
        """Improve on one rollout."""
        c = self.config
        gamma, lam = float(c.get("gamma", 0.99)), float(c.get("gae_lambda", 0.95))
        gain, running = np.zeros_like(r), np.zeros(r.shape[1])
        after = last
        for t in range(len(r) - 1, -1, -1):
            delta = r[t] + gamma * after * (1 - over[t]) - v[t]
            running = delta + gamma * lam * (1 - over[t]) * running
            gain[t], after = running, v[t]
        target = (gain + v).ravel()
        scaled = ((gain - gain.mean()) / (gain.std() + 1e-8)).ravel()
        seen, acts, old = x.reshape(-1, x.shape[2]), a.astype(int).ravel(), logp.ravel()
        size = int(c.get("batch_size", 64))
        for _ in range(int(c.get("n_epochs", 4))):
            order = self.draw.permutation(len(seen))
            for some in np.array_split(order, max(1, len(order) // size)):
                self._step(seen[some], acts[some], old[some], scaled[some], target[some])

    def _step(
        self, x: Floats, a: NDArray[np.int64], old: Floats, gain: Floats, target: Floats
    ) -> None:
        c, rows = self.config, np.arange(len(x))
        h = np.tanh(x @ self.w[0] + self.w[1])
        out = h @ self.w[2] + self.w[3]
        p = _softmax(out[:, :-1])
        ratio = np.exp(np.clip(np.log(p[rows, a] + 1e-12) - old, -20, 20))
        clip = float(c.get("clip_range", 0.2))
        free = ~(((ratio > 1 + clip) & (gain > 0)) | ((ratio < 1 - clip) & (gain < 0)))
        down = p * (ratio * gain * free)[:, None]
        down[rows, a] -= ratio * gain * free
        logs = np.log(p + 1e-12)
        entropy = -(p * logs).sum(axis=1, keepdims=True)
        down += float(c.get("ent_coef", 1e-3)) * p * (logs + entropy)
        value = float(c.get("vf_coef", 0.5)) * (out[:, -1] - target)
        top = np.column_stack([down, value]) / len(x)
        back = (top @ self.w[2].T) * (1 - h**2)
        grads = [x.T @ back, back.sum(axis=0), h.T @ top, top.sum(axis=0)]
        norm = np.sqrt(sum(float((g**2).sum()) for g in grads))
        shrink = min(1.0, float(c.get("max_grad_norm", 0.5)) / (norm + 1e-9))
        self.t += 1
        for at, g in enumerate(grads):
            self.m[at] += 0.1 * (shrink * g - self.m[at])
            self.v[at] += 0.001 * ((shrink * g) ** 2 - self.v[at])
            spread = np.sqrt(self.v[at] / (1 - 0.999**self.t)) + 1e-5
            self.w[at] -= float(c["learning_rate"]) * self.m[at] / (1 - 0.9**self.t) / spread
