"""Deep reinforcement learning: values with a memory, actor and critic, continuous control.

All arms of a table act side by side, each in environments of its own. Losses are negative mean
returns of the latest episodes, as a sweep logs them.

Notation:
    A  arms, E  environments of an arm, H  steps of a rollout, O  observed numbers, M  a memory's
    size, m  transitions of a step.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights
from .deep_job import DeepJob, adam_rate, averaged, forward, stack
from .ranges import Axis

Physics = Callable[[Tensor, Tensor, Draw], tuple[Tensor, Tensor, Tensor]]
MEMORY = 8000


@dataclass(frozen=True, eq=False)
class World:
    """A control task.

    Attributes:
        about: In words.
        observed: O.
        actions: How many actions, or how many numbers an action is.
        longest: Steps of an episode at most.
        reset: First states, [A, E, S].
        step: From states and actions to states, rewards and whether the episode has ended.
        seen: What is observed of a state, [A, E, O].
    """

    about: str
    observed: int
    actions: int
    longest: int
    reset: Callable[[tuple[int, int], Draw], Tensor]
    step: Physics
    seen: Callable[[Tensor], Tensor]


def uniform(draw: Draw, shape: tuple[int, ...], low: float, high: float) -> Tensor:
    return low + (high - low) * torch.rand(shape, generator=draw, device=draw.device)


def cart(length: float, smooth: bool) -> World:
    """A pole on a cart; pushes are left and right, or any force."""

    def step(s: Tensor, a: Tensor, _: Draw) -> tuple[Tensor, Tensor, Tensor]:
        force = 10 * a[..., 0] if smooth else 20.0 * a - 10
        cos, sin = s[..., 2].cos(), s[..., 2].sin()
        push = (force + 0.05 * length * s[..., 3] ** 2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (length * (4 / 3 - 0.1 * cos**2 / 1.1))
        move = push - 0.05 * length * turn * cos / 1.1
        after = s + 0.02 * torch.stack([s[..., 1], move, s[..., 3], turn], dim=-1)
        fallen = (after[..., 0].abs() > 2.4) | (after[..., 2].abs() > 0.21)
        return after, torch.ones_like(cos), fallen

    return World(
        f"pole of {length:.2f}", 4, 1 if smooth else 2, 150,
        lambda shape, draw: uniform(draw, (*shape, 4), -0.05, 0.05), step, lambda s: s,
    )  # fmt: skip


def point(goal: float, smooth: bool) -> World:
    """A point with inertia that shall go to a goal and stay there."""

    def step(s: Tensor, a: Tensor, draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
        ways = torch.tensor([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], device=s.device) * 0.3
        push = 0.3 * a if smooth else ways[a]
        speed = 0.9 * s[..., 2:] + 0.1 * push + uniform(draw, push.shape, -0.02, 0.02)
        place = s[..., :2] + speed
        away = (place - goal).abs().sum(dim=-1)
        return torch.cat([place, speed], dim=-1), -away, away > 4

    def reset(shape: tuple[int, int], draw: Draw) -> Tensor:
        place = uniform(draw, (*shape, 2), -1, 1)
        return torch.cat([place, torch.zeros_like(place)], dim=-1)

    return World(f"point to {goal:.2f}", 4, 2 if smooth else 5, 50, reset, step, lambda s: s)


def hill(power: float, smooth: bool) -> World:
    """A car too weak for its hill; nothing is earned before it is up."""

    def step(s: Tensor, a: Tensor, _: Draw) -> tuple[Tensor, Tensor, Tensor]:
        push = a[..., 0] if smooth else a - 1.0
        place, speed = s[..., 0], s[..., 1]
        for _repeat in range(2):
            speed = (speed + power * push - 0.0025 * (3 * place).cos()).clamp(-0.07, 0.07)
            place = (place + speed).clamp(-1.2, 0.6)
        up = place >= 0.45
        return torch.stack([place, speed], dim=-1), up.float() - 0.02, up

    def reset(shape: tuple[int, int], draw: Draw) -> Tensor:
        place = uniform(draw, (*shape, 1), -0.6, -0.4)
        return torch.cat([place, torch.zeros_like(place)], dim=-1)

    def seen(s: Tensor) -> Tensor:
        return torch.stack([2 * s[..., 0] + 0.6, 20 * s[..., 1]], dim=-1)

    return World(f"hill, power {power:.4f}", 2, 1 if smooth else 3, 60, reset, step, seen)


def pendulum(mass: float) -> World:
    """A pendulum that shall be swung up and held."""

    def step(s: Tensor, a: Tensor, _: Draw) -> tuple[Tensor, Tensor, Tensor]:
        angle, speed, push = s[..., 0], s[..., 1], 2 * a[..., 0]
        off = torch.remainder(angle + np.pi, 2 * np.pi) - np.pi
        cost = off**2 + 0.1 * speed**2 + 0.001 * push**2
        speed = (speed + 0.05 * (15 * angle.sin() + 3 * push / mass)).clamp(-8, 8)
        after = torch.stack([angle + 0.05 * speed, speed], dim=-1)
        return after, -cost / 8, torch.zeros_like(cost, dtype=torch.bool)

    def reset(shape: tuple[int, int], draw: Draw) -> Tensor:
        return torch.cat([uniform(draw, (*shape, 1), -3, 3), uniform(draw, (*shape, 1), -1, 1)], -1)

    def seen(s: Tensor) -> Tensor:
        return torch.stack([s[..., 0].cos(), s[..., 0].sin(), s[..., 1] / 4], dim=-1)

    return World(f"pendulum of {mass:.2f}", 3, 1, 100, reset, step, seen)


def _world(rng: np.random.Generator, smooth: bool) -> World:
    size = float(rng.uniform(0, 1))
    which = int(rng.choice(4, p=(0.3, 0.3, 0.1, 0.3) if smooth else (0.45, 0.4, 0.15, 0.0)))
    if which == 0:
        return cart(0.3 + 0.5 * size, smooth)
    if which == 1:
        return point(0.3 + 0.5 * size, smooth)
    if which == 2:
        return hill(0.0015 + 0.002 * size, smooth)
    return pendulum(0.6 + 0.6 * size)


class Episodes:
    """Environments of all arms, restarted when their episodes end."""

    def __init__(self, world: World, arms: int, envs: int, draw: Draw) -> None:
        self.world, self.draw = world, draw
        self.state = world.reset((arms, envs), draw)
        self.age = torch.zeros(arms, envs, device=draw.device)
        self.total = torch.zeros(arms, envs, device=draw.device)
        self.ends = torch.full((arms, envs, 4), torch.nan, device=draw.device)

    def seen(self) -> Tensor:
        """What is observed now, [A, E, O]."""
        return self.world.seen(self.state)

    def step(self, action: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rewards, whether it ended, whether it ended or was cut, and what is seen after."""
        after, reward, ended = self.world.step(self.state, action, self.draw)
        self.age, self.total = self.age + 1, self.total + reward
        over = ended | (self.age >= self.world.longest)
        later = torch.cat([self.ends[..., 1:], self.total.unsqueeze(-1)], dim=-1)
        self.ends = torch.where(over.unsqueeze(-1), later, self.ends)
        fresh = self.world.reset((over.shape[0], over.shape[1]), self.draw)
        self.state = torch.where(over.unsqueeze(-1), fresh, after)
        self.age, self.total = self.age * ~over, torch.where(over, 0.0, self.total)
        return reward, ended.float(), over.float(), self.world.seen(after)

    def loss(self, w: Weights) -> Tensor:
        """Negative mean return of the latest episodes; NaN where weights have diverged, [A]."""
        known = self.ends.flatten(1)
        recent = torch.where(known.isnan().all(dim=1), self.total.mean(dim=1), known.nanmean(dim=1))
        sound = torch.stack([v.flatten(1).isfinite().all(dim=1) for v in w.values()]).all(dim=0)
        return torch.where(sound, -recent, torch.nan)


class _Memory:
    """The latest transitions of every arm; an arm draws from as many as its `memory` says."""

    def __init__(self, h: Hypers, sizes: tuple[int, ...], envs: int, device: torch.device) -> None:
        arms = len(h["lr"])
        self.reach, self.envs, self.count = h["memory"], envs, 0
        self.parts = [torch.zeros(arms, MEMORY, size, device=device) for size in sizes]
        self.rows = torch.arange(arms, device=device).view(-1, 1)

    def add(self, *new: Tensor) -> None:
        """One transition of every environment, [A, E, size] each."""
        at = torch.arange(self.count, self.count + self.envs, device=self.rows.device) % MEMORY
        for part, one in zip(self.parts, new, strict=True):
            part[:, at] = one
        self.count += self.envs

    def some(self, numbers: Tensor) -> list[Tensor]:
        """Transitions by chance numbers [m], as many parts [A, m, size]."""
        known = torch.clamp(self.reach, min=self.envs, max=min(self.count, MEMORY)).long()
        back = numbers % known.view(-1, 1)
        at = (self.count - 1 - back) % MEMORY
        return [part[self.rows, at] for part in self.parts]


def _chase(target: Weights, w: Weights, h: Hypers, step: int) -> None:
    """Move targets towards weights by each arm's `pace`, every `frequency` steps."""
    due = h["pace"] * (torch.remainder(torch.full_like(h["pace"], step), h["frequency"]) < 1)
    for name, value in target.items():
        value.add_(due.view(-1, *([1] * (value.dim() - 1))) * (w[name].detach() - value))


GAMMA = Axis("gamma", (0.95, 0.995), (0.5, 0.9999), also=("discount", "discount_factor"))


def deep_q(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Deep Q-learning with a memory and a target network, with the names of its libraries."""
    world, envs = _world(rng, smooth=False), 4
    hidden, double = 16 * widen, bool(rng.random() < 0.5)
    hard = bool(rng.random() < 0.5)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms, device = len(h["lr"]), draw.device
        weights = stack(h, draw, same, (world.observed, hidden, hidden, world.actions), "q")
        target = {n: v.clone() for n, v in weights.items()}
        play = Episodes(world, arms, envs, draw)
        memory = _Memory(h, (world.observed, 1, 1, 1, world.observed), envs, device)

        def act(w: Weights, epsilon: Tensor) -> None:
            seen = play.seen()
            best = forward(w, h, seen, None, "q").argmax(dim=2)
            free = torch.rand(best.shape, generator=draw, device=device) < epsilon.view(-1, 1)
            chance = torch.randint(world.actions, best.shape, generator=draw, device=device)
            action = torch.where(free, chance, best)
            reward, ended, _, after = play.step(action)
            flat = (one.float().unsqueeze(-1) for one in (action, reward, ended))
            memory.add(seen, *flat, after)

        def loss(w: Weights, some: Tensor) -> Tensor:
            step = memory.count // envs
            with torch.no_grad():
                gone = step / (h["explore_part"] * h["total"]).clamp(min=1)
                act(w, h["explore"] + (h["explore_less"] - h["explore"]) * gone.clamp(max=1))
                _chase(target, w, h, step)
                seen, action, reward, ended, after = memory.some(some)
                ahead = forward(target, h, after, None, "q")
                best = forward(w, h, after, None, "q") if double else ahead
                ahead = ahead.gather(2, best.argmax(dim=2, keepdim=True))
                wanted = reward + h.wide("discount", 3) * (1 - ended) * ahead
            said = forward(w, h, seen, None, "q").gather(2, action.long())
            off = functional.smooth_l1_loss(said, wanted, reduction="none")[:, :, 0]
            return averaged(off, h) * (memory.count >= h["starts"])

        with torch.no_grad():
            for _ in range(world.longest):
                act(weights, torch.ones(arms, device=device))
        memory.count = 0
        return Model(weights, loss, play.loss, 10**6)

    axes = (
        adam_rate("learning_rate", 3e-4, 5e-3, "lr"),
        GAMMA,
        Axis("buffer_size", (1000, 5000), (40, MEMORY), log=True, whole=True,
             also=("memory_size", "replay_capacity")),
        Axis("learning_starts", (50, 400), (4, 4000), log=True, whole=True,
             also=("min_replay_size", "warmup_steps")),
        Axis("batch_size", (32, 128), (4, 128), log=True, whole=True, also=("minibatch_size",)),
        Axis("exploration_fraction", (0.1, 0.4), (0.01, 1.0), log=True, also=("eps_fraction",)),
        Axis("exploration_final_eps", (0.01, 0.1), (0.0, 0.8), also=("end_e", "eps_end")),
        Axis("exploration_initial_eps", (0.7, 1.0), (0.1, 1.0), also=("start_e", "eps_start")),
        Axis("target_update_interval", (10, 100), (1, 2000), log=True, whole=True,
             also=("target_network_frequency", "target_update_freq"))
        if hard
        else Axis("tau", (0.005, 0.05), (1e-4, 1.0), log=True, also=("polyak_tau", "soft_tau")),
        Axis("max_grad_norm", (1.0, 10.0), (0.01, 50.0), log=True, also=("grad_clip",)),
        Axis("hidden_size", (max(hidden // 3, 8), hidden), (2, hidden), log=True, whole=True,
             also=("net_arch", "fc_units")),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "gamma": "discount", "buffer_size": "memory",
        "learning_starts": "starts", "batch_size": "batch", "exploration_fraction": "explore_part",
        "exploration_final_eps": "explore_less", "exploration_initial_eps": "explore",
        "target_update_interval": "frequency", "tau": "pace", "max_grad_norm": "clip",
        "hidden_size": "width",
    }  # fmt: skip
    fixed = {"batch": 64, "starts": 100, "clip": 10.0, "pace": 1.0 if hard else 0.02}
    fixed |= {"frequency": 50.0 if hard else 1.0}
    about = f"{world.about}, {'double, ' if double else ''}{envs} environments"
    return DeepJob("deep-q-learning", "negative return", about, axes, keys, fixed, build)


def gains(
    h: Hypers, reward: Tensor, value: Tensor, ended: Tensor, over: Tensor, ahead: Tensor
) -> Tensor:
    """Generalised advantages, cut every `frequency` steps, [A, H, E]; `ahead` are next values."""
    discount, trace = (h[name].view(-1, 1) for name in ("discount", "trace"))
    running, found = torch.zeros_like(reward[:, 0]), []
    for t in range(reward.shape[1] - 1, -1, -1):
        goes_on = torch.remainder(torch.full_like(h["lr"], t + 1), h["frequency"].round()) > 0.5
        surprise = reward[:, t] + discount * (1 - ended[:, t]) * ahead[:, t] - value[:, t]
        running = surprise + discount * trace * (1 - over[:, t]) * goes_on.view(-1, 1) * running
        found.append(running)
    return torch.stack(found[::-1], dim=1)


def actor_critic(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Advantage actor-critic (A2C): a rollout, a step."""
    world, envs, steps = _world(rng, smooth=False), int(rng.choice([4, 8])), 16
    hidden = 16 * widen

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms, device = len(h["lr"]), draw.device
        weights = stack(h, draw, same, (world.observed, hidden, hidden, world.actions), "actor")
        weights |= stack(h, draw, same, (world.observed, hidden, hidden, 1), "critic")
        with torch.no_grad():
            weights["actor2"].mul_(0.1)
        play = Episodes(world, arms, envs, draw)

        def roll(w: Weights, count: int) -> list[Tensor]:
            kept = []
            for _ in range(count):
                seen = play.seen()
                logits = forward(w, h, seen, None, "actor", torch.tanh)
                chance = torch.rand(logits.shape, generator=draw, device=device)
                action = (logits - (-(chance + 1e-9).log()).log()).argmax(dim=2)
                kept.append((seen, action, *play.step(action)))
            return [torch.stack(part, dim=1) for part in zip(*kept, strict=True)]

        def value(w: Weights, seen: Tensor) -> Tensor:
            flat = forward(w, h, seen.flatten(1, 2), None, "critic", torch.tanh)
            return flat.view(arms, steps, envs)

        def loss(w: Weights, _: Tensor) -> Tensor:
            with torch.no_grad():
                seen, action, reward, ended, over, after = roll(w, steps)
                old = value(w, seen)
                gain = gains(h, reward, old, ended, over, value(w, after))
                wanted = gain + old
                mean = gain.mean(dim=(1, 2), keepdim=True)
                even = (gain - mean) / (gain.std(dim=(1, 2), keepdim=True) + 1e-8)
                gain = torch.where(h.wide("mix", 3) > 0.5, even, gain)
            logits = forward(w, h, seen.flatten(1, 2), None, "actor", torch.tanh)
            logs = logits.log_softmax(dim=2)
            taken = logs.gather(2, action.flatten(1, 2).unsqueeze(2))[:, :, 0]
            spread = -(logs.exp() * logs).sum(dim=2).mean(dim=1)
            off = ((value(w, seen) - wanted) ** 2).mean(dim=(1, 2))
            gained = (taken * gain.flatten(1, 2)).mean(dim=1)
            return h["gain"] * off - gained - h["penalty"] * spread

        with torch.no_grad():
            roll(weights, world.longest)
        return Model(weights, loss, play.loss, 10**6)

    axes = (
        adam_rate("learning_rate", 5e-4, 1e-2, "lr"),
        GAMMA,
        Axis("gae_lambda", (0.9, 1.0), (0.0, 1.0), also=("lam", "lambda_")),
        Axis("n_steps", (5, steps), (1, steps), whole=True, also=("num_steps", "rollout_length")),
        Axis("ent_coef", (1e-4, 0.01), (1e-7, 1.0), log=True, also=("entropy_coef", "beta")),
        Axis("vf_coef", (0.25, 1.0), (0.005, 10.0), log=True, also=("value_loss_coef",)),
        Axis("max_grad_norm", (0.3, 1.0), (0.005, 20.0), log=True, also=("grad_clip",)),
        Axis("rms_prop_eps", (1e-6, 1e-4), (1e-9, 0.3), log=True, also=("eps",)),
        Axis("normalize_advantage", values=(False, True), also=("norm_adv",)),
        Axis("hidden_size", (max(hidden // 3, 8), hidden), (2, hidden), log=True, whole=True,
             also=("net_arch",)),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "gamma": "discount", "gae_lambda": "trace", "n_steps": "frequency",
        "ent_coef": "penalty", "vf_coef": "gain", "max_grad_norm": "clip", "rms_prop_eps": "eps",
        "normalize_advantage": "mix", "hidden_size": "width",
    }  # fmt: skip
    fixed = {
        "beta1": 0.0, "beta2": 0.99, "eps": 1e-5, "trace": 1.0, "frequency": 5, "gain": 0.5,
        "clip": 0.5, "mix": 0.0, "penalty": 1e-3,
    }  # fmt: skip
    about = f"{world.about}, {envs} environments"
    return DeepJob("actor-critic", "negative return", about, axes, keys, fixed, build)


class _Continuous:
    """Arms that learn actions that are numbers: TD3, or SAC where `soft`."""

    def __init__(self, world: World, h: Hypers, draw: Draw, weights: Weights, soft: bool) -> None:
        arms, envs = len(h["lr"]), 4
        self.h, self.draw, self.soft, self.envs = h, draw, soft, envs
        self.target = {n: v.clone() for n, v in weights.items()}
        self.play = Episodes(world, arms, envs, draw)
        sizes = (world.observed, world.actions, 1, 1, world.observed)
        self.memory = _Memory(h, sizes, envs, draw.device)
        with torch.no_grad():
            for _ in range(world.longest):
                self.act(weights, torch.ones(arms, dtype=torch.bool, device=draw.device))
        self.memory.count = 0

    def normal(self, shape: torch.Size) -> Tensor:
        """Chance."""
        return torch.randn(shape, generator=self.draw, device=self.draw.device)

    def choose(self, w: Weights, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Actions in (-1, 1) and the logarithm of their density, [A, m, a] and [A, m, 1]."""
        mean, spread = forward(w, self.h, seen, None, "actor", torch.relu).chunk(2, dim=2)
        if not self.soft:
            return torch.tanh(mean), torch.zeros_like(mean[..., :1])
        spread = spread.clamp(-5, 2)
        chance = self.normal(mean.shape)
        action = torch.tanh(mean + spread.exp() * chance)
        logs = -0.5 * chance**2 - spread - (1 - action**2 + 1e-6).log()
        return action, logs.sum(dim=2, keepdim=True)

    def worth(self, w: Weights, seen: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """What both critics say, [A, m, 1] each."""
        both = torch.cat([seen, action], dim=2)
        a, b = (
            forward(w, self.h, both, None, name, torch.relu) for name in ("critic_a", "critic_b")
        )
        return a, b

    def act(self, w: Weights, by_chance: Tensor) -> None:
        """One step of all environments."""
        seen = self.play.seen()
        action = self.choose(w, seen)[0]
        if not self.soft:
            action = action + self.h.wide("explore_less", 3) * self.normal(action.shape)
        free = uniform(self.draw, tuple(action.shape), -1, 1)
        action = torch.where(by_chance.view(-1, 1, 1), free, action.clamp(-1, 1))
        reward, ended, _, after = self.play.step(action)
        self.memory.add(seen, action, reward.unsqueeze(-1), ended.unsqueeze(-1), after)

    def ahead(self, w: Weights, after: Tensor) -> Tensor:
        """What targets expect of the next states, [A, m, 1]."""
        following, logs = self.choose(w if self.soft else self.target, after)
        if not self.soft:
            loud = self.h.wide("noise", 3) * self.normal(following.shape)
            following = (following + loud.clamp(-0.5, 0.5)).clamp(-1, 1)
        least = torch.minimum(*self.worth(self.target, after, following))
        return least - self.h.wide("penalty", 3) * logs

    def loss(self, w: Weights, some: Tensor) -> Tensor:
        """Act, then learn from some transitions, [A]."""
        h, memory = self.h, self.memory
        step = memory.count // self.envs
        with torch.no_grad():
            self.act(w, memory.count < h["starts"])
            _chase(self.target, w, h, step)
            seen, action, reward, ended, after = memory.some(some)
            wanted = reward + h.wide("discount", 3) * (1 - ended) * self.ahead(w, after)
        one, other = self.worth(w, seen, action)
        off = (one - wanted) ** 2 + (other - wanted) ** 2
        still = {n: v.detach() if n.startswith("critic") else v for n, v in w.items()}
        chosen, logs = self.choose(w, seen)
        good = torch.minimum(*self.worth(still, seen, chosen))
        due = torch.remainder(torch.full_like(h["lr"], step), h["margin"].round()) < 1
        of_actor = (h.wide("penalty", 3) * logs - good) * due.view(-1, 1, 1)
        return averaged((off + of_actor)[:, :, 0], h) * (memory.count >= h["starts"])


def _continuous_axes(hidden: int, soft: bool, two_rates: bool) -> tuple[Axis, ...]:
    rates = (adam_rate("learning_rate", 3e-4, 3e-3, "lr"),)
    if two_rates:
        rates = (
            adam_rate("policy_lr", 2e-4, 3e-3, "actor_lr", "pi_lr"),
            adam_rate("q_lr", 3e-4, 5e-3, "critic_lr", "qf_lr"),
        )
    delayed = Axis("policy_delay", (1, 3), (1, 12), whole=True, also=("policy_frequency",))
    own = (
        Axis("action_noise", (0.05, 0.3), (0.0, 2.0), also=("exploration_noise",)),
        delayed,
        Axis("target_policy_noise", (0.1, 0.3), (0.0, 2.0), also=("policy_noise",)),
    )
    if soft:
        entropy = Axis(
            "ent_coef", (1e-3, 0.1), (1e-5, 5.0), log=True, also=("alpha", "temperature")
        )
        own = (entropy, delayed)
    return (
        *rates,
        GAMMA,
        Axis("tau", (0.005, 0.03), (1e-4, 1.0), log=True, also=("polyak_tau", "soft_tau")),
        Axis("buffer_size", (1000, 5000), (40, MEMORY), log=True, whole=True,
             also=("replay_size",)),
        Axis("learning_starts", (50, 400), (4, 4000), log=True, whole=True,
             also=("start_steps", "start_timesteps")),
        Axis("batch_size", (32, 128), (4, 128), log=True, whole=True),
        *own,
        Axis("hidden_size", (max(hidden // 3, 8), hidden), (2, hidden), log=True, whole=True,
             also=("net_arch",)),
    )  # fmt: skip


def continuous_control(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Actions that are numbers: twin delayed gradients (TD3), or soft actor-critic (SAC)."""
    world, hidden = _world(rng, smooth=True), 16 * widen
    soft, two_rates = bool(rng.random() < 0.5), bool(rng.random() < 0.5)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        shape = (world.observed, hidden, hidden, 2 * world.actions)
        weights = stack(h, draw, same, shape, "actor")
        for name in ("critic_a", "critic_b"):
            shape = (world.observed + world.actions, hidden, hidden, 1)
            weights |= stack(h, draw, same, shape, name)
        with torch.no_grad():
            weights["actor2"].mul_(0.1)
        learner = _Continuous(world, h, draw, weights, soft)
        rates = {"critic": "other_lr"} if two_rates else {}
        return Model(weights, learner.loss, learner.play.loss, 10**6, rates)

    keys = {
        "policy_lr": "lr", "learning_rate": "lr", "q_lr": "other_lr", "gamma": "discount",
        "tau": "pace", "buffer_size": "memory", "learning_starts": "starts", "batch_size": "batch",
        "ent_coef": "penalty", "action_noise": "explore_less", "policy_delay": "margin",
        "target_policy_noise": "noise", "hidden_size": "width",
    }  # fmt: skip
    fixed = {
        "batch": 64, "starts": 100, "pace": 0.01, "penalty": 0.02 if soft else 0.0, "noise": 0.2,
        "explore_less": 0.1, "margin": 1.0 if soft else 2.0,
    }  # fmt: skip
    about = f"{world.about}, {'SAC' if soft else 'TD3'}, 4 environments"
    axes = _continuous_axes(hidden, soft, two_rates)
    return DeepJob("continuous-control", "negative return", about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "deep_q": deep_q,
    "actor_critic": actor_critic,
    "continuous_control": continuous_control,
}
