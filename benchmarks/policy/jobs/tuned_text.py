"""Transformers that know a first corpus and are tuned on a small second one, all of them or LoRA.

The first corpus is program text of Python's own library, the second its documentation strings, or
snippets of which the file is to be told. Names are those of Hugging Face.

Notation:
    A  arms, m  examples of a step, L  places of a sequence, V  letters, D  units.
"""

import json as _json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .batched import Draw, Hypers, Model, Weights, dense, dropped, hypers, masked, matrix, train
from .deep_job import DeepJob, adam_rate, averaged, entropy, on_device, smoothed, stack, surprises
from .encoders import MEASURES, a_measure, later, measured
from .ranges import Axis
from .texts import read, reading

LENGTH, LETTERS, HELD = 24, 64, 240
MOST_RANK = 16


@cache
def corpora() -> tuple[np.ndarray, np.ndarray]:
    """Programs of Python's own library and their documentation strings, as numbers below V."""
    folder = Path(_json.__file__).parents[1]
    files = sorted(folder.glob("*.py"))[:120]
    whole = "".join(f.read_text(encoding="utf-8", errors="ignore")[:20000] for f in files)
    said = "\n".join(re.findall(r'"""(.*?)"""', whole, flags=re.DOTALL))
    code = re.sub(r'"""(.*?)"""', "", whole, flags=re.DOTALL)
    return _numbers(code), _numbers(re.sub(r"\s+", " ", said))


def _numbers(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("ascii", "ignore"), np.uint8).astype(np.int64) % LETTERS


def windows_of(rng: np.random.Generator, letters: np.ndarray, count: int) -> np.ndarray:
    """So many parts of a text, [count, L + 1]."""
    starts = rng.integers(len(letters) - LENGTH - 1, size=count)
    return letters[starts[:, None] + np.arange(LENGTH + 1)]


def _next_letters(
    w: Weights, h: Hypers, tokens: Tensor, layers: int, draw: Draw | None, hidden: Tensor
) -> Tensor:
    """Logits of the letter after each place, [A, m L, V]."""
    return dense(w, "out0", read(w, h, tokens, layers, draw, hidden).flatten(1, 2))


def _language(
    h: Hypers, draw: Draw, windows: np.ndarray, few: int, layers: int, how: str,
    weights: Weights, whole: Callable[[Weights, Draw | None], Weights],
) -> Model:  # fmt: skip
    """A model of letters; `whole` makes all weights of those that are trained."""
    seen, hidden = on_device(windows, draw), later(LENGTH, draw.device)

    def loss(w: Weights, some: Tensor) -> Tensor:
        tokens = seen[some]
        logits = _next_letters(whole(w, draw), h, tokens[:, :-1], layers, draw, hidden)
        told = smoothed(surprises(logits, tokens[:, 1:].flatten()), logits, h)
        return averaged(told.view(len(told), len(some), LENGTH).mean(dim=2), h)

    def measure(w: Weights) -> Tensor:
        tokens = seen[few:]
        logits = _next_letters(whole(w, None), h, tokens[:, :-1], layers, None, hidden)
        return measured(logits, tokens[:, 1:].flatten(), how)

    return Model(weights, loss, measure, few)


def letters_model(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A language model of letters from scratch, for schedules: nothing of its own is tuned."""
    width, layers = 12 * widen, int(rng.integers(1, 3))
    few, how = int(rng.choice([500, 2000, 8000])), a_measure(rng)
    windows = windows_of(rng, corpora()[int(rng.integers(2))], few + HELD)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        weights = reading(h, draw, same, LETTERS, LENGTH, width, layers)
        weights |= stack(h, draw, same, (width, LETTERS), "out")
        return _language(h, draw, windows, few, layers, how, weights, lambda w, _: w)

    about = f"{few} parts of {LENGTH} letters; {layers} layers"
    return DeepJob("letters", how, about, (), {}, {"batch": 32}, build)


def _pretrained(draw: Draw, width: int, layers: int, steps: int, turns: bool) -> Weights:
    """One network after so many steps on programs; it looks both ways where `turns`."""
    one = hypers([{"lr": 3e-3, "batch": 32}], str(draw.device))
    before = reading(one, draw, True, LETTERS, LENGTH, width, layers)
    before |= stack(one, draw, True, (width, LETTERS), "out")
    code = on_device(corpora()[0], draw)
    span = torch.arange(LENGTH + 1, device=draw.device)
    hidden = later(LENGTH, draw.device)

    def known(w: Weights, some: Tensor) -> Tensor:
        tokens = code[some[:, None] + span]
        if not turns:
            logits = _next_letters(w, one, tokens[:, :-1], layers, None, hidden)
            return entropy(logits, tokens[:, 1:].flatten())
        cover = torch.rand(len(some), LENGTH, generator=draw, device=draw.device) < 0.2
        shown = torch.where(cover, 0, tokens[:, :-1])
        logits = dense(w, "out0", read(w, one, shown, layers, None).flatten(1, 2))
        told = surprises(logits, tokens[:, :-1].flatten()) * cover.flatten()
        return told.sum(dim=1) / cover.sum().clamp(min=1)

    nothing = torch.zeros(1, device=draw.device)
    train(Model(before, known, lambda _: nothing, len(code) - LENGTH - 1), one, 1, steps, 0)
    return {name: w.detach() for name, w in before.items()}


class _Lora:
    """Low-rank changes of the attention of a frozen network; its head is trained as it is."""

    def __init__(self, h: Hypers, draw: Draw, same: bool, base: Weights, heads: Weights) -> None:
        arms = len(h["lr"])
        self.h, self.base = h, {n: w.expand(arms, *w.shape[1:]) for n, w in base.items()}
        self.changed = [n for n in base if n.startswith(("ask", "take")) and "bias" not in n]
        self.scale = (h["gain"] / h["rank"].clamp(1, MOST_RANK)).view(-1, 1, 1)
        self.weights = dict(heads)
        for name in self.changed:
            rows, columns = base[name].shape[1:]
            down = matrix(draw, arms, rows, MOST_RANK, h["init_scale"], same)
            self.weights[f"{name}_down"] = down
            self.weights[f"{name}_up"] = torch.zeros(arms, MOST_RANK, columns, device=draw.device)

    def whole(self, w: Weights, draw: Draw | None) -> Weights:
        """All weights, the changed ones with what was learnt; dropout is of a layer's inputs."""
        found = self.base | {n: w[n] for n in w if not n.endswith(("_down", "_up"))}
        for name in self.changed:
            rows = dropped(w[f"{name}_down"], self.h["penalty"], draw)
            change = masked(rows, self.h["rank"]) @ w[f"{name}_up"]
            found[name] = self.base[name] + self.scale * change
        return found


def _answers(
    h: Hypers, draw: Draw, x: np.ndarray, y: np.ndarray, layers: int, how: str,
    weights: Weights, whole: Callable[[Weights, Draw | None], Weights],
) -> Model:  # fmt: skip
    """A classifier of snippets; the last `HELD` are measured on."""
    seen, labels = on_device(x, draw), on_device(y, draw)
    few = len(x) - HELD

    def answer(w: Weights, tokens: Tensor, using: Draw | None) -> Tensor:
        states = read(whole(w, using), h, tokens, layers, using).mean(dim=2)
        return dense(w, "class0", dropped(states, h["drop"], using))

    def loss(w: Weights, some: Tensor) -> Tensor:
        logits = answer(w, seen[some], draw)
        return averaged(smoothed(surprises(logits, labels[some]), logits, h), h)

    def measure(w: Weights) -> Tensor:
        return measured(answer(w, seen[few:], None), labels[few:], how)

    return Model(weights, loss, measure, few)


def _snippets(rng: np.random.Generator, few: int) -> tuple[np.ndarray, np.ndarray, int, str]:
    """Parts of texts, the class of each, some of them wrong, how many classes, and in words.

    Classes are places of programs and documentation, or ways to write: forwards, backwards, or with
    neighbours exchanged.
    """
    code, said = corpora()
    by_place = bool(rng.random() < 0.4)
    if by_place:
        texts = [text[at : at + len(text) // 5] for text in (code, said)
                 for at in range(0, len(text) - len(text) // 5, len(text) // 5)]  # fmt: skip
    else:
        even = len(code) // 2 * 2
        swapped = code[:even].reshape(-1, 2)[:, ::-1].reshape(-1)
        texts = [code, said, code[::-1], said[::-1], swapped]
    classes = int(rng.integers(2, 6))
    chosen = [texts[at] for at in rng.permutation(len(texts))[:classes]]
    y = rng.integers(classes, size=few + HELD)
    x = np.stack([windows_of(rng, chosen[one], 1)[0, :-1] for one in y])
    wrong = np.flatnonzero(rng.random(few) < rng.choice([0.0, 0.0, 0.15]))
    y[wrong] = rng.integers(classes, size=len(wrong))
    return x, y, classes, f"one of {classes} {'places' if by_place else 'ways to write'}"


def tuned(rng: np.random.Generator, widen: int, lora: bool) -> DeepJob:
    """A tuned transformer: the next letter of documentation, or where a snippet is from."""
    width, layers, steps = 16 * widen, int(rng.integers(1, 3)), int(rng.choice([100, 300, 600]))
    writes = bool(rng.random() < 0.4)
    few = int(rng.choice([250, 1000, 4000] if writes else [60, 250, 1000]))
    how, back = MEASURES[0] if writes else a_measure(rng), bool(rng.random() < 0.4)
    windows = windows_of(rng, corpora()[1][:: -1 if back else 1], few + HELD)
    x, y, classes, told = _snippets(rng, few)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        base = _pretrained(draw, width, layers, steps, turns=not writes)
        heads: Weights = {}
        if not writes:
            heads = stack(h, draw, same, (width, classes), "class")
        if lora:
            adapter = _Lora(h, draw, same, base, heads)
            weights, whole = adapter.weights, adapter.whole
        else:
            weights = {n: w.expand(arms, *w.shape[1:]).clone() for n, w in base.items()} | heads
            if not writes:
                weights = {n: w for n, w in weights.items() if not n.startswith("out")}

            def whole(w: Weights, _: Draw | None) -> Weights:
                return w

        if writes:
            return _language(h, draw, windows, few, layers, how, weights, whole)
        return _answers(h, draw, x, y, layers, how, weights, whole)

    # a network sixteen times as wide wants rates a sixteenth of ours: as people write them
    narrow = float(rng.choice([1.0, 16.0, 16.0]))
    low, high = (1e-3, 1e-2) if lora else (2e-4, 2e-3)
    own: tuple[Axis, ...] = (
        Axis("lora_r", (4, 16), (1, 16), log=True, whole=True, also=("r", "lora_rank")),
        Axis("lora_alpha", (8, 32), (1, 256), log=True, whole=True),
        Axis("lora_dropout", (0.0, 0.1), (0.0, 0.8)),
    )  # fmt: skip
    axes = (
        adam_rate("learning_rate", low / narrow, high / narrow),
        Axis("per_device_train_batch_size", values=(4, 8, 16, 32, 64), also=("train_batch_size",))
        if rng.random() < 0.5
        else Axis("per_device_train_batch_size", (8, 32), (2, 64), log=True, whole=True),
        Axis("warmup_ratio", (0.01, 0.15), (0.001, 0.7), log=True, also=("warmup_proportion",)),
        Axis("weight_decay", (1e-3, 0.1), (1e-5, 1.0), log=True),
        *(own if lora else ()),
        Axis("max_grad_norm", (0.5, 2.0), (0.01, 20.0), log=True),
        Axis("label_smoothing_factor", (0.0, 0.1), (0.0, 0.6)),
        Axis("adam_beta1", (0.85, 0.95), (0.0, 0.99)),
        Axis("adam_beta2", (0.98, 0.999), (0.5, 0.9999)),
        Axis("adam_epsilon", (1e-8, 1e-6), (1e-10, 0.01), log=True),
        Axis("hidden_dropout_prob", (0.0, 0.2), (0.0, 0.7), also=("classifier_dropout",)),
        Axis("lr_scheduler_type", values=("constant", "linear", "cosine")),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "per_device_train_batch_size": "batch", "warmup_ratio": "warmup",
        "lora_r": "rank", "lora_alpha": "gain", "lora_dropout": "penalty",
        "max_grad_norm": "clip", "label_smoothing_factor": "smoothing", "adam_beta1": "beta1",
        "adam_beta2": "beta2", "adam_epsilon": "eps", "hidden_dropout_prob": "drop",
        "lr_scheduler_type": "schedule",
    }  # fmt: skip
    fixed = {
        "batch": 16, "schedule": "linear", "final": 0.0, "clip": 1.0, "rank": 8, "gain": 16.0,
        "lr_scale": narrow,
    }  # fmt: skip
    what = f"next letters of documentation{', backwards' * back}" if writes else told
    about = f"{what}, {few} parts, {layers} layers, {steps} steps before; rates times {narrow:g}"
    return DeepJob("lora" if lora else "tuned-transformer", how, about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "tuned_transformer": lambda rng, widen: tuned(rng, widen, lora=False),
    "lora": lambda rng, widen: tuned(rng, widen, lora=True),
}
