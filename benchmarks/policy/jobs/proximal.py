"""Proximal policy optimisation (PPO) on small games, with the names of its libraries.

All arms of a table act side by side, each in environments of its own, for some steps at a time; an
arm whose rollout is complete then learns from it for some epochs while the others wait. Losses are
negative mean returns of the latest episodes.

Notation:
    A  arms, E  environments of an arm, H  steps that are remembered, O  observed numbers,
    m  steps of a minibatch.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from .batched import Draw, Hypers, Model, Weights
from .control import Episodes, World, cart, gains, hill, pendulum, point, uniform
from .deep_job import DeepJob, adam_rate, forward, stack
from .ranges import Axis

SEGMENT, LONGEST = 16, 128  # steps that all arms act before some learn; of the longest rollout


def _swing(mass: float) -> World:
    """A pendulum that five torques shall swing up."""
    smooth = pendulum(mass)

    def step(s: Tensor, a: Tensor, draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
        return smooth.step(s, (a.unsqueeze(-1) - 2) / 2, draw)

    about = f"{smooth.about}, five torques"
    return World(about, 3, 5, smooth.longest, smooth.reset, step, smooth.seen)


def _corridor(size: int) -> World:
    """A prize far to the right, a crumb to the left: flat until the prize is found."""

    def step(s: Tensor, a: Tensor, draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
        slips = uniform(draw, tuple(a.shape), 0, 1) < 0.1
        way = torch.where(slips, 1 - a, a) * 2.0 - 1
        place = (s[..., 0] + way).clamp(min=0)
        prize, crumb = place >= size, place <= 0
        return place.unsqueeze(-1), prize * 1.0 + crumb * 0.01 - 0.001, prize

    def seen(s: Tensor) -> Tensor:
        part = s[..., 0] / size
        return torch.stack([part, (6 * part).sin(), (6 * part).cos()], dim=-1)

    def reset(shape: tuple[int, int], draw: Draw) -> Tensor:
        return torch.ones(*shape, 1, device=draw.device)

    return World(f"corridor of {size}", 3, 2, 5 * size, reset, step, seen)


def catch(size: int) -> World:
    """A ball falls, a paddle shall be below it; what was earned is told at the end."""

    def step(s: Tensor, a: Tensor, draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
        wind = (uniform(draw, tuple(a.shape), 0, 1) * 3).floor() - 1
        ball = (s[..., 0] + wind).clamp(0, size - 1)
        paddle = (s[..., 2] + a - 1).clamp(0, size - 1)
        down = s[..., 1] + 1
        ends = down >= size
        caught = 1 - 2.0 * ((ball - paddle).abs() > 1)
        return torch.stack([ball, down, paddle], dim=-1), caught * ends, ends

    def reset(shape: tuple[int, int], draw: Draw) -> Tensor:
        places = (uniform(draw, (*shape, 3), 0, 1) * size).floor()
        places[..., 1] = 0
        return places

    return World(f"catch of {size}", 3, 3, size, reset, step, lambda s: 2 * s / size - 1)


def _lander(pull: float) -> World:
    """A craft that shall touch the ground slowly near the middle."""

    def worth(s: Tensor) -> Tensor:
        return -(s[..., :2] ** 2).sum(dim=-1).sqrt() - 0.5 * s[..., 2:].abs().sum(dim=-1)

    def step(s: Tensor, a: Tensor, draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
        ways = torch.tensor([[0, 0], [-1, 0], [1, 0], [0, 2]], device=s.device)
        speed = s[..., 2:] + 0.05 * (ways[a] + uniform(draw, (*a.shape, 2), -0.3, 0.3))
        speed = speed - 0.05 * pull * torch.tensor([0, 1], device=s.device)
        after = torch.cat([s[..., :2] + 0.1 * speed, speed], dim=-1)
        down = after[..., 1] <= 0
        lost = after[..., :2].abs().amax(dim=-1) > 2
        soft = (speed.abs().amax(dim=-1) < 0.5) & (after[..., 0].abs() < 0.4)
        last = torch.where(soft & down, 2.0, -2.0) * (down | lost)
        return after, worth(after) - worth(s) + last, down | lost

    def reset(shape: tuple[int, int], draw: Draw) -> Tensor:
        x, v = uniform(draw, (*shape, 1), -0.8, 0.8), uniform(draw, (*shape, 2), -0.3, 0.3)
        return torch.cat([x, torch.ones_like(x), v], dim=-1)

    return World(f"lander, pull {pull:.2f}", 4, 4, 80, reset, step, lambda s: s)


def _world(rng: np.random.Generator) -> World:
    size, which = float(rng.uniform(0, 1)), int(rng.integers(7))
    makes: tuple[Callable[[], World], ...] = (
        lambda: cart(0.3 + 0.5 * size, smooth=False),
        lambda: point(0.3 + 0.5 * size, smooth=False),
        lambda: hill(0.0015 + 0.002 * size, smooth=False),
        lambda: _swing(0.6 + 0.6 * size),
        lambda: _corridor(6 + int(6 * size)),
        lambda: catch(5 + int(6 * size)),
        lambda: _lander(0.5 + size),
    )
    return makes[which]()


class _Learner:
    """Arms that act together and learn when their own rollout is complete."""

    def __init__(self, world: World, h: Hypers, draw: Draw, weights: Weights, envs: int) -> None:
        arms = len(h["lr"])
        self.h, self.draw, self.envs, self.count = h, draw, envs, 0
        self.play = Episodes(world, arms, envs, draw)
        self.kept: list[list[Tensor]] = []
        self.steps = h["steps"].clamp(SEGMENT, LONGEST)
        own = torch.where(h["parts"] > 0, self.steps * envs / h["parts"].clamp(min=1), h["batch"])
        self.size = torch.minimum(own, self.steps * envs).round().clamp(min=2)
        self.wanted = (h["passes"] * (self.steps * envs / self.size).ceil()).round()
        self.left = torch.zeros(arms, device=draw.device)
        self.far = torch.zeros(arms, dtype=torch.bool, device=draw.device)
        with torch.no_grad():
            for _ in range(-(-world.longest // SEGMENT)):
                self._roll(weights)

    def _value(self, w: Weights, seen: Tensor) -> Tensor:
        """What the critic says, [A, H, E] of [A, H, E, O]."""
        return _ahead(w, self.h, seen.flatten(1, 2), "critic").view(seen.shape[:3])

    def _roll(self, w: Weights) -> list[Tensor]:
        """Act for a segment; what was seen, done, how likely, earned, ..., [A, 16, E, ...]."""
        kept = []
        for _ in range(SEGMENT):
            seen = self.play.seen()
            logs = _ahead(w, self.h, seen, "actor").log_softmax(dim=2)
            chance = torch.rand(logs.shape, generator=self.draw, device=logs.device)
            action = (logs - (-(chance + 1e-9).log()).log()).argmax(dim=2)
            taken = logs.gather(2, action.unsqueeze(2))[:, :, 0]
            kept.append((seen, action, taken, *self.play.step(action)))
        return [torch.stack(part, dim=1) for part in zip(*kept, strict=True)]

    def begin(self, w: Weights) -> int:
        """Act; then advantages and returns for arms whose rollout is complete."""
        with torch.no_grad():
            self.kept = [*self.kept, self._roll(w)][-(LONGEST // SEGMENT) :]
            self.count += SEGMENT
            due = torch.remainder(torch.full_like(self.steps, self.count), self.steps) < 1
            self.left = self.wanted * due
            most = int(self.left.max())
            if most:
                parts = [torch.cat(part, dim=1) for part in zip(*self.kept, strict=True)]
                seen, action, old, reward, ended, over, after = parts
                value = self._value(w, seen)
                gain = gains(self.h, reward, value, ended, over, self._value(w, after))
                self.batch = [
                    seen.flatten(1, 2),
                    *(one.flatten(1, 2).unsqueeze(2) for one in (action, old, gain, gain + value)),
                ]
                self._choose()
            return most

    def _choose(self) -> None:
        """Those that have updates to make, R of the A arms: the others are not computed."""
        self.rows = self.left.nonzero()[:, 0]
        self.part = Hypers({name: value[self.rows] for name, value in self.h.values.items()})
        self.own = [part[self.rows] for part in self.batch]
        self.most = int(self.size[self.rows].max()) if len(self.rows) else 2

    def _some(self) -> list[Tensor]:
        """Steps of each arm's own rollout, [R, m, ...]."""
        shape = (len(self.rows), self.most)
        chance = torch.rand(shape, generator=self.draw, device=self.draw.device)
        reach = (self.steps[self.rows] * self.envs).view(-1, 1)
        last = self.batch[0].shape[1] - 1
        at = (last - (chance * reach).floor().long()).clamp(min=0).unsqueeze(2)
        return [part.gather(1, at.expand(-1, -1, part.shape[2])) for part in self.own]

    def loss(self, w: Weights, _: Tensor) -> Tensor:
        """The clipped surrogate, the critic's error and the entropy, [A]."""
        h, w = self.part, {name: value[self.rows] for name, value in w.items()}
        seen, action, old, gain, wanted = self._some()
        size = self.size[self.rows].view(-1, 1)
        inside = (torch.arange(seen.shape[1], device=seen.device) < size) / size
        gain = gain[:, :, 0]
        mean = (gain * inside).sum(dim=1, keepdim=True)
        spread = (((gain - mean) ** 2 * inside).sum(dim=1, keepdim=True)).sqrt()
        gain = torch.where(h["mix"].view(-1, 1) > 0.5, (gain - mean) / (spread + 1e-8), gain)
        logs = _ahead(w, h, seen, "actor").log_softmax(dim=2)
        apart = logs.gather(2, action.long())[:, :, 0] - old[:, :, 0]
        ratio, clip = apart.exp(), h["explore_part"].view(-1, 1)
        least = torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
        entropy = -(logs.exp() * logs).sum(dim=2)
        off = (_ahead(w, h, seen, "critic")[:, :, 0] - wanted[:, :, 0]) ** 2
        each = h["gain"].view(-1, 1) * off - least - h["penalty"].view(-1, 1) * entropy
        moved = ((ratio - 1 - apart) * inside).sum(dim=1).detach()
        self.far[self.rows] = moved > 1.5 * h["margin"]
        return torch.zeros_like(self.left).index_add(0, self.rows, (each * inside).sum(dim=1))

    def moving(self) -> Tensor:
        """Arms that still have updates to make; one that has moved too far makes no more."""
        on = (self.left > 0) & ~self.far
        self.left = torch.where(on, self.left - 1, 0.0)
        if int((self.left > 0).sum()) < len(self.rows):
            self._choose()
        return on


def _ahead(w: Weights, h: Hypers, seen: Tensor, name: str) -> Tensor:
    """Through the actor or the critic with each arm's own activation, [A, m, ...]."""
    tanh = h.wide("activation", 3) == 1

    def bent(x: Tensor) -> Tensor:
        return torch.where(tanh, torch.tanh(x), torch.relu(x))

    return forward(w, h, seen, None, name, bent)


def _axes(rng: np.random.Generator, hidden: int) -> tuple[Axis, ...]:
    """Names of Stable-Baselines3, of CleanRL, or of RLlib; or three hyper-parameters alone."""
    gamma = Axis("gamma", (0.005, 0.05), (1e-4, 0.5), log=True, mirrored=True)
    if rng.random() < 0.25:
        clip_range = Axis("clip_range", (0.1, 0.3), (0.01, 0.9), always=True, also=("clip_coef",))
        return (
            adam_rate("learning_rate", 3e-4, 3e-3, "lr"),
            replace(gamma, always=True),
            clip_range,
        )
    style = int(rng.integers(3))
    rate, trace, clip, entropy, value, steps, passes, norm = (
        ("learning_rate", "gae_lambda", "clip_range", "ent_coef", "vf_coef", "n_steps",
         "n_epochs", "max_grad_norm"),
        ("learning_rate", "gae_lambda", "clip_coef", "ent_coef", "vf_coef", "num_steps",
         "update_epochs", "max_grad_norm"),
        ("lr", "lambda_", "clip_param", "entropy_coeff", "vf_loss_coeff",
         "rollout_fragment_length", "num_epochs", "grad_clip"),
    )[style]  # fmt: skip
    batch = (
        Axis("batch_size", values=(32, 64, 128, 256)),
        Axis("num_minibatches", values=(1, 2, 4, 8)),
        Axis("minibatch_size", (32, 128), (24, 256), log=True, whole=True,
             also=("sgd_minibatch_size",)),
    )[style]  # fmt: skip
    return (
        adam_rate(rate, 3e-4, 3e-3),
        gamma,
        Axis(trace, (0.9, 0.98), (0.0, 1.0)),
        Axis(clip, (0.1, 0.3), (0.01, 0.9)),
        Axis(entropy, (1e-4, 0.01), (1e-8, 0.5), log=True),
        Axis(value, (0.25, 1.0), (0.01, 10.0), log=True),
        Axis(steps, values=(16, 32, 64, 128)),
        batch,
        Axis(passes, (3, 10), (1, 16), whole=True),
        Axis(norm, (0.3, 1.0), (0.005, 10.0), log=True),
        Axis("target_kl", (0.01, 0.05), (1e-4, 1.0), log=True),
        Axis("normalize_advantage", values=(False, True), also=("norm_adv",)),
        Axis("lr_schedule", values=("constant", "linear")),
        Axis("activation_fn", values=("tanh", "relu"), also=("activation",)),
        Axis("hidden_size", (max(hidden // 3, 8), hidden), (2, hidden), log=True, whole=True,
             also=("net_arch", "fcnet_hiddens")),
    )  # fmt: skip


def proximal(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """PPO on one of seven games."""
    world, envs, hidden = _world(rng), int(rng.choice([4, 8])), 16 * widen

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        shape = (world.observed, hidden, hidden)
        weights = stack(h, draw, same, (*shape, world.actions), "actor")
        weights |= stack(h, draw, same, (*shape, 1), "critic")
        with torch.no_grad():
            weights["actor2"].mul_(0.05)
        learner = _Learner(world, h, draw, weights, envs)
        return Model(
            weights,
            learner.loss,
            learner.play.loss,
            1,
            begin=learner.begin,
            moving=learner.moving,
        )

    keys = {
        "learning_rate": "lr", "gamma": "discount", "gae_lambda": "trace", "lambda_": "trace",
        "clip_range": "explore_part", "clip_coef": "explore_part", "clip_param": "explore_part",
        "ent_coef": "penalty", "entropy_coeff": "penalty", "vf_coef": "gain",
        "vf_loss_coeff": "gain", "n_steps": "steps", "num_steps": "steps",
        "rollout_fragment_length": "steps", "batch_size": "batch", "minibatch_size": "batch",
        "num_minibatches": "parts", "n_epochs": "passes", "update_epochs": "passes",
        "num_epochs": "passes", "max_grad_norm": "clip", "grad_clip": "clip",
        "target_kl": "margin", "normalize_advantage": "mix", "lr_schedule": "schedule",
        "activation_fn": "activation", "hidden_size": "width",
    }  # fmt: skip
    fixed = {
        "eps": 1e-5, "explore_part": 0.2, "penalty": float(rng.choice([0.0, 0.003])), "gain": 0.5,
        "clip": 0.5, "mix": 1.0, "margin": 1e9, "passes": int(rng.choice([4, 10])), "batch": 64,
        "steps": int(rng.choice([32, 64, 128])), "activation": "tanh", "final": 0.0,
        "frequency": 1e6,
    }  # fmt: skip
    axes = _axes(rng, hidden)
    return DeepJob(
        "ppo", "negative return", f"{world.about}, {envs} environments", axes, keys, fixed, build
    )


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"proximal": proximal}
