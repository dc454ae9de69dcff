"""How a process ended, in words."""

import signal


def how_it_ended(status: int) -> str:
    """A phrase for a `Popen.returncode`, such as `was killed by SIGKILL`."""
    if status >= 0:
        return f"exited with status {status}"
    names = {one.value: one.name for one in signal.Signals}
    return f"was killed by {names.get(-status, f'signal {-status}')}"
