"""What a study remembers of its trainer, and what a worker makes of it."""

import inspect
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from bhpt.domain.errors import Misuse
from bhpt.trainers.command import CommandTrainer
from bhpt.trainers.four_methods import ClassTrainer, FourMethods
from bhpt.trainers.generator import GeneratorTrainer
from bhpt.trainers.import_names import name_of, refuse_during_import, resolve
from bhpt.trainers.interface import Trainer

_METHODS = ("step", "save", "load")


@dataclass(frozen=True, slots=True)
class Imported:
    """A class or generator function, by its name `MODULE:NAME`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Command:
    """A plain command that speaks the line protocol, as its words."""

    words: tuple[str, ...]

    @classmethod
    def parse(cls, line: str) -> "Command":
        """Split a command line as a shell would; no shell ever runs it."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise Misuse(f"the command {line!r} cannot be split into words: {error}") from None
        if not words:
            raise Misuse("the command is empty: give one such as 'python train.py'")
        return cls(tuple(words))

    def __str__(self) -> str:
        return shlex.join(self.words)


TrainerSpec = Imported | Command


def spec_of(trainer: object) -> TrainerSpec:
    """The specification of whatever a user hands over: an object, a name or a specification.

    Raises:
        Misuse: It is not a trainer, or workers could not import it, or this is a worker that only
            imports the script to find its trainer.
    """
    refuse_during_import()
    if isinstance(trainer, Imported | Command):
        return trainer
    if isinstance(trainer, str):
        return Imported(trainer)
    check(trainer, getattr(trainer, "__name__", repr(trainer)))
    return Imported(name_of(trainer))


def spec_to_json(spec: TrainerSpec) -> dict[str, object]:
    """What the study stores."""
    return {"name": spec.name} if isinstance(spec, Imported) else {"command": list(spec.words)}


def spec_from_json(value: Mapping[str, object]) -> TrainerSpec:
    """What the study stored.

    Raises:
        Misuse: It is neither a name nor a command.
    """
    name, words = value.get("name"), value.get("command")
    if isinstance(name, str) and words is None:
        return Imported(name)
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        return Command(tuple(words))
    raise Misuse(f"this is neither a trainer's name nor a command: {dict(value)!r:.80}")


def load(spec: TrainerSpec) -> Trainer:
    """Import and check a trainer; this is the worker's first deed.

    Raises:
        Misuse: It is not there, dies at import or lacks a method; one line.
    """
    if isinstance(spec, Command):
        if shutil.which(spec.words[0]) is None:
            raise Misuse(f"there is no command {spec.words[0]!r}: check its path")
        return CommandTrainer(spec.words)
    return check(resolve(spec.name), spec.name.rpartition(":")[2])


def check(trainer: object, name: str) -> Trainer:
    """Find out what kind of trainer an object is.

    Raises:
        Misuse: It is none, and why.
    """
    if inspect.isclass(trainer):
        return _check_class(trainer, name)
    if inspect.isgeneratorfunction(inspect.unwrap(trainer) if callable(trainer) else trainer):
        _check_takes_config(cast("Callable[..., object]", trainer), name)
        make = cast("Callable[[dict[str, object]], Iterator[object]]", trainer)
        return GeneratorTrainer(make, name)
    if inspect.isroutine(trainer):
        raise Misuse(f"{name} is not a generator function: let it `yield` one loss an epoch")
    raise Misuse(
        f"{name} is neither a class with step, save and load nor a generator function "
        f"but {type(trainer).__name__}"
    )


def _check_class(trainer: type, name: str) -> Trainer:
    missing = [method for method in _METHODS if not callable(getattr(trainer, method, None))]
    if missing:
        lacks = " and ".join(f"{method}({_argument(method)})" for method in missing)
        raise Misuse(f"trainer {name} lacks {lacks}: it needs step(), save(folder), load(folder)")
    _check_takes_config(trainer, name)
    return ClassTrainer(cast("Callable[[dict[str, object]], FourMethods]", trainer), name)


def _argument(method: str) -> str:
    return "" if method == "step" else "folder"


def _check_takes_config(trainer: Callable[..., object], name: str) -> None:
    try:
        signature = inspect.signature(trainer)
    except ValueError:  # made in C: nothing to look at, the first call will tell
        return
    try:
        signature.bind({})
    except TypeError:
        raise Misuse(
            f"{name}{signature} must be callable with the configuration as its only argument"
        ) from None
