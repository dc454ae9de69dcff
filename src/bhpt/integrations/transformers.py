"""Hugging Face Trainer: a callback that reports each evaluation, and the checkpoint to go on from.

    arguments = TrainingArguments(folder, eval_strategy="epoch", save_strategy="epoch", ...)
    trainer = Trainer(model, arguments, ..., callbacks=[Reporter()])
    trainer.train(resume_from_checkpoint=last_checkpoint())

Evaluate and save once an epoch. `num_train_epochs` is the last epoch that one configuration may
reach, as `max_epochs` is: the schedule of the learning rate depends on it.
"""

from pathlib import Path

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from bhpt.domain.errors import Misuse
from bhpt.trainers.function import checkpoint, report


def last_checkpoint() -> str | None:
    """The checkpoint to go on from; None if training starts from nothing."""
    folder = checkpoint()
    return None if folder is None else str(folder)


class Reporter(TrainerCallback):  # type: ignore[misc]
    """Reports the numbers of each evaluation with the checkpoint that is saved after it."""

    def __init__(self) -> None:
        self._metrics: dict[str, float] = {}

    def on_evaluate(
        self,
        args: TrainingArguments,  # noqa: ARG002
        state: TrainerState,  # noqa: ARG002
        control: TrainerControl,  # noqa: ARG002
        metrics: dict[str, float] | None = None,
        **_: object,
    ) -> None:
        """Keep the numbers until the checkpoint is there."""
        numbers = (metrics or {}).items()
        self._metrics = {name: value for name, value in numbers if isinstance(value, int | float)}

    def on_save(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,  # noqa: ARG002
        **_: object,
    ) -> None:
        """Report an epoch with its checkpoint."""
        if not self._metrics:
            raise Misuse('evaluate before each save: eval_strategy="epoch", save_strategy="epoch"')
        metrics, self._metrics = self._metrics, {}
        report(metrics, checkpoint=Path(args.output_dir) / f"checkpoint-{state.global_step}")
