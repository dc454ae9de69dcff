"""Studies that learn from earlier ones: stored with the study, shown to policies, resumable."""

import json
from pathlib import Path

import numpy as np
import pytest

import bhpt
from bhpt.beliefs.earlier_studies import MOST_STUDIES, EarlierStudy
from bhpt.domain import Misuse
from bhpt.study import MemoryLog, Study
from bhpt.study.codec import decode_event, encode_event
from bhpt.study.events import StudyCreated
from bhpt.study.pricing import priced_view
from tests.study.cases import into

SPACE = {"p1": (1e-4, 1.0, "log"), "p2": (0.0, 1.0)}


def finished(seed: int, **others: object) -> Study:
    study = Study(SPACE, "15 epochs", seed=seed, policy="random", max_epochs=2, **others)  # type: ignore[arg-type]
    while (unit := study.ask()) is not None:
        rate = abs(np.log10(float(unit.config["p1"])) + 2)
        study.tell(unit, [1.0 + rate] * unit.epochs)
    return study


def test_what_earlier_studies_showed_reaches_the_policy_and_survives_a_resume() -> None:
    log = MemoryLog()
    study = Study(SPACE, "5 epochs", keep=into(log), learn_from=[finished(0), finished(1)])
    looked = priced_view(study.state)
    assert looked is not None
    earlier = looked[0].earlier
    assert earlier is not None
    rates = np.array([abs(np.log10(float(c["p1"])) + 2) for c in study.state.configs])
    assert np.corrcoef(earlier, -rates)[0, 1] > 0.5
    again = Study.resume(log)
    np.testing.assert_array_equal(again.state.earlier, earlier)
    assert again.state.plan.earlier == study.state.plan.earlier


def test_a_study_without_earlier_ones_has_none() -> None:
    looked = priced_view(Study(SPACE, "5 epochs").state)
    assert looked is not None
    assert looked[0].earlier is None


@pytest.mark.parametrize("listed", [False, True])
def test_with_studies_of_another_space_a_study_goes_on_as_without(listed: bool) -> None:
    space = [{"q": k / 9} for k in range(10)] if listed else {"q": (0.0, 1.0)}
    study = Study(space, "5 epochs", learn_from=[finished(0)])
    assert study.state.plan.earlier
    looked = priced_view(study.state)
    assert looked is not None
    assert looked[0].earlier is None


def test_studies_of_before_have_ranks_that_count_alike() -> None:
    plan = Study(SPACE, "5 epochs", learn_from=[finished(0)]).state.plan
    body = json.loads(encode_event(StudyCreated(plan)))
    for one in body["plan"]["earlier"]:
        del one["counts"]
    created = decode_event(json.dumps(body))
    assert isinstance(created, StudyCreated)
    assert created.plan.earlier[0].ranks == plan.earlier[0].ranks
    assert created.plan.earlier[0].counts == ()


def test_facts_are_read_back_as_they_were_written() -> None:
    log = MemoryLog()
    study = Study(SPACE, "5 epochs", keep=into(log), learn_from=[finished(0)])
    created = StudyCreated(study.state.plan)
    assert created.plan.earlier
    assert decode_event(encode_event(created)) == created


def test_a_kept_study_is_learned_from_by_its_address(tmp_path: Path) -> None:
    file = tmp_path / "first.db"
    first = finished(0, keep=bhpt.stored(file))
    first.close()
    read = bhpt.earlier_study(file)
    assert len(read.configs) == len(read.ranks) > 3
    second = Study(SPACE, "5 epochs", learn_from=[read])
    assert second.state.plan.earlier == (read,)
    with pytest.raises(Misuse):
        bhpt.earlier_study(tmp_path / "nothing.db")


def test_too_many_are_refused_in_one_line() -> None:
    one = EarlierStudy(({"p1": 0.1},), (0.0,))
    with pytest.raises(Misuse, match=f"at most {MOST_STUDIES} earlier ones"):
        Study(SPACE, "5 epochs", learn_from=[one] * (MOST_STUDIES + 1))
