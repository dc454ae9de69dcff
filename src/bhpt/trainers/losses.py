"""From whatever a trainer returns to losses."""

from collections.abc import Callable

import numpy as np

from bhpt.trainers.interface import BadReport


def as_losses(value: object, where: str) -> tuple[float, ...]:
    """One loss or a list of them as floats; NaN and infinity are kept, they mean divergence.

    Zero-dimensional arrays and tensors of any library count as numbers, truth values do not.

    Args:
        value: What the trainer returned.
        where: Who returned it, for the message.

    Raises:
        BadReport: It is not a number or a list of numbers, or the list is empty.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (_as_loss(value, where),)
    if not value:
        raise BadReport(f"{where} gave an empty list: give one loss for each epoch")
    return tuple(_as_loss(one, where) for one in value)


def collect(next_losses: Callable[[], tuple[float, ...]], epochs: int, where: str) -> list[float]:
    """Call until `epochs` losses have come.

    Raises:
        BadReport: The last call brought more than were wanted, so that the trainer is further
            than the study can know.
    """
    losses: list[float] = []
    while len(losses) < epochs:
        losses.extend(next_losses())
    if len(losses) > epochs:
        raise BadReport(
            f"{where} gave {len(losses)} losses where {epochs} were due: "
            "make the unit a multiple of what one call trains"
        )
    return losses


def _as_loss(value: object, where: str) -> float:
    if not isinstance(value, bool | np.bool_ | str | bytes) and hasattr(value, "__float__"):
        try:
            return float(value)
        except (TypeError, ValueError, RuntimeError):
            pass  # an array of several numbers says so here; the line below names it
    shown = " ".join(repr(value).split())
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    raise BadReport(f"{where} gave {shown} ({type(value).__name__}), which is not a loss")
