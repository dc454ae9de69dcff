"""Trainers by name: `MODULE:NAME` to the object, and back.

Workers import the trainer anew by the name under which another process can find it, and a study
remembers that name. A script that is run directly is named by its file.
"""

import difflib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from bhpt.domain.errors import Misuse

_GUARD = "`if __name__ == '__main__':`"
_importing: list[str] = []


def find_name(trainer: object) -> str | None:
    """The name under which a worker can import a class or function.

    Returns:
        None if there is none: a lambda, a partial, something local to a function, hidden under
        another of the same name, or typed into a prompt or a notebook.
    """
    if not inspect.isclass(trainer) and not inspect.isfunction(trainer):
        return None
    module, qualname = trainer.__module__, trainer.__qualname__
    if _follow(sys.modules.get(module), qualname) is not trainer:
        return None
    if module != "__main__":
        return f"{module}:{qualname}"
    main = _name_of_main()
    return None if main is None else f"{main}:{qualname}"


def resolve(name: str) -> object:
    """Import what `MODULE:NAME` or `FILE.py:NAME` stands for, the current folder included.

    Raises:
        Misuse: One line that says what is missing or what the module died of.
    """
    module_name, colon, qualname = name.rpartition(":")
    if not colon or not module_name or not qualname:
        script = f'; a script as it is: --command "python {name} ..."'
        raise Misuse(
            f"trainer {name!r} must be MODULE:NAME, such as train:Net"
            f"{script if name.endswith('.py') else ''}"
        )
    _put_on_path(Path.cwd())
    is_file = module_name.endswith(".py")
    with _dying_in_one_line(module_name):
        module = _import_file(Path(module_name)) if is_file else _import_module(module_name)
    found = _follow(module, qualname)
    if found is None:
        names = [known for known in vars(module) if not known.startswith("_")]
        near = difflib.get_close_matches(qualname, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"name what it has outside of {_GUARD}"
        raise Misuse(f"module {module_name!r} has no {qualname!r}: {hint}")
    return found


def refuse_during_import() -> None:
    """Stop a script from tuning again when a worker imports it to find its trainer.

    Raises:
        Misuse: A trainer's module is being imported by this very process.
    """
    if _importing:
        raise Misuse(
            f"{_importing[-1]!r} starts tuning when it is imported: put that call under {_GUARD}"
        )


def _name_of_main() -> str | None:
    """The name or file of the script that runs; None at a prompt or in a notebook."""
    main = sys.modules["__main__"]
    if main.__spec__ is not None:  # python -m package.module
        return main.__spec__.name
    file = Path(str(getattr(main, "__file__", None))).resolve()
    if not file.is_file():
        return None
    here = Path.cwd()
    if file.parent == here and file.stem.isidentifier() and _imports_as(file):
        return file.stem
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _imports_as(file: Path) -> bool:
    """Whether `import STEM` finds this very file, and not a library of the same name."""
    if file.stem in sys.modules:
        return False
    spec = importlib.util.find_spec(file.stem)
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == file


def _put_on_path(folder: Path) -> None:
    if not {str(folder), ""} & set(sys.path):
        sys.path.insert(0, str(folder))


def _import_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise Misuse(f"{name!r} is not the name of a module: write MODULE:NAME, such as train:Net")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise Misuse(
                f"there is no module {name!r} in the current folder or among installed packages: "
                "go to the folder with it first"
            ) from None
        raise


def _import_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise Misuse(f"there is no file {str(file)!r} to import the trainer from")
    _put_on_path(file.resolve().parent)
    name = file.stem if file.stem not in sys.modules else f"bhpt_trainer_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Misuse(f"{str(file)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _dying_in_one_line(name: str) -> Iterator[None]:
    """A module may die of anything, `exit()` included: print the whole story, raise one line."""
    _importing.append(name)
    try:
        yield
    except Misuse:
        raise
    except (Exception, SystemExit) as error:
        _tell(error)
        said = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
        raise Misuse(f"module {name!r} fails at import: {said}{_place(error)}") from error
    finally:
        _importing.pop()


def _tell(error: BaseException) -> None:
    """Print the traceback without our own frames, which would push a log's last words out."""
    story = traceback.TracebackException.from_exception(error)
    story.stack = traceback.StackSummary.from_list(_own(story.stack))
    print("".join(story.format()), end="", file=sys.stderr, flush=True)


def _own(frames: Iterable[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """The frames of the user's code."""
    machinery = ("importlib", __file__)
    return [frame for frame in frames if not any(part in frame.filename for part in machinery)]


def _place(error: BaseException) -> str:
    own = _own(traceback.extract_tb(error.__traceback__))
    return f" ({Path(own[-1].filename).name} line {own[-1].lineno})" if own else ""


def _follow(found: object | None, qualname: str) -> object | None:
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found
