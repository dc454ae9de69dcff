"""Control learnt from what others did, without acting: offline reinforcement learning.

Names are those of d3rlpy. What is learnt from are transitions of a controller that mostly knows
what to do and of one that does anything; losses are negative mean returns of the learnt policy in
episodes that are not learnt from.

Notation:
    A  arms, E  environments of an arm, m  transitions of a step, O  observed numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights
from .control import GAMMA, World, cart, hill, point
from .deep_job import DeepJob, adam_rate, as_wide, averaged, forward, shared, stack, surprises
from .proximal import catch
from .ranges import Axis

ENVS = 16
ALGORITHMS = ("conservative Q", "implicit Q", "behaviour cloning")
Expert = Callable[[Tensor], Tensor]


def _task(rng: np.random.Generator) -> tuple[World, Expert]:
    """A world of few actions and who knows what to do in it."""
    size, which = float(rng.uniform(0, 1)), int(rng.choice(4, p=(0.35, 0.3, 0.15, 0.2)))
    if which == 0:
        return cart(0.3 + 0.5 * size, smooth=False), lambda s: (
            s[..., 2] + 0.4 * s[..., 3] + 0.05 * s[..., 0] + 0.1 * s[..., 1] > 0
        ).long()
    if which == 1:
        goal = 0.3 + 0.5 * size

        def to_goal(s: Tensor) -> Tensor:
            wish = goal - s[..., :2] - 8 * s[..., 2:]
            far = wish.abs().argmax(dim=-1)
            side = wish.gather(-1, far.unsqueeze(-1))[..., 0] < 0
            return torch.where(wish.abs().amax(dim=-1) < 0.02, 4, 2 * far + side.long())

        return point(goal, smooth=False), to_goal
    if which == 2:
        return hill(0.0015 + 0.002 * size, smooth=False), lambda s: 2 * (s[..., 1] > 0).long()
    return catch(5 + int(6 * size)), lambda s: (1 + (s[..., 0] - s[..., 2]).sign()).long()


@dataclass(frozen=True, eq=False)
class _Logs:
    """Transitions of a behaviour: seen, done, earned, whether it ended, what came, [n, ...]."""

    seen: Tensor
    action: Tensor
    reward: Tensor
    ended: Tensor
    after: Tensor


def _logged(world: World, expert: Expert, count: int, knows: float, draw: Draw) -> _Logs:
    """So many transitions; a part `knows` of the actors mostly follows the expert."""
    actors = 32
    state, age = world.reset((1, actors), draw), torch.zeros(1, actors, device=draw.device)
    mostly = (torch.arange(actors, device=draw.device) < knows * actors).view(1, -1)
    kept: list[tuple[Tensor, ...]] = []
    for _ in range(-(-count // actors)):
        seen = world.seen(state)
        any_way = torch.randint(world.actions, age.shape, generator=draw, device=draw.device)
        free = torch.rand(age.shape, generator=draw, device=draw.device)
        action = torch.where(mostly & (free > 0.2), expert(seen), any_way)
        after, reward, ended = world.step(state, action, draw)
        kept.append((seen[0], action[0], reward[0], ended[0].float(), world.seen(after)[0]))
        age = age + 1
        over = ended | (age >= world.longest)
        fresh = world.reset((1, actors), draw)
        state, age = torch.where(over.unsqueeze(-1), fresh, after), age * ~over
    seen, action, reward, ended, later = (
        torch.cat(part)[:count] for part in zip(*kept, strict=True)
    )
    return _Logs(seen, action, reward, ended, later)


class _Learner:
    """All arms learn from the same transitions by one of `ALGORITHMS`."""

    def __init__(self, world: World, h: Hypers, draw: Draw, logs: _Logs, how: str) -> None:
        self.world, self.h, self.draw, self.logs, self.how = world, h, draw, logs, how
        self.target: Weights = {}
        self.step = 0

    def _chase(self, w: Weights) -> None:
        """Targets follow by `pace`, every `frequency` steps."""
        h = self.h
        if not self.target:
            self.target = {n: v.detach().clone() for n, v in w.items() if n.startswith("q")}
        due = torch.remainder(torch.full_like(h["pace"], self.step), h["frequency"].round()) < 1
        for name, value in self.target.items():
            part = (h["pace"] * due).view(-1, *([1] * (value.dim() - 1)))
            value.add_(part * (w[name].detach() - value))
        self.step += 1

    def loss(self, w: Weights, some: Tensor) -> Tensor:
        """What the algorithm minimises on some transitions, [A]."""
        h, logs, arms = self.h, self.logs, len(self.h["lr"])
        seen, action = shared(logs.seen[some], arms), logs.action[some]
        if self.how == ALGORITHMS[2]:
            logits = forward(w, h, seen, self.draw, "actor", torch.relu)
            cost = (logits**2).mean(dim=2) * h["penalty"].view(-1, 1)
            return averaged(surprises(logits, action) + cost, h)
        with torch.no_grad():
            self._chase(w)
        each = self._conservative if self.how == ALGORITHMS[0] else self._implicit
        return averaged(each(w, seen, action, some), h)

    def _next(self, some: Tensor) -> Tensor:
        return shared(self.logs.after[some], len(self.h["lr"]))

    def _wanted(self, ahead: Tensor, some: Tensor) -> Tensor:
        """What is earned now and later, [A, m]."""
        goes_on = 1 - self.logs.ended[some]
        return self.logs.reward[some] + self.h["discount"].view(-1, 1) * goes_on * ahead

    def _conservative(self, w: Weights, seen: Tensor, action: Tensor, some: Tensor) -> Tensor:
        """The error of values, and how much higher they are for what was not done, [A, m]."""
        with torch.no_grad():
            after = self._next(some)
            best = forward(w, self.h, after, None, "q", torch.relu).argmax(dim=2, keepdim=True)
            ahead = forward(self.target, self.h, after, None, "q", torch.relu).gather(2, best)
            wanted = self._wanted(ahead[:, :, 0], some)
        values = forward(w, self.h, seen, self.draw, "q", torch.relu)
        own = values.gather(2, action.view(1, -1, 1).expand(len(values), -1, 1))[:, :, 0]
        above = values.logsumexp(dim=2) - own
        return functional.smooth_l1_loss(own, wanted, reduction="none") + (
            self.h["penalty"].view(-1, 1) * above
        )

    def _implicit(self, w: Weights, seen: Tensor, action: Tensor, some: Tensor) -> Tensor:
        """Values by expectiles of what was done; a policy that copies what went well, [A, m]."""
        h, at = self.h, action.view(1, -1, 1).expand(len(seen), -1, 1)
        with torch.no_grad():
            far = forward(w, h, self._next(some), None, "value", torch.relu)[:, :, 0]
            wanted = self._wanted(far, some)
            done = forward(self.target, h, seen, None, "q", torch.relu).gather(2, at)[:, :, 0]
        said = forward(w, h, seen, None, "q", torch.relu).gather(2, at)[:, :, 0]
        value = forward(w, h, seen, None, "value", torch.relu)[:, :, 0]
        gain = done - value
        side = h["margin"].view(-1, 1)
        weight = torch.where(gain > 0, side, 1 - side)
        copied = surprises(forward(w, h, seen, self.draw, "actor", torch.relu), action)
        trust = (h["gain"].view(-1, 1) * gain.detach()).clamp(max=4.6).exp()
        return (said - wanted) ** 2 + weight * gain**2 + trust * copied

    def measure(self, w: Weights) -> Tensor:
        """Negative mean return of what the policy thinks best, NaN where weights are lost, [A]."""
        h, arms, world = self.h, len(self.h["lr"]), self.world
        name = "q" if self.how == ALGORITHMS[0] else "actor"
        quiet = torch.Generator(device=self.draw.device).manual_seed(11)
        state = world.reset((arms, ENVS), quiet)
        total = torch.zeros(arms, ENVS, device=state.device)
        on = torch.ones_like(total)
        for _ in range(world.longest):
            action = forward(w, h, world.seen(state), None, name, torch.relu).argmax(dim=2)
            state, reward, ended = world.step(state, action, quiet)
            total, on = total + on * reward, on * ~ended
        sound = torch.stack([v.flatten(1).isfinite().all(dim=1) for v in w.values()]).all(dim=0)
        return torch.where(sound, -total.mean(dim=1), torch.nan)


def _axes(how: str, hidden: int, wide: float) -> tuple[Axis, ...]:
    """What each algorithm lets people tune."""
    low, high = 3e-4 / wide, 5e-3 / wide
    rate = adam_rate("learning_rate", low, high, "lr")
    both = (
        Axis("batch_size", (32, 128), (2, 128), log=True, whole=True),
        Axis("dropout_rate", (0.0, 0.1), (0.0, 0.8)),
        Axis("hidden_units", (max(hidden // 3, 8), hidden), (2, hidden), log=True, whole=True,
             also=("hidden_size",)),
        Axis("weight_decay", (1e-6, 1e-3), (1e-8, 1.0), log=True),
        Axis("clip_grad_norm", (0.5, 10.0), (0.01, 50.0), log=True),
    )  # fmt: skip
    if how == ALGORITHMS[2]:
        return (rate, Axis("beta", (0.001, 0.5), (1e-6, 100.0), log=True, always=True), *both)
    if how == ALGORITHMS[0]:
        own: tuple[Axis, ...] = (
            rate,
            Axis("alpha", (0.3, 5.0), (1e-3, 300.0), log=True, always=True,
                 also=("conservative_weight", "cql_alpha", "min_q_weight")),
            Axis("target_update_interval", (5, 50), (1, 2000), log=True, whole=True),
        )  # fmt: skip
    else:
        own = (
            adam_rate("critic_learning_rate", low, high),
            adam_rate("actor_learning_rate", low, high),
            Axis("expectile", (0.6, 0.9), (0.05, 0.999)),
            Axis("weight_temp", (1.0, 10.0), (0.01, 300.0), log=True, also=("temperature",)),
            Axis("tau", (0.005, 0.05), (1e-4, 1.0), log=True),
        )
    return (*own, GAMMA, *both)


def offline_control(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """One of three algorithms on logs of good and bad behaviour."""
    (world, expert), hidden = _task(rng), 16 * widen
    how = str(rng.choice(ALGORITHMS, p=(0.45, 0.3, 0.25)))
    count, knows = int(rng.choice([600, 2000, 8000])), float(rng.choice([0.25, 0.5, 1.0]))

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        logs = _logged(world, expert, count, knows, draw)
        shape, weights = (world.observed, hidden, hidden), {}
        if how != ALGORITHMS[2]:
            weights |= stack(h, draw, same, (*shape, world.actions), "q")
        if how == ALGORITHMS[1]:
            weights |= stack(h, draw, same, (*shape, 1), "value")
        if how != ALGORITHMS[0]:
            weights |= stack(h, draw, same, (*shape, world.actions), "actor")
        learner = _Learner(world, h, draw, logs, how)
        rates = {"actor": "other_lr"} if how == ALGORITHMS[1] else {}
        return Model(weights, learner.loss, learner.measure, count, rates)

    keys = {
        "learning_rate": "lr", "critic_learning_rate": "lr", "actor_learning_rate": "other_lr",
        "alpha": "penalty", "beta": "penalty", "target_update_interval": "frequency",
        "expectile": "margin", "weight_temp": "gain", "tau": "pace", "gamma": "discount",
        "batch_size": "batch", "dropout_rate": "drop", "hidden_units": "width",
        "clip_grad_norm": "clip",
    }  # fmt: skip
    hard, wide = how == ALGORITHMS[0], as_wide(rng, 8.0)
    fixed = {
        "batch": 64, "penalty": 1.0 if hard else 0.01, "frequency": 20.0 if hard else 1.0,
        "pace": 1.0 if hard else 0.01, "margin": 0.7, "gain": 3.0,
        "other_lr": 1e-3 / wide, "lr_scale": wide,
    }  # fmt: skip
    about = f"{how}, {world.about}, {count} transitions, {knows:g} of the actors know"
    about = f"{about}; rates times {wide:g}"
    axes = _axes(how, hidden, wide)
    return DeepJob("offline-rl", "negative return", about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "offline_control": offline_control
}
