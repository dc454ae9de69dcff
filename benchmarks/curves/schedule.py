"""Who trains with whom, and in which order their steps are issued."""

from collections.abc import Iterator, Sequence

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
