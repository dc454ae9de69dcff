"""Events that are not what they should be: one clear line, never another exception."""

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import bhpt
from bhpt.domain import Misuse
from bhpt.reports.progress import progress_of
from bhpt.study import State, decode_event, encode_event, fold
from bhpt.study.tables import as_json, table

_VALUES = [
    *(None, True, 0, -1, 1, 3.5, 2**70, -(2**70), 10**400, 1e308, "nan", "inf", "-inf", "", "x"),
    *("../x", [], [1], [None], [[1]], {}, {"a": 1}, {"kind": "epochs", "amount": 5}),
]
_TRIES = 600  # of each seed


@cache
def _lines() -> tuple[str, ...]:
    """The log of a study in which most things have happened."""
    space = {"x": (0.0, 1.0), "k": ["a", "b"]}
    first = [{"x": 0.5, "k": "a"}]
    study = bhpt.Study(space, "12 epochs", policy="random", workers=2, initial=first)
    one, other = study.ask(), study.ask()
    assert one is not None
    assert other is not None
    study.tell(one, {"loss": 0.5, "acc": 1.0})
    study.fail(other, "no")
    for _ in range(6):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, 0.5)
    study.add_budget("4 epochs")
    study.enqueue({"x": 0.1, "k": "b"})
    study.ask()
    return tuple(encode_event(event) for event in study._journal._log.read())


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every part of a value lies within it."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for name, part in parts:
        yield (*path, name)
        if isinstance(part, dict | list):
            yield from _paths(part, (*path, name))


def _harmed(line: str, rng: random.Random) -> str:
    """An event with one part replaced or removed."""
    whole = json.loads(line)
    *path, last = rng.choice(list(_paths(whole)))
    holder = whole
    for name in path:
        holder = holder[name]
    if rng.random() < 0.15:
        del holder[last]
    else:
        holder[last] = rng.choice(_VALUES)
    return json.dumps(whole)


def _look_at(state: State) -> None:
    """Everything that `status` and `export` ask of a study, but for predictions."""
    progress_of(state, predict=lambda _: None)
    as_json(state)
    table(state, "epochs")
    table(state, "arms")
    table(state, "attempts")


@pytest.mark.parametrize("seed", range(6))
def test_a_harmed_event_is_refused_in_one_line_or_harmless(seed: int) -> None:
    rng, lines = random.Random(seed), _lines()
    refused = []
    for _ in range(_TRIES):
        place = rng.randrange(len(lines))
        log = [*lines[:place], _harmed(lines[place], rng), *lines[place + 1 :]]
        try:
            _look_at(fold(decode_event(line) for line in log))
        except Misuse as error:
            refused.append(str(error))
    assert len(refused) > _TRIES / 3
    assert not [line for line in refused if "\n" in line]


@pytest.mark.parametrize(
    ("type_", "changes", "says"),
    [
        ("Noted", {"v": "1"}, "is not an event"),
        ("Noted", {"type": ["Noted"]}, "is not an event"),
        ("Noted", {"clock": 10**400}, "is too large a number"),
        ("Observed", {"metrics": [3]}, "expected a dictionary, found 3"),
        ("Observed", {"rerun": -1}, "trained too much again"),
        ("Observed", {"rerun": 2**70}, "trained too much again"),
        ("ArmsAdded", {"configs": ["x"]}, "expected a dictionary, found 'x'"),
    ],
)
def test_what_is_wrong_with_an_event_is_named(
    type_: str, changes: dict[str, object], says: str
) -> None:
    noted = json.dumps({"v": 1, "type": "Noted", "text": "a", "clock": 0.0})
    lines = [*_lines(), noted]
    place = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == type_)
    lines[place] = json.dumps({**json.loads(lines[place]), **changes})
    with pytest.raises(Misuse, match=says):
        fold(decode_event(line) for line in lines)


def test_a_study_of_endless_curves_is_refused() -> None:
    first = json.loads(_lines()[0])
    first["plan"]["training"]["epochs"] = 10**12
    with pytest.raises(Misuse, match="arms that may train 1000000000000 epochs"):
        fold([decode_event(json.dumps(first)), decode_event(_lines()[1])])
