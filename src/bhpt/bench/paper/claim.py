"""One claim of the paper, what was measured, and whether it holds."""

from dataclasses import dataclass
from typing import Literal

ClaimVerdict = Literal["holds", "partly", "open", "does not hold", "not run"]


@dataclass(frozen=True)
class PaperClaim:
    """One line of the page.

    Attributes:
        says: What the paper says.
        measured: What came out, with numbers.
        verdict: Whether it holds.
    """

    says: str
    measured: str
    verdict: ClaimVerdict
