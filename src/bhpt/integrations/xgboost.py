"""XGBoost: rounds of boosting as epochs, continued where they stopped.

```python
xgboost.train(params, data, num_boost_round=FOREVER, evals=[(held_out, "valid")],
              xgb_model=last_model(), callbacks=[Reporter("valid", rounds=10)])
```
"""

from pathlib import Path
from typing import Any

import xgboost

from bhpt.domain.errors import Misuse
from bhpt.trainers.function import checkpoint, report

FOREVER = 1_000_000
"""Rounds to ask XGBoost for: the tuner decides when it is enough."""

_FILE = "model.ubj"


def last_model() -> str | None:
    """The model to continue, for `xgb_model=`; None if training starts from nothing."""
    folder = checkpoint()
    return None if folder is None else str(folder / _FILE)


class Reporter(xgboost.callback.TrainingCallback):  # type: ignore[misc]
    """Reports the metrics of one evaluation set after every so many rounds.

    Args:
        data: The name of the evaluation set in `evals`.
        rounds: Rounds that are one epoch.
    """

    def __init__(self, data: str, rounds: int = 1) -> None:
        super().__init__()
        if rounds < 1:
            raise Misuse(f"an epoch is at least one round, not {rounds}")
        self._data = data
        self._rounds = rounds
        self._done = 0

    def after_iteration(
        self,
        model: Any,  # noqa: ANN401  # XGBoost's booster
        epoch: int,  # noqa: ARG002  # rounds since the beginning; counted here since the last load
        evals_log: dict[str, dict[str, list[float]]],
    ) -> bool:
        """Report if an epoch is complete; never stops the training itself."""
        self._done += 1
        if self._done % self._rounds:
            return False
        if self._data not in evals_log:
            raise Misuse(f"xgboost.train() has no evals named {self._data!r}: add (data, name)")
        metrics = {name: values[-1] for name, values in evals_log[self._data].items()}

        def save(folder: Path) -> None:
            model.save_model(folder / _FILE)

        report(metrics, checkpoint=save)
        return False
