"""One network in training: on a GPU its step is one CUDA graph, replayed on its own stream."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from .flat import FlatParameters, optimizer_of
from .models import build, goal_of
from .schedule import rate_in

WARM_UP = 3  # steps before a capture: libraries choose their kernels in these
TIMED = 10  # steps that are timed alone


class Learner:
    """A network, its optimiser, and buffers that hold one batch.

    Args:
        settings: The task's settings overridden by the configuration.
        seed: Seed of the initial weights.
        device: Where it lives.

    Attributes:
        batch_size: Examples in a training batch.
        measures: Names of what `scores` returns.
        step_seconds: Seconds of a training step when nothing else runs; set by `prepare`.
    """

    def __init__(self, settings: Mapping[str, Any], seed: int, device: torch.device) -> None:
        torch.manual_seed(seed)
        self.model = build(settings).to(device)
        self.flat = FlatParameters(self.model)
        self.optimizer = optimizer_of(settings, self.flat)
        self.goal = goal_of(settings)
        self.measures = self.goal.measures
        self.batch_size: int = settings["batch_size"]
        self.step_seconds = 0.0
        self._settings = settings
        self._totals = torch.zeros(len(self.measures), device=device)
        self._objective = torch.zeros((), device=device)
        self._stream = _stream_on(device)

    def prepare(self, batch: tuple[Tensor, Tensor], held_out: tuple[Tensor, Tensor]) -> None:
        """Makes the buffers, captures both steps and times the training step alone.

        Args:
            batch: Images and labels of some training batch.
            held_out: Images and labels of some held-out batch; all of them have its size.
        """
        self._batch = batch[0].clone(), batch[1].clone()
        self._held_out = held_out[0].clone(), held_out[1].clone()
        before = [part.clone() for part in self._changing()]
        self._train_step = self._captured(self._train)
        self._measure_step = self._captured(self._measure)
        self.step_seconds = self._time_alone()
        with torch.no_grad():
            for part, old in zip(self._changing(), before, strict=True):
                part.copy_(old)

    def begin_epoch(self, epoch: int) -> None:
        """Sets the learning rate of an epoch, from 0, and resets the sums of the last one."""
        self.optimizer.rate.fill_(rate_in(self._settings, epoch))
        self._objective.zero_()
        self._totals.zero_()

    def train(self, x: Tensor, y: Tensor) -> None:
        """Issues one training step; on a GPU it may not have run when this returns."""
        with self._on_stream():
            self._batch[0].copy_(x)
            self._batch[1].copy_(y)
            self._train_step()

    def measure(self, x: Tensor, y: Tensor) -> None:
        """Issues the measurement of one held-out batch."""
        with self._on_stream():
            self._held_out[0].copy_(x)
            self._held_out[1].copy_(y)
            self._measure_step()

    def scores(self, held_out: int, steps: int) -> list[float]:
        """The held-out measures and the training loss since the epoch began.

        Args:
            held_out: Held-out examples measured.
            steps: Training steps taken.

        Returns:
            Each measure's mean in the order of `measures`, then the mean training loss, which
            is NaN before the first step.
        """
        totals = (self._totals / held_out).tolist()
        return [*totals, self._objective.item() / steps if steps else float("nan")]

    def _train(self) -> None:
        self.model.train()
        self.flat.gradients.zero_()
        loss = self.goal.objective(self.model, *self._batch)
        loss.backward()  # type: ignore[no-untyped-call]
        self._objective.add_(loss.detach())
        self.optimizer.step()

    def _measure(self) -> None:
        self.model.eval()
        with torch.no_grad():
            self._totals.add_(self.goal.totals(self.model, *self._held_out))

    def _changing(self) -> list[Tensor]:
        return [self.flat.values, *self.optimizer.state, *self.model.buffers()]

    def _on_stream(self) -> AbstractContextManager[object]:
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def _captured(self, step: Callable[[], None]) -> Callable[[], None]:
        """The step as a CUDA graph; where there is no GPU, the step itself."""
        if self._stream is None:
            return step
        torch.cuda.synchronize()
        with self._on_stream():
            for _ in range(WARM_UP):
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            step()
        return graph.replay

    def _time_alone(self) -> float:
        steps = 1 if self._stream is None else TIMED
        self.train(*self._batch)
        self._synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            self.train(*self._batch)
        self._synchronize()
        return (time.perf_counter() - start) / steps

    def _synchronize(self) -> None:
        if self._stream is not None:
            torch.cuda.synchronize()


def _stream_on(device: torch.device) -> torch.cuda.Stream | None:
    if device.type != "cuda":
        return None
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
