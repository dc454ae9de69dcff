"""bhpt: hyper-parameter tuning under a hard budget, the best model you can afford.

    result = bhpt.tune(Net, space, budget="200 epochs", workers=2, study="runs/net.db")

Names are imported when they are first used: `import bhpt` alone costs nothing, which matters to
workers and to programs that only want `bhpt.__version__`. Beside what people call, the types that
they may implement are here: a policy, a predictor, an executor, an event log, a place for
checkpoints, a tracker, a trainer.
"""

from typing import TYPE_CHECKING

from bhpt.lazy_names import lazy_names

if TYPE_CHECKING:
    from bhpt import plot
    from bhpt.beliefs.predictor import Ends, Predictor
    from bhpt.checkpoints.place import CheckpointPlace
    from bhpt.domain.budget import Budget
    from bhpt.domain.curves import Curves
    from bhpt.domain.errors import Misuse
    from bhpt.domain.objective import Objective
    from bhpt.domain.results import UnitResult, Usage
    from bhpt.domain.resume import Resume
    from bhpt.domain.view import View
    from bhpt.executors import Failure, FailureKind
    from bhpt.executors.interface import Executor, Job, Report, Running, TrainerGone
    from bhpt.executors.ray_options import Ray
    from bhpt.policies.interface import Decision, Explanation, Policy, PredictingPolicy
    from bhpt.reports.forecast import Forecast, forecast_study
    from bhpt.reports.policy_comparison import PolicyComparison, compare_policies
    from bhpt.study.codec import decode_event, encode_event
    from bhpt.study.events import Event
    from bhpt.study.log import Busy, Conflict, EventLog, Fenced
    from bhpt.study.plan import Training
    from bhpt.study.study import AskedUnit, Study
    from bhpt.trackers.interface import Tracker
    from bhpt.trainers.four_methods import FourMethods
    from bhpt.trainers.function import checkpoint, report
    from bhpt.trainers.specs import TrainerSpec
    from bhpt.tuning.errors import Paused, TrainerBroken
    from bhpt.tuning.finished_units import FinishedUnit
    from bhpt.tuning.options import Options
    from bhpt.tuning.result import Result
    from bhpt.tuning.tune import earlier_study, open_study, resume, stored, tune

__version__ = "0.1.0"

__all__ = [
    "AskedUnit",
    "Budget",
    "Busy",
    "CheckpointPlace",
    "Conflict",
    "Curves",
    "Decision",
    "Ends",
    "Event",
    "EventLog",
    "Executor",
    "Explanation",
    "Failure",
    "FailureKind",
    "Fenced",
    "FinishedUnit",
    "Forecast",
    "FourMethods",
    "Job",
    "Misuse",
    "Objective",
    "Options",
    "Paused",
    "Policy",
    "PolicyComparison",
    "PredictingPolicy",
    "Predictor",
    "Ray",
    "Report",
    "Result",
    "Resume",
    "Running",
    "Study",
    "Tracker",
    "TrainerBroken",
    "TrainerGone",
    "TrainerSpec",
    "Training",
    "UnitResult",
    "Usage",
    "View",
    "__version__",
    "checkpoint",
    "compare_policies",
    "decode_event",
    "earlier_study",
    "encode_event",
    "forecast_study",
    "open_study",
    "plot",
    "report",
    "resume",
    "stored",
    "tune",
]

_HOMES = {
    "AskedUnit": "bhpt.study.study",
    "Budget": "bhpt.domain.budget",
    "Busy": "bhpt.study.log",
    "CheckpointPlace": "bhpt.checkpoints.place",
    "Conflict": "bhpt.study.log",
    "Curves": "bhpt.domain.curves",
    "Decision": "bhpt.policies.interface",
    "Ends": "bhpt.beliefs.predictor",
    "Event": "bhpt.study.events",
    "EventLog": "bhpt.study.log",
    "Executor": "bhpt.executors.interface",
    "Explanation": "bhpt.policies.interface",
    "Failure": "bhpt.executors",
    "FailureKind": "bhpt.executors",
    "Fenced": "bhpt.study.log",
    "FinishedUnit": "bhpt.tuning.finished_units",
    "Forecast": "bhpt.reports.forecast",
    "FourMethods": "bhpt.trainers.four_methods",
    "Job": "bhpt.executors.interface",
    "Misuse": "bhpt.domain.errors",
    "Objective": "bhpt.domain.objective",
    "Options": "bhpt.tuning.options",
    "Paused": "bhpt.tuning.errors",
    "Policy": "bhpt.policies.interface",
    "PolicyComparison": "bhpt.reports.policy_comparison",
    "PredictingPolicy": "bhpt.policies.interface",
    "Predictor": "bhpt.beliefs.predictor",
    "Ray": "bhpt.executors.ray_options",
    "Report": "bhpt.executors.interface",
    "Result": "bhpt.tuning.result",
    "Resume": "bhpt.domain.resume",
    "Running": "bhpt.executors.interface",
    "Study": "bhpt.study.study",
    "Tracker": "bhpt.trackers.interface",
    "TrainerBroken": "bhpt.tuning.errors",
    "TrainerGone": "bhpt.executors.interface",
    "TrainerSpec": "bhpt.trainers.specs",
    "Training": "bhpt.study.plan",
    "UnitResult": "bhpt.domain.results",
    "Usage": "bhpt.domain.results",
    "View": "bhpt.domain.view",
    "checkpoint": "bhpt.trainers.function",
    "compare_policies": "bhpt.reports.policy_comparison",
    "decode_event": "bhpt.study.codec",
    "earlier_study": "bhpt.tuning.tune",
    "encode_event": "bhpt.study.codec",
    "forecast_study": "bhpt.reports.forecast",
    "open_study": "bhpt.tuning.tune",
    "plot": "bhpt",
    "report": "bhpt.trainers.function",
    "resume": "bhpt.tuning.tune",
    "stored": "bhpt.tuning.tune",
    "tune": "bhpt.tuning.tune",
}

_MODULES = ("ray", "sklearn", "testing")  # of extras: not in `__all__`, whose names need none

if not TYPE_CHECKING:  # hidden from type checkers, which then find names that do not exist
    __getattr__ = lazy_names(__name__, _HOMES | dict.fromkeys(_MODULES, __name__))


def __dir__() -> list[str]:
    """The public names."""
    return __all__
