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

In the words of the command itself, `{name}` stands for the value of that hyper-parameter.

What it prints: `bhpt loss 0.123`, one line an epoch, with the name of the study's metric in place
of `loss`; or `bhpt metrics {"loss": 0.123, "accuracy": 0.9}`, a JSON object that holds it. Every
other line goes to the log. It exits with status 0 after exactly BHPT_EPOCHS such lines. A command
that leaves BHPT_CHECKPOINT_OUT empty starts from nothing each time, and the epochs that it trains
again are paid for.
"""

import errno
import json
import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bhpt.domain.objective import Objective
from bhpt.domain.reports import BadReport, EpochReport, read_reports
from bhpt.trainers.exit_words import how_it_ended
from bhpt.trainers.interface import Trained, TrainerFailed, Work

_REPORT = re.compile(r"bhpt\s+(\S+)\s+(.*)", re.ASCII)
_METRICS = "metrics"
_OURS = ("BHPT_CONFIG", "BHPT_EPOCHS", "BHPT_CHECKPOINT", "BHPT_PARAM_")
_LONGEST_LINE = 1 << 16
_TICK_S = 0.05


@dataclass(frozen=True)
class CommandTrainer:
    """Runs the command once for each unit."""

    words: tuple[str, ...]
    kind: str = "command"

    def run(self, work: Work, alive: object | None) -> Trained:  # noqa: ARG002  # nothing lives
        """Start the command, pass its lines on, pick out the reports."""
        reports: list[EpochReport] = []
        config_file = work.freeze_to.parent / "config.json"
        config_file.write_text(json.dumps(dict(work.config)))
        try:
            environment = {**_outer(), **environment_of(work, config_file)}
            words = [fill(word, work.config) for word in self.words]
            with _started(words, environment) as process:
                for line in _lines(process):
                    report = parse_report(line, work.objective)
                    if report is None:
                        print(line, flush=True)
                    else:
                        reports.append(report)
        finally:
            config_file.unlink(missing_ok=True)
        _check_end(process.returncode, words[0])
        _check_count(len(reports), work)
        return work.result(reports, frozen=any(work.freeze_to.iterdir())), None

    def drop(self, alive: object) -> None:
        """Nothing to do: no command lives on."""


def environment_of(work: Work, config_file: Path) -> dict[str, str]:
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
    return re.sub(
        r"\{([^{}]*)\}",
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
def _started(words: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process group of its own, so that whatever it leaves behind can be ended."""
    sys.stdout.flush()
    process = subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
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


def _check_count(count: int, work: Work) -> None:
    if count != work.trained:
        raise BadReport(
            f"the command printed {count} lines `bhpt {work.objective.metric} ...` "
            f"where BHPT_EPOCHS={work.trained} were due"
        )
