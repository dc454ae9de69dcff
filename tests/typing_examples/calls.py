"""Types of what people call; mypy reads this file, nothing runs it."""

from pathlib import Path
from typing import Any, assert_type

import bhpt


class Net:
    """A trainer: a class with four methods."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.rate = float(config["rate"])
        self.epoch = 0

    def step(self) -> float:
        self.epoch += 1
        return self.rate / self.epoch

    def save(self, folder: Path) -> None:
        (folder / "epoch").write_text(str(self.epoch))

    def load(self, folder: Path) -> None:
        self.epoch = int((folder / "epoch").read_text())


class Forgetful:
    """A class that cannot be frozen."""

    def step(self) -> float:
        return 0.0


good: bhpt.FourMethods = Net({"rate": 1.0})
bad: bhpt.FourMethods = Forgetful()  # type: ignore[assignment]


def tuned() -> None:
    space = {"rate": (0.01, 1.0, "log"), "batch": [8, 32]}
    result = bhpt.tune(Net, space, budget="20 epochs", workers=2, study=Path("runs/net.db"))
    assert_type(result, bhpt.Result)
    assert_type(result.best_loss, float)
    assert_type(result.best_checkpoint, Path | None)
    assert_type(result.best_config, dict[str, Any] | None)
    assert_type(bhpt.resume("runs/net.db", add_budget=bhpt.Budget(10)), bhpt.Result)
    assert_type(bhpt.forecast_study("runs/net.db", ["10 epochs"]), bhpt.Forecast)
    assert_type(bhpt.compare_policies("runs/net.db", ["asha"]), bhpt.PolicyComparison)
    bhpt.tune(Net, space)  # type: ignore[call-arg]
    bhpt.tune(Net, space, budget=20)  # type: ignore[arg-type]


def asked() -> None:
    with bhpt.Study([{"rate": 0.1}], "5 epochs", keep=bhpt.stored("runs/asked.db")) as study:
        unit = study.ask()
        assert_type(unit, bhpt.AskedUnit | None)
        study.tell(unit, 0.5)  # type: ignore[arg-type]
        if unit is not None:
            assert_type(unit.config, dict[str, Any])
            study.tell(unit, [0.5] * unit.epochs)
    assert_type(bhpt.open_study("runs/asked.db"), bhpt.Study)
    assert_type(bhpt.__version__, str)
    bhpt.tunes()  # type: ignore[attr-defined]
