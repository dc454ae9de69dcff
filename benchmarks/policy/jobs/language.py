"""Sequences made from sequences, words that were hidden, and answers by preference.

Notation:
    A  arms, m  examples of a step, L  places of a sequence, V  words, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, hypers, train
from .deep_job import (
    DeepJob,
    adam_rate,
    averaged,
    entropy,
    forward,
    on_device,
    shared,
    smoothed,
    stack,
    surprises,
)
from .encoders import a_measure, encoded, measured
from .ranges import Axis
from .texts import read, reading

HELD = 200


def _pairs(
    rng: np.random.Generator, count: int, length: int, words: int
) -> tuple[np.ndarray, np.ndarray, str]:
    """Sentences and what they are to become: reversed, sorted, or in other words and order."""
    x = rng.integers(words, size=(count, length))
    task = str(rng.choice(["reversed", "sorted", "translated"]))
    if task == "reversed":
        return x, x[:, ::-1].copy(), task
    if task == "sorted":
        return x, np.sort(x, axis=1), task
    y = rng.permutation(words)[x]
    swapped = y[:, : length // 2 * 2].reshape(count, -1, 2)[:, :, ::-1].reshape(count, -1)
    return x, np.concatenate([swapped, y[:, length // 2 * 2 :]], axis=1), task


def seq2seq(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A transformer that reads a sentence and writes another, with the names of translators."""
    few, length = int(rng.choice([200, 800, 3000])), int(rng.choice([4, 6]))
    words, width, layers = int(rng.choice([8, 16])), 12 * widen, int(rng.integers(1, 3))
    x, y, task = _pairs(rng, few + HELD, length, words)
    start = np.full((len(x), 1), words)
    whole = np.concatenate([x, start, y[:, :-1]], axis=1)
    how = a_measure(rng)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        seen, wanted = on_device(whole, draw), on_device(y, draw)
        weights = reading(h, draw, same, words + 1, 2 * length, width, layers)
        weights |= stack(h, draw, same, (width, words), "out")
        at = torch.arange(2 * length, device=draw.device)
        hidden = (at > at.view(-1, 1)) & (at >= length)

        def answer(w: Weights, tokens: Tensor, using: Draw | None) -> Tensor:
            z = read(w, h, tokens, layers, using, hidden)[:, :, length:]
            return dense(w, "out0", z.flatten(1, 2))

        def loss(w: Weights, some: Tensor) -> Tensor:
            logits = answer(w, seen[some], draw)
            told = smoothed(surprises(logits, wanted[some].flatten()), logits, h)
            return averaged(told.view(len(told), len(some), length).mean(dim=2), h)

        def measure(w: Weights) -> Tensor:
            return measured(answer(w, seen[few:], None), wanted[few:].flatten(), how)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("lr", 5e-4, 5e-3, "learning_rate"),
        Axis("dropout", (0.0, 0.3), (0.0, 0.8), also=("hidden_dropout",)),
        Axis("attention_dropout", (0.0, 0.2), (0.0, 0.8), also=("attn_dropout",)),
        Axis("label_smoothing", (0.0, 0.1), (0.0, 0.6), also=("smoothing",)),
        Axis("clip_norm", (0.5, 5.0), (0.01, 50.0), log=True, also=("max_grad_norm",)),
        Axis("encoder_embed_dim", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("d_model", "rnn_size", "hidden_size")),
        Axis("encoder_layers", (1, layers), (1, 2), whole=True, also=("num_layers", "layers")),
        Axis("adam_beta2", (0.95, 0.999), (0.5, 0.9999), also=("beta2", "adam_b2")),
        Axis("weight_decay", (1e-5, 1e-2), (1e-7, 3.0), log=True),
        Axis("warmup_ratio", (0.02, 0.2), (0.001, 0.7), log=True, also=("warmup_fraction",)),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("max_sentences",)),
        Axis("lr_scheduler", values=("constant", "linear", "cosine"), also=("decay_method",)),
    )  # fmt: skip
    keys = {
        "dropout": "drop", "attention_dropout": "noise", "label_smoothing": "smoothing",
        "clip_norm": "clip", "encoder_embed_dim": "width", "encoder_layers": "layers",
        "adam_beta2": "beta2", "warmup_ratio": "warmup", "batch_size": "batch",
        "lr_scheduler": "schedule",
    }  # fmt: skip
    about = f"{few} sentences of {length} of {words} words, {task}; {layers} layers"
    return DeepJob("sequence-to-sequence", how, about, axes, keys, {"batch": 32}, build)


def _chain(rng: np.random.Generator, count: int, length: int, words: int) -> np.ndarray:
    """Sentences of a random language in which a word decides what the next may be."""
    likely = rng.dirichlet(np.full(words, float(rng.choice([0.05, 0.2]))), size=words)
    steps = likely.cumsum(axis=1)
    x = rng.integers(words, size=(count, length))
    for at in range(1, length):
        row = steps[x[:, at - 1]]
        x[:, at] = np.minimum((row < rng.random((count, 1))).sum(axis=1), words - 1)
    return x


def masked_words(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Hidden words of sentences of a random language (masked language modelling)."""
    few, length = int(rng.choice([200, 1000, 4000])), int(rng.choice([10, 16]))
    words, width, layers = int(rng.choice([8, 16])), 12 * widen, int(rng.integers(1, 3))
    x = _chain(rng, few + HELD, length, words)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen = on_device(x, draw)
        weights = reading(h, draw, same, words + 1, length, width, layers)
        weights |= stack(h, draw, same, (width, words), "out")
        quiet = torch.Generator(device=draw.device).manual_seed(7)
        covered = torch.rand(HELD, length, generator=quiet, device=draw.device) < 0.15

        def surprise(w: Weights, tokens: Tensor, cover: Tensor, using: Draw | None) -> Tensor:
            """Cross-entropy of hidden words, 0 elsewhere, [A, m, L]; `cover` [A, m, L]."""
            m = len(tokens)
            shown = torch.where(cover, words, tokens).view(arms, -1, 1).expand(-1, -1, width)
            z = w["word"].gather(1, shown).view(arms, m, length, width)
            z = encoded(w, h, z + w["place"].unsqueeze(1), layers, using)
            logits = dense(w, "out0", z.view(arms, m * length, width))
            return surprises(logits, tokens.flatten()).view(arms, m, length) * cover

        def loss(w: Weights, some: Tensor) -> Tensor:
            chance = torch.rand(len(some), length, generator=draw, device=draw.device)
            cover = chance < h["mix"].clamp(min=0.02).view(-1, 1, 1)
            found = surprise(w, seen[some], cover, draw).sum(dim=2)
            return averaged(found, h) / (length * h["mix"].clamp(min=0.02))

        def measure(w: Weights) -> Tensor:
            cover = shared(covered, arms)
            return surprise(w, seen[few:], cover, None).sum(dim=(1, 2)) / covered.sum()

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("learning_rate", 5e-4, 5e-3, "lr", "peak_lr"),
        Axis("mlm_probability", (0.1, 0.3), (0.01, 0.9), also=("mask_prob", "masked_lm_prob")),
        Axis("hidden_size", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("d_model", "n_embd")),
        Axis("num_hidden_layers", (1, layers), (1, 2), whole=True, also=("n_layer",)),
        Axis("hidden_dropout_prob", (0.0, 0.1), (0.0, 0.8), also=("dropout",)),
        Axis("attention_probs_dropout_prob", (0.0, 0.1), (0.0, 0.8), also=("attn_dropout",)),
        Axis("weight_decay", (0.001, 0.1), (1e-5, 5.0), log=True),
        Axis("adam_beta2", (0.95, 0.999), (0.5, 0.9999), also=("beta2",)),
        Axis("adam_epsilon", (1e-8, 1e-6), (1e-10, 0.1), log=True, also=("eps",)),
        Axis("warmup_ratio", (0.02, 0.15), (0.001, 0.7), log=True, also=("warmup_proportion",)),
        Axis("per_device_train_batch_size", (16, 64), (2, 64), log=True, whole=True,
             also=("train_batch_size", "batch_size")),
        Axis("max_grad_norm", (0.5, 2.0), (0.01, 20.0), log=True, also=("clip_norm",)),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "mlm_probability": "mix", "hidden_size": "width",
        "num_hidden_layers": "layers", "hidden_dropout_prob": "drop",
        "attention_probs_dropout_prob": "noise", "adam_beta2": "beta2", "adam_epsilon": "eps",
        "warmup_ratio": "warmup", "per_device_train_batch_size": "batch", "max_grad_norm": "clip",
    }  # fmt: skip
    fixed = {"mix": 0.15, "schedule": str(rng.choice(["constant", "linear"]))}
    about = f"{few} sentences of {length} of {words} words; {layers} layers"
    return DeepJob("masked-language-model", "eval loss", about, axes, keys, fixed, build)


def preferences(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A policy that imitates learns which of two answers people like better (DPO).

    The loss is the negative mean worth of its answers, which too much training may raise, or how
    often it likes the other answer of two better than people do.
    """
    asked, answers, hidden = 8, 16, 24 * widen
    few, loud = int(rng.choice([100, 400, 1500])), float(rng.choice([0.1, 0.5]))
    taste = 1.5 * rng.standard_normal((asked, 24)) / np.sqrt(asked)
    value = rng.standard_normal((24, answers)) / 3
    x = rng.standard_normal((few + HELD, asked))
    worth = np.tanh(x @ taste) @ value
    two = np.argsort(rng.random(worth.shape), axis=1)[:, :2]
    gap = np.take_along_axis(worth, two, axis=1)
    better = rng.random(len(x)) < 1 / (1 + np.exp((gap[:, 1] - gap[:, 0]) / loud))
    liked, other = (np.where(better, two[:, at], two[:, 1 - at]) for at in (0, 1))
    shown = (worth + rng.standard_normal(worth.shape)).argmax(axis=1)
    by_worth = bool(rng.random() < 0.6)

    def build(h: Hypers, draw: Draw, _: bool) -> Model:
        arms = len(h["lr"])
        seen, value_of = on_device(x, draw), on_device(worth, draw)
        said, good, bad = (on_device(part, draw) for part in (shown, liked, other))
        one = hypers([{"lr": 3e-3, "batch": 32}], str(draw.device))
        before = stack(one, draw, True, (asked, hidden, hidden, answers))
        imitate = Model(
            before,
            lambda w, some: entropy(forward(w, one, shared(seen[some], 1), None), said[some]),
            lambda w: torch.zeros(len(w), device=draw.device),
            few,
        )
        train(imitate, one, 1, 150, 0)
        with torch.no_grad():
            old = forward(before, one, shared(seen, 1), None)[0].log_softmax(dim=1)
        weights = {n: v.detach().expand(arms, *v.shape[1:]).clone() for n, v in before.items()}

        def margin(w: Weights, some: Tensor, using: Draw | None) -> tuple[Tensor, Tensor]:
            """How much more it likes the liked answer than before, and its logarithm, [A, m]."""
            logs = forward(w, h, shared(seen[some], arms), using).log_softmax(dim=2)
            a, b = (
                logs.gather(2, part[some].view(1, -1, 1).expand(arms, -1, 1))[:, :, 0]
                for part in (good, bad)
            )
            rows = old[some]
            first = rows.gather(1, good[some].view(-1, 1)) - rows.gather(1, bad[some].view(-1, 1))
            return a - b - first[:, 0], a

        def loss(w: Weights, some: Tensor) -> Tensor:
            gained, logs = margin(w, some, draw)
            z, smooth = h["gain"].view(-1, 1) * gained, h["smoothing"].view(-1, 1)
            wrong = (1 - smooth) * functional.softplus(-z) + smooth * functional.softplus(z)
            return averaged(wrong - h["penalty"].view(-1, 1) * logs, h)

        def measure(w: Weights) -> Tensor:
            held = torch.arange(few, few + HELD, device=draw.device)
            if by_worth:
                out = forward(w, h, shared(seen[held], arms), None)
                return -(out.softmax(dim=2) * value_of[held]).sum(dim=2).mean(dim=1)
            gained, _ = margin(w, held, None)
            lost = torch.where(gained.isfinite().all(dim=1), 0.0, torch.nan)
            return lost - (0.5 + 0.5 * gained.sign()).mean(dim=1)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("learning_rate", 2e-4, 3e-3, "lr"),
        Axis("beta", (0.05, 0.5), (0.002, 10.0), log=True, always=True, also=("dpo_beta",)),
        Axis("label_smoothing", (0.0, 0.1), (0.0, 0.45), also=("dpo_label_smoothing",)),
        Axis("rpo_alpha", (1e-3, 0.3), (1e-5, 10.0), log=True, also=("sft_coef", "pref_ftx")),
        Axis("weight_decay", (1e-4, 0.05), (1e-6, 3.0), log=True),
        Axis("warmup_ratio", (0.02, 0.15), (0.001, 0.7), log=True),
        Axis("max_grad_norm", (0.3, 2.0), (0.01, 20.0), log=True),
        Axis("per_device_train_batch_size", (8, 32), (1, 64), log=True, whole=True,
             also=("batch_size",)),
        Axis("lr_scheduler_type", values=("constant", "linear", "cosine")),
        Axis("optim_adam_beta2", (0.95, 0.999), (0.5, 0.9999), also=("adam_beta2",)),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "beta": "gain", "label_smoothing": "smoothing",
        "rpo_alpha": "penalty", "warmup_ratio": "warmup", "max_grad_norm": "clip",
        "per_device_train_batch_size": "batch", "lr_scheduler_type": "schedule",
        "optim_adam_beta2": "beta2",
    }  # fmt: skip
    metric = "negative worth of answers" if by_worth else "negative accuracy of preferences"
    about = f"{few} pairs of {answers} answers, noise {loud:g}"
    fixed = {"batch": 16, "gain": 0.1, "schedule": "linear"}
    return DeepJob("preference-tuning", metric, about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "seq2seq": seq2seq,
    "masked_words": masked_words,
    "preferences": preferences,
}
