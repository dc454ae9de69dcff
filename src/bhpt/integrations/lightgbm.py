"""LightGBM: rounds of boosting as epochs, continued where they stopped.

```python
lightgbm.train(params, data, num_boost_round=FOREVER, valid_sets=[held_out],
               init_model=last_model(), callbacks=[reporter(rounds=10)])
```
"""

from collections.abc import Callable
from pathlib import Path

from lightgbm.callback import CallbackEnv

from bhpt.domain.errors import Misuse
from bhpt.trainers.function import checkpoint, report

FOREVER = 1_000_000
"""Rounds to ask LightGBM for: the tuner decides when it is enough."""

_FILE = "model.txt"


def last_model() -> str | None:
    """The model to continue, for `init_model=`; None if training starts from nothing."""
    folder = checkpoint()
    return None if folder is None else str(folder / _FILE)


def reporter(data: str = "valid_0", rounds: int = 1) -> Callable[[CallbackEnv], None]:
    """A callback that reports the metrics of one evaluation set after every so many rounds.

    Args:
        data: The name of the evaluation set; LightGBM calls the first one `valid_0`.
        rounds: Rounds that are one epoch.
    """
    if rounds < 1:
        raise Misuse(f"an epoch is at least one round, not {rounds}")
    done = 0

    def after_round(env: CallbackEnv) -> None:
        nonlocal done
        done += 1
        if done % rounds:
            return
        results = env.evaluation_result_list or []
        metrics = {str(one[1]): one[2] for one in results if one[0] == data}
        if not metrics:
            raise Misuse(f"lightgbm.train() has no valid_sets named {data!r}: add one")

        def save(folder: Path) -> None:
            env.model.save_model(str(folder / _FILE))

        report(metrics, checkpoint=save)

    return after_round
