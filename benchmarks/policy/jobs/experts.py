"""Language models whose dense layers are mixtures of experts, with the names of their libraries.

Every expert sees every letter here, and what a letter was not sent to is multiplied by 0.

Notation:
    A  arms, m  examples of a step, L  places of a part, N  letters of a step, E  experts, D  units.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .batched import Draw, Hypers, Model, Weights, dense, dropped, masked, matrix
from .deep_job import DeepJob, adam_rate, as_wide, averaged, on_device, stack, surprises
from .encoders import attended, later, measured
from .ranges import Axis
from .texts import reading
from .tuned_text import HELD, LENGTH, LETTERS, corpora, windows_of

MOST = 8  # experts


def _sent(h: Hypers, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Weights of the experts that each letter is sent to, and what unevenness costs.

    A letter goes to the `passes` likeliest experts unless these are full: an expert takes `gain`
    times its even share.

    Args:
        h: Hyper-parameters.
        logits: Of all experts, very low for those that an arm has not, [A, N, E].

    Returns:
        [A, N, E] and [A].
    """
    count, wanted = h["rank"].clamp(2, MOST).round(), h["passes"].round().view(-1, 1, 1)
    chances = logits.softmax(dim=2)
    place = (logits.unsqueeze(3) < logits.unsqueeze(2)).sum(dim=3)
    chosen = (place < wanted).float()
    room = (h["gain"] * h["passes"] * logits.shape[1] / count).view(-1, 1, 1)
    taken = chosen * (chosen.cumsum(dim=1) <= room)
    gates = chances * taken
    total = (chances * chosen).sum(dim=2, keepdim=True)
    gates = torch.where(wanted > 1, gates / total.clamp(min=1e-9), gates)
    uneven = count * ((chosen / wanted).mean(dim=1) * chances.mean(dim=1)).sum(dim=1)
    size = (logits.logsumexp(dim=2) ** 2).mean(dim=1)
    return gates, h["penalty"] * uneven + h["other_gain"] * size


def _mixed(
    w: Weights, h: Hypers, x: Tensor, layer: int, draw: Draw | None
) -> tuple[Tensor, Tensor]:
    """Through the experts of a layer, [A, N, D], and what unevenness costs, [A]."""
    arms, count, _ = x.shape
    seen = x
    if draw is not None:  # the router sees its letters a little louder or quieter
        loud = 2 * torch.rand(1, count, 1, generator=draw, device=x.device) - 1
        seen = x * (1 + h.wide("third_gain", 3) * loud)
    logits = dense(w, f"router{layer}_0", seen)
    own = torch.arange(MOST, device=x.device) < h["rank"].clamp(2, MOST).round().view(-1, 1, 1)
    gates, cost = _sent(h, torch.where(own, logits, -1e4))
    inner = functional.gelu(x @ w[f"expert{layer}_in"])
    inner = inner.view(arms, count, MOST, -1) * gates.unsqueeze(3)
    return inner.view(arms, count, -1) @ w[f"expert{layer}_out"], cost


def _through(
    w: Weights, h: Hypers, tokens: Tensor, layers: int, draw: Draw | None, hidden: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits of the letter after each place, [A, m L, V], and what unevenness costs, [A]."""
    arms, (m, length) = len(h["lr"]), tokens.shape
    x = w["word"][:, tokens.flatten()].view(arms, m, length, -1) + w["place"].unsqueeze(1)
    x, width, total = masked(x, h["width"]), x.shape[3], torch.zeros_like(h["lr"])
    for layer in range(layers):
        taken = attended(w, h, x, layer, draw, hidden)
        x = x + masked(dropped(taken, h["drop"], draw).view_as(x), h["width"])
        flat = functional.layer_norm(x, (width,)).view(arms, m * length, width)
        made, cost = _mixed(w, h, flat, layer, draw)
        x = x + masked(dropped(made, h["drop"], draw).view_as(x), h["width"])
        total = total + cost
    return dense(w, "out0", functional.layer_norm(x, (width,)).flatten(1, 2)), total


def _weights(h: Hypers, draw: Draw, same: bool, width: int, hidden: int, layers: int) -> Weights:
    weights = reading(h, draw, same, LETTERS, LENGTH, width, layers)
    weights = {n: v for n, v in weights.items() if not n.startswith(("wide", "back"))}
    arms, scale = len(h["lr"]), h["init_scale"]
    for layer in range(layers):
        weights |= stack(h, draw, same, (width, MOST), f"router{layer}_")
        inside = matrix(draw, arms, width, MOST * hidden, 1.4 * scale, same)
        outside = matrix(draw, arms, MOST * hidden, width, MOST**0.5 * scale, same)
        weights |= {f"expert{layer}_in": inside, f"expert{layer}_out": outside}
    return weights | stack(h, draw, same, (width, LETTERS), "out")


def _axes(width: int, wide: float) -> tuple[Axis, ...]:
    return (
        adam_rate("learning_rate", 5e-4 / wide, 5e-3 / wide, "lr"),
        Axis("num_experts", values=(2, 4, 8), also=("num_local_experts", "moe_num_experts")),
        Axis("num_experts_per_tok", (1, 2), (1, 4), whole=True,
             also=("top_k", "moe_router_topk", "moe_top_k")),
        Axis("router_aux_loss_coef", (1e-3, 0.03), (1e-6, 10.0), log=True,
             also=("moe_aux_loss_coeff", "load_balance_loss_weight")),
        Axis("router_z_loss_coef", (1e-4, 0.01), (1e-7, 3.0), log=True, also=("moe_z_loss_coeff",)),
        Axis("router_jitter_noise", (0.0, 0.1), (0.0, 1.0), also=("moe_input_jitter_eps",)),
        Axis("capacity_factor", (1.0, 2.0), (0.1, 4.0), log=True,
             also=("expert_capacity_factor", "moe_expert_capacity_factor")),
        Axis("hidden_size", (max(width // 3, 6), width), (2, width), log=True, whole=True,
             also=("n_embd",)),
        Axis("dropout", (0.0, 0.1), (0.0, 0.7), also=("hidden_dropout",)),
        Axis("weight_decay", (0.01, 0.1), (1e-5, 5.0), log=True),
        Axis("adam_beta2", (0.95, 0.999), (0.5, 0.9999), also=("beta2",)),
        Axis("lr_warmup_fraction", (0.01, 0.1), (0.001, 0.6), log=True, also=("warmup_ratio",)),
        Axis("min_lr_ratio", (0.01, 0.2), (1e-4, 1.0), log=True),
        Axis("clip_grad", (0.5, 2.0), (0.01, 20.0), log=True, also=("max_grad_norm",)),
        Axis("micro_batch_size", (8, 32), (1, 32), log=True, whole=True, also=("batch_size",)),
    )  # fmt: skip


def experts(rng: np.random.Generator, widen: int = 1) -> DeepJob:
    """The next letter of programs or of documentation, by a sparse mixture of experts."""
    width, inner, layers = 12 * widen, 12 * widen, int(rng.integers(1, 3))
    few, which = int(rng.choice([500, 2000, 8000])), int(rng.integers(2))
    windows = windows_of(rng, corpora()[which], few + HELD)
    how = "validation cross-entropy"

    def build(h: Hypers, draw: Draw, same: bool) -> Model:
        seen, hidden = on_device(windows, draw), later(LENGTH, draw.device)

        def loss(w: Weights, some: Tensor) -> Tensor:
            tokens = seen[some]
            logits, cost = _through(w, h, tokens[:, :-1], layers, draw, hidden)
            told = surprises(logits, tokens[:, 1:].flatten())
            return averaged(told.view(len(told), len(some), LENGTH).mean(dim=2), h) + cost

        def measure(w: Weights) -> Tensor:
            tokens = seen[few:]
            logits, _ = _through(w, h, tokens[:, :-1], layers, None, hidden)
            return measured(logits, tokens[:, 1:].flatten(), how)

        return Model(_weights(h, draw, same, width, inner, layers), loss, measure, few)

    keys = {
        "learning_rate": "lr", "num_experts": "rank", "num_experts_per_tok": "passes",
        "router_aux_loss_coef": "penalty", "router_z_loss_coef": "other_gain",
        "router_jitter_noise": "third_gain", "capacity_factor": "gain", "hidden_size": "width",
        "dropout": "drop", "adam_beta2": "beta2", "lr_warmup_fraction": "warmup",
        "min_lr_ratio": "final", "clip_grad": "clip", "micro_batch_size": "batch",
    }  # fmt: skip
    wide = as_wide(rng, 8.0)
    fixed = {
        "batch": 16, "rank": int(rng.choice([4, 8])), "passes": int(rng.choice([1, 2])),
        "penalty": 0.01, "other_gain": 0.001, "third_gain": 0.0, "gain": 2.0, "final": 0.1,
        "schedule": "annealed", "warmup": 0.02, "lr_scale": wide,
    }  # fmt: skip
    what = "documentation" if which else "programs"
    about = f"{what}, {few} parts of {LENGTH} letters; {layers} layers; rates times {wide:g}"
    return DeepJob("mixture-of-experts", how, about, _axes(width, wide), keys, fixed, build)


KINDS: dict[str, Callable[[np.random.Generator, int], DeepJob]] = {"experts": experts}
