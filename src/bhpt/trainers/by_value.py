"""Trainers that no worker can import: typed into a prompt or a notebook, closures, partials.

They travel to the workers of this session as bytes, over the connection that each worker has to
its driver. The bytes are never stored: a study stores the trainer's name only, and
`resume` has to be given the trainer again.
"""

import pickle
from dataclasses import dataclass, field

import cloudpickle

from bhpt.domain.errors import Misuse


@dataclass(frozen=True, slots=True)
class ByValue:
    """A trainer as bytes.

    Attributes:
        name: What a person calls it.
        payload: The object, pickled by value.
    """

    name: str
    payload: bytes = field(repr=False)

    def __str__(self) -> str:
        return self.name


def pack_trainer(trainer: object, name: str) -> ByValue:
    """A trainer as bytes.

    Raises:
        Misuse: It holds something that cannot leave this process, such as an open file.
    """
    try:
        return ByValue(name, cloudpickle.dumps(trainer))
    except (pickle.PicklingError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        said = str(error).splitlines()[0]
        raise Misuse(
            f"{name} cannot be sent to the workers ({said}): make what it holds inside of it, or "
            "put it into a module"
        ) from None


def unpack_trainer(spec: ByValue) -> object:
    """The trainer, in the worker.

    Raises:
        Misuse: A module that it needs is not there, or it dies of anything else.
    """
    try:
        return pickle.loads(spec.payload)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise Misuse(f"{spec.name} cannot be made in a worker: {said}") from error
