"""The arms of a study: configurations, what they encode to and what their names mean.

Arms are only ever added, and an earlier list of arms never changes. Whatever is computed from a
configuration is computed once, when it is needed, however often arms are added.

Notation:
    K  arms, D  features, N  hyper-parameters, F  numbers of a token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from bhpt.beliefs.earlier_studies import EarlierExpert, EarlierStudy
from bhpt.domain import FloatArray
from bhpt.domain.growing import GrowingList, GrowingRows
from bhpt.spaces import Config, encode_configs, encode_tokens, infer_ranges
from bhpt.spaces.configs import identity
from bhpt.spaces.ranges import Range
from bhpt.spaces.stored_space import StoredSpace

if TYPE_CHECKING:
    from bhpt.spaces import Space


@lru_cache(maxsize=4)
def space_of(text: str) -> "Space":
    """The space with this text, read once: every batch of candidates needs it."""
    from bhpt.spaces import Space  # takes half a second, and reading a study needs none

    return Space(text)


@lru_cache(maxsize=4)
def _stored(text: str) -> StoredSpace:
    return StoredSpace(text)


def ranges_of(text: str) -> dict[str, Range]:
    """The ranges of the space with this text; ConfigSpace is imported only if it has to be."""
    stored = _stored(text)
    return stored.ranges if stored.known else space_of(text).ranges


def _encoded(text: str, configs: Sequence[Config]) -> FloatArray:
    """Configurations as the space with this text encodes them, [K, D]; likewise."""
    stored = _stored(text)
    return stored.encode(configs) if stored.even else space_of(text).encode(configs)


class _Readings:
    """What was computed from configurations, shared by lists that follow one another.

    It grows when it is read: folding a log reads nothing of it.

    Args:
        space: The declared space's text, None if the user listed the configurations.
        earlier: Earlier studies that are learned from.
    """

    def __init__(self, space: str | None, earlier: tuple[EarlierStudy, ...] = ()) -> None:
        self._space = space
        self._earlier = earlier
        self._expert: EarlierExpert | None = None
        self._expected: GrowingRows | None = None
        self._encoded: GrowingRows | None = None
        self._read: GrowingRows | None = None
        self._arm_of: dict[str, int] = {}
        self._identified = 0

    def features(self, configs: GrowingList[Config]) -> FloatArray:
        """Encoded configurations, [K, D].

        The scales of a list are inferred from all of it; those of a space are declared, so each
        configuration is encoded once.
        """
        if self._space is None:
            return encode_configs(configs)
        known = 0 if self._encoded is None else self._encoded.length
        if self._encoded is None or known < len(configs):
            rows = _encoded(self._space, configs[known:])
            self._encoded = _below(self._encoded, rows)
        return self._encoded.array[: len(configs)]

    def tokens(self, configs: GrowingList[Config]) -> FloatArray:
        """Tokens of the hyper-parameters, [K, N, F].

        The ranges of a list are inferred from all of it; those of a space are declared, so each
        configuration is read once.
        """
        if self._space is None:
            return encode_tokens(configs, infer_ranges(configs))
        known = 0 if self._read is None else self._read.length
        if self._read is None or known < len(configs):
            rows = encode_tokens(configs[known:], ranges_of(self._space))
            self._read = _below(self._read, rows)
        return self._read.array[: len(configs)]

    def earlier(self, configs: GrowingList[Config]) -> FloatArray | None:
        """Expected ranks by earlier studies, [K]; None without any, or if none is of this space.

        With studies of other spaces a study goes on as without any.
        """
        if not self._earlier:
            return None
        if self._space is None:
            listed = EarlierExpert(self._earlier, infer_ranges(configs))
            return listed.ranks(configs) if listed.knows_the_space else None
        if self._expert is None:
            self._expert = EarlierExpert(self._earlier, ranges_of(self._space))
        if not self._expert.knows_the_space:
            return None
        known = 0 if self._expected is None else self._expected.length
        if self._expected is None or known < len(configs):
            self._expected = _below(self._expected, self._expert.ranks(configs[known:]))
        return self._expected.array[: len(configs)]

    def first(self, configs: GrowingList[Config], wanted: Config) -> int | None:
        """The first arm with a configuration, among those of any list that shares this."""
        for arm in range(self._identified, len(configs)):
            self._arm_of.setdefault(identity(configs[arm]), arm)
        self._identified = max(self._identified, len(configs))
        return self._arm_of.get(identity(wanted))


def _below(known: GrowingRows | None, rows: FloatArray) -> GrowingRows:
    return GrowingRows.of(rows) if known is None else known.plus(rows)


@dataclass(frozen=True, eq=False)
class ArmList:
    """The arms of a study at a moment.

    Attributes:
        space: The declared space's text; None if the user listed the configurations.
        past: Earlier studies that are learned from.
        configs: The configuration of every arm.
        readings: What was computed from them, shared while arms are only added.
    """

    space: str | None
    past: tuple[EarlierStudy, ...]
    configs: GrowingList[Config]
    readings: _Readings

    @classmethod
    def of(
        cls,
        space: str | None,
        configs: Sequence[Config],
        past: tuple[EarlierStudy, ...] = (),
    ) -> "ArmList":
        """The first arms."""
        return cls(space, past, GrowingList(configs), _Readings(space, past))

    def __len__(self) -> int:
        return len(self.configs)

    @cached_property
    def features(self) -> FloatArray:
        """Encoded configurations, [K, D]."""
        return self.readings.features(self.configs)

    @cached_property
    def tokens(self) -> FloatArray:
        """Tokens of the hyper-parameters, [K, N, F]."""
        return self.readings.tokens(self.configs)

    @cached_property
    def earlier(self) -> FloatArray | None:
        """Expected ranks by earlier studies, [K]; None without any."""
        return self.readings.earlier(self.configs)

    def find(self, config: Config) -> int | None:
        """The first arm with this configuration, None if there is none."""
        arm = self.readings.first(self.configs, config)
        return arm if arm is not None and arm < len(self) else None

    def has(self, config: Config) -> bool:
        """Whether some arm has this configuration."""
        return self.find(config) is not None

    def plus(self, added: Sequence[Config]) -> "ArmList":
        """The arms with some added."""
        configs = self.configs.plus(added)
        shared = configs.shares(self.configs)
        readings = self.readings if shared else _Readings(self.space, self.past)
        return ArmList(self.space, self.past, configs, readings)
