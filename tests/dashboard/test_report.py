import base64
import hashlib
import html
import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from bhpt.cli.main import run
from bhpt.dashboard.feed import StudyFeed
from bhpt.dashboard.single_file import report_page
from bhpt.storage import Address
from tests.dashboard.cases import HOSTILE, stored_study


def page_of(file: Path) -> str:
    with closing(StudyFeed(Address.parse(file))) as feed:
        return report_page(feed)


def test_a_report_is_whole_and_runs_only_its_own_scripts(tmp_path: Path) -> None:
    stored_study(tmp_path / "s.db", units=15).close()
    page = page_of(tmp_path / "s.db")
    assert "/static/" not in page
    policy = html.unescape(re.search(r'Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]
    assert "unsafe" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 5
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    found = re.search(
        r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL
    )
    assert found is not None
    content = json.loads(found[1])
    assert content["study"]["overview"]["units"] == 15
    assert content["answers"]["why/14"]["is_recomputed"]
    assert not content["answers"]["why/3"]["is_recomputed"]
    assert HOSTILE not in page


def test_a_study_without_units_has_a_report(tmp_path: Path) -> None:
    stored_study(tmp_path / "s.db", units=0).close()
    assert "nothing to forecast from" in page_of(tmp_path / "s.db")


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.db"
    stored_study(file, units=4).close()
    assert run(["report", str(file), "--out", str(tmp_path / "r.html")]) == 0
    assert capsys.readouterr().err == f"wrote {tmp_path / 'r.html'}: any browser shows it\n"
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    before = file.read_bytes()
    assert run(["report", str(file), "--out", str(file)]) == 2
    assert file.read_bytes() == before
    assert run(["report", str(tmp_path / "no.db"), "--out", str(tmp_path / "x.html")]) == 2
    assert not (tmp_path / "x.html").exists()
