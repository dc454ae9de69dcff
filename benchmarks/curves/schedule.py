"""Groups of arms that train together, the order of their steps, and learning rates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .tasks import Config


def group_alike(configs: Sequence[Config], wanted: Sequence[int], slots: int) -> list[list[int]]:
    """Puts arms whose steps cost about the same into the same group.

    Args:
        configs: All the configurations.
        wanted: The arms to be trained.
        slots: The most arms in one group.

    Returns:
        Groups of arms; together they hold each wanted arm once.
    """
    if slots < 1:
        raise ValueError(f"a group holds at least one model, not {slots}")

    def cost(arm: int) -> tuple[str, int]:
        return str(configs[arm].get("arch", "")), int(configs[arm]["batch_size"])

    order = sorted(wanted, key=cost)
    return [order[start : start + slots] for start in range(0, len(order), slots)]


def interleave(steps: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Spreads the steps of an epoch evenly, so that all streams end at about the same time.

    Args:
        steps: Steps in an epoch of each model; a large batch means few of them.

    Yields:
        A model and the number of its next step. Each model's steps come in order, each once.
    """
    rounds = max(steps, default=0)
    for now in range(rounds):
        for model, count in enumerate(steps):
            for step in range(now * count // rounds, (now + 1) * count // rounds):
                yield model, step


def rate_in(settings: Mapping[str, Any], epoch: int) -> float:
    """The learning rate in an epoch, which falls by `decay` and first rises over `warmup` epochs.

    Args:
        settings: `lr`, and perhaps `decay` and `warmup`.
        epoch: The epoch, counted from 0.

    Returns:
        lr * decay**epoch, in epoch e of a warm-up of w epochs times (e + 1) / (w + 1).
    """
    lr, decay, warmup = settings["lr"], settings.get("decay", 1.0), settings.get("warmup", 0)
    rate: float = lr * decay**epoch * min(1.0, (epoch + 1) / (warmup + 1))
    return rate
