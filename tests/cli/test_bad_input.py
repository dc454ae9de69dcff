"""Bad input: one clear line, exit status 2, nothing created or lost."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.cli.cases import Answer, Folder


def refused(answer: Answer, *parts: str) -> None:
    assert answer.status == 2, answer
    assert len(answer.errors) == 1, answer.err
    assert answer.out == ""
    assert answer.err.startswith("bhpt: ")
    for part in parts:
        assert part in answer.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--budget", "0"], "budget '0'"),
        (["--budget", "40"], "budget '40' does not say of what"),
        (["--budget", "0 epochs"], "more than 0"),
        (["--budget", "-3"], "budget '-3'"),
        (["--budget", "-3 epochs"], "more than 0"),
        (["--budget", "five"], "budget 'five'"),
        (["--budget", "10 parsecs"], "unknown unit"),
        (["--budget", "$5"], "--price-per-hour"),
        (["--budget", "$5", "--price-per-hour", "-1"], "more than 0"),
        (["--workers", "0"], "worker"),
        (["--workers", "many"], "--workers"),
        (["--unit-epochs", "0"], "unit"),
        (["--max-epochs", "0"], "epochs"),
        (["--unit-limit", "-1"], "limit"),
        (["--retries", "-1"], "retries"),
        (["--seed", "-1"], "seed"),
        (["--policy", "magic"], "bhpt policies"),
        (["--policy", "gp-ei"], "baseline of the benchmark"),
        (["--candidates", "0"], "at least one candidate, not 0"),
        (["--candidates", "100000000"], "draw at most 100000, and more come"),
        (["--stop-when", "nan"], "good enough, not nan"),
        (["--gpus-per-worker", "nan"], "a fraction such as 0.5"),
        (["--disk-cap", "much"], "500MB"),
        (["--progress", "loud"], "auto"),
        (["--grace", "-1"], "grace"),
        (["--space", "nowhere.json"], "no such file"),
        (["--space", '{"rate": [0.1, 0.2, 0.3]}'], "write the ranges to space.json first"),
        (["--space", "nowhere:SPACE"], "no module 'nowhere'"),
        (["--space", "job:NOTHING"], "no 'NOTHING'"),
        (["--study", "listed.json/s.db"], "listed.json"),
        (["--study", "mysql://somewhere/s"], "mysql"),
        (["--no-such-option"], "No such option: --no-such-option. See `bhpt tune --help`."),
        (["--command", "python train.py"], "either MODULE:TRAINER, here job:Net, or --command"),
        (["--budget", "1e30 epochs"], "cannot be counted: at most 1e+15"),
        (["--budget", "1e400 epochs"], "more than 0, not inf"),
        (["--budget", "1e-3 epochs"], "a whole number, not 0.001"),
        (["--fixed", "=3"], "write NAME=VALUE"),
        (["--executor", "job:Net"], "use local or ray"),
        (["--checkpoints", "nonsense://x"], "Protocol not known: nonsense"),
        (["--study", "listed.json"], "exists already and is no study"),
    ],
)
def test_options(folder: Folder, words: list[str], says: str) -> None:
    before = folder.files()
    refused(folder.tune(*words), says)
    assert folder.files() == before


@pytest.mark.parametrize(
    ("space", "says"),
    [
        ("{}", "empty"),
        ("[]", "no configurations"),
        ("{", "not valid JSON"),
        ("3", "ranges"),
        ('{"rate": {"min": 1, "max": 1}}', "empty or reversed"),
        ('{"rate": {"min": 2, "max": 1}}', "empty or reversed"),
        ('{"rate": {"min": 0, "max": 1, "log": true}}', "above 0"),
        ('{"rate": {"min": 0, "max": 1, "type": "complex"}}', "unknown type 'complex'"),
        ('{"rate": {"choices": []}}', "at least one choice"),
        ('{"rate": {"minimum": 0}}', "unknown word 'minimum'"),
        ('{"rate": [0.1, 0.9]}', "range or two choices"),
        ('{"rate": [0.1, 0.9, "logg"]}', 'is no range, which ends in "log"'),
        ('{"rate": {"min": 0, "max": "much"}}', "numbers, not 'much'"),
    ],
)
def test_spaces(folder: Folder, space: str, says: str) -> None:
    folder.write("bad.json", space)
    before = folder.files()
    refused(folder.tune("--space", "bad.json"), says)
    assert folder.files() == before


@pytest.mark.parametrize(
    ("trainer", "text", "says"),
    [
        ("nowhere:Net", "", "no module 'nowhere'"),
        ("job", "", "MODULE:NAME"),
        ("job.py", "", 'a script as it is: --command "python job.py ..."'),
        ("job:Nett", "", "did you mean 'Net'?"),
        ("job:other", "", "has no 'other': name what it has outside of"),
        ("job:NoStep", "", "lacks step()"),
        ("job:SPACE", "", "neither a class"),
        ("broken:Net", "1 / 0", "fails at import: ZeroDivisionError"),
        ("broken:Net", "import sys; sys.exit(3)", "fails at import: SystemExit: 3"),
        ("broken:Net", "import nowhere_else", "fails at import: ModuleNotFoundError"),
        ("broken.py:Net", "def (", "fails at import: SyntaxError"),
    ],
)
def test_trainers(folder: Folder, trainer: str, text: str, says: str) -> None:
    folder.write("broken.py", text)
    before = folder.files()
    refused(folder.tune(trainer=trainer), says)
    assert folder.files() == before


def test_what_a_dying_module_printed_is_shown(folder: Folder) -> None:
    folder.write("broken.py", "print('no device found', flush=True)\nraise SystemExit(1)")
    answer = folder.tune(trainer="broken:Net")
    assert answer.status == 2
    assert [line.strip() for line in answer.errors[:-1]] == ["| no device found"]
    assert "fails at import" in answer.errors[-1]


def test_a_module_that_kills_its_process(folder: Folder) -> None:
    folder.write("broken.py", "import os; os._exit(7)")
    before = folder.files()
    answer = folder.tune(trainer="broken:Net")
    assert answer.status == 2
    assert "status 7" in answer.errors[-1]
    assert folder.files() == before


def test_no_trainer_at_all(folder: Folder) -> None:
    refused(folder.bhpt("tune", "--space", "space.json", "--budget", "5 epochs"), "MODULE:TRAINER")


def test_no_budget(folder: Folder) -> None:
    refused(folder.bhpt("tune", "job:Net", "--space", "space.json"), "--budget")


def test_unknown_command(folder: Folder) -> None:
    refused(folder.bhpt("tuen"), "tuen", "Did you mean 'tune'? See `bhpt --help`.")


@pytest.mark.parametrize(
    ("words", "help_"),
    [
        (["bench", "kinds"], "bhpt bench kinds --help"),
        (["bench", "live", "--nothing"], "bhpt bench live --help"),
        (["bench", "nothing"], "bhpt bench --help"),
        (["track", "s.db"], "bhpt track --help"),
        (["--nothing"], "bhpt --help"),
    ],
)
def test_the_help_that_is_named_is_that_of_the_command(
    folder: Folder, words: list[str], help_: str
) -> None:
    refused(folder.bhpt(*words), f"See `{help_}`.")


def test_a_command_that_is_not_quoted(folder: Folder) -> None:
    words = ("--space", "space.json", "--budget", "5 epochs", "--", "python", "train.py")
    refused(folder.bhpt("tune", *words), "(train.py). A command to tune is one option in quotes")


def test_a_folder_is_no_study(folder: Folder) -> None:
    (folder.path / "runs").mkdir()
    refused(folder.bhpt("status", "runs"), "`bhpt studies runs` lists those in it")


def test_a_file_of_a_format_that_cannot_be_written(study: Folder) -> None:
    before = study.files()
    refused(study.bhpt("export", "s.db", "--out", "rows.xlsx"), "'.xlsx'", ".parquet")
    assert study.files() == before
    assert study.bhpt("export", "s.db", "--out", "rows.xlsx", "--format", "csv").status == 0


def test_a_study_that_exists_is_not_touched(study: Folder) -> None:
    before = study.files()
    refused(study.tune(), "exists already", "bhpt resume s.db", 'if_exists="resume"')
    assert study.files() == before


def test_a_file_that_is_no_study_is_not_offered_to_resume(folder: Folder) -> None:
    before = folder.files()
    answer = folder.tune("--study", "train.py")
    refused(answer, "train.py exists already and is no study: name another file")
    assert folder.files() == before


@pytest.mark.parametrize("port", ["-1", "80000"])
def test_a_port_that_there_is_not(study: Folder, port: str) -> None:
    refused(study.bhpt("dashboard", "s.db", f"--port={port}"), "from 0 to 65535")


def test_a_folder_that_cannot_be_written(folder: Folder) -> None:
    before = folder.files()
    refused(folder.tune("--study", "/proc/nowhere/s.db"), "/proc/nowhere")
    assert folder.files() == before


def test_a_server_that_is_away_leaves_nothing_behind(folder: Folder) -> None:
    pytest.importorskip("psycopg")
    before = folder.files()
    answer = folder.tune("--study", "postgresql://me@127.0.0.1:1/none?study=net")
    assert answer.status == 1, answer
    assert len(answer.errors) == 1, answer.err
    assert "see that the server runs" in answer.err
    assert folder.files() == before


EVERY = [
    ("status", "s.db"),
    ("resume", "s.db"),
    ("forecast", "s.db"),
    ("export", "s.db"),
]


@pytest.mark.parametrize("words", EVERY, ids=lambda words: words[0])
class TestStores:
    def test_there_is_none(self, folder: Folder, words: tuple[str, ...]) -> None:
        before = folder.files()
        refused(folder.bhpt(*words), "no study s.db")
        assert folder.files() == before

    def test_a_foreign_file(self, folder: Folder, words: tuple[str, ...]) -> None:
        folder.write("s.db", "shopping list")
        before = folder.files()
        refused(folder.bhpt(*words), "not a bhpt study")
        assert folder.files() == before

    def test_an_empty_file(self, folder: Folder, words: tuple[str, ...]) -> None:
        folder.write("s.db", "")
        before = folder.files()
        refused(folder.bhpt(*words), "empty")
        assert folder.files() == before

    def test_a_newer_version(self, study: Folder, words: tuple[str, ...]) -> None:
        with closing(sqlite3.connect(study.path / "s.db")) as connection:
            connection.execute("PRAGMA user_version=1000")
        before = study.files()
        refused(study.bhpt(*words), "newer version")
        assert study.files() == before


def test_more_budget_of_another_kind(study: Folder) -> None:
    before = study.bhpt("export", "s.db").out
    refused(study.bhpt("resume", "s.db", "--add-budget", "2h"), "counts epochs")
    refused(study.bhpt("forecast", "s.db", "--add-budget", "2h"), "counts epochs")
    refused(study.bhpt("forecast", "s.db", "--policies", "nonsense"), "unknown policy")
    twice = ("--add-budget", "2 epochs", "--add-budget", "3 epochs")
    refused(study.bhpt("forecast", "s.db", "--policies", "asha", *twice), "one --add-budget")
    assert study.bhpt("export", "s.db").out == before


@pytest.mark.parametrize("more", ["0", "-3", "five", "10 parsecs", "$5"])
def test_more_budget_that_is_none(study: Folder, more: str) -> None:
    refused(study.bhpt("resume", "s.db", "--add-budget", more))


@pytest.mark.parametrize("name", ["r.pdf", "r.csv", "report.HTM.txt"])
def test_a_report_is_called_what_it_is(study: Folder, name: str) -> None:
    before = study.files()
    refused(study.bhpt("report", "s.db", "--out", name), "a report is HTML: name it", ".html")
    assert study.files() == before


def test_a_folder_that_is_not_there_is_named(study: Folder) -> None:
    refused(study.bhpt("export", "s.db", "--out", "no/t.csv"), "there is no folder no, make it")


def test_results_need_a_folder(folder: Folder) -> None:
    words = ("--tasks", "synthetic", "--policies", "sh", "--budgets", "2", "--out", "job.py")
    refused(folder.bhpt("bench", *words), "cannot write results to job.py: it is no folder")


def test_export_refuses(study: Folder) -> None:
    before = study.files()
    refused(study.bhpt("export", "s.db", "--format", "xls"), "csv, json, parquet or archive")
    refused(study.bhpt("export", "s.db", "--rows", "lines"), "attempts")
    refused(study.bhpt("export", "s.db", "--out", "s.db"), "the study itself")
    refused(study.bhpt("export", "s.db", "--out", "nowhere/t.csv"), "nowhere/t.csv")
    refused(study.bhpt("export", "s.db", "--out", "job.py/t.csv"), "job.py/t.csv")
    assert {name for name in study.files() if "s.db-" not in name} == set(before)
    assert study.files()["s.db"] == before["s.db"]


def test_hostile_values_are_escaped(folder: Folder) -> None:
    nasty = "\x1b[2J[bold red]x[/]\n<script>../\u0000"
    folder.write("listed.json", json.dumps([{"rate": 0.1, "depth": 1, "name": nasty}]))
    answer = folder.tune("--budget", "2 epochs")
    assert answer.status == 0, answer
    assert "\x1b" not in answer.out + answer.err
    assert "[bold red]" in answer.out
    assert "\x1b" not in folder.bhpt("status", "s.db").out
