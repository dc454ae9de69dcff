"""bhpt: hyper-parameter tuning under a hard budget, the best model you can afford.

    result = bhpt.tune(Net, space, budget="200 epochs", workers=2, study="runs/net.db")

Names are imported when they are first used: `import bhpt` alone costs nothing, which matters to
workers and to programs that only want `bhpt.__version__`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bhpt.domain.budget import Budget
    from bhpt.domain.errors import Misuse
    from bhpt.reports.forecast import Forecast, forecast_study
    from bhpt.study.plan import Training
    from bhpt.study.study import AskedUnit, Study
    from bhpt.tuning.errors import Paused, TrainerBroken
    from bhpt.tuning.options import Options
    from bhpt.tuning.result import Result
    from bhpt.tuning.tune import open_study, resume, stored, tune

__version__ = "0.1.0"

__all__ = [
    "AskedUnit",
    "Budget",
    "Forecast",
    "Misuse",
    "Options",
    "Paused",
    "Result",
    "Study",
    "TrainerBroken",
    "Training",
    "__version__",
    "forecast_study",
    "open_study",
    "resume",
    "stored",
    "tune",
]

_HOMES = {
    "AskedUnit": "bhpt.study.study",
    "Budget": "bhpt.domain.budget",
    "Forecast": "bhpt.reports.forecast",
    "Misuse": "bhpt.domain.errors",
    "Options": "bhpt.tuning.options",
    "Paused": "bhpt.tuning.errors",
    "Result": "bhpt.tuning.result",
    "Study": "bhpt.study.study",
    "TrainerBroken": "bhpt.tuning.errors",
    "Training": "bhpt.study.plan",
    "forecast_study": "bhpt.reports.forecast",
    "open_study": "bhpt.tuning.tune",
    "resume": "bhpt.tuning.tune",
    "stored": "bhpt.tuning.tune",
    "tune": "bhpt.tuning.tune",
}


def __getattr__(name: str) -> object:
    """Import a public name from the room it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bhpt' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """What a person may use."""
    return __all__
