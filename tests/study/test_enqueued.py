import ConfigSpace
import numpy as np
import pytest

from bhpt.domain import Misuse
from bhpt.policies.registry import names
from bhpt.study import MemoryLog, Study, fold
from tests.study.cases import CONFIGS, Greedy, into, losses_of

SPACE = {"x": (0.0, 1.0)}


def _tell(study: Study) -> list[dict[str, float]]:
    """Tell every unit; the configurations in the order asked."""
    order = []
    while (unit := study.ask()) is not None:
        order.append(unit.config)
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
    return order


def test_initial_configurations_are_tried_first_in_order() -> None:
    study = Study(SPACE, "6 epochs", policy=Greedy(), initial=[{"x": 0.9}, {"x": 0.1}, {"x": 0.9}])
    order = _tell(study)
    assert order[:2] == [{"x": 0.9}, {"x": 0.1}]
    assert study.state.queue == ()
    assert study.state.attempts[0].why == "arm 0: it was asked for"


def test_an_initial_one_of_a_list_is_not_added_twice() -> None:
    study = Study(CONFIGS, "3 epochs", policy=Greedy(), initial=[CONFIGS[7], {"x": 0.55}])
    assert len(study.state.configs) == len(CONFIGS) + 1
    assert _tell(study)[:2] == [CONFIGS[7], {"x": 0.55}]


def test_a_declared_default_comes_before_all() -> None:
    space = ConfigSpace.ConfigurationSpace()
    space.add(ConfigSpace.Float("x", (0.0, 1.0), default=0.125))
    study = Study(space, "3 epochs", policy=Greedy(), initial=[{"x": 0.9}])
    assert _tell(study)[:2] == [{"x": 0.125}, {"x": 0.9}]


def test_without_any_nothing_is_decided_otherwise() -> None:
    plain = Study(SPACE, "8 epochs", seed=3)
    given = Study(SPACE, "8 epochs", seed=3, initial=[], fixed={})
    assert _tell(plain) == _tell(given)


def test_enqueue_while_it_runs_and_after_a_resume() -> None:
    log = MemoryLog()
    study = Study(SPACE, "9 epochs", policy=Greedy(), keep=into(log))
    unit = study.ask()
    assert unit is not None
    study.tell(unit, losses_of(unit.config, unit.done, unit.epochs))
    arm = study.enqueue({"x": 0.75})
    assert study.enqueue({"x": 0.75}) == arm
    untried = next(i for i in range(1, 100) if i not in study.state.tried and i != arm)
    assert study.enqueue(study.state.configs[untried]) == untried
    assert study.state.queue == (arm, untried)
    study.enqueue(unit.config)  # tried already: the policy decides
    assert study.state.queue == (arm, untried)
    again = Study.resume(log, Greedy())
    assert again.state.queue == (arm, untried)
    assert _tell(again)[:2] == [{"x": 0.75}, study.state.configs[untried]]
    assert fold(log.read()).queue == ()


@pytest.mark.parametrize(
    ("initial", "match"),
    [
        ([{"x": 7.0}], "hyper-parameter 'x' cannot be 7.0: .*Range"),
        ([{"x": "much"}], "hyper-parameter 'x' cannot be 'much'"),
        ([{"y": 0.5}], "the space has no hyper-parameter 'y', only x"),
        ([{}], "configuration {}"),
        ({"x": 0.5}, "initial is a list"),
        ("x", "initial is a list"),
        ([3], "a configuration is a dictionary"),
    ],
)
def test_what_cannot_be_tried_is_refused(initial: object, match: str) -> None:
    with pytest.raises((Misuse, TypeError), match=match):
        Study(SPACE, "6 epochs", initial=initial)  # type: ignore[arg-type]
    with pytest.raises(Misuse):
        Study(SPACE, "6 epochs").enqueue({"x": 7.0})


def test_fixed_hyper_parameters_are_not_tuned() -> None:
    study = Study({**SPACE, "act": ["a", "b"]}, "5 epochs", policy=Greedy(), fixed={"act": "b"})
    assert {one["act"] for one in study.state.configs} == {"b"}
    study.enqueue({"x": 0.5})
    assert np.isfinite(study.state.features).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["default", "sh", "asha", "i-epoch", "hyperband", "random"])
def test_every_policy_goes_on_after_them(policy: str) -> None:
    assert policy in names()
    study = Study(CONFIGS, "12 epochs", policy=policy, initial=[CONFIGS[5], CONFIGS[2]])
    assert _tell(study)[:2] == [CONFIGS[5], CONFIGS[2]]
    assert study.state.ledger.spent == 12


def _rise(study: Study) -> None:
    while (unit := study.ask()) is not None:
        study.tell(unit, [0.1, 0.2, 0.3, 0.4])


def test_rising_curves_are_warned_of_once() -> None:
    study = Study(CONFIGS, "64 epochs", unit=4, max_epochs=4, policy=Greedy())
    with pytest.warns(UserWarning, match='mode="max"') as caught:
        _rise(study)
    assert len(caught) == 1
