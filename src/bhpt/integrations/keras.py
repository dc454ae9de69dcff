"""Keras 3: `fit` reports each epoch, and goes on with the model that was saved.

```python
model = last_model() or build(config)
model.fit(data, validation_data=held_out, epochs=FOREVER, callbacks=[Reporter()])
```
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from bhpt.trainers.function import checkpoint, report

FOREVER = 1_000_000
"""Epochs to ask Keras for: the tuner decides when it is enough."""

_FILE = "model.keras"


def last_model() -> Any | None:  # noqa: ANN401  # a keras.Model
    """The model to go on with, its optimiser included; None if training starts from nothing."""
    folder = checkpoint()
    return None if folder is None else keras.saving.load_model(folder / _FILE)


class Reporter(keras.callbacks.Callback):  # type: ignore[misc]
    """Reports the logs of every epoch: `loss`, `val_loss` and the model's metrics."""

    def on_epoch_end(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:  # noqa: ARG002
        """Report an epoch, and save the model where a unit ends."""

        def save(folder: Path) -> None:
            self.model.save(folder / _FILE)

        report(dict(logs or {}), checkpoint=save)
