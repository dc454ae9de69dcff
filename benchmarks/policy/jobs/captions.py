"""Pictures and their captions meet in one space (CLIP), with the names of OpenCLIP.

Notation:
    A  arms, m  pairs of a step, L  words of a caption, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, masked, matrix
from .deep_job import DeepJob, adam_rate, averaged, on_device, shared, stack, surprises
from .encoders import encoded, encoder
from .ranges import Axis
from .texts import read, reading

HELD, WORDS, LENGTH, PATCHES = 200, 48, 8, 16


def _pairs(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Coloured gratings with a spot [n, 8, 8, 3], and captions in chance order [n, L].

    A caption tells direction, width, colour and the place of the spot, each by one of two words,
    among words that say nothing; some captions are another picture's.
    """
    ways, widths, colours, spots = 6, 4, 6, 4
    said = np.column_stack(
        [rng.integers(most, size=count) for most in (ways, widths, colours, spots)]
    )
    at = np.arange(8)
    turn, pace = said[:, 0] * np.pi / ways, 0.5 + 0.45 * said[:, 1]
    way = np.cos(turn)[:, None, None] * at[:, None] + np.sin(turn)[:, None, None] * at
    wave = np.sin(pace[:, None, None] * way + rng.uniform(0, 6, (count, 1, 1)))
    tints = rng.uniform(0.1, 1.0, (colours, 3))
    x = (wave[..., None] + 1) * tints[said[:, 2], None, None]
    for corner in range(spots):
        down, right = 4 * (corner // 2) + 1, 4 * (corner % 2) + 1
        x[said[:, 3] == corner, down : down + 2, right : right + 2] = 2.0
    loud = float(rng.choice([0.1, 0.4]))
    x = x - 1 + loud * rng.standard_normal(x.shape)
    first = np.cumsum([0, ways, widths, colours])
    told = first + said + 20 * rng.integers(2, size=said.shape)
    empty = rng.integers(40, WORDS, size=(count, LENGTH - 4))
    captions = rng.permuted(np.concatenate([told, empty], axis=1), axis=1)
    wrong = np.flatnonzero(rng.random(count - HELD) < rng.choice([0.0, 0.2]))
    captions[wrong] = captions[rng.permutation(wrong)]
    return x, captions, f"noise {loud:g}, {len(wrong)} captions wrong"


def _tower(w: Weights, name: str) -> Weights:
    """The weights of one of the two encoders by their own names."""
    return {n.removeprefix(name): value for n, value in w.items() if n.startswith(name)}


class _Towers:
    """Two encoders whose pairs shall be near each other."""

    def __init__(
        self, h: Hypers, draw: Draw, x: np.ndarray, words: np.ndarray, layers: int
    ) -> None:
        self.h, self.draw, self.layers = h, draw, layers
        self.x, self.words = on_device(x, draw), on_device(words, draw)
        self.few = len(x) - HELD

    def weights(self, same: bool, width: int) -> Weights:
        """Of both encoders, of what leads into the space, and how sharp nearness is."""
        h, draw, arms = self.h, self.draw, len(self.h["lr"])
        picture = stack(h, draw, same, (12, width), "patch") | encoder(
            h, draw, same, width, self.layers
        )
        place = matrix(draw, arms, PATCHES, width, 0.5 * h["init_scale"], same)
        picture |= {"place": place} | stack(h, draw, same, (width, width), "out")
        text = reading(h, draw, same, WORDS, LENGTH, width, self.layers)
        text |= stack(h, draw, same, (width, width), "out")
        weights = {f"picture_{n}": v for n, v in picture.items()}
        weights |= {f"text_{n}": v for n, v in text.items()}
        return weights | {"sharp": -h["temperature"].log().view(-1, 1)}

    def _ends(self, w: Weights, states: Tensor) -> Tensor:
        out = dense(w, "out0", states.mean(dim=2))
        return functional.normalize(masked(out, self.h["rank"]), dim=2)

    def near(self, w: Weights, some: Tensor, using: Draw | None) -> Tensor:
        """How near pictures are to captions, as logits, [A, m, m]."""
        h, arms, m = self.h, len(self.h["lr"]), len(some)
        eye, ear = _tower(w, "picture_"), _tower(w, "text_")
        x = self.x[some].view(m, 4, 2, 4, 2, 3).transpose(2, 3).reshape(m * PATCHES, 12)
        z = dense(eye, "patch0", shared(x, arms)).view(arms, m, PATCHES, -1)
        z = z + eye["place"].unsqueeze(1)
        if using is not None:  # patches that are hidden, at each arm's own chance
            keep = torch.rand(1, m, PATCHES, 1, generator=using, device=z.device)
            z = z * (keep >= h.wide("penalty", 4))
        seen = self._ends(eye, encoded(eye, h, z, self.layers, using))
        told = self._ends(ear, read(ear, h, self.words[some], self.layers, using))
        sharp = w["sharp"].clamp(max=4.6).exp().unsqueeze(2)
        return sharp * seen @ told.transpose(1, 2)

    def loss(self, w: Weights, some: Tensor) -> Tensor:
        """Which caption is a picture's and which picture a caption's, among a batch, [A]."""
        near, at = self.near(w, some, self.draw), torch.arange(len(some), device=some.device)
        outside = at >= self.h["batch"].view(-1, 1)
        hidden = outside.unsqueeze(1) | outside.unsqueeze(2)
        near = near.masked_fill(hidden & ~torch.eye(len(some), device=at.device).bool(), -1e9)
        both = surprises(near, at) + surprises(near.transpose(1, 2), at)
        return averaged(both / 2, self.h)

    def measure(self, w: Weights, by_rank: bool) -> Tensor:
        """Negative recall at 5 of pictures' captions, or the loss among all that are held, [A]."""
        some = torch.arange(self.few, self.few + HELD, device=self.draw.device)
        near, at = self.near(w, some, None), torch.arange(HELD, device=some.device)
        if not by_rank:
            return surprises(near, at).mean(dim=1)
        own = near.diagonal(dim1=1, dim2=2).unsqueeze(2)
        hit = ((near >= own).sum(dim=2) <= 5).float().mean(dim=1)  # a tie is no hit
        return torch.where(near.isfinite().all(dim=2).all(dim=1), 0.0, torch.nan) - hit


def _axes(width: int) -> tuple[Axis, ...]:
    return (
        adam_rate("lr", 5e-4, 5e-3, "learning_rate"),
        Axis("wd", (0.01, 0.3), (1e-5, 5.0), log=True, also=("weight_decay",)),
        Axis("beta1", (0.85, 0.95), (0.0, 0.99)),
        Axis("beta2", (0.95, 0.999), (0.5, 0.9999)),
        Axis("eps", (1e-8, 1e-6), (1e-10, 0.1), log=True),
        Axis("warmup_ratio", (0.02, 0.15), (0.001, 0.7), log=True, also=("warmup",)),
        Axis("batch_size", (32, 96), (2, 96), log=True, whole=True),
        Axis("init_temperature", (0.05, 0.2), (0.011, 5.0), log=True, also=("temperature",)),
        Axis("embed_dim", (max(width // 3, 6), width), (1, width), log=True, whole=True,
             also=("projection_dim",)),
        Axis("force_patch_dropout", (0.0, 0.3), (0.0, 0.9), also=("patch_dropout",)),
        Axis("dropout", (0.0, 0.1), (0.0, 0.8)),
        Axis("grad_clip_norm", (0.5, 2.0), (0.01, 20.0), log=True),
        Axis("lr_scheduler", values=("constant", "linear", "cosine")),
    )  # fmt: skip


def image_text(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Contrastive training on pictures with captions."""
    few, layers, width = int(rng.choice([300, 1500, 6000])), int(rng.integers(1, 3)), 12 * widen
    x, words, what = _pairs(rng, few + HELD)
    by_rank = bool(rng.random() < 0.5)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        towers = _Towers(h, draw, x, words, layers)
        return Model(
            towers.weights(same, width),
            towers.loss,
            lambda w: towers.measure(w, by_rank),
            few,
        )

    keys = {
        "wd": "weight_decay", "warmup_ratio": "warmup", "batch_size": "batch",
        "init_temperature": "temperature", "embed_dim": "rank", "force_patch_dropout": "penalty",
        "dropout": "drop", "grad_clip_norm": "clip", "lr_scheduler": "schedule",
    }  # fmt: skip
    fixed = {"batch": 64, "temperature": 0.07, "schedule": "cosine", "beta2": 0.98, "warmup": 0.05}
    metric = "negative recall at 5" if by_rank else "validation contrastive loss"
    about = f"{few} pairs, {what}; {layers} layers"
    return DeepJob("image-text", metric, about, _axes(width), keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"image_text": image_text}
