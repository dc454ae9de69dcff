from pathlib import Path

import pytest

from bhpt.study.new_study import new_study


def test_studies_of_one_second_have_different_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    files = []
    for _ in range(3):
        files.append(new_study("train:Net"))
        Path(files[-1]).touch()
    assert len(set(files)) == 3
    assert all(file.startswith("runs/net-") and file.endswith(".db") for file in files)
