"""Kinds of budget: one file each, everything that depends on what is counted."""

from bhpt.domain.budget_kinds.kind import (
    STOPPING_S,
    BudgetKind,
    Enough,
    Extend,
    UnitCost,
    UnitUsage,
)
from bhpt.domain.budget_kinds.registry import examples, find_kind, parse_amount, register_kind
from bhpt.domain.budget_kinds.timed import Metered, Timed

__all__ = [
    "STOPPING_S",
    "BudgetKind",
    "Enough",
    "Extend",
    "Metered",
    "Timed",
    "UnitCost",
    "UnitUsage",
    "examples",
    "find_kind",
    "parse_amount",
    "register_kind",
]
