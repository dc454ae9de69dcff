"""Kinds of budget by the name under which studies store them."""

from bhpt.domain.budget_kinds.dollars import Dollars
from bhpt.domain.budget_kinds.epochs import Epochs
from bhpt.domain.budget_kinds.kind import BudgetKind
from bhpt.domain.budget_kinds.wall_clock import WallClock
from bhpt.domain.errors import Misuse

_KINDS: dict[str, type[BudgetKind]] = {kind.name: kind for kind in (Epochs, WallClock, Dollars)}


def register_kind(kind: type[BudgetKind]) -> type[BudgetKind]:
    """Make a kind known by its name; usable as a decorator.

    A stored study of the kind opens only where it is known.

    Raises:
        Misuse: Another kind has this name.
    """
    if _KINDS.setdefault(kind.name, kind) is not kind:
        raise Misuse(f"there is another kind of budget called {kind.name!r}: choose another name")
    return kind


def find_kind(name: str) -> type[BudgetKind]:
    """The kind of this name.

    Raises:
        Misuse: If there is none.
    """
    if not isinstance(name, str) or name not in _KINDS:
        raise Misuse(f"unknown kind of budget {name!r}: use one of {', '.join(_KINDS)}")
    return _KINDS[name]


def parse_amount(text: str) -> tuple[float, str]:
    """The amount and the name of the kind that a text is written in.

    Raises:
        Misuse: No kind can read it.
    """
    for name, kind in _KINDS.items():
        amount = kind.parse(text)
        if amount is not None:
            return amount, name
    try:
        float(text)
    except ValueError:
        why = "is no amount that can be spent, or has an unknown unit"
    else:
        why = "does not say of what"
    raise Misuse(f"budget {text!r} {why}; {examples()}")


def examples() -> str:
    """How each kind is written, for messages."""
    *others, last = (f'"{kind.example}"' for kind in _KINDS.values())
    return f"write {', '.join(others)} or {last}"
