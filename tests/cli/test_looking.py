"""Commands that only look at a study."""

import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from importlib.metadata import metadata
from pathlib import Path

import pytest
from pyarrow import parquet  # type: ignore[import-untyped]

import bhpt
from bhpt.cli import doctor, export, threads
from bhpt.cli.main import run
from bhpt.policies.registry import networks
from bhpt.study.csv_text import as_csv
from bhpt.study.tables import Table
from tests.cli.cases import Folder


def test_status(study: Folder) -> None:
    answer = study.bhpt("status", "s.db")
    assert answer.status == 0
    lines = answer.out.splitlines()
    assert lines[0] == "s.db: done"
    assert "14 of 14 epochs" in lines[1]
    assert any(line.startswith("best  ") for line in lines)
    assert "expected end" not in answer.out  # nothing is predicted of a study that is over
    assert "checkpoint of the best: s.db.files/best/" in answer.out
    assert all(line == line.rstrip() for line in lines)


def test_status_of_a_study_that_can_go_on(study: Folder) -> None:
    study.bhpt("resume", "s.db", "--add-budget", "1 epochs")
    with closing(sqlite3.connect(study.path / "s.db")) as connection:
        dropped = connection.execute("SELECT max(position) FROM bhpt_events").fetchone()[0]
        connection.execute("DELETE FROM bhpt_events WHERE position > ?", (dropped - 2,))
        connection.commit()
    answer = study.bhpt("status", "s.db")
    assert "interrupted with 1 unit in flight; go on with: bhpt resume s.db" in answer.out
    assert "expected end" in answer.out


def test_forecast(study: Folder) -> None:
    answer = study.bhpt("forecast", "s.db", "--add-budget", "3 epochs", "--add-budget", "30 epochs")
    assert answer.status == 0
    rows = [line.split() for line in answer.out.splitlines()[1:4]]
    assert [row[0] for row in rows] == ["now", "3", "30"]
    now, small, large = float(rows[0][1]), float(rows[1][2]), float(rows[2][2])
    assert now >= small >= large
    assert "Assumed: " in answer.out
    assert "90%" in answer.out


def test_python_forecasts_the_same(study: Folder) -> None:
    found = bhpt.forecast_study("s.db", ["3 epochs"])
    assert (
        f"{found.outcomes[-1].expected:.4g}"
        in study.bhpt("forecast", "s.db", "--add-budget", "3 epochs").out
    )


def test_policies_are_compared(study: Folder) -> None:
    more = ("--add-budget", "4 epochs")
    answer = study.bhpt("forecast", "s.db", "--policies", "asha, sh", *more)
    assert answer.status == 0
    rows = [line.split() for line in answer.out.splitlines()[1:4]]
    assert rows[0][0] == "now"
    assert {row[0] for row in rows[1:]} == {"asha", "sh"}
    assert float(rows[1][1]) <= float(rows[2][1]) <= float(rows[0][1])
    found = bhpt.compare_policies("s.db", ["asha", "sh"], "4 epochs")
    assert found.sentence in " ".join(answer.out.split())
    assert f"{found.outcomes[0].expected:.4g}" == rows[1][1]


def test_export_csv(study: Folder) -> None:
    answer = study.bhpt("export", "s.db", "--format", "csv")
    assert answer.status == 0
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert len(rows) == 14
    assert list(rows[0])[:4] == ["arm", "unit", "epoch", "loss"]
    assert {"config.rate", "config.depth"} <= set(rows[0])
    assert answer.err == ""
    written = study.bhpt("export", "s.db", "--out", "t.csv")
    assert (written.status, written.out, written.err) == (0, "", "wrote t.csv\n")
    assert (study.path / "t.csv").read_text() == answer.out


def test_the_ending_of_the_file_says_which_format(study: Folder) -> None:
    assert study.bhpt("export", "s.db", "--out", "t.parquet").status == 0
    assert parquet.read_table(study.path / "t.parquet").num_rows == 14
    assert study.bhpt("export", "s.db", "--out", "t.json").status == 0
    assert json.loads((study.path / "t.json").read_text())["spent"] == 14
    assert study.bhpt("export", "s.db", "--out", "t.tar").status == 0
    assert tarfile.is_tarfile(study.path / "t.tar")
    assert study.bhpt("export", "s.db", "--out", "t.txt").status == 0
    assert (study.path / "t.txt").read_text() == study.bhpt("export", "s.db").out


def test_export_json(study: Folder) -> None:
    read = json.loads(study.bhpt("export", "s.db", "--format", "json").out)
    assert read["spent"] == 14
    assert len(read["attempts"]) == 14
    assert sum(len(arm["losses"]) for arm in read["arms"]) == 14


def test_export_parquet(study: Folder) -> None:
    rows = list(csv.DictReader(io.StringIO(study.bhpt("export", "s.db", "--rows", "arms").out)))
    words = ("export", "s.db", "--format", "parquet", "--rows", "arms", "--out", "t.parquet")
    assert study.bhpt(*words).status == 0
    table = parquet.read_table(study.path / "t.parquet")
    assert table.num_rows == len(rows)
    assert table.column_names == list(rows[0])
    assert table["best"].to_pylist() == [float(row["best"]) for row in rows]


def test_parquet_without_pyarrow(study: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = study.bhpt("export", "s.db", "--format", "parquet", "--out", "t.parquet")
    assert (answer.status, len(answer.errors)) == (2, 1)
    assert "pip install 'bhpt[parquet]'" in answer.err


def test_mixed_columns_survive_parquet() -> None:
    table = Table(("a", "b"), [{"a": 1, "b": [1, 2]}, {"a": "x", "b": None}])
    read = parquet.read_table(io.BytesIO(export.as_parquet(table)))
    assert read["a"].to_pylist() == ["1", '"x"']
    assert read["b"].to_pylist() == ["[1, 2]", None]


def test_csv_of_odd_values() -> None:
    table = Table(("a",), [{"a": 'x,"y"\n'}, {"a": True}, {"a": None}, {"a": float("nan")}])
    read = [row["a"] for row in csv.DictReader(io.StringIO(as_csv(table)))]
    assert read == ['x,"y"\n', "true", "", "nan"]


def test_doctor(folder: Folder) -> None:
    before = folder.files()
    answer = folder.bhpt("doctor")
    assert answer.status == 0, answer
    assert "FAILED" not in answer.out
    for what in ("python", "packages", "extras", "sqlite", "cores", "disk", "store", "worker"):
        assert f" {what} " in answer.out
    for part in ("policy", "ends"):
        line = next(line for line in answer.out.splitlines() if f" net {part} " in line)
        assert networks("default")[part][:12] in line
        assert re.search(r"trained 2\d{3}-\d\d-\d\d on ", line)
        assert "lcbench 18" in line
        assert "python -m benchmarks.policy." in line
    assert folder.files() == before


def test_doctor_of_a_study(study: Folder) -> None:
    answer = study.bhpt("doctor", "s.db")
    assert answer.status == 0
    assert "every digest is right" in answer.out
    assert "14 of 14 epochs used in 14 attempts" in answer.out
    assert "0 missing, 0 damaged" in answer.out


def test_doctor_finds_damage(study: Folder) -> None:
    folder = study.path / "s.db.files" / "checkpoints"
    first, second = sorted(folder.glob("arm-*/gen-*"))[:2]
    shutil.rmtree(first)
    (second / "files" / "epoch.json").write_text("12345")
    answer = study.bhpt("doctor", "s.db")
    assert answer.status == 1
    assert "1 missing, 1 damaged" in answer.out
    assert answer.errors == ["bhpt: 1 of the checks failed"]


def test_doctor_looks_at_remote_checkpoints_where_they_lie(folder: Folder) -> None:
    bucket = folder.path / "bucket"
    words = ("--budget", "6 epochs", "--checkpoints", f"file://{bucket}")
    assert folder.tune(*words).status == 0
    assert "s.db.files/best" in folder.bhpt("status", "s.db").out
    shutil.rmtree(folder.path / "s.db.files")  # as on another machine
    answer = folder.bhpt("status", "s.db")
    assert "LOST" not in answer.out
    (where,) = re.findall(r"checkpoint of the best: file://(\S+)", answer.out)
    assert Path(where, "epoch.json").is_file()
    before = folder.files()
    answer = folder.bhpt("doctor", "s.db")
    assert answer.status == 0, answer
    assert f"at file://{bucket}" in answer.out
    assert "0 missing, 0 damaged" in answer.out
    assert {name for name in folder.files() if name.startswith("s.db.files")} == set()
    assert {name: content for name, content in folder.files().items() if name in before} == before
    first, second = sorted(bucket.glob("*/arm-*/gen-*"))[:2]
    shutil.rmtree(first)
    (second / "files" / "epoch.json").write_text("12345")
    assert "1 missing, 1 damaged" in folder.bhpt("doctor", "s.db").out


def test_doctor_without_the_package_of_remote_checkpoints(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--budget", "6 epochs", "--checkpoints", f"file://{folder.path / 'bucket'}")
    assert folder.tune(*words).status == 0
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    answer = folder.bhpt("doctor", "s.db")
    assert answer.status == 1
    assert "pip install 'bhpt[remote]'" in answer.out


def test_doctor_names_extras_that_there_are() -> None:
    extras = metadata("bhpt").get_all("Provides-Extra") or []
    assert set(doctor.EXTRAS) <= set(extras)


def test_doctor_finds_a_cut_store(study: Folder) -> None:
    content = (study.path / "s.db").read_bytes()
    (study.path / "s.db").write_bytes(content[: len(content) // 2])
    answer = study.bhpt("doctor", "s.db")
    assert answer.status == 1
    assert "damaged" in answer.out


def test_doctor_without_the_study(folder: Folder) -> None:
    answer = folder.bhpt("doctor", "s.db")
    assert answer.status == 2
    assert "no study s.db" in answer.err


def test_help_version_and_policies(folder: Folder) -> None:
    assert "tune" in folder.bhpt().out
    assert "--budget" in folder.bhpt("tune", "--help").out
    assert folder.bhpt("--version").out == f"bhpt {bhpt.__version__}\n"
    tuned, _, benchmarks = folder.bhpt("policies").out.partition("In the benchmark only")
    assert "default" in tuned
    assert "gp-ei" not in tuned
    assert "gp-ei" in benchmarks


def test_an_error_of_ours_is_one_line_too(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bhpt, "__version__", property())
    monkeypatch.setattr("bhpt.cli.status.read_snapshot", lambda _: 1 / 0)
    answer = folder.bhpt("status", "s.db")
    assert answer.status == 1
    assert len(answer.errors) == 1
    assert "ZeroDivisionError" in answer.err
    monkeypatch.setenv("BHPT_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run(["status", "s.db"])


def test_importing_bhpt_is_light() -> None:
    code = (
        "import sys, bhpt; assert 'numpy' not in sys.modules; bhpt.tune; bhpt.Study; "
        "assert 'rich' not in sys.modules and 'typer' not in sys.modules; "
        "assert all(getattr(bhpt, name) is not None for name in bhpt.__all__); dir(bhpt)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path("/"))
    with pytest.raises(AttributeError, match="has no attribute 'tunes'"):
        bhpt.tunes  # type: ignore[attr-defined]  # noqa: B018


def test_threads_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "7"})
    monkeypatch.setattr(threads, "_ours", [])
    threads.keep_to_one()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    threads.give_back()
    assert dict(os.environ) == {"OMP_NUM_THREADS": "7"}
