"""Names and values made to break out, through a whole run: nothing leaves the study's folder."""

from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.tuning import Options, resume, tune
from tests.faults.cases import sound
from tests.study.cases import Greedy

_HOSTILE = [
    "../../out",
    "/etc/passwd",
    "<script>alert(1)</script>",
    "a\nb",
    "$(touch out)",
    "é\u202e",
    "{",
]


class Echo:
    """Trains whatever it is given, and saves what it was given."""

    def __init__(self, config: dict[str, str]) -> None:
        self._config = config

    def step(self) -> float:
        return float(len(self._config["name"]))

    def save(self, folder: Path) -> None:
        (folder / "name").write_text(self._config["name"])

    def load(self, folder: Path) -> None:
        assert (folder / "name").read_text() == self._config["name"]


def _files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_hostile_values_are_only_values(tmp_path: Path) -> None:
    configs = [{"name": text, "../key": index} for index, text in enumerate(_HOSTILE)]
    place = tmp_path / "in" / "deep"
    place.mkdir(parents=True)
    how = {"policy": Greedy(), "options": Options(grace_s=1.0)}
    result = tune(Echo, configs, "14 epochs", 2, place / "odd name';--.db", **how)  # type: ignore[arg-type]
    assert result.best_config == {"name": "{", "../key": 6}
    resume(place / "odd name';--.db", "4 epochs", **how)  # type: ignore[arg-type]
    state = sound(place / "odd name';--.db")
    assert [config["name"] for config in state.configs] == _HOSTILE
    assert _files(tmp_path) == {"in"}
    assert _files(tmp_path / "in") == {"deep"}
    assert all(name.startswith("odd name';--.db") for name in _files(place))


@pytest.mark.parametrize("bad", ["a\0b.db", ""])
def test_names_that_no_file_can_have_are_refused(tmp_path: Path, bad: str) -> None:
    where = f"{tmp_path}/{bad}" if bad else bad
    with pytest.raises(Misuse):
        tune(Echo, [{"name": "x"}], "2 epochs", study=where, policy=Greedy())
    assert not _files(tmp_path)


def test_a_study_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "net.db.files").symlink_to(outside)
    with pytest.raises(Misuse):
        tune(Echo, [{"name": "x"}], "2 epochs", study=tmp_path / "net.db", policy=Greedy())
    assert not _files(outside)
