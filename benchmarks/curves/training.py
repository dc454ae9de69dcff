"""Groups of networks trained side by side over the same epochs."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .data import Images
from .exchange import FloatArray, Table
from .learner import Learner
from .schedule import group_alike, interleave
from .tasks import MEASURES, Arm, Config, Task

HELD_OUT_BATCH = 1000  # the most; all the batches have the same size


@dataclass(frozen=True, eq=False)
class DeviceImages:
    """Scaled images on the device where they are used, [N, channels, height, width].

    Attributes:
        train: Images to train on.
        train_labels: Their classes.
        held_out: Images that the curves are measured on.
        held_out_labels: Their classes.
        augmented: Whether each epoch shifts and mirrors the training images anew.
    """

    train: Tensor
    train_labels: Tensor
    held_out: Tensor
    held_out_labels: Tensor
    augmented: bool

    @classmethod
    def of(cls, images: Images, device: torch.device) -> "DeviceImages":
        """Colour images are standardised by channel, and augmented; grey ones stay in [0, 1]."""
        train, held_out = (
            torch.from_numpy(part).to(device).permute(0, 3, 1, 2).float() / 255
            for part in (images.train, images.held_out)
        )
        colour = train.shape[1] == 3
        if colour:
            deviation, mean = torch.std_mean(train, (0, 2, 3), keepdim=True)
            train, held_out = (train - mean) / deviation, (held_out - mean) / deviation
        return cls(
            _laid_out(train),
            torch.from_numpy(images.train_labels).to(device).long(),
            _laid_out(held_out),
            torch.from_numpy(images.held_out_labels).to(device).long(),
            augmented=colour,
        )

    def epoch(self, stream: torch.Generator) -> tuple[Tensor, Tensor]:
        """The training images and labels in a new order, augmented if they are to be."""
        order = torch.randperm(len(self.train), generator=stream, device=self.train.device)
        images = self.train[order]
        if self.augmented:
            images = augment(images, stream)
        return _laid_out(images), self.train_labels[order]


def _laid_out(images: Tensor) -> Tensor:
    return images.contiguous(memory_format=torch.channels_last)


def augment(images: Tensor, stream: torch.Generator) -> Tensor:
    """Shifts each image by up to 4 pixels either way and mirrors every other one, at random.

    Args:
        images: [N, channels, side, side].
        stream: Where randomness comes from.

    Returns:
        Images of the same shape; what is shifted in is the reflected border.
    """
    count, _, side, _ = images.shape
    device = images.device
    padded = functional.pad(images, (4, 4, 4, 4), mode="reflect").permute(0, 2, 3, 1)
    down, right = torch.randint(0, 9, (2, count, 1), generator=stream, device=device)
    mirrored = torch.rand((count, 1), generator=stream, device=device) < 0.5
    pixels = torch.arange(side, device=device)
    rows = down + pixels
    columns = right + torch.where(mirrored, side - 1 - pixels, pixels)
    each = torch.arange(count, device=device)[:, None, None]
    return padded[each, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


class Group:
    """Networks that train at the same time, each on its own stream.

    Args:
        learners: The networks, not yet prepared.
        images: What they train on and are measured on.
        seed: Seed of the order and augmentation of the images, which all the networks share.
    """

    def __init__(self, learners: Sequence[Learner], images: DeviceImages, seed: int) -> None:
        self._learners = learners
        self._images = images
        device = images.train.device
        self._cuda = device if device.type == "cuda" else None
        self._stream = torch.Generator(device)
        self._stream.manual_seed(seed)
        self._steps = [len(images.train) // learner.batch_size for learner in learners]
        if min(self._steps) < 1:
            raise ValueError("there are fewer training images than one batch holds")
        self._batch = min(HELD_OUT_BATCH, len(images.held_out))
        self._batches = len(images.held_out) // self._batch
        for learner in learners:
            size = learner.batch_size
            learner.prepare(
                (images.train[:size], images.train_labels[:size]),
                (images.held_out[: self._batch], images.held_out_labels[: self._batch]),
            )

    def untrained(self) -> list[list[float]]:
        """The scores of every network before its first step."""
        for learner in self._learners:
            learner.begin_epoch(0)
        self._measure()
        return [learner.scores(self._batches * self._batch, 0) for learner in self._learners]

    def epoch(self, number: int) -> tuple[list[list[float]], FloatArray]:
        """Trains every network for one epoch and measures it.

        Args:
            number: The epoch, counted from 0.

        Returns:
            The scores of every network, and the seconds of training that each took. Together
            these are the seconds that passed; each network has its share of them in proportion
            to what its steps take when it runs alone.
        """
        start = time.perf_counter()
        x, y = self._images.epoch(self._stream)
        for learner in self._learners:
            learner.begin_epoch(number)
        self._synchronize()
        for model, step in interleave(self._steps):
            learner = self._learners[model]
            at = slice(step * learner.batch_size, (step + 1) * learner.batch_size)
            learner.train(x[at], y[at])
        self._synchronize()
        passed = time.perf_counter() - start
        self._measure()
        held_out = self._batches * self._batch
        scores = [
            learner.scores(held_out, steps)
            for learner, steps in zip(self._learners, self._steps, strict=True)
        ]
        return scores, passed * self._shares()

    def _shares(self) -> FloatArray:
        alone = np.array([learner.step_seconds for learner in self._learners]) * self._steps
        return np.asarray(alone / alone.sum(), np.float32)

    def _measure(self) -> None:
        self._synchronize()
        for number in range(self._batches):
            at = slice(number * self._batch, (number + 1) * self._batch)
            for learner in self._learners:
                learner.measure(self._images.held_out[at], self._images.held_out_labels[at])
        self._synchronize()

    def _synchronize(self) -> None:
        if self._cuda is not None:
            torch.cuda.synchronize(self._cuda)


@dataclass(frozen=True)
class Plan:
    """How a table is to be trained.

    Attributes:
        epochs: T, for how many epochs.
        seed: Seed of the order and augmentation of the images.
        slots: How many networks train at once.
        limit: Seconds after which no new epoch starts.
    """

    epochs: int
    seed: int = 0
    slots: int = 25
    limit: float = float("inf")


Arrays = dict[str, FloatArray]
Report = Callable[[Arrays, str], None]


def finished(arrays: Mapping[str, FloatArray]) -> list[bool]:
    """Which arms have been trained to the end."""
    return [bool(np.isfinite(row).all()) for row in arrays["seconds"]]


def train_arms(
    task: Task,
    arms: Sequence[Arm],
    images: DeviceImages,
    plan: Plan,
    report: Report,
    done: Table | None = None,
) -> Arrays:
    """Trains every arm of a task.

    Args:
        task: The task.
        arms: Its arms.
        images: What they train on and are measured on.
        plan: How to train.
        report: Called after every group with the arrays so far and a line of progress.
        done: A table of the same arms, some of them trained already, to be completed.

    Returns:
        The table's arrays. Arms that the time limit left unfinished have NaN in `seconds`.
    """
    deadline = time.perf_counter() + plan.limit
    settings = [{**task.model, **arm.config} for arm in arms]
    arrays = _empty(task, len(arms), plan.epochs)
    if done is not None:
        _take_over(arrays, done, [arm.config for arm in arms])
    wanted = [arm for arm, is_done in enumerate(finished(arrays)) if not is_done]
    for members in group_alike(settings, wanted, plan.slots):
        start = time.perf_counter()
        if start > deadline:
            break
        learners = [Learner(settings[arm], arms[arm].seed, images.train.device) for arm in members]
        _train_group(Group(learners, images, plan.seed), members, arrays, plan.epochs, deadline)
        report(arrays, _summary(arrays, members, time.perf_counter() - start))
    return arrays


def _empty(task: Task, arms: int, epochs: int) -> Arrays:
    names = (*MEASURES[task.metric], "train_loss")
    arrays = {name: np.full((arms, epochs + 1), np.nan, np.float32) for name in names}
    return {**arrays, "seconds": np.full((arms, epochs), np.nan, np.float32)}


def _take_over(arrays: Arrays, done: Table, configs: list[Config]) -> None:
    """Copies a table that was begun into the arrays, if it is of the same arms and epochs."""
    same = done.configs == configs and all(
        name in done.arrays and done.arrays[name].shape == array.shape
        for name, array in arrays.items()
    )
    if not same:
        raise ValueError("the table to be completed has other configurations, arrays or epochs")
    for name, array in arrays.items():
        array[:] = done.arrays[name]


def _train_group(
    group: Group, members: Sequence[int], arrays: Arrays, epochs: int, deadline: float
) -> None:
    names = [name for name in arrays if name != "seconds"]

    def keep(column: int, scores: Sequence[Sequence[float]]) -> None:
        for arm, values in zip(members, scores, strict=True):
            for name, value in zip(names, values, strict=True):
                arrays[name][arm, column] = value

    keep(0, group.untrained())
    for epoch in range(epochs):
        if time.perf_counter() > deadline:
            return
        scores, seconds = group.epoch(epoch)
        keep(epoch + 1, scores)
        arrays["seconds"][list(members), epoch] = seconds


def _summary(arrays: Arrays, members: Sequence[int], seconds: float) -> str:
    last = arrays["loss"][list(members), -1]
    return (
        f"{len(members)} models in {seconds:.1f} s, "
        f"last loss {np.nanmin(last):.4f} at best, {np.nanmedian(last):.4f} in the middle"
    )
