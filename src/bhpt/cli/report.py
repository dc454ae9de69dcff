"""`bhpt report`: a study as one HTML file, to send to a colleague."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from bhpt.cli.export import refuse_study, write_whole
from bhpt.domain import Misuse
from bhpt.storage import Address
from bhpt.views.formatting import to_stderr

_ENDINGS = ("", ".html", ".htm")


def report(
    study: Annotated[str, typer.Argument(help="Its file or address.", metavar="STUDY")],
    out: Annotated[Path, typer.Option(help="The file to write.", metavar="FILE.html")],
) -> None:
    """Write a study as one HTML file that needs nothing else."""
    if out.suffix.lower() not in _ENDINGS:
        raise Misuse(f"--out {out}: a report is HTML: name it {out.with_suffix('.html')}")
    try:
        from bhpt.dashboard.feed import StudyFeed
        from bhpt.dashboard.single_file import report_page
    except ImportError as error:
        raise Misuse(f"a report needs {error.name}: pip install 'bhpt[dashboard]'") from None
    address = Address.parse(study)
    refuse_study(out, address)
    with closing(StudyFeed(address)) as feed:
        content = report_page(feed)
    write_whole(out, lambda file: _write(file, content))
    to_stderr(f"wrote {out}: any browser shows it")


def _write(file: Path, content: str) -> None:
    file.write_text(content, "utf-8")
