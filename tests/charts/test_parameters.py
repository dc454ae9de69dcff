import math

import numpy as np
import pytest

from bhpt.charts.parameters import explained, parameters_of
from bhpt.study import State, Study

RNG = np.random.default_rng(5)


def tried(space: object, loss: object, arms: int = 40, mode: str = "min") -> State:
    """A study that has trained so many arms for one epoch."""
    study = Study(space, f"{arms} epochs", max_epochs=1, policy="random", mode=mode)  # type: ignore[arg-type]
    while (unit := study.ask()) is not None:
        study.tell(unit, loss(unit.config), seconds=1.0)  # type: ignore[operator]
    return study.state


def left_out(row: np.ndarray, losses: np.ndarray, width: float) -> float:
    """The share that is explained, arm by arm."""
    ranks = losses.argsort().argsort() + 1.0
    errors, plain = 0.0, 0.0
    for arm in range(len(row)):
        others = [other for other in range(len(row)) if other != arm]
        weights = [math.exp(-0.5 * ((row[arm] - row[other]) / width) ** 2) for other in others]
        near = sum(w * ranks[o] for w, o in zip(weights, others, strict=True)) / sum(weights)
        errors += (ranks[arm] - near) ** 2
        plain += (ranks[arm] - ranks[others].mean()) ** 2
    return 1 - errors / plain


def test_what_is_explained_is_what_a_loop_explains() -> None:
    row, losses = RNG.random(30), RNG.random(30)
    losses += 2 * row
    expected = max(left_out(row, losses, width) for width in (0.05, 0.1, 0.2, 0.4))
    assert explained(row[None, :], [False], losses)[0] == pytest.approx(expected)


def test_noise_explains_little_and_too_few_arms_nothing() -> None:
    losses = RNG.random(200)
    shares = explained(np.stack([losses, RNG.random(200)]), [False, False], losses)
    assert shares[0] > 0.95
    assert shares[1] < 0.1
    assert np.isnan(explained(RNG.random((1, 5)), [False], RNG.random(5))[0])
    assert np.isnan(explained(np.full((1, 9), 0.5), [False], RNG.random(9))[0])


def test_where_no_losses_differ_nothing_is_explained_and_no_range_looks_wrong() -> None:
    assert np.isnan(explained(RNG.random((1, 20)), [False], np.ones(20))[0])
    ordered = [{"rate": 0.01 * (place + 1)} for place in range(40)]  # the first would count as best
    found = parameters_of(tried(ordered, lambda _: 1.0), None)
    assert np.isnan(found.importance).all()
    assert found.hints == ()


def test_the_parameter_that_matters_comes_first() -> None:
    space = {"rate": (0.001, 1.0, "log"), "depth": (1, 9), "kind": ["a", "b"]}
    for mode, sign in (("min", 1), ("max", -1)):
        state = tried(space, lambda c, s=sign: s * abs(math.log10(c["rate"]) + 1.5), mode=mode)
        found = parameters_of(state, None)
        assert found.described[0].name == "rate"
        assert found.importance[0] > 0.8
        assert np.all(np.diff(sign * found.ends) >= 0)  # the best first
        assert found.positions.shape == (3, len(found.arms))


@pytest.mark.parametrize(
    ("space", "loss", "name", "kind"),
    [
        ({"x": (0.0, 1.0), "y": (0.0, 1.0)}, lambda c: 1 - c["x"], "x", "high edge"),
        ({"x": (0.01, 1.0, "log"), "y": (0.0, 1.0)}, lambda c: c["x"], "x", "low edge"),
        ({"x": (0.0, 1.0), "y": (0.0, 1.0)}, lambda c: abs(c["x"] - 0.5), "x", "too wide"),
        ({"x": (0.001, 1.0), "y": (0.0, 1.0)}, lambda c: c["x"], "x", "scale"),
        ({"x": ["a", "b"], "y": (0.0, 1.0)}, lambda c: (c["x"] == "b") + c["y"] / 9, "x", "choice"),
    ],
)
def test_a_range_that_is_wrong_gets_a_hint(
    space: object, loss: object, name: str, kind: str
) -> None:
    hints = parameters_of(tried(space, loss, 60), None).hints
    assert (name, kind) in [(hint.name, hint.kind) for hint in hints]
    assert all(hint.chance < 0.02 for hint in hints)


def test_nothing_is_said_of_ranges_that_do_not_matter() -> None:
    noise = iter(np.random.default_rng(3).random(1000).tolist())
    state = tried({"x": (0.0, 1.0), "y": (0.001, 1.0, "log")}, lambda _: next(noise), 60)
    assert parameters_of(state, None).hints == ()


def test_a_study_without_a_loss_has_no_parameters() -> None:
    state = Study({"x": (0.0, 1.0)}, "5 epochs").state
    assert len(parameters_of(state, None).arms) == 0
