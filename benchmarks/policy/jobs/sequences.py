"""Networks that read a part at a time: recurrent ones, transformers on tables, adapters.

Notation:
    A  arms, m  examples of a step, L  places or features, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked, matrix, train
from .batched import hypers as settings_of
from .data import draw_tabular
from .deep_job import (
    DeepJob,
    adam_rate,
    averaged,
    entropy,
    forward,
    on_device,
    pictures,
    shared,
    stack,
    surprises,
)
from .ranges import Axis


def recurrent(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """An LSTM or a GRU on signals: which kind of wave, or what was seen long ago."""
    length, hidden, classes = int(rng.choice([12, 20])), 24 * widen, int(rng.integers(2, 6))
    few, gated = int(rng.choice([150, 600])), bool(rng.random() < 0.4)
    y = rng.integers(classes, size=few + 200)
    if rng.random() < 0.5:
        t = np.arange(length)
        pace = np.linspace(0.3, 1.6, classes)[y][:, None]
        x = np.sin(pace * t + rng.uniform(0, 6, (len(y), 1)))
        x = (x + rng.choice([0.3, 0.8]) * rng.standard_normal(x.shape))[:, :, None]
        task = "waves"
    else:
        x = rng.standard_normal((len(y), length, classes))
        x[np.arange(len(y)), 1, y] += rng.uniform(2, 5)
        task = "memory"
    count = 3 if gated else 4

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        seen, labels = on_device(x, draw), on_device(y, draw)
        weights = stack(h, draw, same, (x.shape[2], count * hidden), "into")
        weights |= stack(h, draw, same, (hidden, count * hidden), "again")
        weights |= stack(h, draw, same, (hidden, classes), "out")
        weights["into0_bias"][:, :hidden] = h["gain"].view(-1, 1)

        def answer(w: Weights, some: Tensor, using: Draw | None) -> Tensor:
            inward = dense(w, "into0", shared(seen[some].flatten(0, 1), arms))
            inward = inward.view(arms, len(some), length, count * hidden)
            state = torch.zeros(arms, len(some), hidden, device=seen.device)
            cell = state
            for t in range(length):
                back = dense(w, "again0", state)
                gates = (inward[:, :, t] + back).chunk(count, dim=2)
                keep, open_ = gates[0].sigmoid(), gates[1].sigmoid()
                if gated:
                    last = inward[:, :, t].chunk(3, dim=2)[2] + open_ * back.chunk(3, dim=2)[2]
                    state = keep * state + (1 - keep) * torch.tanh(last)
                else:
                    cell = keep * cell + open_ * torch.tanh(gates[2])
                    state = gates[3].sigmoid() * torch.tanh(cell)
                state = masked(state, h["width"])
            return dense(w, "out0", dropped(state, h["drop"], using))

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged(surprises(answer(w, some, draw), labels[some]), h)

        def measure(w: Weights) -> Tensor:
            some = torch.arange(few, few + 200, device=seen.device)
            return entropy(answer(w, some, None), labels[some])

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("lr", 1e-3, 2e-2, "learning_rate"),
        Axis("hidden_size", (8, hidden), (1, hidden), log=True, whole=True, also=("num_hiddens",)),
        Axis("clip", (0.25, 5.0), (0.005, 50.0), log=True, also=("max_norm", "grad_clip")),
        Axis("forget_bias", (0.0, 2.0), (-4.0, 8.0), also=("unit_forget_bias",)),
        Axis("dropout", (0.0, 0.3), (0.0, 0.9)),
        Axis("weight_decay", (1e-6, 1e-3), (1e-8, 1.0), log=True),
        Axis("batch_size", (16, 32), (2, 32), log=True, whole=True),
        Axis("optimizer", values=("adam", "sgd")),
    )
    keys = {
        "hidden_size": "width", "forget_bias": "gain", "dropout": "drop", "batch_size": "batch",
    }  # fmt: skip
    about = f"{task}, {few} sequences of {length}, {'GRU' if gated else 'LSTM'}"
    return DeepJob("lstm", "validation cross-entropy", about, axes, keys, {"batch": 32}, build)


def tabular_transformer(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Attention among the features of a table."""
    data = draw_tabular(rng, 600)
    size = min(data.x.shape[1], 10)
    width, outputs = 16 * widen, max(data.classes, 1)

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        inside, held = on_device(data.x[:, :size], draw), on_device(data.held_x[:300, :size], draw)
        whole = data.y.astype(int) if data.classes else data.y
        right = on_device(whole, draw)
        held_y = data.held_y[:300]
        asked = on_device(held_y.astype(int) if data.classes else held_y, draw)
        ones = torch.ones(arms, device=draw.device)
        weights = {
            "feature": matrix(draw, arms, size, width, h["init_scale"] * size**0.5, same),
            "place": matrix(draw, arms, size, width, h["init_scale"] * size**0.5, same),
            "ask": matrix(draw, arms, width, 3 * width, ones, same),
        }
        weights["ask_bias"] = torch.zeros(arms, 3 * width, device=draw.device)
        weights |= stack(h, draw, same, (width, 2 * width, width), "inner")
        weights |= stack(h, draw, same, (width, outputs), "out")

        def answer(w: Weights, points: Tensor, using: Draw | None) -> Tensor:
            m = len(points)
            z = points.view(1, m, size, 1) * w["feature"].unsqueeze(1) + w["place"].unsqueeze(1)
            z = masked(z, h["width"])
            flat = functional.layer_norm(z, (width,)).view(arms, m * size, width)
            q, k, v = dense(w, "ask", flat).view(arms, m, size, 3, width).unbind(dim=3)
            near = dropped((q @ k.transpose(2, 3) / width**0.5).softmax(dim=3), h["noise"], using)
            z = z + masked(near @ v, h["width"])
            flat = functional.layer_norm(z, (width,)).view(arms, m * size, width)
            wide = functional.gelu(dense(w, "inner0", flat))
            inner = dropped(dense(w, "inner1", wide), h["drop"], using)
            z = z + masked(inner.view_as(z), h["width"])
            return dense(w, "out0", functional.layer_norm(z.mean(dim=2), (width,)))

        def losses(out: Tensor, wanted: Tensor) -> Tensor:
            return surprises(out, wanted) if data.classes else (out[:, :, 0] - wanted) ** 2

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged(losses(answer(w, inside[some], draw), right[some]), h)

        def measure(w: Weights) -> Tensor:
            return losses(answer(w, held, None), asked).mean(dim=1)

        return Model(weights, loss, measure, len(data.x))

    axes = (
        adam_rate("lr", 3e-4, 1e-2, "learning_rate"),
        Axis("weight_decay", (1e-5, 1e-2), (1e-7, 3.0), log=True),
        Axis("d_token", (6, width), (1, width), log=True, whole=True, also=("d_block", "dim")),
        Axis("attention_dropout", (0.0, 0.3), (0.0, 0.8), also=("attn_dropout",)),
        Axis("ffn_dropout", (0.0, 0.2), (0.0, 0.8), also=("ff_dropout", "residual_dropout")),
        Axis("warmup_ratio", (0.01, 0.1), (0.001, 0.7), log=True),
        Axis("batch_size", (16, 32), (2, 32), log=True, whole=True),
    )
    keys = {
        "d_token": "width", "attention_dropout": "noise", "ffn_dropout": "drop",
        "warmup_ratio": "warmup", "batch_size": "batch",
    }  # fmt: skip
    return DeepJob(
        "tabular-transformer", data.loss_name, data.about, axes, keys, {"batch": 32}, build
    )


def adapters(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """Low-rank adapters of a frozen network that knows digits, on changed pictures."""
    x, y = pictures(rng)
    few, hidden, most = int(rng.choice([40, 150, 500])), 48 * widen, 16
    how = str(rng.choice(["mirrored", "inverted", "shuffled labels"]))
    changed, told = x, y
    if how == "mirrored":
        changed = x.reshape(-1, 8, 8)[:, :, ::-1].reshape(-1, 64)
    elif how == "inverted":
        changed = 1 - x
    else:
        told = rng.permutation(10)[y]

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        arms = len(h["lr"])
        one = settings_of([{"lr": 3e-3, "batch": 64}], str(draw.device))
        before = stack(one, draw, True, (64, hidden, hidden, 10))
        old, old_y = on_device(x[1000:], draw), on_device(y[1000:], draw)

        def known(w: Weights, some: Tensor) -> Tensor:
            return entropy(forward(w, one, shared(old[some], 1), None), old_y[some])

        nothing = torch.zeros(1, device=draw.device)
        train(Model(before, known, lambda _: nothing, len(old)), one, 1, 150, 0)
        base = {n: v.detach().expand(arms, *v.shape[1:]) for n, v in before.items()}
        seen, labels = on_device(np.ascontiguousarray(changed[:1000]), draw), on_device(told, draw)
        ones = h["init_scale"]
        weights: Weights = {}
        for layer, (rows, columns) in enumerate(((64, hidden), (hidden, hidden), (hidden, 10))):
            weights[f"down{layer}"] = matrix(draw, arms, rows, most, ones, same)
            weights[f"up{layer}"] = torch.zeros(arms, most, columns, device=draw.device)
        scale = (h["gain"] / h["rank"].clamp(1, most)).view(-1, 1, 1)

        def answer(w: Weights, points: Tensor, using: Draw | None) -> Tensor:
            z = shared(points, arms)
            for layer in range(3):
                low = masked(dropped(z, h["drop"], using) @ w[f"down{layer}"], h["rank"])
                z = dense(base, f"dense{layer}", z) + scale * (low @ w[f"up{layer}"])
                z = functional.silu(z) if layer < 2 else z
            return z

        def loss(w: Weights, some: Tensor) -> Tensor:
            return averaged(surprises(answer(w, seen[some], draw), labels[some]), h)

        def measure(w: Weights) -> Tensor:
            return entropy(answer(w, seen[600:], None), labels[600:1000])

        return Model(weights, loss, measure, few)

    axes = (
        adam_rate("learning_rate", 1e-3, 1e-2, "lr"),
        Axis("lora_r", (4, 16), (1, 16), log=True, whole=True, always=True, also=("r", "rank")),
        Axis("lora_alpha", (4.0, 32.0), (0.2, 500.0), log=True, also=("alpha", "scaling")),
        Axis("lora_dropout", (0.0, 0.1), (0.0, 0.8)),
        Axis("weight_decay", (1e-4, 0.1), (1e-6, 5.0), log=True),
        Axis("warmup_ratio", (0.01, 0.1), (0.001, 0.7), log=True),
        Axis("lr_scheduler_type", values=("constant", "linear", "cosine")),
        Axis("per_device_train_batch_size", (8, 32), (1, 32), log=True, whole=True),
    )
    keys = {
        "learning_rate": "lr", "lora_r": "rank", "lora_alpha": "gain", "lora_dropout": "drop",
        "warmup_ratio": "warmup", "lr_scheduler_type": "schedule",
        "per_device_train_batch_size": "batch",
    }  # fmt: skip
    about = f"digits {how}, {few} pictures"
    fixed = {"rank": 8, "gain": 16.0}
    return DeepJob("adapters", "eval loss", about, axes, keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {
    "recurrent": recurrent,
    "tabular_transformer": tabular_transformer,
    "adapters": adapters,
}
