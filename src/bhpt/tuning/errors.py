"""Why a session ended without finishing; the study itself is sound and can be resumed."""


class Paused(RuntimeError):
    """Something outside the study must be put right first, such as a full disk."""


class TrainerBroken(RuntimeError):
    """The trainer never works; its last lines are a note of the error.

    Attributes:
        can_resume: Whether an arm is left that could train once the trainer is mended.
    """

    def __init__(self, message: str, can_resume: bool = True) -> None:
        super().__init__(message)
        self.can_resume = can_resume
