"""A search space: encodes configurations and samples candidates. Wraps ConfigSpace.

Notation:
    K  configurations, D  columns.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ConfigSpace
import numpy as np
from ConfigSpace.exceptions import ActiveHyperparameterNotSetError

from bhpt.domain import FloatArray, Misuse
from bhpt.spaces.configs import Config, identity, plain_config, plain_configs
from bhpt.spaces.near_copies import NEAR, apart, near_copies
from bhpt.spaces.ranges import Range
from bhpt.spaces.sampling import draw, draw_near
from bhpt.spaces.short_form import first_line, from_short_form
from bhpt.spaces.stored_space import StoredSpace

_DRAWS = 8  # batches drawn before the space counts as full
_FULL = 0.05  # it does, too, when less than this part of a batch is new
_CHILDREN = 8  # steps away from a good configuration that are tried


@dataclass(frozen=True, eq=False)
class Space:
    """Declared ranges. Equal text means equal space, encoding and samples.

    Attributes:
        text: ConfigSpace's own JSON form, which is what a study stores.
    """

    text: str

    @classmethod
    def of(cls, given: "Space | ConfigSpace.ConfigurationSpace | Mapping[str, object]") -> "Space":
        """A space from ConfigSpace's object or from a dictionary of ranges.

        Raises:
            Misuse: If it is not a valid space.
        """
        if isinstance(given, Space):
            return given
        space = (
            given if isinstance(given, ConfigSpace.ConfigurationSpace) else from_short_form(given)
        )
        if not len(space):
            raise Misuse("the search space is empty: name at least one hyper-parameter")
        try:
            made = cls(json.dumps(space.to_serialized_dict(), allow_nan=False))
            made._space  # noqa: B018  # a space that cannot be read back must not be stored
        except (TypeError, ValueError, KeyError) as error:
            raise Misuse(f"the search space cannot be stored: {first_line(error)}") from None
        return made

    @classmethod
    def from_serialized(cls, described: Mapping[str, Any]) -> "Space":
        """A space from ConfigSpace's JSON form."""
        try:
            space = ConfigSpace.ConfigurationSpace.from_serialized_dict(dict(described))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise Misuse(f"the search space is not valid: {first_line(error)}") from None
        return cls.of(space)

    @cached_property
    def _space(self) -> ConfigSpace.ConfigurationSpace:
        """ConfigSpace's object, read back from the text: the same after a resume."""
        space: ConfigSpace.ConfigurationSpace = ConfigSpace.ConfigurationSpace.from_serialized_dict(
            json.loads(self.text)
        )
        return space

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The hyper-parameters, in the space's order."""
        return tuple(self._space)

    @cached_property
    def _stored(self) -> StoredSpace:
        """The same space as it is stored, in the form of this version of ConfigSpace."""
        stored = StoredSpace(self.text)
        return stored if stored.known else StoredSpace(json.dumps(self._space.to_serialized_dict()))

    @property
    def ranges(self) -> dict[str, Range]:
        """The declared range of each hyper-parameter, in the space's order."""
        return self._stored.ranges

    def encode(self, configs: Sequence[Mapping[str, object]]) -> FloatArray:
        """Encode configurations to numbers in [0, 1], whatever other configurations there are.

        Returns:
            Finite numbers, [K, D], with D at least 1; `StoredSpace.encode` says which.
        """
        return self._stored.encode(configs, self._vector)

    def _vector(self, name: str, values: Any) -> FloatArray:  # noqa: ANN401  # numbers of any type
        """Values of one hyper-parameter as ConfigSpace encodes them, [any]."""
        return np.asarray(self._space[name].to_vector(values), float)

    def draw(self, count: int, rng: np.random.Generator) -> list[Config]:
        """Up to `count` different configurations, spread evenly; fewer if there are no more.

        Raises:
            Misuse: If the forbidden clauses leave nothing to draw.
        """
        drawn = draw(self._space, count, rng)
        if not drawn:
            raise Misuse("the search space is empty: its forbidden clauses exclude everything")
        return drawn

    @cached_property
    def size(self) -> float:
        """At most how many configurations there are, infinity if a number is continuous."""
        return float(self._space.estimate_size())

    def draw_apart(
        self,
        count: int,
        rng: np.random.Generator,
        known: FloatArray | None = None,
        least: float = NEAR,
        taken: Callable[[Config], bool] = lambda _: False,
    ) -> list[Config]:
        """Up to `count` configurations, spread evenly, without near-copies.

        Args:
            count: How many.
            rng: Of the draw.
            known: Encoded configurations of which no near-copy is wanted either, [K, D].
            least: How far apart any two are at least, as a part of one hyper-parameter's range.
            taken: Whether a configuration is there already: with `least` 0, copies are found by it.

        Returns:
            Fewer where no more were found that are so far apart; none if the space is full.

        Raises:
            Misuse: If the forbidden clauses leave nothing to draw.
        """
        names: set[str] = set()
        there = self.encode([]) if known is None else known
        found: list[Config] = []
        for _ in range(_DRAWS):
            drawn = [
                one
                for one in self.draw(count, rng)
                if identity(one) not in names and not taken(one)
            ]
            features = self.encode(drawn)
            kept = apart(features, there, least)[: count - len(found)]
            there = np.concatenate([there, features[kept]])
            found += [drawn[place] for place in kept]
            names.update(identity(drawn[place]) for place in kept)
            if len(found) == count or len(kept) < _FULL * count:
                break
        return found

    def child(self, parent: Config, known: FloatArray, rng: np.random.Generator) -> Config | None:
        """A configuration a step away from a good one, None if none was found that is new.

        Args:
            parent: The good one.
            known: Encoded configurations, near-copies of which are not wanted, [K, D].
            rng: Of the draw.
        """
        drawn = draw_near(self._space, parent, _CHILDREN, rng)
        if not drawn:
            return None
        new = np.flatnonzero(~near_copies(self.encode(drawn), known))
        return drawn[int(new[0])] if len(new) else None

    def check(self, config: Mapping[str, object]) -> None:
        """Refuse a configuration that does not lie in the space."""
        self.check_names(config, f"configuration {config!r:.80}")
        for name, value in config.items():
            self.check_value(name, value)
        try:
            ConfigSpace.Configuration(self._space, values=dict(config))
        except ActiveHyperparameterNotSetError as error:
            lacks = f"configuration {config!r:.80} lacks {error.hyperparameter.name!r}"
            raise Misuse(f"{lacks}: give it a value") from None
        except (TypeError, ValueError) as error:
            raise Misuse(f"configuration {config!r:.80}: {first_line(error)}") from None

    def check_names(self, named: Iterable[str], what: str) -> None:
        """Refuse names that the space does not have; `what` begins the message."""
        strange = sorted(set(named) - set(self.names))
        if strange:
            raise Misuse(
                f"{what}: the space has no hyper-parameter {strange[0]!r}, "
                f"only {', '.join(self.names)}"
            )

    def check_value(self, name: str, value: object) -> None:
        """Refuse a value that a hyper-parameter cannot have."""
        if not self._space[name].legal_value(value):
            raise Misuse(f"hyper-parameter {name!r} cannot be {value!r:.60}: {self._space[name]}")

    def complete(self, config: Mapping[str, object]) -> Config:
        """A configuration as the space would give it: constants may be left out.

        Raises:
            Misuse: It does not lie in the space.
        """
        config = plain_config(config)
        constants = {
            name: parameter.value
            for name, parameter in self._space.items()
            if isinstance(parameter, ConfigSpace.Constant) and name not in self._stored.conditions
        }
        whole = {**plain_config(constants), **config}
        self.check(whole)
        return {name: whole[name] for name in self.names if name in whole}

    @cached_property
    def declared_default(self) -> Config | None:
        """The configuration of defaults, if the space declares others than ConfigSpace's."""
        described = {**json.loads(self.text), "conditions": [], "forbiddens": []}
        for parameter in described["hyperparameters"]:
            parameter.pop("default_value", None)
        bare = ConfigSpace.ConfigurationSpace.from_serialized_dict(described)
        if all(bare[name].default_value == self._space[name].default_value for name in bare):
            return None
        return plain_config(dict(self._space.get_default_configuration()))


def parse_space(given: object) -> Space | list[Config]:
    """Convert a user's search space: ranges to sample from, or a list of configurations.

    Raises:
        Misuse: If it is neither, or not valid.
    """
    if isinstance(given, Space | ConfigSpace.ConfigurationSpace | Mapping):
        return Space.of(given)
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        listed = plain_configs(given)
        if not any(listed):
            raise Misuse("the configurations are empty: name at least one hyper-parameter")
        return _without_repeats(listed)
    raise Misuse(
        f"a search space is a ConfigurationSpace, a dictionary of ranges or a list of "
        f"configurations, not {type(given).__name__}"
    )


def _without_repeats(configs: list[Config]) -> list[Config]:
    """The different configurations, in order: training one twice would buy nothing."""
    return list({identity(config): config for config in configs}.values())
