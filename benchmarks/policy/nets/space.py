"""Draws a table: which networks, which hyper-parameters are tuned, over which values, how long.

A hyper-parameter has a sensible interval and an outer one. A table is narrow, medium or wide: its
own intervals lie near the sensible ones or reach far out, where most trainings fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arms import ACTIVATIONS, BLOCKS, CELLS, LAYERS, OPTIMIZERS, SCHEDULES, Config
from .data import IMAGES, SEQUENCES, VECTORS

Value = Any  # a number, a word or a truth value

LONGEST = 5200  # steps of a table
_FEWEST = 12000  # examples that an arm sees in all its units
# steps of a table at most, by family
_STEPS = {"mlp": 5000, "vae": 5000, "cnn": 3000, "rnn": 2200, "attention": 2200}
_FAMILIES = ("mlp", "mlp", "cnn", "cnn", "cnn", "vae", "rnn", "attention", "attention")
_WIDEST = {"mlp": 128, "vae": 128, "cnn": 24, "rnn": 48, "attention": 32}
_DEEPEST = {"mlp": LAYERS, "vae": 2, "cnn": LAYERS, "rnn": 1, "attention": BLOCKS}
_CENTRES = {
    "sgd": 0.05,
    "nesterov": 0.05,
    "adam": 2e-3,
    "adamw": 2e-3,
    "rmsprop": 1e-3,
    "adagrad": 2e-2,
}


@dataclass(frozen=True)
class Axis:
    """A hyper-parameter.

    Attributes:
        names: How people write it.
        good: Interval in which trainings go well.
        outer: Interval that a wide search may reach.
        log: Whether it is drawn on a logarithmic scale.
        whole: Whether it is a whole number.
        words: Its values, if it is no number.
    """

    names: tuple[str, ...]
    good: tuple[float, float] = (0.0, 0.0)
    outer: tuple[float, float] = (0.0, 0.0)
    log: bool = False
    whole: bool = False
    words: tuple[Any, ...] = ()


AXES = {
    "momentum": Axis(("momentum", "sgd_momentum", "mom"), (0.6, 0.95), (0.0, 0.999)),
    "beta1": Axis(("beta1", "adam_beta1", "b1"), (0.8, 0.95), (0.0, 0.999)),
    "beta2": Axis(("beta2", "adam_beta2", "b2"), (0.95, 0.9995), (0.5, 0.9999)),
    "eps": Axis(("eps", "epsilon", "adam_epsilon"), (1e-8, 1e-6), (1e-10, 1.0), log=True),
    "weight_decay": Axis(("weight_decay", "wd"), (1e-4, 1e-2), (1e-6, 10.0), log=True),
    "l2": Axis(("l2", "weight_decay", "wd", "l2_reg"), (1e-6, 1e-3), (1e-8, 0.3), log=True),
    "l1": Axis(("l1", "l1_reg"), (1e-7, 1e-5), (1e-8, 1e-2), log=True),
    "drop": Axis(("dropout", "max_dropout", "dropout_rate", "drop"), (0.0, 0.3), (0.0, 0.9)),
    "depth": Axis(("num_layers", "depth", "n_layers"), (1, 3), (1, LAYERS), whole=True),
    "gamma": Axis(("gamma", "decay", "lr_decay"), (0.9, 1.0), (0.3, 1.0)),
    "period": Axis(("step_size", "lr_step"), (5, 12), (2, 25), whole=True),
    "warmup": Axis(("warmup", "warmup_epochs"), (0, 2), (0, 10), whole=True),
    "init_scale": Axis(("init_scale", "init_gain"), (0.6, 1.4), (0.01, 8.0), log=True),
    "smoothing": Axis(("label_smoothing", "smoothing"), (0.0, 0.1), (0.0, 0.7)),
    "latent": Axis(("latent", "latent_dim", "z_dim"), (4, 16), (1, 16), whole=True),
    "kl": Axis(("beta", "kl_weight"), (0.5, 2.0), (0.01, 30.0), log=True),
    "clip": Axis(("grad_clip", "clip_norm", "max_grad_norm"), (0.5, 5.0), (1e-3, 100.0), log=True),
    "noise": Axis(("input_noise", "noise_std"), (0.0, 0.2), (0.0, 2.0)),
    "activation": Axis(("activation", "act"), words=ACTIVATIONS),
    "optimizer": Axis(("optimizer", "opt"), words=OPTIMIZERS),
    "schedule": Axis(("schedule", "lr_scheduler", "lr_schedule"), words=SCHEDULES),
    "norm": Axis(("layer_norm", "use_norm"), words=(False, True)),
    "residual": Axis(("residual", "skip_connections"), words=(False, True)),
    "cell": Axis(("cell", "rnn_cell"), words=CELLS),
}


@dataclass(frozen=True)
class Range:
    """Values of one hyper-parameter in one table: an interval, or a list of few values.

    Attributes:
        name: How the table writes it.
        key: Canonical name.
        low: Lower end.
        high: Upper end.
        log: Whether it is drawn on a logarithmic scale.
        whole: Whether it is a whole number.
        values: The list, if it is one.
    """

    name: str
    key: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    values: tuple[Any, ...] = ()

    def draw(self, rng: np.random.Generator) -> Value:
        """A value."""
        if self.values:
            return self.values[int(rng.integers(len(self.values)))]
        return self._at(rng.random())

    def as_list(self, count: int) -> "Range":
        """So many values from end to end, or fewer if they are whole numbers."""
        if self.values:
            return self
        values = tuple(dict.fromkeys(self._at(part) for part in np.linspace(0, 1, count)))
        return Range(self.name, self.key, values=values)

    def _at(self, part: float) -> Value:
        if self.log:
            value = float(np.exp(np.log(self.low) * (1 - part) + np.log(self.high) * part))
        else:
            value = self.low * (1 - part) + self.high * part
        return round(value) if self.whole else float(f"{value:.6g}")


@dataclass(frozen=True)
class Plan:
    """A table to be trained.

    Attributes:
        seed: Of everything random in it: the seed of the run and the number of the table.
        family: `mlp`, `cnn`, `vae`, `rnn` or `attention`.
        dataset: What is learned, a name of `data`.
        micro: Examples of a step.
        steps: Steps of a unit.
        units: Units, T.
        same_start: Whether all arms start from the same weights.
        second: Whether the table holds the second measure (error rate; squared error of pictures).
        metric: What the table holds.
        ranges: The tuned hyper-parameters.
        fixed: All others that are not the default, by canonical name.
        configs: The tuned values of each arm, named as the table names them.
        settings: All values of each arm by canonical name.
    """

    seed: tuple[int, int]
    family: str
    dataset: str
    micro: int
    steps: int
    units: int
    same_start: bool
    second: bool
    metric: str
    ranges: tuple[Range, ...]
    fixed: Config
    configs: list[Config] = field(default_factory=list)
    settings: list[Config] = field(default_factory=list)

    @property
    def length(self) -> str:
        """Length and batches in words."""
        return f"{self.units} units of {self.steps * self.micro} examples"


def draw_plan(seed: int, number: int, arms: int = 100, shrink: int = 1) -> Plan:
    """The table of this number; it depends on seed and number only.

    Args:
        seed: Of the run.
        number: Of the table.
        arms: Configurations, before shrinking; a small grid has fewer.
        shrink: Divides arms, units and steps of a unit.
    """
    rng = np.random.default_rng((seed, number, 1))
    family = str(rng.choice(_FAMILIES))
    dataset = str(rng.choice(_datasets(family)))
    micro = int(rng.choice([16, 32 if family == "cnn" else 64]))
    units = int(rng.integers(12, 53))
    steps = int(np.exp(rng.uniform(np.log(6), np.log(200))))
    steps = max(steps, _FEWEST // (units * micro)) // 4 * 4
    steps = min(max(4, steps), _STEPS[family] // units // 4 * 4)
    breadth = float(rng.choice([0.1, 0.35, 0.6, 0.9]))
    fixed = _fixed(rng, family)
    values = dataset in ("regression", "adding")
    second, metric = _metric(rng, family, fixed, values)
    ranges = _ranges(rng, _Draft(family, fixed, breadth, micro, micro * steps, values))
    listed = rng.random()
    if listed < 0.25:
        ranges = [r.as_list(int(rng.integers(3, 6))) for r in ranges]
    elif listed < 0.5:
        ranges = [r.as_list(int(rng.integers(3, 7))) if rng.random() < 0.5 else r for r in ranges]
    same = bool(rng.random() < 0.5)
    configs = _distinct(rng, ranges, arms)[: max(4, arms // shrink)]
    settings = [_setting(family, fixed, ranges, config, micro, breadth) for config in configs]
    if shrink > 1:
        units, steps = max(4, units // shrink), max(4, steps // shrink // 4 * 4)
    key = (seed, number)
    return Plan(
        key,
        family,
        dataset,
        micro,
        steps,
        units,
        same,
        second,
        metric,
        tuple(ranges),
        fixed,
        configs,
        settings,
    )


def _datasets(family: str) -> tuple[str, ...]:
    """What a family can learn."""
    if family == "mlp":
        return (*IMAGES, *VECTORS, *VECTORS)
    reads = family in ("rnn", "attention")
    return (*IMAGES, *SEQUENCES, *SEQUENCES) if reads else IMAGES


def _metric(rng: np.random.Generator, family: str, fixed: Config, values: bool) -> tuple[bool, str]:
    """Whether the second measure is taken, and what the one that is taken is called."""
    if family == "vae":
        if not fixed["sampling"]:
            return True, "validation mean squared error"
        return False, "validation negative ELBO"
    if values:
        return False, "validation mean squared error"
    error = bool(rng.random() < 0.5)
    return error, "validation error rate" if error else "validation cross-entropy"


def _fixed(rng: np.random.Generator, family: str) -> Config:
    """What the table fixes; some of it is tuned after all."""
    widest = _WIDEST[family]
    optimizer = str(rng.choice(OPTIMIZERS))
    schedule = str(rng.choice(("constant", "constant", *SCHEDULES)))
    slow = "drop" if schedule == "step" else "slow"
    return {
        "optimizer": optimizer,
        "schedule": schedule,
        "gamma": float(rng.uniform(0.1, 0.6) if slow == "drop" else rng.uniform(0.9, 1.0)),
        "period": float(rng.integers(4, 16)),
        "warmup": float(rng.choice([0, 0, 0, 1, 4])),
        "momentum": float(rng.choice([0.0, 0.5, 0.9, 0.9])),
        "activation": str(rng.choice(ACTIVATIONS, p=[0.3, 0.2, 0.05, 0.15, 0.15, 0.15])),
        "width": int(rng.integers(widest // 4, widest + 1)),
        "depth": int(rng.integers(1, _DEEPEST[family] + 1)),
        "drop": float(rng.choice([0.0, 0.0, 0.0, 0.2])),
        "norm": float(rng.random() < (0.8 if family == "attention" else 0.3)),
        "residual": float(rng.random() < 0.3),
        "cell": str(rng.choice(CELLS)),
        "sampling": float(rng.random() < 0.7) if family == "vae" else 1.0,
        "latent": int(rng.integers(3, 17)),
    }


@dataclass(frozen=True)
class _Draft:
    """What is known of a table before its hyper-parameters are chosen; see `Plan`."""

    family: str
    fixed: Config
    breadth: float
    micro: int
    examples: int
    values: bool


def _candidates(draft: _Draft) -> list[str]:
    """Hyper-parameters besides the rate that mean something in this table."""
    family, fixed = draft.family, draft.fixed
    keys = ["batch_size", "width", "drop", "init_scale", "clip", "optimizer", "schedule"]
    keys += ["l2", "l1", "warmup", "activation", "depth", "norm", "residual", "noise"]
    keys += {
        "adam": ["beta1", "beta2", "eps"],
        "adamw": ["beta1", "beta2", "eps", "weight_decay", "weight_decay"],
        "rmsprop": ["beta2", "eps"],
        "adagrad": ["eps"],
    }.get(fixed["optimizer"], ["momentum", "momentum"])
    keys += ["gamma", "gamma"] if fixed["schedule"] in ("exponential", "inverse", "step") else []
    keys += ["period"] if fixed["schedule"] == "step" else []
    if family == "vae":
        keys += ["latent", "latent", "kl", "kl"] if fixed["sampling"] else ["latent", "latent"]
    elif not draft.values:
        keys += ["smoothing"]
    useless = {
        "rnn": ("activation", "depth", "norm", "residual", "noise"),
        "cnn": ("noise",),
        "attention": ("residual", "noise"),
    }.get(family, ())
    keys = [key for key in keys if key not in useless]
    return [*keys, "cell"] if family == "rnn" else keys


def _ranges(rng: np.random.Generator, draft: _Draft) -> list[Range]:
    """Draws which 3 to 9 hyper-parameters are tuned, and over what."""
    count = int(rng.integers(3, 10))
    candidates = _candidates(draft)
    common = ("batch_size", "width", "drop")
    weights = np.array([2.0 if key in common else 1.0 for key in candidates])
    weights /= weights.sum()
    drawn = rng.choice(len(candidates), size=len(candidates), replace=False, p=weights)
    keys = list(dict.fromkeys(candidates[at] for at in drawn))
    ranges = [_rate(rng, draft, "optimizer" in keys[: count - 1])]
    if rng.random() < 0.08:
        ranges = []
    for key in keys:
        if len(ranges) >= count:
            break
        ranges += _range(rng, key, draft)
    return _own_names(ranges[: max(count, 3)])


def _own_names(ranges: list[Range]) -> list[Range]:
    """Drops ranges whose name another one has already."""
    return list({r.name: r for r in reversed(ranges)}.values())[::-1]


def _centre(family: str, optimizer: str) -> float:
    """A rate that suits the optimiser."""
    if family == "vae" and optimizer in ("sgd", "nesterov"):
        return 2e-3  # the loss is a sum over points
    return _CENTRES[optimizer]


def _rate(rng: np.random.Generator, draft: _Draft, any_optimizer: bool) -> Range:
    """The learning rate: around what suits the optimiser, or far too high and too low."""
    optimizer = "adam" if any_optimizer else draft.fixed["optimizer"]
    centre = _centre(draft.family, optimizer) * float(np.exp(rng.normal(0, 0.5)))
    if rng.random() < 0.12:  # a search in which most arms fail
        centre *= 8
    down = 10 ** (0.25 + 3.0 * draft.breadth * rng.random())
    up = 10 ** (0.25 + 3.0 * draft.breadth * rng.random())
    name = str(rng.choice(["lr", "learning_rate", "init_lr", "eta"], p=[0.4, 0.4, 0.15, 0.05]))
    log = bool(rng.random() < 0.8) or down * up > 20  # else all would lie at the upper end
    return Range(name, "lr", centre / down, centre * up, log)


def _range(rng: np.random.Generator, key: str, draft: _Draft) -> list[Range]:
    """Values of one hyper-parameter; some are tuned layer by layer."""
    family, fixed, micro = draft.family, draft.fixed, draft.micro
    if key == "batch_size":
        largest = max(2 * micro, min(draft.examples, 1024 if draft.breadth > 0.5 else 256))
        sizes = [micro * 2**power for power in range(7) if micro * 2**power <= largest]
        name = str(rng.choice(["batch_size", "bs", "train_batch_size"], p=[0.6, 0.25, 0.15]))
        return [Range(name, key, values=tuple(sizes))]
    axis = AXES.get(key) or _width(family)
    name = str(axis.names[int(rng.integers(len(axis.names)))])
    if axis.words:
        size = len(axis.words)
        chosen = rng.permutation(size)[: int(rng.integers(2, size + 1))]
        return [Range(name, key, values=tuple(axis.words[at] for at in sorted(chosen)))]
    low, high = _interval(rng, axis, draft.breadth)
    if key == "gamma" and fixed["schedule"] == "step":
        low, high = low * 0.3, high * 0.8
    if family == "vae" and key == "clip":  # the loss is a sum over points, its slopes are steep
        low, high = low * 30, high * 30
    high = min(high, _DEEPEST[family]) if key == "depth" else high
    whole = Range(name, key, low, high, axis.log, axis.whole)
    layered = {"width": ("units", "n_units_"), "drop": ("drop", "dropout_")}.get(key)
    if layered and family == "mlp" and rng.random() < 0.35:
        word = layered[int(rng.integers(2))]
        return [
            Range(f"{word}{layer}", f"{key}{layer}", low, high, axis.log, axis.whole)
            for layer in range(1, int(fixed["depth"]) + 1)
        ]
    return [whole]


def _width(family: str) -> Axis:
    """Units of layers, by family."""
    names = ("width", "hidden_units", "n_hidden", "units")
    if family == "cnn":
        names = ("filters", "channels", "num_filters", "width")
    elif family == "attention":
        names = ("d_model", "hidden_size", "embed_dim", "width")
    widest = _WIDEST[family]
    return Axis(names, (widest // 4, widest), (2, widest), log=True, whole=True)


def _interval(rng: np.random.Generator, axis: Axis, breadth: float) -> tuple[float, float]:
    """Ends between those of the sensible and of the outer interval, by breadth and chance."""
    ends = []
    for good, outer in zip(axis.good, axis.outer, strict=True):
        part = min(1.0, breadth * 2 * rng.random())
        if axis.log:
            ends.append(float(np.exp(np.log(good) * (1 - part) + np.log(outer) * part)))
        else:
            ends.append(good * (1 - part) + outer * part)
    low, high = ends
    return (
        (float(round(low)), float(max(round(high), round(low) + 1))) if axis.whole else (low, high)
    )


def _distinct(rng: np.random.Generator, ranges: Sequence[Range], arms: int) -> list[Config]:
    """Different configurations; fewer than asked for where a grid has no more."""
    found: dict[tuple[Any, ...], Config] = {}
    for _ in range(20 * arms):
        config = {r.name: r.draw(rng) for r in ranges}
        found.setdefault(tuple(config.values()), config)
        if len(found) == arms:
            break
    return list(found.values())


def _setting(
    family: str, fixed: Config, ranges: Sequence[Range], config: Config, micro: int, breadth: float
) -> Config:
    """All values of an arm by canonical name.

    Where the optimiser is tuned beside the rate, the rate of narrow tables is relative to what
    suits each optimiser, as people write it who want every choice to be fair.
    """
    setting = dict(fixed)
    for r in ranges:
        setting[r.key] = config[r.name]
    setting["accum"] = max(1, int(setting.pop("batch_size", 64)) // micro)
    tuned = {r.key for r in ranges}
    centre = _centre(family, setting["optimizer"])
    if "lr" not in tuned:
        setting["lr"] = centre
    elif "optimizer" in tuned and breadth < 0.5:
        setting["lr"] = setting["lr"] * centre / _centre(family, "adam")
    for name in ("norm", "residual"):
        setting[name] = float(setting[name])
    return setting


def describe(plan: Plan) -> str:
    """The fixed hyper-parameters in words."""
    tuned = {r.key for r in plan.ranges}
    left = {k: v for k, v in plan.fixed.items() if k not in tuned}
    return ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in left.items())
