"""Roles of hyper-parameters, recognised by their names: a learning rate in any search space.

Encoded features compare the arms of one study; a column has no meaning outside it. Here a
configuration is encoded a second time, by role, in units that are the same in every study (the
logarithm of the learning rate, not its position within a range). Hyper-parameters whose names are
not recognised have no role and are left out.

Notation:
    K  configurations, M  roles.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from bhpt.domain import FloatArray

_LEAST = 1e-10  # lower bound before a logarithm, so that a decay of 0 is a very small one


def _log(x: FloatArray) -> FloatArray:
    return np.log10(np.maximum(x, _LEAST))


def _from_one(x: FloatArray) -> FloatArray:
    """The logarithm of the distance from one: the scale on which momenta differ."""
    return np.log10(np.clip(1.0 - x, 1e-7, 2.0))


def _plain(x: FloatArray) -> FloatArray:
    return x


@dataclass(frozen=True)
class _Role:
    """A role that a number can have, and how it is scaled.

    Attributes:
        name: Name of the role and of its column.
        words: Regular expression of hyper-parameter names.
        scale: Transformation to the scale on which equal steps matter equally.
        centre: A usual value on this scale; becomes 0.
        width: A usual distance from it; becomes 1.
        least: The role requires every value to be at least this.
        most: The role requires every value to be at most this.
        reaches: The role requires the largest value to be at least this.
    """

    name: str
    words: str
    scale: Callable[[FloatArray], FloatArray]
    centre: float
    width: float
    least: float = -np.inf
    most: float = np.inf
    reaches: float = -np.inf


# the first role whose name and range match is taken, so special roles precede general ones
_NUMBERS = (
    _Role("linear decay", r"linear_decay", _log, -5.5, 1.0, 0.0, 0.5),
    _Role("decay rate", r"(lr|learning_rate|exponential|exp)_decay(_rate)?", _log, -4.5, 1.0,
          0.0, 0.5),
    _Role("decay factor", r"(lr_|learning_rate_)?(decay|gamma)(_rate|_factor)?", _from_one,
          -1.0, 0.7, 0.0, 1.0, 0.5),
    _Role("momentum", r"(sgd_)?(momentum|mom|mu)", _from_one, -0.6, 0.6, 0.0, 1.0),
    _Role("beta1", r"(adam_)?(beta|b)_?1", _from_one, -1.0, 0.8, 0.0, 1.0),
    _Role("beta2", r"(adam_)?(beta|b)_?2", _from_one, -2.5, 1.2, 0.0, 1.0),
    _Role("epsilon", r"(adam_)?(eps|epsilon)", _log, -5.0, 3.0, 0.0),
    _Role("l2", r"weight_decay|wd|l2(_.*)?", _log, -3.5, 2.0, 0.0),
    _Role("l1", r"l1(_.*)?", _log, -4.0, 2.5, 0.0),
    _Role("period", r"(lr_)?(step|step_size|period)|decay_(every|epochs)", _log, 0.9, 0.3, 1.0),
    _Role("learning rate", r"((init|initial|base|max|peak|start)_)?"
          r"(lr|(learning_?)?rate|eta|step_size)(_init|_initial|_max)?", _log, -2.5, 1.2, 0.0),
    _Role("batch size", r"((mini|train)_?)?(batch|bs|batch_?size|minibatch_?size)", _log,
          2.0, 0.5, 0.5),
    _Role("dropout", r"(max_|hidden_|input_)?(drop|dropout|drop_?rate|dropout_rate|p_drop)(_?\d+)?",
          _plain, 0.4, 0.3, 0.0, 1.0),
    _Role("layers", r"(num_|n_)?(hidden_)?(layers|depth|blocks)", _plain, 2.5, 1.5, 0.0, 200.0),
    _Role("width", r"(max_|num_|n_|hidden_)*(units|width|hidden|hidden_(size|dim|units)|channels|"
          r"filters|neurons)(_?\d+)?|d_model|(emb|embed|embedding)_(dim|size)", _log, 2.0, 0.6,
          0.5),
    _Role("latent", r"z_dim|(num_|n_)?latent(s|_dim|_size|_dims)?", _log, 0.9, 0.5, 0.5),
    _Role("warm-up", r"(lr_)?warm_?up(_epochs)?", _plain, 2.0, 3.0, 0.0, 100.0),
    _Role("label smoothing", r"(label_)?smoothing", _plain, 0.1, 0.2, 0.0, 1.0),
    _Role("initial scale", r"(weight_)?init_(scale|gain)", _log, 0.0, 0.6, 0.0),
    _Role("clipping", r"(grad(ient)?_)?clip(ping)?(_norm|_value|_grad)?|max_(grad_)?norm", _log,
          0.0, 1.0, 0.0),
    _Role("noise", r"((input|gaussian)_)?noise(_std|_level)?", _plain, 0.3, 0.5, 0.0),
    _Role("divergence", r"kl(_weight|_coef|_beta)?|beta_kl|beta", _log, 0.0, 0.8, 0.0,
          reaches=1.0),
)  # fmt: skip
_WORDS = (
    ("adam", r"optimi[sz]er|opt|algorithm", r"(n|r)?adam(_?w|ax)?"),
    ("sgd", r"optimi[sz]er|opt|algorithm", r"sgd.*|momentum|nesterov"),
    ("adagrad", r"optimi[sz]er|opt|algorithm", r"ada_?(grad|delta)|rms_?prop"),
    ("saturates", r"(act|activation)(_?\d+)?", r"tanh|sigmoid|logistic"),
    ("rate falls", r"(lr_)?schedul(e|er)", r"cos.*|exp.*|step.*|multi_?step.*|inv.*|linear|poly.*"),
    ("normalised", r"(use_)?((batch|layer)_?)?norm(ali[sz]ation)?|(use_)?bn", r"true|.*norm.*"),
    ("residual", r"(use_)?(residuals?|skip(_connections?)?)", r"true"),
)  # role, pattern of hyper-parameter names, pattern of the values that have the role

ROLES = (*(role.name for role in _NUMBERS), *(name for name, _, _ in _WORDS))
"""The roles, in the order of their columns."""


Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class NameRoles:
    """What the names of hyper-parameters mean in a study, as far as its configurations show.

    The role of a number depends on its name and on all its values, so more configurations may
    change it; the role of a word depends on its name only.

    Attributes:
        ranges: The lowest and the highest finite number of each hyper-parameter, in the order in
            which they were first seen; None where none was.
        roles: The role of each of them as a number, None where it has none.
    """

    ranges: Mapping[str, Range | None]
    roles: Mapping[str, _Role | None]

    @classmethod
    def of(cls, configs: Sequence[Mapping[str, object]]) -> "NameRoles":
        """What some configurations show."""
        return cls({}, {}).plus(configs)

    def plus(self, configs: Sequence[Mapping[str, object]]) -> "NameRoles":
        """What further configurations show beside."""
        ranges = dict(self.ranges)
        for name in _names(configs):
            ranges[name] = _wider(ranges.get(name), _numbers(name, configs))
        same = {name for name, found in self.ranges.items() if ranges[name] == found}
        roles = {
            name: self.roles[name] if name in same else _role(_spelled(name), found)
            for name, found in ranges.items()
        }
        return NameRoles(ranges, roles)

    def agrees_with(self, before: "NameRoles") -> bool:
        """Whether every hyper-parameter of before has the role that it had."""
        return all(self.roles[name] == role for name, role in before.roles.items())


def encode_roles(configs: Sequence[Mapping[str, object]]) -> FloatArray:
    """Encode configurations by the roles of their hyper-parameters, alike for every search space.

    Usual values lie within about 0 ± 1; a role that a configuration lacks is NaN. Several
    hyper-parameters with the same role (`units1`, `units2`) are averaged.

    Args:
        configs: K dictionaries.

    Returns:
        A column for each of `ROLES`, [K, M].
    """
    return read_roles(configs, NameRoles.of(configs))


def read_roles(configs: Sequence[Mapping[str, object]], roles: NameRoles) -> FloatArray:
    """The same for some of the configurations whose names have these roles, [K, M]."""
    found: dict[str, list[FloatArray]] = {name: [] for name in ROLES}
    for name, role in roles.roles.items():
        if role is not None:
            numbers = _numbers(name, configs)
            found[role.name].append((role.scale(numbers) - role.centre) / role.width)
        values = [config.get(name) for config in configs]
        for word, column in _by_word(_spelled(name), values):
            found[word].append(column)
    unknown = np.full(len(configs), np.nan)
    return np.column_stack([_mean(found[role]) if found[role] else unknown for role in ROLES])


def _names(configs: Sequence[Mapping[str, object]]) -> dict[str, None]:
    """The hyper-parameters of some configurations, in the order in which they are first seen."""
    return dict.fromkeys(str(key) for config in configs for key in config)


def _numbers(name: str, configs: Sequence[Mapping[str, object]]) -> FloatArray:
    """The values of one hyper-parameter that are numbers, NaN for the others, [K]."""
    values = [config.get(name) for config in configs]
    return np.array([value if type(value) is float else _number(value) for value in values])


def _wider(known: Range | None, numbers: FloatArray) -> Range | None:
    """The range of what was known and of further numbers; None if there are none."""
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return known
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if known is None else (min(known[0], low), max(known[1], high))


@lru_cache(maxsize=256)
def _spelled(name: str) -> str:
    """Normalise: learningRate, learning-rate and optim.learning_rate become learning_rate."""
    last = name.rsplit(".", 1)[-1].rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last)
    return re.sub(r"[^a-z0-9]+", "_", snake.lower()).strip("_")


def _role(name: str, found: Range | None) -> _Role | None:
    """The role of a number, if its name and its values have one."""
    if found is None:
        return None
    low, high = found
    for role in _NUMBERS:
        fits = role.least <= low and role.reaches <= high <= role.most
        if fits and re.fullmatch(role.words, name):
            return role
    return None


def _number(value: object) -> float:
    """A numeric value as float, NaN for any other."""
    if isinstance(value, bool | np.bool_):
        return np.nan
    return float(value) if isinstance(value, int | float | np.integer | np.floating) else np.nan


def _by_word(name: str, values: Sequence[object]) -> list[tuple[str, FloatArray]]:
    """Roles and columns of a categorical hyper-parameter.

    A column is 1 where the value has the role, -1 where it has another value, NaN where there is
    none.
    """
    found = []
    for role, names, words in _WORDS:
        if re.fullmatch(names, name):
            has = [
                (1.0 if re.fullmatch(words, _spelled(str(v))) else -1.0)
                if isinstance(v, str | bool | np.bool_)
                else np.nan
                for v in values
            ]
            found.append((role, np.array(has)))
    return found


def _mean(columns: list[FloatArray]) -> FloatArray:
    """Mean over columns without their NaN entries, [K]; NaN where all are NaN."""
    stacked = np.stack(columns)
    known = np.isfinite(stacked)
    total = reduce(np.add, np.where(known, stacked, 0.0))  # one by one, for few rows and for many
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)
