"""A study: an append-only log of events, the state it folds to, ask and tell."""

from bhpt.study.codec import NewerVersion, decode_event, encode_event
from bhpt.study.folding import apply, fold
from bhpt.study.log import Busy, Conflict, EventLog, Fenced, Journal, Keep, MemoryLog
from bhpt.study.plan import Plan, Search, Training
from bhpt.study.pricing import priced_view
from bhpt.study.state import State
from bhpt.study.study import AskedUnit, Study

__all__ = [
    "AskedUnit",
    "Busy",
    "Conflict",
    "EventLog",
    "Fenced",
    "Journal",
    "Keep",
    "MemoryLog",
    "NewerVersion",
    "Plan",
    "Search",
    "State",
    "Study",
    "Training",
    "apply",
    "decode_event",
    "encode_event",
    "fold",
    "priced_view",
]
