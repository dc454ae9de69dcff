"""Draw the live view of a study as it was at some moment, for the README.

python docs/pictures.py runs/digits.db docs/images/live.svg --part 0.7
"""

import argparse
import io
import re
from pathlib import Path

from rich.console import Console

from bhpt.reports.progress import progress_of
from bhpt.storage import read_store
from bhpt.study import State, apply, fold
from bhpt.views.renderables import view_of

_WIDTH = 100
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def moment(study: Path, part: float) -> State:
    """The study when this part of its budget was used and all its workers were busy."""
    with read_store(study) as reader:
        events = reader.read()
    state = fold(events[:1])
    for event in events[1:]:
        state = apply(state, event)
        used = state.ledger.used / state.ledger.budget.amount
        if used >= part and len(state.open) == state.plan.workers:
            return state
    return state


def main() -> None:
    """Read the arguments and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--part", type=float, default=0.7)
    given = parser.parse_args()
    state = moment(given.study, given.part)
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    name = (state.plan.trainer or {}).get("name", "")
    console.print(view_of(progress_of(state, state.clock + 0.01), f"bhpt tune {name}"))
    svg = console.export_svg(title="bhpt", unique_id="bhpt")
    # a picture that loads nothing: the reader's own monospaced font will do
    given.out.write_text(_FONTS.sub("", svg))


if __name__ == "__main__":
    main()
