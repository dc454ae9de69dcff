import json
import sys
from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.spaces import Space, load_space


def _written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_short_form_and_configspace_form(tmp_path: Path) -> None:
    short = load_space(_written(tmp_path, "a.json", '{"lr": {"min": 0.1, "max": 1.0}, "d": 3}'))
    assert isinstance(short, Space)
    full = load_space(_written(tmp_path, "b.json", short.text))
    assert isinstance(full, Space)
    assert full.names == short.names


def test_a_list_of_configurations(tmp_path: Path) -> None:
    file = _written(tmp_path, "c.json", json.dumps([{"a": 1}, {"a": 2}]))
    assert load_space(file) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "{"),
        ("a.json", "3"),
        ("a.json", "[]"),
        ("a.json", '{"lr": [0.1, 1.0]}'),
        ("a.json", '{"hyperparameters": [{"type": "strange", "name": "x"}]}'),
        ("a.toml", "lr = 3"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(Misuse) as caught:
        load_space(_written(tmp_path, name, text))
    assert "\n" not in str(caught.value)


def test_a_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bhpt.spaces.files._LONGEST", 1000)
    with pytest.raises(Misuse, match="more than 1000 characters"):
        load_space("/dev/zero")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no such file"):
        load_space(tmp_path / "none.json")


def test_yaml_without_its_library_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(Misuse, match="pip install pyyaml"):
        load_space(_written(tmp_path, "a.yaml", "lr: {min: 0.1, max: 1.0}"))


@pytest.mark.parametrize(
    "text",
    [
        "lr: {min: 0.1, max: 1.0}\nlr: 3\n",
        "lr: {min: 0.1, min: 0.2, max: 1.0}\n",
        "- {a: 1, b: 2, a: 3}\n",
        '"lr": 3\nlr: 4\n',
    ],
)
def test_a_key_that_is_there_twice_is_refused_in_yaml(tmp_path: Path, text: str) -> None:
    with pytest.raises(Misuse, match="twice"):
        load_space(_written(tmp_path, "a.yaml", text))


def test_yaml_that_shares_parts_is_read(tmp_path: Path) -> None:
    shared = "a: &range {min: 0.1, max: 1.0}\nb: *range\nc: {<<: *range, log: true}\n"
    space = load_space(_written(tmp_path, "a.yaml", shared))
    assert isinstance(space, Space)
    assert set(space.names) == {"a", "b", "c"}


@pytest.mark.parametrize("text", ["a: 2001-99-99", "a: [", "", "[" * 5000, "? {a: 1}\n: 2"])
def test_odd_yaml_is_misuse(tmp_path: Path, text: str) -> None:
    with pytest.raises(Misuse):
        load_space(_written(tmp_path, "a.yaml", text))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.yaml", "a: [1, 2\nb: 3\n", "line 2, column 2 is not valid YAML (expected ',' or ']'"),
        ("a.yaml", "a:\n\t- 1\n", "line 2, column 1 is not valid YAML (found character '\\t'"),
        ("a.yaml", "a: 1\nb: 2001-99-99", "line 2, column 4 is not valid YAML (month must be"),
        ("a.yaml", "a: 1\nb: \x01\n", "line 2 is not valid YAML (a character #x0001)"),
        ("a.yaml", "a: 1\nb: 2\na: 3\n", "line 3: 'a' is there twice, first in line 1"),
        ("a.json", '{"a": 1,\n"b": 2,}', "line 2, column 8 is not valid JSON (Expecting property"),
        ("a.json", '{"a": 1,\n"a": 2}', "'a' is there twice: keep one"),
    ],
)
def test_what_is_wrong_in_a_file_has_its_line(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    file = _written(tmp_path, name, text)
    with pytest.raises(Misuse) as caught:
        load_space(file)
    said = str(caught.value)
    assert said.startswith(f"{file}: {says}")
    assert "\n" not in said


def test_a_mark_of_its_encoding_at_the_start_of_a_file_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"lr": {"min": 0.1, "max": 1.0}}', encoding="utf-8-sig")
    space = load_space(file)
    assert isinstance(space, Space)
    assert space.names == ("lr",)
