import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.trainers import ByValue, Imported, find_name, refuse_during_import, resolve, spec_of


class Outer:
    class Inner:
        pass


def train(config: dict[str, float]) -> Iterator[float]:
    yield config["rate"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def write(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_names_lead_back_to_the_object() -> None:
    for trainer in (train, Outer.Inner):
        name = find_name(trainer)
        assert name is not None
        assert resolve(name) is trainer
    assert spec_of(train) == Imported(f"{__name__}:train")


def test_what_has_no_name_is_sent_by_value() -> None:
    class Local:
        pass

    @functools.wraps(train)
    def wrapped(config: dict[str, float]) -> Iterator[float]:
        yield from train(config)

    for trainer in (lambda config: config, functools.partial(train), 3, Local, wrapped):
        assert find_name(trainer) is None
    sent = spec_of(wrapped)
    assert isinstance(sent, ByValue)
    assert sent.name == "train"


def test_the_current_folder_is_on_the_path(folder: Path) -> None:
    write(folder, "mynet.py", "class Net: pass")
    assert resolve("mynet:Net") is sys.modules["mynet"].Net


def test_a_file_can_be_imported_with_its_neighbours(folder: Path) -> None:
    write(folder, "sub/neighbour.py", "value = 3")
    write(folder, "sub/my-net.py", "from neighbour import value\nclass Net: pass")
    assert getattr(resolve("sub/my-net.py:Net"), "__name__", None) == "Net"


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("train", "must be MODULE:NAME"),
        (":Net", "must be MODULE:NAME"),
        ("train:", "must be MODULE:NAME"),
        ("nowhere:Net", "no module 'nowhere' .*: go to the folder with it first"),
        ("nowhere.sub:Net", "no module 'nowhere.sub'"),
        ("json.nowhere:Net", "no module 'json.nowhere'"),
        ("no-where:Net", "is not the name of a module"),
        ("../x:Net", "is not the name of a module"),
        ("nowhere.py:Net", "no file 'nowhere.py'"),
        ("good:net", "module 'good' has no 'net': did you mean 'Net'?"),
        ("good:xyz", "module 'good' has no 'xyz'"),
        ("lacking:Net", "fails at import: ModuleNotFoundError: No module named 'no_such'"),
        ("raising:Net", r"fails at import: ZeroDivisionError: .* \(raising.py line 2\)"),
        ("leaving:Net", r"fails at import: SystemExit: 1 \(leaving.py line 2\)"),
        ("broken:Net", "fails at import: SyntaxError"),
        ("tuning:Net", "'tuning' starts tuning when it is imported: put that call under"),
    ],
)
def test_every_failure_is_one_line(folder: Path, name: str, match: str) -> None:
    write(folder, "good.py", "class Net: pass")
    write(folder, "lacking.py", "import no_such")
    write(folder, "raising.py", "x = 1\n1 / 0")
    write(folder, "leaving.py", "import sys\nsys.exit(1)")
    write(folder, "broken.py", "class Net(:")
    write(
        folder,
        "tuning.py",
        "from bhpt.trainers import refuse_during_import\nrefuse_during_import()",
    )
    with pytest.raises(Misuse, match=match) as caught:
        resolve(name)
    assert "\n" not in str(caught.value)


def test_outside_of_an_import_tuning_is_allowed() -> None:
    refuse_during_import()


MAIN = """
class Net:
    pass
if __name__ == "__main__":
    from bhpt.trainers import find_name, resolve
    name = find_name(Net)
    assert resolve(name).__qualname__ == "Net"
    print(name)
"""


def python(*arguments: str, stdin: str | None = None) -> str:
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_a_script_is_named_by_its_module_or_file(folder: Path) -> None:
    for name in ("tune_net.py", "tune-net.py", "sub/tune_net.py"):
        write(folder, name, MAIN)
    assert python("tune_net.py") == "tune_net:Net"
    assert python("tune-net.py") == "tune-net.py:Net"
    assert python("sub/tune_net.py") == "sub/tune_net.py:Net"
    assert python("-m", "sub.tune_net") == "sub.tune_net:Net"


PROMPT = """
from bhpt.trainers import find_name, load, spec_of
class Net:
    def __init__(self, config): ...
    def step(self): ...
    def save(self, folder): ...
    def load(self, folder): ...
print(find_name(Net), load(spec_of(Net)).kind)
"""


def test_what_is_typed_into_a_prompt_is_sent_by_value(folder: Path) -> None:
    assert python("-", stdin=PROMPT) == "None class"
    assert folder.is_dir()
