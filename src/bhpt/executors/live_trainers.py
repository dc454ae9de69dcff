"""Which trainers stay alive in a worker, by its reports."""

from collections.abc import Mapping


class Alive:
    """Arms whose trainers can go on without being thawed, the longest unused first.

    Args:
        epochs: The epoch at which the trainer of each arm is.
    """

    def __init__(self, epochs: Mapping[int, int] | None = None) -> None:
        self._epochs = dict(epochs or {})
        self._given_up: set[int] = set()

    def __len__(self) -> int:
        return len(self._epochs)

    def holds(self, arm: int, epochs: int) -> bool:
        """Whether the trainer of this arm lives, at exactly this epoch."""
        return self._epochs.get(arm) == epochs

    def forget(self, arm: int) -> None:
        """The trainer of an arm is out of date."""
        if self._epochs.pop(arm, None) is not None:
            self._given_up.add(arm)

    def remember(self, arm: int, epochs: int, most: int) -> None:
        """A trainer lives now; let go of those unused for longest if there are too many."""
        self._epochs.pop(arm, None)
        self._epochs[arm] = epochs
        self._given_up.discard(arm)
        while len(self._epochs) > most:
            self.forget(next(iter(self._epochs)))

    def give_up(self, arm: int) -> tuple[int, ...]:
        """Arms whose trainers the worker drops before it trains `arm`, which is in use then."""
        dropped = tuple(sorted(self._given_up - {arm}))
        self._given_up.clear()
        self._epochs.pop(arm, None)
        return dropped
