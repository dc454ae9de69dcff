import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from bhpt.cli.main import run
from tests.dashboard.cases import stored_study


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    stored_study(tmp_path / "s.db", units=3).close()
    words = [sys.executable, "-m", "bhpt.cli.main", "dashboard", "s.db", "--port", "0"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    with urllib.request.urlopen(f"{address}api/studies/0/stream", timeout=60) as stream:
        assert stream.readline() == b"event: whole\n"
        process.send_signal(signal.SIGINT)  # while a page is open
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (0, "")


def test_an_open_address_needs_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BHPT_DASHBOARD_TOKEN", raising=False)
    assert run(["dashboard", str(tmp_path / "s.db"), "--host", "0.0.0.0"]) == 2
    assert "--token-file" in capsys.readouterr().err
    missing = str(tmp_path / "none")
    assert run(["dashboard", "s.db", "--host", "0.0.0.0", "--token-file", missing]) == 2


def test_a_missing_study_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dashboard", str(tmp_path / "none.db"), "--port", "0"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
