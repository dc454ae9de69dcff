"""Call a trainer until the epochs that are due have been reported."""

from collections.abc import Callable

from bhpt.domain.reports import BadReport, EpochReport


def collect(
    next_reports: Callable[[], tuple[EpochReport, ...]], epochs: int, where: str
) -> list[EpochReport]:
    """Call until `epochs` reports have come.

    Raises:
        BadReport: The last call brought more than were wanted, so that the trainer is further
            than what is reported.
    """
    reports: list[EpochReport] = []
    while len(reports) < epochs:
        reports.extend(next_reports())
    if len(reports) > epochs:
        raise BadReport(
            f"{where} gave {len(reports)} losses, not {epochs}: "
            "make the unit a multiple of what one call trains"
        )
    return reports
