"""Files of trained weights and their passports; `benchmarks/policy` makes them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile

import numpy as np

from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.passport import Passport, TrainedOn, arrays_digest, decode_passport
from bhpt.beliefs.learned.schema import SCHEMA
from bhpt.domain import Misuse

_READER = "reader_"  # what the arrays of networks that read names begin with
_FINISHER = "finisher_"  # and those of the one that says which tried arm to go on with
_PASSPORT = "passport"  # the array of a file that holds it, as bytes
_RETRAIN = "train anew with `python -m benchmarks.policy.retrain`"


Network = Literal["policy", "ends", "names", "finisher"]
"""Chooses arms, predicts ends, reads names, says which tried arm to go on with."""
NETWORKS: tuple[Network, ...] = ("policy", "ends", "names", "finisher")
_MAY_LACK: tuple[Network, ...] = ("finisher",)


class NetworkWeights(Mapping[str, Array]):
    """Arrays of a trained network by name, with its passport.

    They do not change. They are compared and hashed by the digest of their arrays, so that what
    was computed from them is kept under their value and not under the object that holds them.

    Attributes:
        passport: Of the file that they come from.
    """

    def __init__(self, arrays: Mapping[str, Array], passport: Passport) -> None:
        """Take over arrays by name."""
        self._arrays = dict(arrays)
        self.passport = passport

    def __getitem__(self, name: str) -> Array:
        """One array."""
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        """Names of the arrays."""
        return iter(self._arrays)

    def __len__(self) -> int:
        """How many arrays there are."""
        return len(self._arrays)

    def __hash__(self) -> int:
        """By value."""
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        """Whether the arrays are the same, name by name and bit by bit."""
        return isinstance(other, NetworkWeights) and self.digest == other.digest

    @cached_property
    def knows_names(self) -> bool:
        """Whether it has networks that judge configurations by their names."""
        return any(name.startswith(_READER) for name in self._arrays)

    @cached_property
    def knows_finishers(self) -> bool:
        """Whether it has the network that says which tried arm to go on with."""
        return any(name.startswith(_FINISHER) for name in self._arrays)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the arrays."""
        return arrays_digest(self._arrays)


@cache
def shipped(name: Network) -> NetworkWeights:
    """Weights of one of the networks that come with the package."""
    file = resources.files("bhpt.beliefs.learned") / "data" / f"{name}.npz"
    with resources.as_file(file) as path:
        return read_weights(path, name)


@cache
def shipped_policy() -> NetworkWeights:
    """Weights of the network that chooses arms, together with those that use names for it."""
    return with_names(shipped("policy"), shipped("names"), shipped("finisher"))


def networks_in(folder: Path) -> tuple[NetworkWeights, ...]:
    """The networks of a folder, in the order of `NETWORKS`; it may lack the finisher.

    Without that one the network that chooses arms chooses among tried ones alone.

    Raises:
        Misuse: Another one is absent, or one cannot be used.
    """
    return tuple(
        read_weights(folder / f"{network}.npz", network)
        for network in NETWORKS
        if network not in _MAY_LACK or (folder / f"{network}.npz").exists()
    )


@cache
def read_weights(file: Path, network: Network) -> NetworkWeights:
    """Weights from a file, such as training writes, for the features of this version.

    Args:
        file: Where they are.
        network: What they are needed for.

    Raises:
        Misuse: It is not such a file, was changed, is another network, or was trained for other
            features.
    """
    weights = read_any_weights(file)
    if weights.passport.network != network:
        raise Misuse(f"weights {file} are of `{weights.passport.network}`, not of `{network}`")
    expected = SCHEMA.for_arrays(weights.keys())
    if different := weights.passport.schema.differences(expected):
        raise Misuse(
            f"weights {file} were trained for other inputs than this version has "
            f"({'; '.join(different)}): {_RETRAIN}"
        )
    for name, (axis, size) in expected.sizes().items():
        if name in weights and weights[name].shape[axis] != size:
            raise Misuse(f"weights {file}: {name} does not fit its passport: {_RETRAIN}")
    return weights


def read_any_weights(file: Path) -> NetworkWeights:
    """Weights from a file, whatever features they were trained for.

    Raises:
        Misuse: It is not such a file, or was changed.
    """
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise Misuse(f"weights {file} cannot be read: {error}") from error
    if _PASSPORT not in found:
        raise Misuse(f"weights {file} have no passport: {_RETRAIN}")
    try:
        passport = decode_passport(found.pop(_PASSPORT).tobytes())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Misuse(f"weights {file}: their passport cannot be read: {error}") from error
    weights = NetworkWeights(
        {key: np.asarray(value, np.float32) for key, value in found.items()}, passport
    )
    if weights.digest != passport.arrays:
        raise Misuse(f"weights {file} are not those of their passport: {_RETRAIN}")
    return weights


def write_weights(file: Path, arrays: Mapping[str, Array], passport: Passport) -> None:
    """Write arrays as 32 bits, with a passport whose digest and shapes are made to fit."""
    kept = {name: np.asarray(value, np.float32) for name, value in arrays.items()}
    passport = replace(
        passport,
        arrays=arrays_digest(kept),
        shapes={name: value.shape for name, value in kept.items()},
    )
    encoded = np.frombuffer(passport.encode(), np.uint8)
    np.savez(file, allow_pickle=False, **kept, **{_PASSPORT: encoded})


def new_passport(
    network: Network,
    arrays: Mapping[str, Array],
    trained_on: TrainedOn,
    command: str,
    date: str,
) -> Passport:
    """A passport for arrays that were trained for the features of this version.

    Args:
        network: What they are for.
        arrays: The arrays.
        trained_on: What they were trained on.
        command: The command that trained them.
        date: When, as 2026-11-15.
    """
    shapes = {name: tuple(np.shape(value)) for name, value in arrays.items()}
    schema = SCHEMA.for_arrays(arrays.keys())
    return Passport(network, schema, arrays_digest(arrays), shapes, trained_on, command, date)


@cache
def with_names(trained: NetworkWeights, *others: NetworkWeights) -> NetworkWeights:
    """A network that chooses arms, together with those that use names for it."""
    arrays = {name: array for one in (trained, *others) for name, array in one.items()}
    return NetworkWeights(arrays, trained.passport)


@cache
def without_names(trained: NetworkWeights) -> NetworkWeights:
    """The same network, without those that use names."""
    left = {k: v for k, v in trained.items() if not k.startswith((_READER, _FINISHER))}
    return NetworkWeights(left, trained.passport)
