"""Read a search space or a list of configurations from a file."""

import json
from collections import Counter
from pathlib import Path

from bhpt.domain import Misuse
from bhpt.spaces.configs import Config, plain_configs
from bhpt.spaces.short_form import first_line, refuse_pairs
from bhpt.spaces.space import Space, parse_space

_LONGEST = 1 << 28  # characters of a file: far more than configurations that could be compared
_JSON_ADVICE = (
    'write names and texts in "double quotes", one comma between entries, none at the end'
)


def load_space(path: str | Path) -> Space | list[Config]:
    """Read a search space from a file, such as the one given as `--space FILE`.

    A JSON or YAML file holds ConfigSpace's own form, the short form, or a list of
    configurations.

    Raises:
        Misuse: If the file cannot be read or holds none of these.
    """
    file = Path(path)
    described = _parse(file, _read(file))
    if isinstance(described, list):
        return parse_space(described)
    if not isinstance(described, dict):
        raise Misuse(f"{file}: expected a dictionary of ranges or a list of configurations")
    if isinstance(described.get("hyperparameters"), list):
        return Space.from_serialized(described)
    refuse_pairs(described)
    return Space.of(described)


def load_configs(path: str | Path) -> list[Config]:
    """Read configurations from a JSON or YAML file: a list of them, or one.

    Raises:
        Misuse: If the file cannot be read or holds something else.
    """
    file = Path(path)
    described = _parse(file, _read(file))
    if isinstance(described, dict):
        described = [described]
    if not isinstance(described, list):
        raise Misuse(f"{file}: expected a list of configurations")
    return plain_configs(described)


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8-sig") as opened:
            text = opened.read(_LONGEST + 1)
    except FileNotFoundError:
        raise Misuse(f"no such file: {file}") from None
    except IsADirectoryError:
        raise Misuse(f"{file} is a folder: name a .json or .yaml file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"cannot read {file}: {first_line(error)}") from None
    if len(text) > _LONGEST:
        raise Misuse(f"{file} has more than {_LONGEST} characters: it is no space")
    return text


def _parse(file: Path, text: str) -> object:
    kind = file.suffix.lower()
    if kind == ".json":
        try:
            return json.loads(text, object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise Misuse(
                f"{file}: {place} is not valid JSON ({error.msg}): {_JSON_ADVICE}"
            ) from None
        except ValueError as error:
            raise Misuse(f"{file}: {first_line(error)}") from None
        except RecursionError:
            raise Misuse(f"{file} is nested too deeply to be a space") from None
    if kind in {".yaml", ".yml"}:
        return _parse_yaml(file, text)
    raise Misuse(f"{file}: a search space is read from a .json or .yaml file")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A dictionary of JSON.

    Raises:
        ValueError: A name is there twice.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(name for name, times in Counter(n for n, _ in pairs).items() if times > 1)
        raise ValueError(f"{twice!r} is there twice: keep one of them")
    return made


def _parse_yaml(file: Path, text: str) -> object:
    try:
        from bhpt.spaces.yaml_text import parse_yaml
    except ImportError:
        raise Misuse(
            f"{file}: reading YAML needs a package: pip install pyyaml, or write JSON"
        ) from None
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise Misuse(f"{file}: {first_line(error)}") from None
    except RecursionError:
        raise Misuse(f"{file} is nested too deeply to be a space") from None
