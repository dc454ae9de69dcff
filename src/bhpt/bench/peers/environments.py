"""An environment for each package, made once on demand: the packages' pins exclude each other.

An environment is a virtual environment below `$BHPT_PEERS` (by default `bhpt/peers` in the user's
cache folder). It counts as made only when a file in it lists what was installed, and that file is
written last: an interrupted or failed installation is started over, never used.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from bhpt.domain import Misuse
from bhpt.views.formatting import to_stderr

Tell = Callable[[str], None]
"""Called with a line that a person should read."""
_READY = "bhpt-ready.txt"
_TAIL = 3  # lines of pip's error output in the message


@dataclass(frozen=True)
class Environment:
    """What one package needs.

    Attributes:
        name: Name of the package.
        version: Its version.
        steps: Requirements of each call of pip; heavy, pinned ones come first.
        python: Version of Python that has wheels for the package's pins, None for the current one.
    """

    name: str
    version: str
    steps: tuple[tuple[str, ...], ...]
    python: str | None = None

    @property
    def label(self) -> str:
        """Name of its folder and of its list of constraints."""
        return f"{self.name}-{self.version}"

    @property
    def constraints(self) -> str:
        """Versions of everything below the package that this project was run with."""
        file = resources.files("bhpt.bench.peers") / "constraints" / f"{self.label}.txt"
        return file.read_text()

    @property
    def recipe(self) -> str:
        """All that decides what is installed; another recipe means another environment."""
        return "\n".join([*(" ".join(step) for step in self.steps), self.constraints])


def home() -> Path:
    """Where the environments are kept."""
    if chosen := os.environ.get("BHPT_PEERS"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "bhpt" / "peers"


def ensure(environment: Environment, tell: Tell = to_stderr) -> Path:
    """The interpreter of an environment, which is made first if it is not there.

    Args:
        environment: Which.
        tell: Called with a line of progress at a time; not called if there is nothing to do.

    Raises:
        Misuse: If it cannot be made: one line with the end of pip's error output.
    """
    folder = home() / environment.label
    python = folder / "bin" / "python"
    if _is_made(environment, folder):
        return python
    with _alone(folder, tell):
        if not _is_made(environment, folder):  # no other process made it in the meantime
            _make(environment, folder, tell)
    return python


def _is_made(environment: Environment, folder: Path) -> bool:
    ready = folder / _READY
    return ready.exists() and ready.read_text() == environment.recipe


@contextmanager
def _alone(folder: Path, tell: Tell) -> Iterator[None]:
    """Hold the environment's lock, so that two benchmarks do not build it at once."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = (folder.parent / f"{folder.name}.lock").open("w")
    except OSError as error:
        raise Misuse(f"cannot keep the peers in {folder.parent}: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"peer {folder.name}: somebody is installing it, waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(environment: Environment, folder: Path, tell: Tell) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    tell(f"peer {environment.label}: making its environment, once")
    _call([_interpreter(environment), "-m", "venv", str(folder)], environment, tell)
    pins = folder / "constraints.txt"
    pins.write_text(environment.constraints)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-input"]
    for step in environment.steps:
        tell(f"peer {environment.label}: pip install {' '.join(step)}")
        _call([*pip, "--constraint", str(pins), *step], environment, tell)
    (folder / _READY).write_text(environment.recipe)
    tell(f"peer {environment.label}: ready")


def _interpreter(environment: Environment) -> str:
    wanted = environment.python
    if wanted is None or wanted == "{}.{}".format(*sys.version_info):
        return sys.executable
    found = shutil.which(f"python{wanted}")
    if found is None:
        raise Misuse(f"peer {environment.label} needs python{wanted} on the path")
    return found


def _call(command: list[str], environment: Environment, tell: Tell) -> None:
    """Run one step of an installation and report pip's progress."""
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.strip())
            if line.startswith("Collecting "):
                tell(f"peer {environment.label}: collecting {line.split()[1]}")
            elif line.startswith("Installing collected packages"):
                tell(f"peer {environment.label}: installing {line.count(',') + 1} packages")
    if process.returncode:
        errors = [line for line in lines if line.lower().startswith("error")] or lines
        raise Misuse(
            f"peer {environment.label} cannot be installed: {' '.join(errors[-_TAIL:])[-400:]}"
        )
