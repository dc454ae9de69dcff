"""A stored state is the state, for any log and wherever it is cut."""

import hashlib
import json
from dataclasses import fields, replace
from functools import cache, reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.study import State, apply, fold
from bhpt.study.attempts import PACKED
from bhpt.study.codec import to_plain
from bhpt.study.stored_state import (
    VERSION,
    Unreadable,
    _Stored,
    decode_state,
    encode_state,
    with_packs,
)
from tests.study.logs import any_log


def encoded(state: State) -> bytes:
    """All of a state as bytes: two states are the same if these are."""
    return encode_state(with_packs(state))


def test_nothing_of_a_state_is_left_out() -> None:
    elsewhere = {"plan": set(), "ledger": {"budget", "spent", "clock", "promised_to", "promised"}}
    elsewhere |= {"arms": {"configs"}, "curves": {"observed"}}
    wanted = set[str]()
    for one in fields(State):
        wanted |= elsewhere.get(one.name, {one.name})
    assert {one.name for one in fields(_Stored)} == wanted


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10**6),
    st.one_of(st.integers(0, 150), st.integers(1300, 1400)),
    st.booleans(),
    st.floats(0, 1),
)
def test_going_on_from_any_position_is_folding_all(
    seed: int, steps: int, listed: bool, part: float
) -> None:
    events = any_log(seed, steps, listed=listed)
    cut = max(1, round(part * len(events)))
    before = fold(events[:cut])
    stored = decode_state(encoded(before), before.plan)
    assert encoded(stored) == encoded(before)
    after, whole = reduce(apply, events[cut:], stored), fold(events)
    assert encoded(after) == encoded(whole)
    assert list(map(repr, after.attempts)) == list(map(repr, whole.attempts))  # NaN is not NaN
    assert after.tried.failing == whole.tried.failing
    assert after.tried.latest_timings.away.tolist() == whole.tried.latest_timings.away.tolist()
    if after.curves is not None and whole.curves is not None:
        assert after.curves.best_by_row.tolist() == whole.curves.best_by_row.tolist()


def test_attempts_that_ended_are_packed_once() -> None:
    state = fold(any_log(3, 4000))
    lighter = with_packs(state)
    packs = lighter.attempts.packs
    assert len(packs) == min(state.open, default=len(state.attempts)) // PACKED > 1
    assert with_packs(lighter).attempts.packs == packs
    early = with_packs(replace(state, open=(PACKED + 1,)))  # one of them is still in flight
    assert early.attempts.packs == packs[:1]
    assert with_packs(replace(early, open=())).attempts.packs == packs
    assert [repr(one) for one in lighter.attempts] == [repr(one) for one in state.attempts]
    stored = decode_state(encode_state(lighter), state.plan)
    assert stored.attempts.packs == packs
    assert list(stored.attempts) == [stored.attempts[n] for n in range(len(stored.attempts))]
    assert repr(stored.attempts[-1]) == repr(state.attempts[-1])
    assert repr(stored.attempts[5:7]) == repr(state.attempts[5:7])
    with pytest.raises(IndexError):
        stored.attempts[-len(stored.attempts) - 1]


@cache
def _short() -> State:
    return fold(any_log(1, 60))


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_bytes_that_are_no_state_are_refused(data: st.DataObject) -> None:
    state = _short()
    whole = encoded(state)
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = data.draw(
        st.sampled_from([whole[:place], whole[place + 1 :], whole + b"x", b"", b"[]\n", b"{}\n{}"])
    )
    with pytest.raises(Unreadable):
        decode_state(damaged, state.plan)


def test_another_fold_is_another_version() -> None:
    """Where this fails, the state or the rules of the fold are not what they were.

    Then raise `stored_state.VERSION`, so that states of before are not read any more, and put the
    new digest here.
    """
    states = [fold(any_log(seed, 300, listed=True)) for seed in range(4)]
    plain = [rounded(to_plain(_Stored.of(state))) for state in states]
    digest = hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]
    assert (VERSION, digest) == (2, "83f82618003bb4f1")


def rounded(value: object) -> object:
    """Without the last digits of numbers, which are not the same on every machine."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return value
