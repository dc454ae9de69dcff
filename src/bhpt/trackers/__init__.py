"""Where else the curves of a study are shown: TensorBoard, MLflow, Weights & Biases, Optuna."""

from bhpt.trackers.interface import ArmRun, TrackedStudy, Tracker
from bhpt.trackers.registry import find_tracker, tracker_names
from bhpt.trackers.thread import tracking

__all__ = ["ArmRun", "TrackedStudy", "Tracker", "find_tracker", "tracker_names", "tracking"]
