"""Tabulated tasks: curves that were trained once, to be tuned over many times."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from bhpt.bench.baselines.truth import Truth
from bhpt.bench.kinds import kind_of
from bhpt.domain import Curves, FloatArray, Memory, Misuse, View
from bhpt.spaces import encode_configs, encode_tokens, infer_ranges

PACKAGED = ("resnet_cifar10", "arch_cifar10", "arch2_cifar10", "fcnet_mnist", "vae_mnist")


@dataclass(frozen=True, eq=False)
class Task:
    """A table of learning curves.

    Attributes:
        name: What a person types.
        losses: Loss after each epoch, NaN or infinite where training failed, [K, T].
        untrained: ℓ_0.
        unit: Epochs in one unit.
        features: Encoded configurations, [K, D].
        groups: Family of each arm, for shares by architecture, or empty.
        truth: The model that it was drawn from, if it was.
        tokens: Tokens of the hyper-parameters, [K, N, F], if they have names.
        kind: The kind of training, empty if it is not known.
        hyperparameters: Their names, in the order of the tokens.
        configs: The configurations, one an arm; none for a synthetic task.
    """

    name: str
    losses: FloatArray
    untrained: float
    unit: int
    features: FloatArray
    groups: tuple[str, ...] = ()
    truth: Truth | None = None
    tokens: FloatArray | None = None
    kind: str = ""
    hyperparameters: tuple[str, ...] = ()
    configs: tuple[Mapping[str, Any], ...] = ()

    @property
    def arms(self) -> int:
        """K."""
        return len(self.losses)

    @property
    def epochs(self) -> int:
        """T."""
        return int(self.losses.shape[1])

    def view(self, curves: Curves, left: float, seed: int, memory: Memory | None = None) -> View:
        """What a policy sees once these curves are observed, with `left` units to spend."""
        return View(
            curves=curves,
            unit=self.unit,
            left=float(left),
            costs=np.ones(self.arms),
            features=self.features,
            untrained=self.untrained,
            tokens=self.tokens,
            seed=seed,
            memory=memory or Memory(),
        )

    def next_unit(self, curves: Curves, arm: int) -> FloatArray:
        """Losses of the next unit of an arm, [unit] or fewer at the end of the table."""
        at = int(curves.count_by_arm[arm])
        return self.losses[arm, at : at + self.unit]

    def sample(self, arms: int, seed: int) -> "Task":
        """The task with a random `arms` of its arms, others for each seed."""
        if arms >= self.arms:
            return self
        chosen = np.random.default_rng((seed, 77)).permutation(self.arms)[:arms]
        return replace(
            self,
            losses=self.losses[chosen],
            features=self.features[chosen],
            groups=tuple(self.groups[k] for k in chosen) if self.groups else (),
            tokens=None if self.tokens is None else self.tokens[chosen],
            configs=tuple(self.configs[k] for k in chosen) if self.configs else (),
        )


def from_table(
    name: str,
    table: FloatArray,
    configs: Sequence[Mapping[str, Any]],
    unit: int,
    groups: tuple[str, ...] = (),
    kind: str = "",
) -> Task:
    """A task from losses whose column 0 is the untrained model, [K, T + 1]."""
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise Misuse(f"task {name}: its loss table has shape {table.shape}, not [K, T + 1]")
    if len(configs) != len(table):
        raise Misuse(f"task {name}: {len(table)} curves but {len(configs)} configurations")
    starts = table[:, 0][np.isfinite(table[:, 0])]
    if not np.isfinite(table[:, 1:]).any() or not starts.size:
        raise Misuse(f"task {name}: no finite loss in its table")
    ranges = infer_ranges(configs)
    return Task(
        name,
        table[:, 1:],
        float(np.median(starts)),
        unit,
        encode_configs(configs),
        groups,
        tokens=encode_tokens(configs, ranges),
        kind=kind,
        hyperparameters=tuple(ranges),
        configs=tuple(configs),
    )


def from_pair(folder: Path, name: str) -> Task:
    """A task from NAME.npz and NAME.json, this project's exchange format."""
    with _reading(name):
        with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
            if "loss" not in arrays:
                raise Misuse(f"task {name}: {name}.npz has no array `loss`")
            table = np.asarray(arrays["loss"], float)
        about = json.loads((folder / f"{name}.json").read_text())
        configs, unit = about.get("configs"), about.get("epochs_per_unit", 1)
    if not isinstance(configs, list) or not configs:
        raise Misuse(f"task {name}: {name}.json lists no `configs`")
    if not isinstance(unit, int) or unit < 1:
        raise Misuse(
            f"task {name}: `epochs_per_unit` must be a positive whole number, not {unit!r}"
        )
    families = tuple(str(c.get("arch", "")) for c in configs)
    groups = families if len(set(families)) > 1 else ()
    kind = kind_of(name, about)
    return from_table(name, table, without_seeds(configs), unit, groups, kind)


def without_seeds(configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Configurations without what only seeds the training: it explains nothing."""
    return [{k: v for k, v in c.items() if not k.endswith("seed")} for c in configs]


class _reading:  # noqa: N801  # a context manager, used like a function
    """Turn everything that a broken file can raise into one clear line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if isinstance(error, Misuse) or error is None:
            return
        if isinstance(error, OSError | ValueError | KeyError | EOFError | AttributeError):
            why = "it is no file of plain arrays" if "pickle" in str(error) else error
            raise Misuse(f"task {self._name}: cannot read its table: {why}") from error


def packaged(name: str) -> Task:
    """One of the tables that ship with the package."""
    with resources.as_file(resources.files("bhpt.bench") / "data") as folder:
        return from_pair(folder, name)


def from_collection(folder: Path, collection: str, key: str) -> Task:
    """One data set of LCBench (`lcbench:DATASET`) or one task of TaskSet (`taskset:INDEX`)."""
    files = sorted(folder.rglob(f"{collection}*.npz"))
    listing = {"lcbench": "datasets", "taskset": "tasks"}[collection]
    known: list[str] = []
    for file in files:
        with _reading(f"{collection}:{key}"), np.load(file, allow_pickle=False) as arrays:
            labels = [str(label) for label in arrays[listing]]
            at = labels.index(key) if key in labels else _index(key, len(labels))
            known += labels
            if at is None:
                continue
            table = np.asarray(arrays["loss"][at], float)
            names = [str(n) for n in arrays["hp_names"]]
            rows = np.asarray(arrays["X"], float).tolist()
        configs = [dict(zip(names, row, strict=True)) for row in rows]
        name = f"{collection}:{key}"
        return from_table(name, table, configs, 1, kind=kind_of(name))
    if not files:
        raise Misuse(f"task {collection}:{key}: no {collection}*.npz below --data {folder}")
    raise Misuse(f"task {collection}:{key}: not among {', '.join(known)}")


def _index(key: str, size: int) -> int | None:
    return int(key) if key.isdigit() and int(key) < size else None
