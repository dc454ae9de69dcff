from bhpt.domain.budget import Budget
from bhpt.study import Plan
from bhpt.study.events import ArmsAdded, Event, Noted, StudyCreated

FIRST: tuple[Event, ...] = (
    StudyCreated(Plan(Budget(20))),
    ArmsAdded(({"x": 1, "name": "<script>é\x00\ud800../'"}, {"x": 2}), "listed"),
)


def notes(*texts: str, clock: float = 1.0) -> list[Event]:
    return [Noted(text, clock) for text in texts]
