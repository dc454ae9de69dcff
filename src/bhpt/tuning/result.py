"""What a user gets back."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bhpt.domain import Misuse
from bhpt.spaces import Config
from bhpt.study import State
from bhpt.study.html_summary import summary_html
from bhpt.study.tables import table

if TYPE_CHECKING:
    import pandas

SessionStatus = Literal["done", "interrupted"]


@dataclass(frozen=True, eq=False)
class Result:
    """The best model that the budget could buy, so far.

    Attributes:
        best_loss: The best finite value of the study's metric, in its own direction; infinity if
            there was none, minus infinity if it is maximised.
        best_config: The configuration that it was seen on, None if there was none.
        best_checkpoint: Folder with the checkpoint of the unit in which it was seen, every byte
            checked; None if the trainer does not save any, or if it was lost.
        status: Whether everything was spent that could be, or Ctrl-C came first.
        study: Where the study is kept.
        state: Everything else that is known.
    """

    best_loss: float
    best_config: Config | None
    best_checkpoint: Path | None
    status: SessionStatus
    study: str
    state: State = field(repr=False)

    @property
    def is_checkpoint_lost(self) -> bool:
        """Whether the best model was saved, but cannot be loaded any more."""
        best = self.state.best
        return best is not None and best.saved is not None and self.best_checkpoint is None

    @property
    def best_params(self) -> Config | None:
        """The best configuration, as other tuners call it."""
        return self.best_config

    @property
    def why_nothing(self) -> str:
        """Why there is no best configuration, in a line; empty if there is one."""
        if self.best_config is not None:
            return ""
        if self.state.reports:
            metric = self.state.plan.objective.metric
            return f"no finite {metric} was seen: every configuration diverged"
        said = next((one.message for one in reversed(self.state.attempts) if one.message), "")
        why = f"the last one: {said}" if said else "give it a larger budget"
        return f"no unit was finished within {self.state.ledger.budget}: {why}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [("status", self.status), ("study", self.study)]
        if self.best_checkpoint is not None:
            rows.append(("checkpoint", str(self.best_checkpoint)))
        return summary_html(self.state, rows)

    def frame(self) -> "pandas.DataFrame":
        """Every observed epoch as a pandas frame: arm, epoch, loss, metrics and settings.

        Raises:
            Misuse: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise Misuse("frame() needs pandas: pip install pandas") from None
        epochs = table(self.state, "epochs")
        return pandas.DataFrame(epochs.rows, columns=list(epochs.columns))


def result_of(state: State, status: SessionStatus, study: str, checkpoint: Path | None) -> Result:
    """The result of a study as it stands."""
    best, objective = state.best, state.plan.objective
    if best is None:
        return Result(objective.from_loss(float("inf")), None, None, status, study, state)
    value = objective.from_loss(best.loss)
    return Result(value, state.configs[best.arm], checkpoint, status, study, state)
