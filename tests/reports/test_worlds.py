"""A tuner that is played in drawn worlds, beside the same played one world and arm at a time."""

from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import Memory, View
from bhpt.policies.study_predictor import policy_named, predictor_of
from bhpt.reports.records import Records
from bhpt.reports.worlds import Chance, Played, Worlds, draw_worlds, look_at
from tests.reports.cases import state_of


@cache
def drawn() -> tuple[Worlds, Chance]:
    """A few worlds of a study with a unit in flight, few arms looked at."""
    state = state_of("60 epochs", units=25)
    worlds = draw_worlds(state, predictor_of(policy_named("default")), Memory())
    assert worlds is not None
    kept = replace(worlds, arms=worlds.arms[:9], paths=worlds.paths[:5, :9])
    return kept, kept.chance(None, look_at(state, 0.0))


def plainly(worlds: Worlds, chance: Chance) -> list[float]:
    """What the stand-in reaches, by loops."""
    found, last = [], worlds.view.curves.epochs
    promise = worlds.ends.within(worlds.view.remaining).mean()
    going = [chance.first[arm] for arm in worlds.arms if chance.open[arm]]
    units = chance.total / (chance.workers * float(np.median(going)))
    rounds = int(min(max(units, 1), 3))
    for paths in worlds.paths:
        had = {int(arm): int(chance.counts[arm]) for arm in worlds.arms}
        race = sorted(had, key=lambda arm: promise[arm])
        purse = 0.0
        for coming in reversed(range(rounds)):
            purse += chance.total / rounds
            target, over, asked = ceil(last / 3**coming), [], 0.0
            for arm in race:
                begun = had[arm] > chance.counts[arm]
                first = chance.later[arm] if begun else chance.first[arm]
                own = chance.total / rounds / chance.workers
                buys = 1 + floor((own - first) / chance.later[arm] + 1e-9) if own >= first else 0
                count = min(ceil(max(target - had[arm], 0) / chance.unit), buys)
                count *= bool(chance.open[arm])
                cost = first + (count - 1) * chance.later[arm] if count else 0.0
                asked += cost
                if asked > purse * (1 + 1e-9):
                    over.append((arm, 0, 0.0))
                    continue
                over.append(
                    (arm, min(count * chance.unit, target - had[arm]) if count else 0, cost)
                )
            for arm, epochs, _ in over:
                had[arm] += epochs
            purse -= sum(cost for _, _, cost in over)
            column = {int(arm): place for place, arm in enumerate(worlds.arms)}
            paid = {arm for arm, epochs, _ in over if epochs}
            in_order = [int(arm) for arm in worlds.arms]
            race = sorted(
                (arm for arm in in_order if had[arm] >= target or arm in paid),
                key=lambda arm: paths[column[arm], had[arm]],
            )
        found.append(min(paths[place, had[int(arm)]] for place, arm in enumerate(worlds.arms)))
    return found


@settings(deadline=None, max_examples=60)
@given(
    st.floats(0.5, 200),
    st.integers(1, 4),
    st.lists(st.floats(0.2, 5), min_size=9, max_size=9),
    st.integers(0, 5),
)
def test_it_is_what_loops_would_do(
    left: float, workers: int, prices: list[float], restart: int
) -> None:
    worlds, chance = drawn()
    later = chance.later.copy()
    later[worlds.arms] = prices
    first = later * (1 + restart / 4)
    chance = replace(chance, left=left, workers=workers, first=first, later=later)
    played = worlds.played(chance)
    assert played.losses == pytest.approx(plainly(worlds, chance), rel=1e-12)
    assert played.losses.max() <= worlds.best


def test_nothing_left_brings_nothing() -> None:
    worlds, chance = drawn()
    played = worlds.played(replace(chance, left=0.0))
    assert played.losses == pytest.approx([worlds.best] * 5, rel=1e-12)
    assert played.arms == 0


def test_more_may_be_spent_as_less_was() -> None:
    low, high = Played(np.array([0.1, 0.3]), 2), Played(np.array([0.2, 0.4]), 1)
    assert high.or_better(low) is low
    assert low.or_better(high) is low
    assert low.or_better(None) is low


def test_arms_that_are_closed_get_nothing() -> None:
    worlds, chance = drawn()
    closed = replace(chance, open=np.zeros_like(chance.open))
    assert worlds.played(closed).arms == 0


def test_an_outcome_is_half_of_the_worlds_and_half_of_what_records_bring() -> None:
    worlds, chance = drawn()
    played = worlds.played(chance)
    mean, low = worlds.gain_trust.expected(played.losses)
    alone = replace(worlds, records=None).outcome(3.0, chance, played)
    assert (alone.expected, alone.low) == pytest.approx((mean, low))
    records = Records(best=worlds.best, spread=0.1, spent=chance.total / 2)
    both = replace(worlds, records=records).outcome(3.0, chance, played)
    assert chance.usable(worlds.view.curves.epochs) == chance.total
    other_mean, other_low = records.expected(chance.total)
    assert other_mean == pytest.approx(worlds.best - 0.1 * np.log(3))
    assert both.expected == pytest.approx((mean + other_mean) / 2)
    assert both.low == pytest.approx((low + other_low) / 2)
    assert (both.more, both.high, both.arms) == (3.0, worlds.best, played.arms)


def test_no_more_of_a_budget_is_used_than_trains_all_arms_to_the_end() -> None:
    _, chance = drawn()
    two = np.array([1, 3])
    few = replace(
        chance,
        left=1000.0,
        lanes=1,
        unit=2,
        first=np.full_like(chance.first, 3.0),
        later=np.full_like(chance.later, 2.0),
        counts=np.full_like(chance.counts, 5),
        open=np.isin(np.arange(len(chance.open)), two),
    )
    assert few.usable(12) == pytest.approx(2 * (3 + 3 * 2))  # four units each
    assert few.usable(5) == 0.0
    assert replace(few, left=4.0).usable(12) == 4.0


@dataclass
class Watched:
    """A predictor that notes what it is shown."""

    predictor: Predictor
    scale_free: bool
    seen: list[View] = field(default_factory=list)

    def predict(self, view: View) -> Ends:
        self.seen.append(view)
        return self.predictor.predict(view)


def test_only_a_predictor_without_a_scale_is_shown_factors() -> None:
    state, predictor = state_of("60 epochs", units=25), predictor_of(None)
    assert state.curves is not None
    best = state.curves.best
    free, other = Watched(predictor, scale_free=True), Watched(predictor, scale_free=False)
    for one in (free, other):
        worlds = draw_worlds(state, one, Memory())
        assert worlds is not None
        assert worlds.paths[:, :, 0] == pytest.approx(best)
        assert ((worlds.paths > 0) & (worlds.paths <= best)).all()
        assert worlds.view.curves is state.curves
    assert other.seen[0].curves is state.curves
    shown, told = free.seen[0].curves, state.curves
    rates = shown.of_arm(shown.leader), np.log(told.of_arm(told.leader))
    assert np.diff(rates[0]) == pytest.approx(np.diff(rates[1]))
