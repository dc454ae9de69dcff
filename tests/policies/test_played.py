"""Policies played to the end in given worlds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, FloatArray, IntArray, Memory, View
from bhpt.policies.interface import Decision, Explanation
from bhpt.policies.played import draw_worlds_of_all, play, play_all
from bhpt.policies.registry import make_policy


def _table(arms: int = 12, epochs: int = 9, seed: int = 0) -> FloatArray:
    """Curves that never rise, some of which start badly and end well, [K, T]."""
    rng = np.random.default_rng(seed)
    drops = rng.exponential(size=(arms, epochs)) * rng.lognormal(sigma=1.0, size=(arms, 1))
    return 10 * np.exp(-0.1 * drops.cumsum(axis=1)) + rng.random((arms, 1))


def _view(table: FloatArray, left: float, **more: object) -> View:
    arms, epochs = table.shape
    view = View(
        curves=Curves.empty(arms, epochs),
        unit=1,
        left=left,
        costs=np.ones(arms),
        features=np.linspace(0, 1, arms)[:, None],
        untrained=20.0,
    )
    return replace(view, **more)  # type: ignore[arg-type]


def _world(table: FloatArray) -> FloatArray:
    return np.concatenate([np.full((len(table), 1), 20.0), table], axis=1)


@pytest.mark.parametrize("name", ["asha", "sh", "random", "hyperband", "default"])
def test_in_a_world_that_is_certain_a_policy_ends_as_it_really_ends(name: str) -> None:
    table, policy = _table(), make_policy(name)
    task = Task("x", table, 20.0, 1, np.linspace(0, 1, len(table))[:, None])
    came = simulate(task, policy, 30, 0)
    played = play(_view(table, 30.0), make_policy(name), _world(table), Memory())
    assert played.loss == came.best
    assert played.units == len(came.arms)
    assert played.arms == len(set(came.arms.tolist()))


def test_a_study_that_has_begun_is_played_on_from_where_it_is() -> None:
    table, policy = _table(), make_policy("sh")
    task = Task("x", table, 20.0, 1, np.linspace(0, 1, len(table))[:, None])
    came, begun = simulate(task, policy, 30, 0), Curves.empty(*table.shape)
    for arm in came.arms[:11].tolist():
        done = begun.count(arm)
        begun = begun.extend(arm, table[arm, done : done + 1])
    played = play(_view(table, 19.0, curves=begun), policy, _world(table), Memory())
    assert played.loss == came.best
    assert played.units == 19


class _Idlest:
    """Goes on with the arm that has least, and notes what it was shown."""

    def __init__(self) -> None:
        self.views: list[View] = []

    def decide(self, view: View) -> Decision | None:
        self.views.append(view)
        count = np.where(view.choosable, view.curves.count_by_arm, 10**6)
        arm = int(count.argmin())
        return Decision(arm, Explanation.in_words("a test", view.arms))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(1, 5), st.booleans(), st.integers(0, 3))
def test_no_more_is_spent_than_is_left(left: int, workers: int, shared: bool, flying: int) -> None:
    table = _table(arms=7, epochs=5)
    costs = np.linspace(0.5, 2.0, 7)
    more = {"lanes": workers} if shared else {"split": workers}
    pending = np.arange(min(flying, workers), dtype=np.int64)
    policy = _Idlest()
    view = _view(table, float(left), costs=costs, pending=pending, **more)
    played = play(view, policy, _world(table), Memory())
    assert all(seen.left > 0 for seen in policy.views)
    assert all(len(seen.pending) < workers for seen in policy.views)
    if not shared:
        spent = [0.0, *(float(left) - seen.left for seen in policy.views)]
        assert max(spent) <= left
    assert played.units <= 35
    if left >= workers * 2.0 * 35:
        assert played.loss == table.min()


class _Ends:
    """Draws that are all the same, and know nothing of some arms."""

    def __init__(self, world: FloatArray, unknown: IntArray) -> None:
        self._world = world.copy()
        self._world[unknown] = np.nan

    def paths(self, arms: IntArray, size: int, _: np.random.Generator) -> FloatArray:
        return np.tile(self._world[arms], (size, 1, 1))


def test_an_arm_that_nobody_looked_at_is_like_an_untried_one() -> None:
    table = _table(arms=6)
    world, rng = _world(table), np.random.default_rng(0)
    view = _view(table, 9.0, curves=Curves.empty(6, 9).extend(0, table[0, :1]))
    ends = _Ends(world, np.array([4, 5]))
    worlds = draw_worlds_of_all(view, ends, 64, rng)  # type: ignore[arg-type]
    assert worlds is not None
    assert np.array_equal(worlds[:, :4], np.tile(world[:4], (64, 1, 1)))
    for unknown in (4, 5):
        lenders = {
            next(k for k in range(4) if np.array_equal(world[k], drawn))
            for drawn in worlds[:, unknown]
        }
        assert lenders == {1, 2, 3}  # arm 0 was tried
    assert draw_worlds_of_all(view, _Ends(world, np.arange(6)), 4, rng) is None  # type: ignore[arg-type]


def test_all_policies_are_played_in_all_worlds() -> None:
    worlds = np.stack([_world(_table(seed=seed)) for seed in range(3)])
    policies = [make_policy("asha"), make_policy("sh")]
    view = _view(_table(), 20.0)
    rows = play_all(view, policies, worlds)
    for row, policy in zip(rows, policies, strict=True):
        alone = [play(view, policy, world, Memory()) for world in worlds]
        assert list(row) == alone  # what is remembered of one world changes nothing in the next
