import numpy as np
import pytest

from bhpt.domain import Misuse
from bhpt.domain.arguments import number, refuse_one_text, whole_number
from bhpt.domain.budget import Budget
from bhpt.domain.words import counted


@pytest.mark.parametrize("given", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_become_plain(given: object) -> None:
    assert type(whole_number("seed", given)) is int
    assert whole_number("seed", given) == 3


@pytest.mark.parametrize("given", ["3", 3.0, None, np.float64(3), [3], True, np.arange(2)])
def test_what_is_no_whole_number_is_named(given: object) -> None:
    with pytest.raises(Misuse, match=r"^seed is a whole number, not "):
        whole_number("seed", given)


@pytest.mark.parametrize("given", [0.5, np.float32(0.5), np.float64(0.5)])
def test_numbers_become_plain(given: object) -> None:
    assert type(number("stop_when", given)) is float
    assert number("stop_when", given) == 0.5


@pytest.mark.parametrize("given", ["0.5", None, True, 1j])
def test_what_is_no_number_is_named(given: object) -> None:
    with pytest.raises(Misuse, match=r"^stop_when is a number, not "):
        number("stop_when", given)


def test_numbers_beyond_floating_point_are_refused() -> None:
    with pytest.raises(Misuse, match=r"^stop_when is a number below 1e308, not 1000"):
        number("stop_when", 10**400)
    with pytest.raises(Misuse, match="a budget must be a number more than 0, not 1000"):
        Budget(10**400)


@pytest.mark.parametrize("given", ["runs/net.db", 3])
def test_a_text_is_no_list_of_texts(given: object) -> None:
    with pytest.raises(Misuse, match=r"learn_from is a list, such as \['a.db'\], not "):
        refuse_one_text("learn_from", given, "['a.db']")  # type: ignore[arg-type]


def test_lists_of_texts_are_taken() -> None:
    refuse_one_text("learn_from", ["runs/net.db"], "")
    refuse_one_text("learn_from", (), "")


def test_one_is_counted_without_an_s() -> None:
    assert [counted(count, "unit") for count in (0, 1, 2)] == ["0 units", "1 unit", "2 units"]
