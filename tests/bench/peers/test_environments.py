from pathlib import Path

import pytest

from bhpt.bench.peers import environments
from bhpt.bench.peers.environments import Environment, ensure, home
from bhpt.domain import Misuse


class Tiny(Environment):
    """An environment whose list of constraints is empty."""

    @property
    def constraints(self) -> str:
        return ""


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BHPT_PEERS", str(tmp_path / "peers"))


def test_home_is_in_the_cache_unless_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BHPT_PEERS", "chosen")
    assert home() == Path("chosen")
    monkeypatch.delenv("BHPT_PEERS")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert home() == Path("cache/bhpt/peers")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert home() == Path.home() / ".cache" / "bhpt" / "peers"


def test_made_once_and_made_anew_when_its_recipe_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(environments, "_call", lambda command, *_: calls.append(_made(command)))
    said: list[str] = []
    old = Tiny("tiny", "1", (("torch==0",), ("tiny==1",)))
    python = ensure(old, said.append)
    assert python == home() / "tiny-1" / "bin" / "python"
    assert [call[-1] for call in calls] == [str(home() / "tiny-1"), "torch==0", "tiny==1"]
    assert said[-1] == "peer tiny-1: ready"
    ensure(old, said.append)
    assert len(calls) == 3
    ensure(Tiny("tiny", "1", (("tiny==1.0",),)), said.append)
    assert len(calls) == 5


def _made(command: list[str]) -> list[str]:
    if "venv" in command:
        Path(command[-1]).mkdir()
    return command


def test_a_failed_installation_is_one_line_and_is_not_taken_for_finished() -> None:
    broken = Tiny("tiny", "1", (("--no-index", "no-such-package-of-bhpt==1"),))
    with pytest.raises(Misuse) as caught:
        ensure(broken, lambda _: None)
    assert "peer tiny-1 cannot be installed" in str(caught.value)
    assert "no-such-package-of-bhpt" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(home().rglob("bhpt-ready.txt"))


def test_a_missing_interpreter_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Misuse, match=r"peer tiny-1 needs python2\.1 on the path"):
        ensure(Tiny("tiny", "1", (), python="2.1"), print)


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BHPT_PEERS", str(tmp_path / "file"))
    with pytest.raises(Misuse, match="cannot keep the peers"):
        ensure(Tiny("tiny", "1", ()), print)
