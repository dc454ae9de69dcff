"""Where trained weights come from: the passport that every file of them carries."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from bhpt.beliefs.learned.schema import Schema

FORMAT = 1  # of files of weights: names of arrays and fields of the passport


@dataclass(frozen=True)
class TrainedOn:
    """What weights were trained on.

    Attributes:
        suites: How many tasks of each suite.
        kinds: How many tasks of each kind, where that is known.
        tasks: Names of the tasks, those aside that were made at random.
        left_out: Tasks that were kept from training.
        remarks: Whatever else a person should know.
    """

    suites: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    remarks: str = ""


@dataclass(frozen=True)
class Passport:
    """Identity and origin of one file of weights.

    Attributes:
        network: What it is for: `policy`, `ends`, `names` or `finisher`.
        schema: Features, tokens and bins that it was trained for.
        arrays: SHA-256 of its arrays, see `arrays_digest`.
        shapes: Shape of each array.
        trained_on: What it was trained on.
        command: The command that trained it.
        date: When, as 2026-11-15.
        format: Of the file.
    """

    network: str
    schema: Schema
    arrays: str
    shapes: Mapping[str, tuple[int, ...]]
    trained_on: TrainedOn
    command: str
    date: str
    format: int = FORMAT

    @property
    def short(self) -> str:
        """The first digits of the digest of its arrays: enough to tell weights apart."""
        return self.arrays[:12]

    def encode(self) -> bytes:
        """As JSON, with the digest of the schema beside it."""
        fields = {**asdict(self), "schema_digest": self.schema.digest}
        return json.dumps(fields, ensure_ascii=False).encode()


def decode_passport(text: bytes) -> Passport:
    """The passport that `encode` wrote.

    Raises:
        ValueError: It is another format, or the digest of its schema is wrong.
        KeyError: A field is missing.
        TypeError: A field is not what it should be.
    """
    fields: dict[str, Any] = json.loads(text)
    if fields["format"] != FORMAT:
        raise ValueError(f"format {fields['format']}, not {FORMAT}")
    schema = Schema(**_with_tuples(fields["schema"]))
    if schema.digest != fields["schema_digest"]:
        raise ValueError("the digest of its schema is wrong")
    return Passport(
        network=fields["network"],
        schema=schema,
        arrays=fields["arrays"],
        shapes={name: tuple(shape) for name, shape in fields["shapes"].items()},
        trained_on=TrainedOn(**_with_tuples(fields["trained_on"])),
        command=fields["command"],
        date=fields["date"],
    )


def _with_tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists where frozen values have tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}


def arrays_digest(arrays: Mapping[str, Any]) -> str:
    """SHA-256 of names, shapes and numbers (32 bits each), in the order of names."""
    digest = sha256()
    for name in sorted(arrays):
        value = np.ascontiguousarray(arrays[name], "<f4")
        digest.update(f"{name} {value.shape}\n".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
