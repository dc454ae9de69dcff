import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import Misuse, Objective, Saved
from bhpt.domain.budget import Budget
from bhpt.study import NewerVersion, Plan, Search, Training, decode_event, encode_event
from bhpt.study.events import (
    ArmClosed,
    ArmsAdded,
    BudgetAdded,
    CheckpointDropped,
    Decided,
    Enqueued,
    Event,
    Extended,
    Failed,
    Noted,
    Observed,
    Outlook,
    Rejected,
    Restarted,
    SessionEnded,
    SessionStarted,
    StudyCreated,
)

_TEXT = st.text("ab<>\x00'\"\\é\n", max_size=5)
_FLOAT = st.floats()
_INT = st.integers(0, 2**60)
_CONFIG = st.dictionaries(_TEXT, st.one_of(st.none(), st.booleans(), _INT, _TEXT), max_size=3)
_PLAN = st.builds(
    Plan,
    budget=st.builds(Budget, st.integers(1, 99).map(float), st.just("epochs")),
    seed=_INT,
    trainer=st.none() | _CONFIG,
    training=st.builds(Training, untrained=st.none() | st.floats(0, 9)),
    search=st.builds(Search, space=st.none() | _TEXT),
    networks=st.dictionaries(_TEXT, _TEXT, max_size=2),
    objective=st.builds(Objective, st.just("acc"), st.sampled_from(["min", "max"])),
)
_SAVED = st.builds(Saved, _INT, _INT, _TEXT, _INT)
_OUTLOOKS = st.lists(st.builds(Outlook, _INT, _FLOAT, _FLOAT, _FLOAT), max_size=3).map(tuple)
_LOSSES = st.lists(_FLOAT, max_size=4).map(tuple)
_METRICS = st.lists(st.dictionaries(_TEXT, _FLOAT, max_size=3), max_size=3).map(tuple)
_EVENTS = st.one_of(
    st.builds(StudyCreated, _PLAN),
    st.builds(ArmsAdded, st.lists(_CONFIG, max_size=3).map(tuple), _TEXT, _FLOAT),
    st.builds(
        Decided,
        *(_INT, _INT, _INT, _INT, _INT, _FLOAT, st.none() | _FLOAT, _TEXT, _OUTLOOKS, _FLOAT),
    ),
    st.builds(Extended, _INT, _FLOAT, _FLOAT),
    st.builds(Restarted, _INT, _FLOAT),
    st.builds(
        Observed,
        *(_INT, _LOSSES, _FLOAT, _FLOAT, _INT, _FLOAT, st.none() | _SAVED, _FLOAT, _METRICS),
    ),
    st.builds(Failed, _INT, _TEXT, _TEXT, _TEXT, _FLOAT, _FLOAT, st.booleans(), _FLOAT),
    st.builds(BudgetAdded, st.just(Budget(3.0, "dollars", 2.0)), _FLOAT),
    st.builds(ArmClosed, _INT, _TEXT, _FLOAT),
    st.builds(CheckpointDropped, _INT, st.none() | _INT, _TEXT, _FLOAT),
    st.builds(SessionStarted, _TEXT, _INT, _INT, _FLOAT),
    st.builds(SessionEnded, _TEXT, _FLOAT),
    st.builds(Rejected, _INT, _TEXT, _LOSSES, _FLOAT),
    st.builds(Noted, _TEXT, _FLOAT),
    st.builds(Enqueued, st.lists(_INT).map(tuple), _FLOAT),
)


@settings(deadline=None)
@given(_EVENTS)
def test_every_event_reads_back_as_itself(event: Event) -> None:
    text = encode_event(event)
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert repr(decode_event(text)) == repr(event)


def test_not_a_number_is_kept() -> None:
    event = Observed(0, (math.nan, math.inf, -math.inf), 1.0, 0.0, 0, 1.0, None, 2.0)
    again = decode_event(encode_event(event))
    assert isinstance(again, Observed)
    assert math.isnan(again.losses[0])
    assert again.losses[1:] == (math.inf, -math.inf)


def test_studies_from_before_metrics_still_open() -> None:
    observed = decode_event(
        '{"v":1,"type":"Observed","attempt":0,"losses":[0.5,"nan"],"seconds":1.0,"setup_s":0.1,'
        '"rerun":0,"cost":2.0,"saved":{"generation":1,"epochs":2,"digest":"d","bytes":3},'
        '"clock":1.5}'
    )
    assert isinstance(observed, Observed)
    assert (observed.metrics, observed.saved) == ((), Saved(1, 2, "d", 3))
    created = decode_event(
        '{"v":1,"type":"StudyCreated","plan":{"budget":{"amount":9.0,"kind":"epochs",'
        '"price_per_hour":null},"seed":0,"policy":"default","workers":1,"trainer":null,'
        '"training":{"unit":1,"epochs":9,"step":1,"untrained":null,"limit_s":null,"retries":2},'
        '"search":{"space":null,"candidates":512,"near":32,"every":10}}}'
    )
    assert isinstance(created, StudyCreated)
    assert created.plan.objective == Objective("loss", "min")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "3",
        '{"v":1,"type":"Noted"}',
        '{"v":1,"type":"Noted","text":3,"clock":0}',
        '{"v":1,"type":"Noted","text":"x","clock":0,"more":1}',
        '{"v":1,"type":"Restarted","attempt":true,"clock":0}',
    ],
)
def test_what_is_no_event_is_refused(text: str) -> None:
    with pytest.raises(Misuse, match="damaged"):
        decode_event(text)


@pytest.mark.parametrize("text", ['{"v":2,"type":"Noted"}', '{"v":1,"type":"Dreamt"}'])
def test_a_newer_version_is_named(text: str) -> None:
    with pytest.raises(NewerVersion, match="newer"):
        decode_event(text)


def test_a_study_from_before_weights_were_noted_can_be_read() -> None:
    body = json.loads(encode_event(StudyCreated(Plan(Budget(5.0), networks={"policy": "12"}))))
    del body["plan"]["networks"]
    again = decode_event(json.dumps(body))
    assert isinstance(again, StudyCreated)
    assert again.plan.networks == {}
