"""The benchmark of a large cluster, made small."""

from pathlib import Path

import pytest

from benchmarks import cluster


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_WORKERS": 4, "_ARMS": 30, "_WARM": 10, "_STEPS": 4}.items():
        monkeypatch.setattr(cluster, name, value)


def test_a_whole_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.whole_study(40, "random", tmp_path)
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == "random, 4 workers, 30 arms, 40 units of 60 s:"
    assert [line.split()[0] for line in lines[:3]] == ["10", "20", "30"]
    assert "bytes more with each unit" in lines[-2]
    assert lines[-1].startswith("  done")


def test_going_on_with_a_study_that_was_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.make_study(50, "random", tmp_path)
    cluster.go_on("random", 20, tmp_path)
    each, played, now, most = map(float, capsys.readouterr().out.split())
    assert each > 0
    assert played > 0
    assert most >= now


def test_shares_are_of_busy_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_WORKERS", 256)
    assert cluster.share(11.72) == pytest.approx(5.0, abs=0.01)
