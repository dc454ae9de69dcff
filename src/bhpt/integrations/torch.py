"""PyTorch: everything that a training loop must save to go on exactly where it stopped.

```python
state = TrainingState(model=model, optimizer=optimizer, scheduler=scheduler)
for epoch in state.epochs():
    ...
    bhpt.report({"loss": loss}, checkpoint=state.save)
```
"""

import random
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from bhpt.domain.errors import Misuse
from bhpt.trainers.function import checkpoint

_SAFE = find_spec("safetensors") is not None
if _SAFE:
    import safetensors.torch

_FILE = "training_state.pt"
_EPOCH, _RANDOM = "epoch", "random"


class Stateful(Protocol):
    """A module, an optimiser, a scheduler, a gradient scaler: all of PyTorch's have these."""

    def state_dict(self) -> dict[str, Any]:
        """What there is to save."""
        ...

    def load_state_dict(self, state: Any) -> Any:  # noqa: ANN401  # each has its own
        """Go on from what was saved."""
        ...


class TrainingState:
    """The parts of a training loop, its random numbers and how many epochs lie behind it.

    Weights of modules are written as safetensors where that package is installed, one file a
    module, so that other programs can read them; everything else by `torch.save`, read with
    `weights_only=True`. No code is ever run.

    Args:
        parts: Everything with a state, by name: model, optimizer, scheduler, scaler, ...

    Attributes:
        epoch: The epoch that was trained last, or is being trained; 0 before the first.
    """

    def __init__(self, **parts: Stateful) -> None:
        if not parts or {_EPOCH, _RANDOM} & set(parts):
            raise Misuse("name what has a state: TrainingState(model=model, optimizer=optimizer)")
        self._parts = parts
        self.epoch = 0

    def epochs(self) -> Iterator[int]:
        """The epochs to train, counted from 1: those after the checkpoint, without an end."""
        folder = checkpoint()
        if folder is not None:
            self.load(folder)
        while True:
            self.epoch += 1
            yield self.epoch

    def save(self, folder: Path) -> None:
        """Freeze: the parts, the random numbers and the epoch that was trained last."""
        states: dict[str, Any] = {}
        for name, part in self._parts.items():
            if _SAFE and isinstance(part, torch.nn.Module):
                safetensors.torch.save_model(part, folder / f"{name}.safetensors")
                states[name] = None
            else:
                states[name] = part.state_dict()
        states |= {_EPOCH: self.epoch, _RANDOM: _random_state()}
        torch.save(states, folder / _FILE)

    def load(self, folder: Path) -> None:
        """Thaw.

        Raises:
            Misuse: The checkpoint has other parts.
        """
        states = torch.load(folder / _FILE, map_location="cpu", weights_only=True)
        epoch, numbers = states.pop(_EPOCH), states.pop(_RANDOM)
        if set(states) != set(self._parts):
            raise Misuse(
                f"the checkpoint holds {', '.join(states)}, not {', '.join(self._parts)}: give "
                "TrainingState the same parts as when it was saved"
            )
        for name, part in self._parts.items():
            if states[name] is not None:
                part.load_state_dict(states[name])
            elif _SAFE:
                safetensors.torch.load_model(part, folder / f"{name}.safetensors")
            else:
                raise Misuse(f"the weights of {name} need safetensors: pip install safetensors")
        self.epoch = int(epoch)
        _set_random_state(numbers)


def _random_state() -> dict[str, Any]:
    """All generators that training loops draw from, as plain values and tensors."""
    name, keys, at, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002  # theirs
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": (str(name), [int(key) for key in keys], int(at), int(has_gauss), float(gauss)),
        "python": random.getstate(),
    }


def _set_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.array(keys, np.uint32), *rest))  # noqa: NPY002  # theirs
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
