"""What a study is created with: stored in its first event, never changed."""

from dataclasses import dataclass, field
from typing import Any

from bhpt.beliefs.earlier_studies import MOST_STUDIES, EarlierStudy
from bhpt.domain import Misuse, Objective
from bhpt.domain.arguments import number, whole_number
from bhpt.domain.budget import Budget


@dataclass(frozen=True, slots=True)
class Training:
    """How one arm is trained.

    Attributes:
        unit: Epochs in one unit, the smallest amount that is decided on.
        epochs: T, the last epoch that any arm may reach.
        step: Epochs that cannot be divided: a shorter last unit is a multiple of it.
        untrained: ℓ_0, the loss of an untrained model; None if it is unknown.
        limit_s: Seconds after which a unit counts as hung; None to learn it from the others.
        retries: How often a failed unit is tried again before its arm is given up.
        grows: Whether a unit may become several of these units where it would cost more than it
            trains.
    """

    unit: int = 1
    epochs: int = 100
    step: int = 1
    untrained: float | None = None
    limit_s: float | None = None
    retries: int = 2
    grows: bool = False

    def __post_init__(self) -> None:
        """Refuse what would fail far away, or could not be read back from a log."""
        for name in ("unit", "epochs", "step", "retries"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        for name in ("untrained", "limit_s"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, number(name, value))
        if self.unit < 1:
            raise Misuse(f"a unit is at least one epoch, not {self.unit}")
        if self.step < 1 or self.unit % self.step:
            raise Misuse(f"a unit of {self.unit} epochs must be a multiple of {self.step}, above 0")
        if self.epochs < self.unit:
            raise Misuse(f"arms may train {self.epochs} epochs, less than a unit of {self.unit}")
        if self.limit_s is not None and not self.limit_s > 0:
            raise Misuse(f"the limit of a unit must be more than 0 seconds, not {self.limit_s}")
        if self.retries < 0:
            raise Misuse(f"retries cannot be negative, not {self.retries}")


@dataclass(frozen=True, slots=True)
class Search:
    """Where arms come from.

    Attributes:
        space: The declared space's text; None if the user listed the configurations.
        candidates: How many are drawn at a time, at the start and whenever all were tried.
        near: How many candidates near good arms may wait to be tried; 0 for none at all.
        every: Not used; stored studies of earlier versions have it, so the codec needs it.
    """

    space: str | None = None
    candidates: int = 512
    near: int = 32
    every: int = 10

    def __post_init__(self) -> None:
        """Refuse what draws nothing."""
        if self.candidates < 1:
            raise Misuse(f"a study needs at least one candidate, not {self.candidates}")
        if self.near < 0:
            raise Misuse(f"candidates near good arms cannot be fewer than 0, not {self.near}")


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decisions depend on, apart from what is observed.

    Attributes:
        budget: The hard limit at the start.
        seed: Of all randomness in the study.
        policy: By its name in the registry, or the class of a policy that was handed over.
        workers: How many units may be in flight.
        trainer: What the study remembers of its trainer, as JSON; None for ask and tell.
        training: How one arm is trained.
        search: Where arms come from.
        networks: Digests of the weights that the policy decided with at the start, by network;
            empty if it has none, and in studies of earlier versions.
        objective: Which metric decides what is best; everything inside the study is a loss.
        earlier: What earlier studies showed that this one learns from.
    """

    budget: Budget
    seed: int = 0
    policy: str = "default"
    workers: int = 1
    trainer: dict[str, Any] | None = None
    training: Training = field(default_factory=Training)
    search: Search = field(default_factory=Search)
    networks: dict[str, str] = field(default_factory=dict)
    objective: Objective = field(default_factory=Objective)
    earlier: tuple[EarlierStudy, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what would fail far away."""
        if self.workers < 1:
            raise Misuse(f"a study needs at least one worker, not {self.workers}")
        if self.seed < 0:
            raise Misuse(f"a seed is a whole number from 0, not {self.seed}")
        if len(self.earlier) > MOST_STUDIES:
            raise Misuse(
                f"a study learns from at most {MOST_STUDIES} earlier ones, not {len(self.earlier)}"
            )
        if self.budget.amount < self.budget.rules.required(self.training.step):
            raise Misuse(f"a budget of {self.budget} does not buy one step of training")
