"""Deep-learning jobs beyond plain classifiers, each with the names that users of its library write.

Language models, late drops (grokking), fine-tuning, contrastive training, diffusion, forecasting,
distillation and a Keras-like convolutional network. All arms of a table train side by side.

Notation:
    A  arms, m  examples of a step, L  places of a sequence, D  units.
"""

import json as _json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from . import (
    anomalies,
    captions,
    control,
    dense_nets,
    differential,
    experts,
    few_labels,
    fields,
    generative,
    images,
    language,
    offline,
    one_cycle,
    proximal,
    relations,
    residual_forecasts,
    restoring,
    retrieval,
    scheduled,
    sequences,
    signals,
    state_spaces,
    texts,
    tuned_text,
    vision,
)
from .batched import Draw, Hypers, Model, Weights, dense, dropped, hypers, masked, matrix, train
from .deep_job import DeepJob, adam_rate, entropy, forward, pictures, shared, stack
from .ranges import Axis, Config, draw_configs, draw_names, draw_ranges, renamed

CONTEXT, VOCABULARY = 32, 64


def text() -> np.ndarray:
    """Program text of Python's own library as numbers below VOCABULARY."""
    folder = Path(_json.__file__).parents[1]
    files = sorted(folder.glob("*.py"))[:120]
    raw = "".join(f.read_text(encoding="utf-8", errors="ignore")[:20000] for f in files)
    return np.frombuffer(raw.encode("ascii", "ignore"), np.uint8).astype(np.int64) % VOCABULARY


# a causal transformer --------------------------------------------------------------------------


def _transformer(
    h: Hypers, draw: Draw, same: bool, width: int, layers: int, tokens: int
) -> Weights:
    arms, scale = len(h["lr"]), h["init_scale"]
    shapes = {"embed": (tokens, width), "place": (CONTEXT, width), "out": (width, tokens)}
    for layer in range(layers):
        shapes |= {
            f"ask{layer}": (width, 3 * width),
            f"take{layer}": (width, width),
            f"wide{layer}": (width, 4 * width),
            f"back{layer}": (4 * width, width),
        }
    weights = {}
    for name, (rows, columns) in shapes.items():
        weights[name] = matrix(draw, arms, rows, columns, scale, same)
        if name not in ("embed", "place"):
            weights[f"{name}_bias"] = torch.zeros(arms, columns, device=draw.device)
    return weights


def _read(w: Weights, h: Hypers, tokens: Tensor, layers: int, draw: Draw | None) -> Tensor:
    """Logits of the next token at every place, [A, m, L, V]."""
    arms, (m, length) = len(h["lr"]), tokens.shape
    width = w["place"].shape[2]
    x = w["embed"][:, tokens.flatten()].view(arms, m, length, width) * width**0.5
    x = masked(x + w["place"][:, None, :length], h["width"])
    causal = torch.ones(length, length, device=x.device, dtype=torch.bool).tril()
    for layer in range(layers):
        flat = functional.layer_norm(x, (width,)).view(arms, m * length, width)
        q, k, v = (
            dense(w, f"ask{layer}", flat)
            .view(arms, m, length, 3, 2, width // 2)
            .permute(3, 0, 1, 4, 2, 5)
        )
        near = (q @ k.transpose(-1, -2)) / (width // 2) ** 0.5
        taken = near.masked_fill(~causal, -1e9).softmax(dim=-1) @ v
        taken = taken.permute(0, 1, 3, 2, 4).reshape(arms, m * length, width)
        x = x + masked(
            dropped(dense(w, f"take{layer}", taken), h["drop"], draw).view_as(x), h["width"]
        )
        flat = functional.layer_norm(x, (width,)).view(arms, m * length, width)
        inner = dense(w, f"back{layer}", functional.gelu(dense(w, f"wide{layer}", flat)))
        x = x + masked(dropped(inner, h["drop"], draw).view_as(x), h["width"])
    flat = functional.layer_norm(x, (width,)).view(arms, m * length, width)
    return dense(w, "out", flat).view(arms, m, length, -1)


def language_model(rng: np.random.Generator) -> DeepJob:
    """A small GPT on program text."""
    width, layers = int(rng.choice([32, 48])), int(rng.integers(1, 3))
    letters = text()
    size = int(np.exp(rng.uniform(np.log(4000), np.log(len(letters) // 2))))
    start = int(rng.integers(len(letters) - 2 * size)) if len(letters) > 2 * size else 0
    part = letters[start : start + 2 * size]

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        data = torch.tensor(part, device=draw.device)
        places = torch.arange(CONTEXT + 1, device=draw.device)
        held = data[size:][
            (torch.arange(64, device=draw.device) * (size - CONTEXT - 1) // 64)[:, None] + places
        ]

        def loss(w: Weights, some: Tensor) -> Tensor:
            seen = data[(some % (size - CONTEXT - 1))[:, None] + places]
            logits = _read(w, h, seen[:, :-1], layers, draw)
            return entropy(logits.flatten(1, 2), seen[:, 1:].flatten())

        def measure(w: Weights) -> Tensor:
            return entropy(
                _read(w, h, held[:, :-1], layers, None).flatten(1, 2), held[:, 1:].flatten()
            )

        return Model(_transformer(h, draw, same, width, layers, VOCABULARY), loss, measure, size)

    axes = (
        adam_rate("learning_rate", 3e-4, 6e-3),
        Axis("weight_decay", (0.01, 0.3), (1e-4, 10.0), log=True),
        Axis("beta1", (0.85, 0.95), (0.0, 0.99)),
        Axis("beta2", (0.95, 0.999), (0.5, 0.9999)),
        Axis("warmup_iters", (0.02, 0.1), (0.001, 0.6), log=True),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8)),
        Axis("grad_clip", (0.5, 2.0), (0.01, 50.0), log=True),
        Axis("n_embd", (16, width), (2, width), log=True, whole=True),
    )
    keys = {
        "learning_rate": "lr",
        "warmup_iters": "warmup",
        "dropout": "drop",
        "grad_clip": "clip",
        "n_embd": "width",
    }
    fixed = {"schedule": str(rng.choice(["cosine", "constant"])), "batch": 16}
    return DeepJob(
        "small-gpt",
        "validation cross-entropy",
        f"GPT of {layers} layers, {size} letters",
        axes,
        keys,
        fixed,
        build,
    )


def fine_tuning(rng: np.random.Generator) -> DeepJob:
    """A transformer that has read program text learns to tell which file a snippet is from."""
    width, layers, classes = 32, 2, int(rng.choice([2, 3, 4]))
    letters = text()
    few = int(np.exp(rng.uniform(np.log(60), np.log(1500))))
    chunk = len(letters) // 12
    places = rng.permutation(12)[:classes]
    by_class = [letters[p * chunk : (p + 1) * chunk] for p in places]
    starts = rng.integers(chunk - CONTEXT, size=(classes, few + 400))
    snippets = np.stack(
        [[c[s : s + CONTEXT] for s in row] for c, row in zip(by_class, starts, strict=True)]
    )
    noise = float(rng.choice([0.0, 0.0, 0.15]))
    pretrained_steps = int(rng.choice([100, 300]))

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        one = hypers([{"lr": 3e-3, "batch": 32}], str(draw.device))
        before = _transformer(one, draw, True, width, layers, VOCABULARY)
        data = torch.tensor(letters, device=draw.device)
        span = torch.arange(CONTEXT + 1, device=draw.device)

        def language(w: Weights, some: Tensor) -> Tensor:
            seen = data[some[:, None] + span]
            return entropy(
                _read(w, one, seen[:, :-1], layers, None).flatten(1, 2), seen[:, 1:].flatten()
            )

        train(
            Model(before, language, lambda _: torch.zeros(1), len(letters) - 40),
            one,
            1,
            pretrained_steps,
            0,
        )
        weights = {n: w.detach().expand(arms, *w.shape[1:]).clone() for n, w in before.items()}
        head = matrix(draw, arms, width, VOCABULARY, 0.3 * h["init_scale"], same)
        weights["out"], weights["out_bias"] = (
            head,
            torch.zeros(arms, VOCABULARY, device=draw.device),
        )
        x = torch.tensor(snippets[:, :few].reshape(-1, CONTEXT), device=draw.device)
        y = torch.arange(classes, device=draw.device).repeat_interleave(few)
        wrong = torch.rand(len(y), generator=draw, device=draw.device) < noise
        y = torch.where(
            wrong, torch.randint(classes, y.shape, generator=draw, device=draw.device), y
        )
        held_x = torch.tensor(snippets[:, few:].reshape(-1, CONTEXT), device=draw.device)[::4]
        held_y = torch.arange(classes, device=draw.device).repeat_interleave(400)[::4]

        def answer(w: Weights, tokens: Tensor, using: Draw | None) -> Tensor:
            return _read(w, h, tokens, layers, using).mean(dim=2)[:, :, :classes]

        def loss(w: Weights, some: Tensor) -> Tensor:
            return entropy(answer(w, x[some], draw), y[some], h["smoothing"])

        def measure(w: Weights) -> Tensor:
            return entropy(answer(w, held_x, None), held_y)

        return Model(weights, loss, measure, len(x))

    axes = (
        adam_rate("learning_rate", 1e-4, 3e-3),
        Axis("weight_decay", (0.001, 0.1), (1e-5, 3.0), log=True),
        Axis("warmup_ratio", (0.01, 0.1), (0.001, 0.7), log=True),
        Axis("adam_beta2", (0.98, 0.999), (0.5, 0.9999)),
        Axis("adam_epsilon", (1e-8, 1e-6), (1e-10, 0.1), log=True),
        Axis("max_grad_norm", (0.5, 2.0), (0.01, 20.0), log=True),
        Axis("label_smoothing_factor", (0.0, 0.1), (0.0, 0.6)),
        Axis("hidden_dropout_prob", (0.0, 0.2), (0.0, 0.7)),
        Axis("lr_scheduler_type", values=("constant", "linear", "cosine")),
    )
    keys = {
        "learning_rate": "lr", "warmup_ratio": "warmup", "adam_beta2": "beta2",
        "adam_epsilon": "eps", "max_grad_norm": "clip", "label_smoothing_factor": "smoothing",
        "hidden_dropout_prob": "drop", "lr_scheduler_type": "schedule",
    }  # fmt: skip
    about = (
        f"{classes} classes, {few} snippets each, noise {noise:g}, {pretrained_steps} steps before"
    )
    return DeepJob("fine-tuning", "eval loss", about, axes, keys, {"batch": 16}, build)


# fully connected models on vectors -------------------------------------------------------------


def grokking(rng: np.random.Generator) -> DeepJob:
    """Arithmetic modulo a prime from a part of all sums: learnt long after training is done."""
    prime = int(rng.choice([17, 23, 29, 31]))
    part = float(rng.uniform(0.3, 0.7))
    hidden = int(rng.choice([64, 128]))
    times = bool(rng.random() < 0.4)
    error = bool(rng.random() < 0.5)
    order = rng.permutation(prime * prime)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        a, b = order // prime, order % prime
        y = torch.tensor((a * b if times else a + b) % prime, device=draw.device)
        x = torch.tensor(
            np.concatenate([np.eye(prime)[a], np.eye(prime)[b]], axis=1),
            dtype=torch.float32,
            device=draw.device,
        )
        cut, arms = int(part * len(order)), len(h["lr"])

        def loss(w: Weights, some: Tensor) -> Tensor:
            return entropy(forward(w, h, shared(x[some], arms), draw), y[some], h["smoothing"])

        def measure(w: Weights) -> Tensor:
            out = forward(w, h, shared(x[cut:], arms), None)
            if error:
                return (out.argmax(dim=2) != y[cut:]).float().mean(dim=1)
            return entropy(out, y[cut:])

        return Model(stack(h, draw, same, (2 * prime, hidden, hidden, prime)), loss, measure, cut)

    axes = (
        adam_rate("lr", 1e-3, 1e-2),
        Axis("weight_decay", (0.05, 1.0), (1e-4, 10.0), log=True, always=True),
        Axis("hidden_dim", (32, hidden), (4, hidden), log=True, whole=True),
        Axis("init_scale", (0.5, 1.5), (0.05, 6.0), log=True),
        Axis("beta2", (0.95, 0.999), (0.5, 0.9999)),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8)),
    )
    keys = {"hidden_dim": "width", "dropout": "drop"}
    metric = "validation error rate" if error else "validation cross-entropy"
    about = f"{'products' if times else 'sums'} modulo {prime}, {part:.2f} of them seen"
    return DeepJob("grokking", metric, about, axes, keys, {"batch": 128}, build)


def contrastive(rng: np.random.Generator) -> DeepJob:
    """Two views of a picture shall be close, those of others far (SimCLR)."""
    x, _ = pictures(rng)
    jitter = float(rng.choice([0.1, 0.3]))

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen = torch.tensor(x, dtype=torch.float32, device=draw.device)
        inside, held = seen[:1200], seen[1200:1328]

        def views(some: Tensor, using: Draw) -> Tensor:
            noise = jitter * torch.randn(2, *some.shape, generator=using, device=some.device)
            keep = torch.rand(2, *some.shape, generator=using, device=some.device) > 0.2
            return ((some + noise) * keep).flatten(0, 1)

        def score(w: Weights, both: Tensor, temperature: Tensor, using: Draw | None) -> Tensor:
            z = functional.normalize(forward(w, h, shared(both, arms), using), dim=2)
            n = z.shape[1] // 2
            near = z[:, :n] @ z[:, n:].transpose(1, 2) / temperature.view(-1, 1, 1)
            return -near.log_softmax(dim=2).diagonal(dim1=1, dim2=2).mean(dim=1)

        def loss(w: Weights, some: Tensor) -> Tensor:
            return score(w, views(inside[some], draw), h["temperature"], draw)

        quiet = torch.Generator(device=draw.device).manual_seed(7)
        fixed = views(held, quiet)

        def measure(w: Weights) -> Tensor:
            return score(w, fixed, torch.full_like(h["temperature"], 0.2), None)

        return Model(stack(h, draw, same, (64, 96, 96, 32)), loss, measure, 1200)

    axes = (
        adam_rate("lr", 3e-4, 1e-2),
        Axis("temperature", (0.1, 0.5), (0.01, 5.0), log=True, always=True),
        Axis("weight_decay", (1e-6, 1e-3), (1e-8, 1.0), log=True),
        Axis("hidden_dim", (32, 96), (4, 96), log=True, whole=True),
        Axis("warmup_epochs", (0.01, 0.1), (0.001, 0.6), log=True),
        Axis("dropout", (0.0, 0.1), (0.0, 0.8)),
    )
    keys = {"hidden_dim": "width", "dropout": "drop", "warmup_epochs": "warmup"}
    return DeepJob(
        "contrastive",
        "validation contrastive loss",
        f"digits, jitter {jitter:g}",
        axes,
        keys,
        {"batch": 64},
        build,
    )


def diffusion(rng: np.random.Generator) -> DeepJob:
    """Guess the noise in a picture."""
    x, _ = pictures(rng)
    steps = 100

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen = torch.tensor(2 * x - 1, dtype=torch.float32, device=draw.device)
        kept = torch.cumprod(1 - torch.linspace(1e-3, 0.06, steps, device=draw.device), dim=0)

        def noised(some: Tensor, using: Draw) -> tuple[Tensor, Tensor]:
            t = torch.randint(steps, (len(some),), generator=using, device=some.device)
            noise = torch.randn(some.shape, generator=using, device=some.device)
            shown = kept[t].sqrt()[:, None] * some + (1 - kept[t]).sqrt()[:, None] * noise
            wave = torch.arange(8, device=some.device) * t[:, None] * 3.14 / steps
            return torch.cat([shown, wave.cos()], dim=1), noise

        def score(w: Weights, pair: tuple[Tensor, Tensor], using: Draw | None) -> Tensor:
            return ((forward(w, h, shared(pair[0], arms), using) - pair[1]) ** 2).mean(dim=(1, 2))

        held = noised(seen[1300:1700], torch.Generator(device=draw.device).manual_seed(7))

        def loss(w: Weights, some: Tensor) -> Tensor:
            return score(w, noised(seen[some], draw), draw)

        def measure(w: Weights) -> Tensor:
            return score(w, held, None)

        return Model(stack(h, draw, same, (72, 128, 128, 64)), loss, measure, 1300)

    axes = (
        adam_rate("learning_rate", 3e-4, 5e-3),
        Axis("ema_decay", (0.9, 0.995), (0.0, 0.9999)),
        Axis("adam_weight_decay", (1e-6, 1e-3), (1e-8, 1.0), log=True),
        Axis("hidden_size", (48, 128), (4, 128), log=True, whole=True),
        Axis("adam_beta1", (0.85, 0.95), (0.0, 0.99)),
        Axis("max_grad_norm", (0.3, 2.0), (0.005, 20.0), log=True),
        Axis("dropout", (0.0, 0.1), (0.0, 0.8)),
    )
    keys = {
        "learning_rate": "lr", "ema_decay": "average", "adam_weight_decay": "weight_decay",
        "hidden_size": "width", "adam_beta1": "beta1", "max_grad_norm": "clip", "dropout": "drop",
    }  # fmt: skip
    return DeepJob(
        "diffusion", "validation noise error", "digits", axes, keys, {"batch": 64}, build
    )


def forecasting(rng: np.random.Generator) -> DeepJob:
    """The next values of generated series."""
    back, ahead = int(rng.choice([16, 32])), int(rng.choice([1, 4, 8]))
    count = int(rng.integers(3, 20))
    t = np.arange(400)
    waves = [
        np.sin(2 * np.pi * t / p + f)
        for p, f in zip(rng.uniform(5, 60, 3), rng.uniform(0, 6, 3), strict=True)
    ]
    series = []
    for _ in range(count):
        drift = np.cumsum(rng.normal(0, rng.choice([0.02, 0.1]), len(t)))
        series.append(
            sum(rng.standard_normal() * w for w in waves)
            + drift
            + rng.choice([0.1, 0.4]) * rng.standard_normal(len(t))
        )
    windows = np.lib.stride_tricks.sliding_window_view(np.array(series), back + ahead, axis=1)
    inside = windows[:, :280].reshape(-1, back + ahead)
    held = windows[:, 300:].reshape(-1, back + ahead)[:600]

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        a, b = (
            torch.tensor(np.array(part), dtype=torch.float32, device=draw.device)
            for part in (inside, held)
        )

        def score(w: Weights, part: Tensor, using: Draw | None) -> Tensor:
            guess = part[:, back - 1 : back] + forward(w, h, shared(part[:, :back], arms), using)
            return ((guess - part[:, back:]) ** 2).mean(dim=(1, 2))

        return Model(
            stack(h, draw, same, (back, 64, 64, ahead)),
            lambda w, some: score(w, a[some], draw),
            lambda w: score(w, b, None),
            len(a),
        )

    axes = (
        adam_rate("learning_rate", 5e-4, 1e-2),
        Axis("hidden_size", (16, 64), (2, 64), log=True, whole=True),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8)),
        Axis("gradient_clip_val", (0.1, 2.0), (0.005, 50.0), log=True),
        Axis("weight_decay", (1e-5, 1e-2), (1e-8, 3.0), log=True),
        Axis("optimizer", values=("adam", "sgd")),
    )
    keys = {
        "learning_rate": "lr",
        "hidden_size": "width",
        "dropout": "drop",
        "gradient_clip_val": "clip",
    }
    about = f"{count} series, {back} back, {ahead} ahead"
    return DeepJob(
        "forecasting", "validation squared error", about, axes, keys, {"batch": 32}, build
    )


def distillation(rng: np.random.Generator) -> DeepJob:
    """A small student learns from a teacher's answers and from few labels."""
    x, y = pictures(rng)
    few, classes = int(rng.choice([60, 200, 800])), 10
    wrong = float(rng.choice([0.0, 0.2]))

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen = torch.tensor(x, dtype=torch.float32, device=draw.device)
        labels = torch.tensor(y, device=draw.device)
        one = hypers([{"lr": 3e-3}], str(draw.device))
        teacher = stack(one, draw, True, (64, 96, 96, classes))
        task = Model(
            teacher,
            lambda w, some: entropy(forward(w, one, shared(seen[some], 1), None), labels[some]),
            lambda _: torch.zeros(1),
            1200,
        )
        train(task, one, 1, 300, 0)
        with torch.no_grad():
            soft = forward(teacher, one, shared(seen, 1), None)[0]
        flipped = torch.rand(len(labels), generator=draw, device=draw.device) < wrong
        given = torch.where(
            flipped,
            torch.randint(classes, labels.shape, generator=draw, device=draw.device),
            labels,
        )

        def loss(w: Weights, some: Tensor) -> Tensor:
            out = forward(w, h, shared(seen[some], arms), draw)
            hot = h.wide("temperature", 3)
            like = (
                -((soft[some] / hot).softmax(dim=2) * (out / hot).log_softmax(dim=2))
                .sum(dim=2)
                .mean(dim=1)
            )
            return h["mix"] * h["temperature"] ** 2 * like + (1 - h["mix"]) * entropy(
                out, given[some]
            )

        def measure(w: Weights) -> Tensor:
            return entropy(forward(w, h, shared(seen[1300:], arms), None), labels[1300:])

        return Model(stack(h, draw, same, (64, 32, 32, classes)), loss, measure, few)

    axes = (
        adam_rate("lr", 1e-3, 1e-2),
        Axis("temperature", (1.0, 5.0), (0.1, 30.0), log=True),
        Axis("alpha", (0.3, 0.9), (0.0, 1.0), always=True),
        Axis("weight_decay", (1e-5, 1e-2), (1e-8, 3.0), log=True),
        Axis("dropout", (0.0, 0.2), (0.0, 0.8)),
        Axis("hidden_units", (12, 32), (2, 32), log=True, whole=True),
    )
    keys = {"alpha": "mix", "dropout": "drop", "hidden_units": "width"}
    return DeepJob(
        "distillation",
        "validation cross-entropy",
        f"digits, {few} examples, {wrong:g} wrong",
        axes,
        keys,
        {"temperature": 2.0, "batch": 32},
        build,
    )


def keras_cnn(rng: np.random.Generator) -> DeepJob:
    """A convolutional network as Keras users write it, on few pictures: some overfit."""
    x, y = pictures(rng)
    few = int(np.exp(rng.uniform(np.log(80), np.log(1200))))
    wrong = float(rng.choice([0.0, 0.0, 0.2]))
    error = bool(rng.random() < 0.5)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms, filters = len(h["lr"]), 12
        seen = torch.tensor(x.reshape(-1, 1, 8, 8), dtype=torch.float32, device=draw.device)
        labels = torch.tensor(y, device=draw.device)
        flipped = torch.rand(len(labels), generator=draw, device=draw.device) < wrong
        given = torch.where(
            flipped, torch.randint(10, labels.shape, generator=draw, device=draw.device), labels
        )
        weights = {
            "conv0": matrix(draw, arms, 9, filters, 1.4 * h["init_scale"], same),
            "conv1": matrix(draw, arms, 9 * filters, filters, 1.4 * h["init_scale"], same),
            "dense": matrix(draw, arms, 16 * filters, 48, 1.4 * h["init_scale"], same),
            "out": matrix(draw, arms, 48, 10, h["init_scale"], same),
        }
        weights |= {
            f"{n}_bias": torch.zeros(arms, w.shape[2], device=draw.device)
            for n, w in weights.items()
        }

        def patches(z: Tensor) -> Tensor:
            m, c, s, _ = z.shape
            return functional.unfold(z, 3, padding=1).transpose(1, 2).reshape(m * s * s, 9 * c)

        def answer(w: Weights, images: Tensor, using: Draw | None) -> Tensor:
            m = len(images)
            z = functional.relu(dense(w, "conv0", shared(patches(images), arms)))
            z = masked(z, h["width"]).view(arms * m, 8, 8, filters).permute(0, 3, 1, 2)
            inner = (
                functional.unfold(z, 3, padding=1)
                .transpose(1, 2)
                .reshape(arms, m * 64, 9 * filters)
            )
            z = (
                functional.relu(dense(w, "conv1", inner))
                .view(arms * m, 8, 8, filters)
                .permute(0, 3, 1, 2)
            )
            flat = functional.avg_pool2d(z, 2).reshape(arms, m, 16 * filters)
            return dense(
                w, "out", dropped(functional.relu(dense(w, "dense", flat)), h["drop"], using)
            )

        def loss(w: Weights, some: Tensor) -> Tensor:
            return entropy(answer(w, seen[some], draw), given[some])

        def measure(w: Weights) -> Tensor:
            out = answer(w, seen[1300:1556], None)
            if error:
                return (out.argmax(dim=2) != labels[1300:1556]).float().mean(dim=1)
            return entropy(out, labels[1300:1556])

        return Model(weights, loss, measure, few)

    plain = bool(rng.random() < 0.4)
    axes = (
        Axis("learning_rate", (3e-3, 0.1), (1e-5, 3.0), log=True, always=True)
        if plain
        else adam_rate("learning_rate", 5e-4, 1e-2),
        Axis("momentum", (0.5, 0.95), (0.0, 0.999))
        if plain
        else Axis("beta_1", (0.8, 0.95), (0.0, 0.999)),
        Axis("conv_filters", (4, 12), (1, 12), whole=True),
        Axis("dropout_rate", (0.0, 0.4), (0.0, 0.9)),
        Axis("kernel_regularizer", (1e-6, 1e-3), (1e-8, 0.3), log=True),
        Axis("clipnorm", (0.5, 5.0), (0.01, 50.0), log=True),
    )
    keys = {
        "learning_rate": "lr", "beta_1": "beta1", "conv_filters": "width", "dropout_rate": "drop",
        "kernel_regularizer": "l2", "clipnorm": "clip",
    }  # fmt: skip
    fixed = {"optimizer": "sgd" if plain else "adam", "batch": int(rng.choice([16, 32]))}
    metric = "validation error rate" if error else "validation cross-entropy"
    return DeepJob(
        "keras-cnn", metric, f"digits, {few} pictures, {wrong:g} wrong", axes, keys, fixed, build
    )


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "language_model": lambda rng, _: language_model(rng),
    "fine_tuning": lambda rng, _: fine_tuning(rng),
    "grokking": lambda rng, _: grokking(rng),
    "contrastive": lambda rng, _: contrastive(rng),
    "diffusion": lambda rng, _: diffusion(rng),
    "forecasting": lambda rng, _: forecasting(rng),
    "distillation": lambda rng, _: distillation(rng),
    "keras_cnn": lambda rng, _: keras_cnn(rng),
    **generative.KINDS,
    **fields.KINDS,
    **relations.KINDS,
    **vision.KINDS,
    **sequences.KINDS,
    **images.KINDS,
    **texts.KINDS,
    **dense_nets.KINDS,
    **control.KINDS,
    **language.KINDS,
    **scheduled.KINDS,
    **tuned_text.KINDS,
    **proximal.KINDS,
    **retrieval.KINDS,
    **signals.KINDS,
    **one_cycle.KINDS,
    **experts.KINDS,
    **state_spaces.KINDS,
    **differential.KINDS,
    **captions.KINDS,
    **restoring.KINDS,
    **residual_forecasts.KINDS,
    **offline.KINDS,
    **anomalies.KINDS,
    **few_labels.KINDS,
}
STEPS = {
    "language_model": (4, 40),
    "fine_tuning": (2, 20),
    "grokking": (20, 120),
    "gaussian_process": (1, 5),
    "likeness": (2, 15),
    "recurrent": (2, 15),
    "adapters": (2, 20),
    "tabular_transformer": (2, 15),
    "segmentation": (2, 20),
    "plain_cnn": (2, 25),
    "residual_network": (2, 25),
    "vision_transformer": (3, 30),
    "text_classification": (4, 40),
    "sequence_labelling": (4, 40),
    "speech": (4, 40),
    "series_transformer": (4, 40),
    "deep_q": (20, 100),
    "actor_critic": (3, 25),
    "continuous_control": (20, 120),
    "seq2seq": (4, 40),
    "masked_words": (4, 40),
    "preferences": (2, 25),
    "scheduled_sgd": (4, 30),
    "scheduled_adamw": (4, 30),
    "tuned_transformer": (8, 50),
    "lora": (8, 50),
    "proximal": (3, 10),
    "one_cycle": (4, 30),
    "experts": (4, 30),
    "state_space": (3, 25),
    "neural_ode": (2, 20),
    "image_text": (3, 25),
    "super_resolution": (3, 30),
    "splatting": (2, 20),
    "offline_control": (4, 40),
    "semi_supervised": (3, 25),
}
UNITS = {
    "scheduled_sgd": (30, 101),
    "scheduled_adamw": (30, 101),
    "proximal": (15, 61),
    "one_cycle": (10, 101),
    "splatting": (15, 81),
    "state_space": (10, 61),
}


def table(
    kind: str, rng: np.random.Generator, arms: int, device: str, shrink: int = 1, widen: int = 1
) -> tuple[DeepJob, list[Config], np.ndarray, int]:
    """A job, its configurations, their losses [A, T + 1], and the steps of a unit.

    Args:
        kind: One of `KINDS`.
        rng: Of all that is drawn.
        arms: How many configurations.
        device: `cuda` or `cpu`.
        shrink: Divides units and steps.
        widen: Multiplies the width of networks and the size of data, where a kind has several.
    """
    job = KINDS[kind](rng, widen)
    configs = draw_configs(rng, draw_ranges(rng, job.axes), arms)
    settings = [
        {**job.fixed, **{job.keys.get(name, name): value for name, value in config.items()}}
        for config in configs
    ]
    units = int(rng.integers(*UNITS.get(kind, (8, 51))))
    low, high = STEPS.get(kind, (4, 50))
    steps = int(np.exp(rng.uniform(np.log(low), np.log(high))))
    units, steps = max(units // shrink, 2), max(steps // shrink, 1)
    same = bool(rng.random() < 0.5)
    h = hypers([{**one, "total": units * steps} for one in settings], device)
    draw = torch.Generator(device=device).manual_seed(int(rng.integers(2**31)))
    losses = train(job.build(h, draw, same), h, units, steps, int(rng.integers(2**31)))
    return job, renamed(configs, draw_names(rng, job.axes)), losses, steps
