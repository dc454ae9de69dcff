"""From raw curves to installed weights: `python -m benchmarks.policy.retrain`.

Stages, each a command of this folder with its output in `--work`:

    pool       packs all curves                     pool.npz
    knowledge  networks that read names             knowledge.npz, names.npz
    policy     the network that chooses arms        policy.npz
    ends       the network that predicts ends       ends.npz
    finisher   which tried arm to go on with        finisher.npz
    install    copies the four networks where they are used

A stage that has ended leaves a record of its arguments and of the digests of its inputs. A later
call does not repeat it unless one of these has changed, so a retraining may be spread over calls
of limited length; a stage that was interrupted begins anew.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import bhpt.beliefs.learned
from benchmarks.policy import pool
from benchmarks.policy.options import add_leave_out
from bhpt.beliefs.learned.schema import SCHEMA
from bhpt.beliefs.learned.weights import NETWORKS, read_weights, write_weights
from bhpt.domain import Misuse

PACKAGE = Path(bhpt.beliefs.learned.__path__[0]) / "data"
STAGES = ("pool", "knowledge", "policy", "ends", "finisher", "install")
CRITIC = ("value",)  # arrays that only training needs


@dataclass(frozen=True)
class Stage:
    """One step of a retraining.

    Attributes:
        name: One of `STAGES`.
        arguments: What its command is told.
        inputs: Files whose contents it depends on.
        run: Does it.
    """

    name: str
    arguments: tuple[str, ...]
    inputs: tuple[Path, ...]
    run: Callable[[Sequence[str]], None]

    def record(self) -> dict[str, object]:
        """What the outcome depends on."""
        return {
            "arguments": list(self.arguments),
            "schema": SCHEMA.digest,
            "inputs": {str(file): _digest(file) for file in self.inputs},
        }


def stages(options: argparse.Namespace) -> list[Stage]:
    """All stages up to the one that was asked for, in their order."""
    work = options.work
    packed = work / "pool.npz"
    made = [work / f"{name}.npz" for name in NETWORKS]
    every = [
        Stage("pool", _texts(_sources(options), "--out", packed), _raw(options), pool.main),
        *_trainings(options, packed),
        Stage("install", (str(options.out),), tuple(made), lambda _: install(work, options.out)),
    ]
    return every[: STAGES.index(options.until) + 1]


def _trainings(options: argparse.Namespace, packed: Path) -> list[Stage]:
    """The stages that train a network each on a packed pool, in their order."""
    known = options.work / "knowledge.npz"
    kept = [
        *_told("--leave-out", ",".join(options.leave_out)),
        *_told("--leave-out-kind", ",".join(options.leave_out_kind)),
    ]
    pooled = _texts(["--pool", packed, *kept])
    shrink = ("--shrink", str(options.shrink))

    def trained(name: str, command: str, *told: object, inputs: Sequence[Path] = ()) -> Stage:
        out = known if name == "knowledge" else options.work / f"{name}.npz"
        arguments = (*pooled, *_texts(told), "--out", str(out))
        return Stage(name, arguments, (packed, *inputs), _command(command))

    policy, ends = options.start_policy, options.start_ends
    return [
        trained("knowledge", "knowledge", "--steps", options.steps, "--fold-by", options.fold_by),
        trained(
            "policy",
            "train",
            *("--knowledge", known, *shrink, *_told("--start", policy)),
            *("--seconds", options.seconds, "--taught", options.taught),
            inputs=(known, *_files(policy)),
        ),
        trained(
            "ends",
            "ends",
            *(*shrink, *_told("--start", ends), "--seconds", options.ends_seconds),
            inputs=_files(ends),
        ),
        trained("finisher", "finisher", "--steps", options.finisher_steps),
    ]


def install(work: Path, out: Path) -> None:
    """Copy the networks from one folder into another, without what only training needs.

    Raises:
        Misuse: One of them does not fit the features of this version.
    """
    out.mkdir(parents=True, exist_ok=True)
    for network in NETWORKS:
        weights = read_weights(work / f"{network}.npz", network)
        kept = {name: value for name, value in weights.items() if name not in CRITIC}
        write_weights(out / f"{network}.npz", kept, weights.passport)
        print(f"installed {out / f'{network}.npz'}", flush=True)
    print("new numbers for tests/beliefs/learned/test_weights.py are printed by")
    print("    python -m tests.beliefs.learned.test_weights", flush=True)


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.policy.retrain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    pool.add_sources(made)
    add_leave_out(made)
    made.add_argument("--work", type=Path, default=Path("runs/retrain"), help="folder of stages")
    made.add_argument("--out", type=Path, default=PACKAGE, help="folder to install into")
    made.add_argument("--until", choices=STAGES, default="install", help="the last stage to run")
    made.add_argument("--steps", type=int, default=1500, help="steps of each knowledge network")
    made.add_argument("--fold-by", choices=("task", "kind", "both"), default="both")
    made.add_argument("--seconds", type=float, default=500.0, help="of training the policy")
    made.add_argument("--ends-seconds", type=float, default=250.0, help="of training ends")
    made.add_argument("--finisher-steps", type=int, default=24000, help="of training finisher")
    made.add_argument("--taught", type=int, default=40, help="iterations that copy i-Epoch")
    made.add_argument("--shrink", type=int, default=1, help="fewer studies, to try it out")
    made.add_argument("--start-policy", default="", help="weights to go on from")
    made.add_argument("--start-ends", default="", help="weights to go on from")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all stages that are not done yet."""
    options = parser().parse_args(arguments)
    try:
        if options.until != "pool" and find_spec("jax") is None:
            raise Misuse("training needs JAX: pip install 'bhpt[train]'")
        options.work.mkdir(parents=True, exist_ok=True)
        for stage in stages(options):
            _run(stage, options.work / f"{stage.name}.json")
    except Misuse as misuse:
        raise SystemExit(str(misuse)) from misuse


def _run(stage: Stage, record: Path) -> None:
    """Run a stage unless its record says that it has ended with the same inputs."""
    made_of = stage.record()
    if record.exists() and json.loads(record.read_text()) == made_of:
        print(f"{stage.name}: done before", flush=True)
        return
    record.unlink(missing_ok=True)
    began = time.monotonic()
    stage.run(stage.arguments)
    record.write_text(json.dumps(made_of, indent=1) + "\n")
    print(f"{stage.name}: {time.monotonic() - began:.0f} s", flush=True)


def _command(module: str) -> Callable[[Sequence[str]], None]:
    """The main function of a module that needs JAX, imported when it is called."""
    return lambda arguments: import_module(f"benchmarks.policy.{module}").main(arguments)


def _sources(options: argparse.Namespace) -> list[object]:
    """Where curves come from, as options of the pool."""
    found: list[object] = ["--data", options.data, "--drawn", options.drawn]
    found += ["--worlds", options.worlds, *_told("--nets", options.nets)]
    return found + [word for folder in options.tables for word in ("--tables", folder)]


def _raw(options: argparse.Namespace) -> tuple[Path, ...]:
    """The files that the pool is packed from."""
    found = {*options.data.rglob("lcbench*.npz"), *options.data.rglob("taskset*.npz")}
    for folder in (options.nets, *options.tables):
        if folder is not None:
            found |= {*folder.glob("*.npz"), *folder.glob("*.json")}
    return tuple(sorted(found))


def _told(option: str, value: object) -> list[object]:
    """An option with its value, nothing without one."""
    return [option, value] if value else []


def _files(name: str) -> tuple[Path, ...]:
    return (Path(name),) if name else ()


def _texts(words: Iterable[object], *more: object) -> tuple[str, ...]:
    return tuple(str(word) for word in (*words, *more))


def _digest(file: Path) -> str:
    """Of a file's contents.

    Raises:
        Misuse: There is no such file.
    """
    if not file.is_file():
        raise Misuse(f"{file}: no such file")
    return sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
