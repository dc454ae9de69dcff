"""Encoders trained from scratch on sequences: texts, tags, speech without alignments, series.

Notation:
    A  arms, m  examples of a step, L  places of a sequence, V  words or symbols, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, matrix
from .deep_job import DeepJob, adam_rate, averaged, on_device, shared, smoothed, stack, surprises
from .encoders import a_measure, encoded, encoder, measured
from .ranges import Axis

HELD = 200


def reading(
    h: Hypers, draw: Draw, same: bool, words: int, length: int, width: int, layers: int
) -> Weights:
    """Weights of words, places and an encoder."""
    arms = len(h["lr"])
    many, long = words**0.5 * h["init_scale"], length**0.5 * h["init_scale"]
    weights = {
        "word": matrix(draw, arms, words, width, 0.5 * many, same),
        "place": matrix(draw, arms, length, width, 0.2 * long, same),
    }
    return weights | encoder(h, draw, same, width, layers)


def read(
    w: Weights,
    h: Hypers,
    tokens: Tensor,
    layers: int,
    draw: Draw | None,
    hidden: Tensor | None = None,
) -> Tensor:
    """What an encoder makes of words [m, L], [A, m, L, D]; `hidden` as in `encoders.encoded`."""
    arms, (m, length) = len(h["lr"]), tokens.shape
    x = w["word"][:, tokens.flatten()].view(arms, m, length, -1)
    return encoded(w, h, x + w["place"].unsqueeze(1), layers, draw, hidden)


def _documents(
    rng: np.random.Generator, few: int, length: int, words: int
) -> tuple[np.ndarray, np.ndarray, int, str]:
    """Texts of chance words whose class is a topic, or the order of two words."""
    classes = int(rng.integers(2, 6))
    y = rng.integers(classes, size=few + HELD)
    often = rng.dirichlet(np.full(words, 0.3))
    x = rng.choice(words, size=(len(y), length), p=often)
    if rng.random() < 0.5:
        own = rng.integers(words, size=(classes, 8))
        taken = rng.random(x.shape) < rng.choice([0.1, 0.3])
        x = np.where(taken, own[y[:, None], rng.integers(8, size=x.shape)], x)
        return x, y, classes, f"{classes} topics"
    marks = np.arange(classes)
    for row, kind in enumerate(y):  # the first mark names the class, a later one distracts
        first, second = np.sort(rng.permutation(length)[:2])
        x[row][x[row] < classes] = classes
        x[row, first], x[row, second] = marks[kind], rng.integers(classes)
    return x, y, classes, f"the first of two marks of {classes}"


def text_classification(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Which class a text is of, by a transformer that starts from nothing."""
    few, length = int(rng.choice([150, 500, 1500])), int(rng.choice([10, 16]))
    words, width, layers = int(rng.choice([40, 120])), 12 * widen, int(rng.integers(1, 3))
    x, y, classes, what = _documents(rng, few, length, words)
    how = a_measure(rng)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        seen, labels = on_device(x, draw), on_device(y, draw)
        weights = reading(h, draw, same, words, length, width, layers)
        weights |= stack(h, draw, same, (width, classes), "out")

        def answer(w: Weights, tokens: Tensor, using: Draw | None) -> Tensor:
            return dense(w, "out0", read(w, h, tokens, layers, using).mean(dim=2))

        def loss(w: Weights, some: Tensor) -> Tensor:
            logits = answer(w, seen[some], draw)
            return averaged(smoothed(surprises(logits, labels[some]), logits, h), h)

        def measure(w: Weights) -> Tensor:
            return measured(answer(w, seen[few:], None), labels[few:], how)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("learning_rate", 5e-4, 5e-3, "lr", "init_lr"),
        Axis("num_layers", (1, layers), (1, 2), whole=True, also=("num_hidden_layers", "n_layer")),
        Axis("embed_dim", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("d_model", "hidden_size", "embedding_dim")),
        Axis("dropout", (0.0, 0.3), (0.0, 0.8), also=("hidden_dropout_prob", "dropout_rate")),
        Axis("attention_dropout", (0.0, 0.2), (0.0, 0.8), also=("attention_probs_dropout_prob",)),
        Axis("weight_decay", (1e-4, 0.1), (1e-6, 3.0), log=True, also=("wd",)),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True,
             also=("per_device_train_batch_size", "bs")),
        Axis("warmup_ratio", (0.01, 0.15), (0.001, 0.7), log=True, also=("warmup_proportion",)),
        Axis("label_smoothing", (0.0, 0.1), (0.0, 0.6), also=("label_smoothing_factor",)),
        Axis("max_grad_norm", (0.5, 2.0), (0.01, 20.0), log=True, also=("gradient_clip_val",)),
        Axis("lr_scheduler_type", values=("constant", "linear", "cosine"), also=("scheduler",)),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "num_layers": "layers", "embed_dim": "width", "dropout": "drop",
        "attention_dropout": "noise", "batch_size": "batch", "warmup_ratio": "warmup",
        "label_smoothing": "smoothing", "max_grad_norm": "clip", "lr_scheduler_type": "schedule",
    }  # fmt: skip
    about = f"{what}, {few} texts of {length} of {words} words; {layers} layers"
    return DeepJob("text-classification", how, about, axes, keys, {"batch": 32}, build)


def sequence_labelling(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """A tag for each word, which depends on the word and on those before and after it."""
    few, length = int(rng.choice([60, 250, 800])), int(rng.choice([8, 14]))
    words, tags = int(rng.choice([30, 90])), int(rng.integers(3, 8))
    width, layers = 12 * widen, int(rng.integers(1, 3))
    x = rng.choice(words, size=(few + HELD, length), p=rng.dirichlet(np.full(words, 0.5)))
    group, rule = rng.integers(4, size=words), rng.integers(tags, size=(4, 4, 4))
    kind = group[x]
    before, after = np.roll(kind, 1, axis=1), np.roll(kind, -1, axis=1)
    before[:, 0] = after[:, -1] = 0
    y = rule[kind, before, after if rng.random() < 0.5 else 0 * after]
    y[(rng.random(words) < 0.3)[x]] = 0  # words that are never part of anything
    loud = rng.random(y.shape) < rng.choice([0.0, 0.1])
    y = np.where(loud, rng.integers(tags, size=y.shape), y)
    how = a_measure(rng)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        seen, labels = on_device(x, draw), on_device(y, draw)
        weights = reading(h, draw, same, words, length, width, layers)
        weights |= stack(h, draw, same, (width, tags), "tagger")

        def answer(w: Weights, tokens: Tensor, using: Draw | None) -> Tensor:
            return dense(w, "tagger0", read(w, h, tokens, layers, using).flatten(1, 2))

        def loss(w: Weights, some: Tensor) -> Tensor:
            told = surprises(answer(w, seen[some], draw), labels[some].flatten())
            return averaged(told.view(len(told), len(some), length).mean(dim=2), h)

        def measure(w: Weights) -> Tensor:
            return measured(answer(w, seen[few:], None), labels[few:].flatten(), how)

        return Model(weights, loss, measure, few, {"tagger": "other_lr"})

    axes = (
        adam_rate("learning_rate", 5e-4, 5e-3, "lr", "encoder_lr"),
        Axis("classifier_lr", (5e-4, 1e-2), (1e-6, 1.0), log=True, also=("head_lr", "crf_lr")),
        Axis("hidden_size", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("hidden_dim", "tagger_hidden_size")),
        Axis("dropout", (0.0, 0.3), (0.0, 0.8), also=("word_dropout", "classifier_dropout")),
        Axis("weight_decay", (1e-4, 0.1), (1e-6, 3.0), log=True),
        Axis("mini_batch_size", (8, 32), (1, 32), log=True, whole=True, also=("batch_size",)),
        Axis("num_layers", (1, layers), (1, 2), whole=True, also=("rnn_layers",)),
        Axis("warmup_fraction", (0.02, 0.15), (0.001, 0.7), log=True, also=("warmup_ratio",)),
        Axis("clip_grad", (0.5, 5.0), (0.01, 50.0), log=True, also=("max_grad_norm",)),
        Axis("anneal", values=("constant", "linear", "cosine"), also=("scheduler",)),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "classifier_lr": "other_lr", "hidden_size": "width",
        "dropout": "drop", "mini_batch_size": "batch", "num_layers": "layers",
        "warmup_fraction": "warmup", "clip_grad": "clip", "anneal": "schedule",
    }  # fmt: skip
    about = f"{tags} tags, {few} sentences of {length} of {words} words; {layers} layers"
    fixed = {"batch": 16, "other_lr": 2e-3}
    return DeepJob("sequence-labelling", how, about, axes, keys, fixed, build)


def _utterances(
    rng: np.random.Generator, count: int, symbols: int, frames: int
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy frames [count, L, 6] of some symbols each, and the symbols from 1, [count, 3]."""
    what = rng.integers(symbols, size=(count, 3))
    sound = 1.5 * rng.standard_normal((symbols, 6))
    ends = np.sort(rng.uniform(0.1, 0.9, (count, 2)), axis=1)
    at = (np.arange(frames) + 0.5) / frames
    part = (at[:, None] > ends[:, None, :]).sum(axis=2)
    x = sound[np.take_along_axis(what, part, axis=1)]
    x = x + rng.choice([0.3, 0.8]) * rng.standard_normal(x.shape)
    return x, what + 1


def speech(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Symbols of a sound without knowing when each was said (CTC)."""
    few, frames = int(rng.choice([80, 300, 1000])), int(rng.choice([12, 20]))
    symbols, width, layers = int(rng.integers(4, 9)), 12 * widen, int(rng.integers(1, 3))
    x, y = _utterances(rng, few + HELD, symbols, frames)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen, labels = on_device(x, draw), on_device(y, draw)
        weights = stack(h, draw, same, (3 * 6, width), "feature")
        weights["place"] = matrix(draw, arms, frames, width, 0.5 * h["init_scale"], same)
        weights |= encoder(h, draw, same, width, layers)
        weights |= stack(h, draw, same, (width, symbols + 1), "out")

        def answer(w: Weights, sound: Tensor, using: Draw | None) -> Tensor:
            m = len(sound)
            if using is not None:  # frames that are hidden, at each arm's own chance
                keep = torch.rand(1, m, frames, 1, generator=using, device=sound.device)
                sound = sound * (keep >= h.wide("penalty", 4))
            else:
                sound = shared(sound, arms)
            near = functional.pad(sound, (0, 0, 1, 1))
            flat = torch.cat([near[:, :, :-2], near[:, :, 1:-1], near[:, :, 2:]], dim=3)
            z = dense(w, "feature0", flat.reshape(arms, m * frames, 18))
            z = functional.gelu(z).view(arms, m, frames, width) + w["place"].unsqueeze(1)
            z = encoded(w, h, z, layers, using).view(arms, m * frames, width)
            return dense(w, "out0", z).view(arms, m, frames, -1).log_softmax(dim=3)

        def losses(logs: Tensor, wanted: Tensor) -> Tensor:
            m = logs.shape[1]
            flat = logs.flatten(0, 1).transpose(0, 1)
            long = torch.full((arms * m,), frames, device=logs.device)
            three = torch.full((arms * m,), 3, device=logs.device)
            said = wanted.repeat(arms, 1)
            found = functional.ctc_loss(flat, said, long, three, reduction="none")
            return found.view(arms, m) / 3

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged(losses(answer(w, seen[some], draw), labels[some]), h)

        def measure(w: Weights) -> Tensor:
            return losses(answer(w, seen[few:], None), labels[few:]).mean(dim=1)

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("learning_rate", 5e-4, 5e-3, "lr", "optim_lr"),
        Axis("mask_time_prob", (0.0, 0.15), (0.0, 0.8), also=("time_masks", "spec_augment_p")),
        Axis("hidden_dropout", (0.0, 0.2), (0.0, 0.8), also=("dropout", "dropout_rate")),
        Axis("attention_dropout", (0.0, 0.2), (0.0, 0.8), also=("transformer_attn_dropout_rate",)),
        Axis("layerdrop", (0.0, 0.1), (0.0, 0.8), also=("stochastic_depth_rate",)),
        Axis("encoder_dim", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("d_model", "n_hidden", "output_size")),
        Axis("num_encoder_layers", (1, layers), (1, 2), whole=True, also=("elayers", "n_layers")),
        Axis("weight_decay", (1e-4, 0.05), (1e-6, 3.0), log=True),
        Axis("warmup_ratio", (0.02, 0.2), (0.001, 0.7), log=True, also=("warmup_fraction",)),
        Axis("grad_clip", (1.0, 5.0), (0.01, 50.0), log=True, also=("max_grad_norm",)),
        Axis("adam_beta2", (0.95, 0.999), (0.5, 0.9999), also=("beta2",)),
        Axis("batch_size", (8, 32), (1, 32), log=True, whole=True, also=("train_batch_size",)),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "mask_time_prob": "penalty", "hidden_dropout": "drop",
        "attention_dropout": "noise", "layerdrop": "skip", "encoder_dim": "width",
        "num_encoder_layers": "layers", "warmup_ratio": "warmup", "grad_clip": "clip",
        "adam_beta2": "beta2", "batch_size": "batch",
    }  # fmt: skip
    about = f"{symbols} symbols, {few} utterances of {frames} frames; {layers} layers"
    fixed = {"batch": 16, "schedule": str(rng.choice(["constant", "linear"]))}
    return DeepJob("speech-ctc", "validation CTC loss", about, axes, keys, fixed, build)


def _series(rng: np.random.Generator, size: int) -> tuple[np.ndarray, str]:
    """Windows of standardised series with seasons, drifts and noise, [n, size]."""
    count, t = int(rng.integers(2, 12)), np.arange(420)
    loud, drift = float(rng.choice([0.1, 0.4])), float(rng.choice([0.0, 0.05]))
    periods = rng.choice([6, 7, 12, 24, 30], 2)
    series = []
    for _ in range(count):
        season = sum(rng.normal() * np.sin(2 * np.pi * t / p + rng.uniform(0, 6)) for p in periods)
        noise = loud * rng.standard_normal(len(t))
        series.append(season + drift * np.cumsum(rng.standard_normal(len(t))) + noise)
    whole = np.array(series)
    whole = (whole - whole.mean(axis=1, keepdims=True)) / (whole.std(axis=1, keepdims=True) + 1e-6)
    windows = np.lib.stride_tricks.sliding_window_view(whole, size, axis=1)
    about = f"{count} series, periods {periods[0]} and {periods[1]}, noise {loud:g}"
    return np.ascontiguousarray(windows.transpose(1, 0, 2)), about


def series_transformer(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """The next values of series, by attention between pieces of the past."""
    back, ahead, piece = int(rng.choice([24, 32])), int(rng.choice([1, 4, 12])), 4
    width, layers = 12 * widen, int(rng.integers(1, 3))
    windows, what = _series(rng, back + ahead)
    inside = windows[:300].reshape(-1, back + ahead)
    held = windows[340:].reshape(-1, back + ahead)[:300]
    absolute = bool(rng.random() < 0.4)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms, places = len(h["lr"]), back // piece
        seen, apart = on_device(inside, draw), on_device(held, draw)
        weights = stack(h, draw, same, (piece, width), "patch")
        weights["place"] = matrix(draw, arms, places, width, 0.5 * h["init_scale"], same)
        weights |= encoder(h, draw, same, width, layers)
        weights |= stack(h, draw, same, (places * width, ahead), "head")
        age = torch.arange(back - 1, -1, -1, device=draw.device)
        shown = (age < h["seen"].view(-1, 1)).view(arms, 1, back)

        def answer(w: Weights, past: Tensor, using: Draw | None) -> Tensor:
            last = past[:, -1:]
            x = (past - last) * shown
            z = dense(w, "patch0", x.reshape(arms, -1, piece)).view(arms, len(past), places, width)
            z = encoded(w, h, z + w["place"].unsqueeze(1), layers, using)
            return last + dense(w, "head0", z.flatten(2))

        def losses(w: Weights, part: Tensor, using: Draw | None) -> Tensor:
            return answer(w, part[:, :back], using) - part[:, back:]

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged((losses(w, seen[some], draw) ** 2).mean(dim=2), h)

        def measure(w: Weights) -> Tensor:
            off = losses(w, apart, None)
            return (off.abs() if absolute else off**2).mean(dim=(1, 2))

        return Model(weights, loss, measure, len(inside))

    axes = (
        adam_rate("learning_rate", 3e-4, 5e-3, "lr"),
        Axis("d_model", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("hidden_size", "n_embd")),
        Axis("e_layers", (1, layers), (1, 2), whole=True, also=("encoder_layers", "num_layers")),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8), also=("resid_dropout", "fc_dropout")),
        Axis("attn_dropout", (0.0, 0.2), (0.0, 0.8), also=("attention_dropout",)),
        Axis("seq_len", (12, back), (2, back), whole=True, also=("input_size", "context_length")),
        Axis("weight_decay", (1e-5, 1e-2), (1e-7, 3.0), log=True),
        Axis("gradient_clip_val", (0.1, 2.0), (0.005, 50.0), log=True, also=("clip_grad_norm",)),
        Axis("batch_size", (16, 64), (2, 64), log=True, whole=True, also=("windows_batch_size",)),
        Axis("lradj", values=("constant", "linear", "cosine"), also=("lr_scheduler",)),
    )  # fmt: skip
    keys = {
        "learning_rate": "lr", "d_model": "width", "e_layers": "layers", "dropout": "drop",
        "attn_dropout": "noise", "seq_len": "seen", "gradient_clip_val": "clip",
        "batch_size": "batch", "lradj": "schedule",
    }  # fmt: skip
    metric = "validation absolute error" if absolute else "validation squared error"
    about = f"{what}, {back} back, {ahead} ahead; {layers} layers"
    return DeepJob("series-transformer", metric, about, axes, keys, {"batch": 32}, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "text_classification": text_classification,
    "sequence_labelling": sequence_labelling,
    "speech": speech,
    "series_transformer": series_transformer,
}
