"""A plain command as a trainer: environment variables in, lines on standard output back.

What the command finds in its environment:

    BHPT_CONFIG           the configuration as JSON
    BHPT_CONFIG_FILE      a file with the same JSON
    BHPT_PARAM_<name>     one for each hyper-parameter, text as it is and the rest as JSON;
                          characters other than letters, digits and _ become _
    BHPT_EPOCHS           how many epochs to train now
    BHPT_EPOCHS_DONE      how many epochs the checkpoint to load holds, 0 at the start
    BHPT_CHECKPOINT_IN    folder to load from; not set when training starts from nothing
    BHPT_CHECKPOINT_OUT   empty folder to save to
    BHPT_METRICS_FILE     file to write reports to, instead of printing them

In the words of the command itself, `{name}` stands for the value of that hyper-parameter, and

    {epochs}, {epochs_done}, {epochs_total}  for how many epochs to train now, how many the
                          checkpoint holds, and both together
    {metrics_file}        for BHPT_METRICS_FILE
    {folder}              for a folder that is kept: the command finds there what it has left
                          there. It is BHPT_CHECKPOINT_OUT, filled with the last checkpoint

What it prints: `bhpt loss 0.123`, one line an epoch, with the name of the study's metric in place
of `loss`; or `bhpt metrics {"loss": 0.123, "accuracy": 0.9}`, a JSON object that holds it; or,
with a pattern for its own lines, whatever matches that. Or it writes such numbers or objects to
BHPT_METRICS_FILE, one a line. Every other line goes to the log. It exits with status 0 after
exactly BHPT_EPOCHS reports. A command that saves nothing starts from nothing each time, and the
epochs that it trains again are paid for.
"""

import errno
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bhpt.domain.errors import Misuse
from bhpt.domain.objective import Objective
from bhpt.domain.reports import BadReport, EpochReport, read_reports
from bhpt.trainers.exit_words import how_it_ended
from bhpt.trainers.interface import Trained, TrainerFailed, Work

_REPORT = re.compile(r"bhpt\s+(\S+)\s+(.*)", re.ASCII)
_METRICS = "metrics"
_OURS = ("BHPT_CONFIG", "BHPT_EPOCHS", "BHPT_CHECKPOINT", "BHPT_PARAM_", "BHPT_METRICS_FILE")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_FOLDER = "folder"
SPECIAL_NAMES = frozenset({"epochs", "epochs_done", "epochs_total", "metrics_file", _FOLDER})
"""What `{name}` may stand for beside hyper-parameters."""

_SHELL = frozenset({"&&", "||", "|", ";", "<", ">", ">>", "2>&1"})
_LONGEST_LINE = 1 << 16
_TICK_S = 0.05


@dataclass(frozen=True)
class CommandTrainer:
    """Runs the command once for each unit."""

    words: tuple[str, ...]
    loss_regex: str | None = None
    kind: str = "command"

    def run(self, work: Work, alive: object | None) -> Trained:  # noqa: ARG002  # nothing lives
        """Start the command, pass its lines on, pick out the reports."""
        files = [work.freeze_to.parent / name for name in ("config.json", "metrics.jsonl")]
        config_file, metrics_file = files
        config_file.write_text(json.dumps(dict(work.config)))
        before = self._keep_folder(work)
        try:
            environment = {**_outer(), **command_environment(work, config_file, metrics_file)}
            values = {**special_values(work, metrics_file), **work.config}
            words = [fill(word, values) for word in self.words]
            with _started(words, environment, errors_too=self.loss_regex is not None) as process:
                reports = self._listen(process, work.objective)
            _check_end(process.returncode, words[0])
            reports = read_metrics_file(metrics_file, work.objective) or reports
        finally:
            for file in files:
                file.unlink(missing_ok=True)
        self._check_count(len(reports), work)
        after = _contents(work.freeze_to)
        return work.result(reports, frozen=bool(after) and after != before), None

    def _keep_folder(self, work: Work) -> frozenset[tuple[str, int, int]]:
        """Put what the command has left in its folder there again, if it has asked for that."""
        if "{folder}" in " ".join(self.words) and work.resume.place is not None:
            shutil.copytree(work.resume.place, work.freeze_to, dirs_exist_ok=True)
        return _contents(work.freeze_to)

    def _listen(self, process: subprocess.Popen[bytes], objective: Objective) -> list[EpochReport]:
        """The reports among the lines that a command prints; the others go to the log."""
        pattern = None if self.loss_regex is None else re.compile(self.loss_regex)
        reports = []
        for line in _lines(process):
            report = parse_report(line, objective)
            own = None if pattern is None else match_report(line, pattern, objective)
            if report is None:
                print(line, flush=True)
            if (found := report or own) is not None:
                reports.append(found)
        return reports

    def _check_count(self, count: int, work: Work) -> None:
        if count == work.trained:
            return
        metric, hint = work.objective.metric, ""
        lines = f"lines `bhpt {metric} ...`"
        if self.loss_regex is not None:
            lines = f"lines that match {self.loss_regex!r}"
        elif not count:
            hint = f"; if it prints lines such as {metric}=0.5, add --loss-regex '{metric}=(\\S+)'"
        if count > work.trained:
            hint = "; pass it {epochs}, or {epochs_total} with {folder}"
        elif signs := _SHELL.intersection(self.words):
            hint += f"; if {min(signs)} is meant for a shell, write sh -c '...' around it"
        raise BadReport(
            f"the command printed {count} {lines}, not BHPT_EPOCHS={work.trained}{hint}"
        )

    def drop(self, alive: object) -> None:
        """Nothing to do: no command lives on."""


def check_regex(pattern: str) -> None:
    """Refuse a pattern that could not pick out a number.

    Raises:
        Misuse: It is no regular expression, or has no group.
    """
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise Misuse(f"--loss-regex {pattern!r} is no regular expression: {error}") from None
    if not groups:
        raise Misuse(
            f"--loss-regex {pattern!r}: put the number into brackets, such as 'val_loss=(\\S+)'"
        )


def match_report(line: str, pattern: re.Pattern[str], objective: Objective) -> EpochReport | None:
    """The report in a line of the command's own; None if the pattern is not found in it.

    Groups with names are metrics; without names, the first group is the study's metric.

    Raises:
        BadReport: What was found is not a number, or not the metric that counts.
    """
    found = pattern.search(line)
    if found is None:
        return None
    texts = found.groupdict() or {objective.metric: found[1]}
    try:
        metrics = {name: float(text) for name, text in texts.items() if text is not None}
    except ValueError:
        raise BadReport(
            f"the command printed {line.strip()!r:.80}, in which "
            f"{pattern.pattern!r} finds no number"
        ) from None
    value: object = metrics if pattern.groupindex else metrics[objective.metric]
    return read_reports(value, objective, "the command")[0]


def read_metrics_file(file: Path, objective: Objective) -> list[EpochReport]:
    """The reports in a file that a command has written, one a line; none if there is no file.

    Raises:
        BadReport: A line is neither a number nor a JSON object.
    """
    if not file.is_file():
        return []
    reports: list[EpochReport] = []
    for line in file.read_text(errors="replace").splitlines():
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            raise BadReport(
                f"the command wrote {line.strip()!r:.80} to BHPT_METRICS_FILE, which is not JSON"
            ) from None
        reports += read_reports(value, objective, "BHPT_METRICS_FILE")
    return reports


def unknown_names(words: Iterable[str], known: Iterable[str]) -> list[str]:
    """Names in braces that stand for nothing; braces around anything but a name are left alone."""
    named = [name for word in words for name in _PLACEHOLDER.findall(word) if _NAME.fullmatch(name)]
    return sorted(set(named) - set(known) - SPECIAL_NAMES)


def special_values(work: Work, metrics_file: Path) -> dict[str, object]:
    """What `{name}` stands for beside hyper-parameters."""
    return {
        "epochs": work.trained,
        "epochs_done": work.resume.epochs,
        "epochs_total": work.resume.epochs + work.trained,
        "metrics_file": str(metrics_file),
        _FOLDER: str(work.freeze_to),
    }


def _contents(folder: Path) -> frozenset[tuple[str, int, int]]:
    """What lies in a folder, so that a change is noticed: paths, sizes and times."""
    files = (path for path in folder.rglob("*") if not path.is_dir())
    stats = ((str(path.relative_to(folder)), path.lstat()) for path in files)
    return frozenset((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def command_environment(work: Work, config_file: Path, metrics_file: Path) -> dict[str, str]:
    """The variables of the protocol.

    Raises:
        BadReport: Two hyper-parameters share a variable, or a value cannot be put into one.
    """
    variables = {
        "BHPT_CONFIG": json.dumps(dict(work.config)),
        "BHPT_CONFIG_FILE": str(config_file),
        "BHPT_EPOCHS": str(work.trained),
        "BHPT_EPOCHS_DONE": str(work.resume.epochs),
        "BHPT_CHECKPOINT_OUT": str(work.freeze_to),
        "BHPT_METRICS_FILE": str(metrics_file),
    }
    if work.resume.place is not None:
        variables["BHPT_CHECKPOINT_IN"] = str(work.resume.place)
    for name, value in work.config.items():
        variable = "BHPT_PARAM_" + re.sub(r"[^A-Za-z0-9_]", "_", name)
        if variable in variables:
            raise BadReport(f"two hyper-parameters share the variable {variable}: rename {name!r}")
        if "\0" in as_text(value):
            raise BadReport(f"the value of {name!r} holds a NUL, which no command can be given")
        variables[variable] = as_text(value)
    return variables


def as_text(value: object) -> str:
    """A hyper-parameter as a command sees it."""
    return value if isinstance(value, str) else json.dumps(value)


def fill(word: str, config: Mapping[str, object]) -> str:
    """Put values in place of `{name}`; braces around anything else stay."""
    return _PLACEHOLDER.sub(
        lambda match: as_text(config[match[1]]) if match[1] in config else match[0],
        word,
    )


def parse_report(line: str, objective: Objective) -> EpochReport | None:
    """The report in a protocol line, None for any other line.

    Raises:
        BadReport: It is a protocol line without a number, or without the metric that counts.
    """
    match = _REPORT.fullmatch(line.strip())
    if match is None or match[1] not in (objective.metric, _METRICS):
        return None
    said = f"the command printed {line.strip()!r:.80}, which"
    try:
        value = float(match[2]) if match[1] == objective.metric else json.loads(match[2])
    except ValueError:
        wanted = f"a {objective.metric}" if match[1] == objective.metric else "a JSON object"
        raise BadReport(f"{said} is not {wanted}") from None
    if match[1] == _METRICS and not isinstance(value, dict):
        raise BadReport(f"{said} is not a JSON object")
    return read_reports(value, objective, "the command")[0]


def _outer() -> dict[str, str]:
    """The worker's environment without what an outer command was given."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    return {"PYTHONUNBUFFERED": "1", **kept}


@contextmanager
def _started(
    words: list[str], environment: dict[str, str], *, errors_too: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process group of its own, so that whatever it leaves behind can be ended."""
    sys.stdout.flush()
    process = subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors_too else None,
        process_group=0,
    )
    try:
        yield process
    finally:
        _end_group(process)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it left nothing behind


def _lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Lines as they come, until the command is gone.

    Its end counts, not the end of its output: a child that it left running may hold that open.
    """
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    os.set_blocking(descriptor, False)
    held = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            gone = _is_gone(process)
            selector.select(_TICK_S)
            chunk = _read(descriptor)
            if chunk == b"":
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                break
            if gone and chunk is None:
                break
            *whole, held = (held + (chunk or b"")).split(b"\n")
            if len(held) > _LONGEST_LINE:
                whole, held = [*whole, held], b""
            yield from (line.decode(errors="replace") for line in whole)
    if held:
        yield held.decode(errors="replace")


def _is_gone(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended; it is not waited for, so that its group keeps its number."""
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended is not None


def _read(descriptor: int) -> bytes | None:
    """What is there; None for nothing yet, empty at the end."""
    try:
        return os.read(descriptor, _LONGEST_LINE)
    except BlockingIOError:
        return None


def _check_end(status: int, word: str) -> None:
    if status == -signal.SIGXFSZ:
        full = OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        raise TrainerFailed(f"{word} ran into the limit on file sizes") from full
    if status != 0:
        raise TrainerFailed(f"{word} {how_it_ended(status)}")
