"""The identity of one committed checkpoint."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One committed generation of one arm; the study logs these five values.

    Attributes:
        arm: Whose it is.
        generation: Which of the arm's checkpoints, from 1.
        epochs: Epochs that the arm had trained when it was frozen.
        digest: SHA-256 of its manifest, in hexadecimal.
        bytes: Size of its files.
    """

    arm: int
    generation: int
    epochs: int
    digest: str
    bytes: int
