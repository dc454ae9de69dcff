"""Generated examples for the trainings on a GPU: glyphs, a chaotic series, text, graphs."""

import sysconfig
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bhpt.domain import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples to train on, then those to measure on.

    Attributes:
        x: Inputs, [N, ...].
        y: What is to be predicted, [N, ...].
        train: How many of them are to train on.
    """

    x: FloatArray | IntArray
    y: FloatArray | IntArray
    train: int


SIDE = 24  # pixels
_STROKES = 4
_DOTS = 16  # of a stroke
GLYPHS = 16


def glyphs(train: int, held: int) -> Examples:
    """Noisy images of sixteen glyphs of four strokes, turned, stretched, bent and half covered."""
    rng = np.random.default_rng(20)
    count = train + held
    ends = rng.uniform(-0.8, 0.8, (GLYPHS, _STROKES, 2, 2))
    y = rng.integers(GLYPHS, size=count)
    along = np.linspace(0.0, 1.0, _DOTS)[:, None]
    own = np.concatenate([ends[y], rng.uniform(-1.0, 1.0, (count, 1, 2, 2))], axis=1)
    own = own + 0.08 * rng.standard_normal(own.shape)  # the last stroke is of no glyph
    dots = own[:, :, None, 0] * (1 - along) + own[:, :, None, 1] * along
    placed = np.einsum("nsdi,nij->nsdj", dots, _turns(rng, count))
    placed = placed + rng.uniform(-0.25, 0.25, (count, 1, 1, 2))
    inks = rng.uniform(0.6, 1.4, (count, 1, 1))
    images = np.minimum(_drawn(placed.reshape(count, -1, 2)), 1.0) * inks
    return Examples(images + 0.45 * rng.standard_normal(images.shape), y, train)


def _turns(rng: np.random.Generator, count: int) -> FloatArray:
    """Turns, sizes and shears: [N, 2, 2]."""
    angles = rng.uniform(-0.5, 0.5, count)
    sines, cosines = np.sin(angles), np.cos(angles)
    turns = np.stack([np.stack([cosines, sines], 1), np.stack([-sines, cosines], 1)], 1)
    sizes = rng.uniform(0.6, 1.1, (count, 1, 2))
    shears = np.eye(2) + np.array([[0.0, 1.0], [0.0, 0.0]]) * rng.uniform(-0.3, 0.3, (count, 1, 1))
    turned: FloatArray = (turns @ shears) * sizes
    return turned


def _drawn(dots: FloatArray) -> FloatArray:
    """Images on which every dot gives its ink to the four pixels round it."""
    count = len(dots)
    places = (np.clip(dots, -1.0, 1.0) + 1) / 2 * (SIDE - 2)
    corner = places.astype(int)
    part = places - corner
    flat = np.zeros(count * SIDE * SIDE)
    starts = np.arange(count)[:, None] * SIDE * SIDE
    for down in (0, 1):
        for right in (0, 1):
            at = starts + (corner[..., 0] + down) * SIDE + corner[..., 1] + right
            ink = np.abs(1 - down - part[..., 0]) * np.abs(1 - right - part[..., 1])
            flat += np.bincount(at.ravel(), ink.ravel(), minlength=len(flat))
    return flat.reshape(count, SIDE, SIDE)


VARIABLES = 12
_SEEN, _AHEAD = 32, 4  # steps of 0.05


def chaos(train: int, held: int) -> Examples:
    """Lorenz 96, seen with noise for 32 steps: where it is 4 steps later."""
    rng = np.random.default_rng(21)
    series = 32  # of which each gives as many windows
    windows = -(-(train + held) // series)
    state = 8 + rng.standard_normal((series, VARIABLES))
    states = np.zeros((series, _SEEN + _AHEAD + 3 * windows, VARIABLES))
    for at in range(-100, states.shape[1]):  # the first hundred lead to where it stays
        state = _later(state, 0.05)
        if at >= 0:
            states[:, at] = state
    states = (states - states.mean()) / states.std()
    seen = states + 0.15 * rng.standard_normal(states.shape)
    starts = 3 * np.arange(windows)  # so that those to measure on come last in time
    x = np.stack([seen[:, at : at + _SEEN] for at in starts]).reshape(-1, _SEEN, VARIABLES)
    y = np.stack([states[:, at + _SEEN - 1 + _AHEAD] for at in starts]).reshape(-1, VARIABLES)
    return Examples(x[: train + held], y[: train + held], train)


def _later(state: FloatArray, step: float) -> FloatArray:
    """A Runge-Kutta step of Lorenz 96 with a forcing of 8."""

    def slope(x: FloatArray) -> FloatArray:
        ahead, behind, two = np.roll(x, -1, 1), np.roll(x, 1, 1), np.roll(x, 2, 1)
        return (ahead - two) * behind - x + 8

    first = slope(state)
    second = slope(state + step / 2 * first)
    third = slope(state + step / 2 * second)
    last = slope(state + step * third)
    later: FloatArray = state + step / 6 * (first + 2 * second + 2 * third + last)
    return later


LETTERS = 96  # printable ASCII, and one for everything else
LENGTH = 64


def sources(train: int, held: int) -> Examples:
    """Pieces of the modules of Python itself, those to measure on of other modules; next letters.

    Raises:
        FileNotFoundError: The modules are not here as text.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(folder.glob("*.py"))
    found, need = bytearray(), (train + held) * (LENGTH + 1)
    for number in np.random.default_rng(22).permutation(len(paths)):
        found += paths[number].read_bytes()
    if len(found) < need:
        raise FileNotFoundError(f"{folder} has {len(found)} bytes of modules, not {need}")
    codes = np.frombuffer(bytes(found[:need]), dtype=np.uint8).astype(np.int64) - 32
    letters = np.where((codes >= 0) & (codes < LETTERS - 1), codes, LETTERS - 1)
    pieces = letters.reshape(train + held, LENGTH + 1)
    return Examples(pieces[:, :-1], pieces[:, 1:], train)


NODES = 20
FEATURES = 4
STRUCTURES = 8


def graphs(train: int, held: int) -> Examples:
    """Graphs of eight structures, as dense neighbours beside features of nodes: [N, V, V + F].

    A structure says how much two nodes attract each other by what nobody sees of them. A graph has
    the edges of the strongest attractions, noise among them, so that how many it has tells nothing.
    """
    rng = np.random.default_rng(23)
    count = train + held
    y = rng.integers(STRUCTURES, size=count)
    places = rng.uniform(0.0, 1.0, (count, NODES, 2))
    pulls = np.zeros((count, NODES, NODES))
    for structure in range(STRUCTURES):
        mine = y == structure
        pull = _pulls(structure, places[mine][:, :, None], places[mine][:, None, :])
        pulls[mine] = (pull - pull.mean()) / (pull.std() + 1e-9)
    noise = 0.8 * np.triu(rng.standard_normal(pulls.shape), 1)
    pulls = pulls + noise + noise.transpose(0, 2, 1)
    pulls[:, np.arange(NODES), np.arange(NODES)] = -np.inf
    edges = 2 * rng.integers(24, 49, count)  # each lies on both sides of the diagonal
    ranked = np.sort(pulls.reshape(count, -1), axis=1)
    least = ranked[np.arange(count), NODES * NODES - edges]
    near = (pulls >= least[:, None, None]).astype(float)
    features = rng.standard_normal((count, NODES, FEATURES))
    features[:, :, 0] = near.sum(axis=2) / 4 - 1
    return Examples(np.concatenate([near, features], axis=2), y, train)


def _pulls(structure: int, one: FloatArray, other: FloatArray) -> FloatArray:
    """How much nodes attract each other, by two hidden numbers from 0 to 1 of each."""
    apart = np.abs(one - other)
    round_ring = np.minimum(apart, 1 - apart)
    same = ((one[..., 0] < 0.5) == (other[..., 0] < 0.5)).astype(float)
    thirds = np.floor(3 * one[..., 0]) == np.floor(3 * other[..., 0])
    wanted: tuple[FloatArray, ...] = (
        np.zeros(apart.shape[:-1]),  # all alike
        same,  # two groups
        1 - same,  # two sides
        thirds.astype(float),  # three groups
        -np.hypot(apart[..., 0], apart[..., 1]),  # near in a square
        -round_ring[..., 0],  # near on a ring
        one[..., 0] ** 3 + other[..., 0] ** 3,  # some are popular
        np.minimum(one[..., 0], other[..., 0]) ** 2,  # a core
    )
    return wanted[structure]
