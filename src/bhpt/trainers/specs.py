"""What a study remembers of its trainer, and what a worker makes of it."""

import base64
import functools
import inspect
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from bhpt.domain.errors import Misuse
from bhpt.trainers.by_value import ByValue, pack_trainer, unpack_trainer
from bhpt.trainers.command import (
    SPECIAL_NAMES,
    CommandTrainer,
    check_regex,
    unknown_names,
)
from bhpt.trainers.four_methods import ClassTrainer, FourMethods
from bhpt.trainers.function import FunctionTrainer
from bhpt.trainers.generator import GeneratorTrainer
from bhpt.trainers.import_names import find_name, refuse_during_import, resolve
from bhpt.trainers.interface import Trainer

_METHODS = ("step", "save", "load")


@dataclass(frozen=True, slots=True)
class Imported:
    """A class or function, by its name `MODULE:NAME`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Command:
    """A plain command, as its words.

    Attributes:
        words: The program and its arguments, with `{name}` for hyper-parameters.
        loss_regex: Finds the study's metric in what it prints; None if it prints our lines.
    """

    words: tuple[str, ...]
    loss_regex: str | None = None

    @classmethod
    def parse(cls, line: str, loss_regex: str | None = None) -> "Command":
        """Split a command line as a shell would; no shell ever runs it.

        Raises:
            Misuse: It has no words, or the pattern could not pick out a number.
        """
        if loss_regex is not None:
            check_regex(loss_regex)
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise Misuse(f"the command {line!r} cannot be split into words: {error}") from None
        if not words:
            raise Misuse("the command is empty: give one such as 'python train.py'")
        return cls(tuple(words), loss_regex)

    def __str__(self) -> str:
        return shlex.join(self.words)


TrainerSpec = Imported | Command | ByValue


def spec_of(trainer: object) -> TrainerSpec:
    """The specification of whatever a user hands over: an object, a name or a specification.

    Raises:
        Misuse: It is not a trainer, or it cannot be sent to workers, or this is a worker that
            only imports the script to find its trainer.
    """
    refuse_during_import()
    if isinstance(trainer, TrainerSpec):
        return trainer
    if isinstance(trainer, str):
        return Imported(trainer)
    called = _called(trainer)
    check(trainer, called)
    name = find_name(trainer)
    return pack_trainer(trainer, called) if name is None else Imported(name)


def _called(trainer: object) -> str:
    """What a person calls a trainer."""
    target = _innermost(trainer)
    if inspect.isclass(target) or inspect.isroutine(target):
        return target.__name__
    return repr(trainer)[:60]


def _innermost(trainer: object) -> object:
    """The class or function within partials and wrappers."""
    while isinstance(trainer, functools.partial):
        trainer = trainer.func
    return inspect.unwrap(trainer) if inspect.isroutine(trainer) else trainer


def check_names(spec: TrainerSpec, configs: Iterable[Mapping[str, object]]) -> None:
    """Refuse a command with a `{name}` that no configuration has, before anything is run.

    Raises:
        Misuse: There is one.
    """
    if not isinstance(spec, Command):
        return
    known = dict.fromkeys(name for config in configs for name in config)
    unknown = unknown_names(spec.words, known)
    if unknown:
        raise Misuse(
            f"the command has {{{unknown[0]}}}, which is no hyper-parameter: there are "
            f"{', '.join(known)}, and {', '.join(sorted(SPECIAL_NAMES))}"
        )


def spec_to_json(spec: TrainerSpec) -> dict[str, object]:
    """What the study stores; of a trainer that was sent by value, its name only."""
    match spec:
        case Imported():
            return {"name": spec.name}
        case Command():
            regex = {} if spec.loss_regex is None else {"loss_regex": spec.loss_regex}
            return {"command": list(spec.words), **regex}
        case ByValue():
            return {"by_value": spec.name}


def spec_from_json(value: Mapping[str, object]) -> TrainerSpec:
    """What the study stored.

    Raises:
        Misuse: It is neither a name nor a command, or the trainer was sent by value.
    """
    name, words = value.get("name"), value.get("command")
    if isinstance(called := value.get("by_value"), str):
        raise Misuse(
            f"the trainer {called!r} was a closure or came from a notebook, and is not stored: "
            "resume from Python, with bhpt.resume(study, trainer=...)"
        )
    if isinstance(name, str) and words is None:
        return Imported(name)
    regex = value.get("loss_regex")
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        return Command(tuple(words), regex if isinstance(regex, str) else None)
    raise Misuse(f"this is neither a trainer's name nor a command: {dict(value)!r:.80}")


def spec_to_wire(spec: TrainerSpec) -> dict[str, object]:
    """What a driver sends to its workers, as JSON."""
    if not isinstance(spec, ByValue):
        return spec_to_json(spec)
    return {"called": spec.name, "payload": base64.b64encode(spec.payload).decode("ascii")}


def spec_from_wire(value: Mapping[str, object]) -> TrainerSpec:
    """What a worker was sent by its driver."""
    name, payload = value.get("called"), value.get("payload")
    if isinstance(name, str) and isinstance(payload, str):
        return ByValue(name, base64.b64decode(payload))
    return spec_from_json(value)


def load(spec: TrainerSpec) -> Trainer:
    """Import and check a trainer, in the worker that is to run it.

    Raises:
        Misuse: It is not there, dies at import or lacks a method; one line.
    """
    if isinstance(spec, Command):
        if shutil.which(spec.words[0]) is None:
            raise Misuse(f"there is no command {spec.words[0]!r}: check its path")
        return CommandTrainer(spec.words, spec.loss_regex)
    if isinstance(spec, ByValue):
        return check(unpack_trainer(spec), spec.name)
    return check(resolve(spec.name), spec.name.rpartition(":")[2])


def check(trainer: object, name: str) -> Trainer:
    """Find out what kind of trainer an object is.

    Raises:
        Misuse: It is none, and why.
    """
    target = _innermost(trainer)
    if inspect.isclass(target):
        return _check_class(target, cast("Callable[..., object]", trainer), name)
    if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
        raise Misuse(f"{name} is asynchronous: give a function that calls asyncio.run(...) itself")
    if inspect.isfunction(target) or inspect.ismethod(target):
        _check_takes_config(cast("Callable[..., object]", trainer), name)
        if inspect.isgeneratorfunction(target):
            make = cast("Callable[[dict[str, object]], Iterator[object]]", trainer)
            return GeneratorTrainer(make, name)
        return FunctionTrainer(cast("Callable[[dict[str, object]], object]", trainer), name)
    kind = type(trainer).__name__
    if all(callable(getattr(trainer, method, None)) for method in _METHODS):
        raise Misuse(f"give the class {kind} itself, not an object of it: every arm makes its own")
    raise Misuse(
        f"{name} is neither a class with step, save and load nor a function that reports or "
        f"yields losses but {kind}"
    )


def _check_class(target: type, trainer: Callable[..., object], name: str) -> Trainer:
    missing = [method for method in _METHODS if not callable(getattr(target, method, None))]
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
            f"{name}{signature} must be callable with the configuration as its only argument, "
            f"as {name}(config)"
        ) from None
