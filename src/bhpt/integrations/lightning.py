"""Lightning: a callback that reports each epoch, and the checkpoint to go on from.

```python
trainer = Trainer(max_epochs=FOREVER, callbacks=[Reporter()], enable_checkpointing=False)
trainer.fit(model, data, ckpt_path=last_checkpoint())
```
"""

from pathlib import Path

from lightning.pytorch import Callback, LightningModule, Trainer

from bhpt.trainers.function import checkpoint, report

FOREVER = -1
"""`max_epochs` without an end: the tuner decides when it is enough."""

_FILE = "last.ckpt"


def last_checkpoint() -> str | None:
    """The checkpoint to go on from, for `ckpt_path=`; None if training starts from nothing."""
    folder = checkpoint()
    return None if folder is None else str(folder / _FILE)


class Reporter(Callback):  # type: ignore[misc]
    """Reports everything that the module has logged, after each epoch and its validation."""

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:  # noqa: ARG002
        """Report an epoch, and save everything where a unit ends."""
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}

        def save(folder: Path) -> None:
            trainer.save_checkpoint(folder / _FILE)

        report(metrics, checkpoint=save)
