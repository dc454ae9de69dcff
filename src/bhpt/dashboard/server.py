"""Serve a dashboard until it is stopped."""

import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress

import uvicorn

from bhpt.dashboard.app import make_app
from bhpt.dashboard.feed import StudyFeed
from bhpt.dashboard.security import Access
from bhpt.domain import Misuse
from bhpt.storage import Address

_GRACE_S = 1  # for open streams when it is stopped
_LAST_PORT = 65535


def serve(
    studies: Sequence[str],
    host: str,
    port: int,
    access: Access,
    ready: Callable[[int], None],
) -> None:
    """Show studies until Ctrl-C.

    Args:
        studies: Their files or addresses.
        host: The address to listen on.
        port: The port; 0 for any that is free.
        access: Who may look.
        ready: Called with the port once connections are answered.

    Raises:
        Misuse: A study cannot be read, or the port is taken.
    """
    with ExitStack() as stack:
        feeds = [stack.enter_context(closing(StudyFeed(Address.parse(study)))) for study in studies]
        listening = stack.enter_context(listen(host, port))
        server = make_server(feeds, access)
        ready(listening.getsockname()[1])
        with suppress(KeyboardInterrupt):  # the way to stop it
            server.run(sockets=[listening])


def make_server(feeds: Sequence[StudyFeed], access: Access) -> uvicorn.Server:
    """A server of some studies, not yet running."""
    config = uvicorn.Config(
        make_app(feeds, access, lambda: server.should_exit),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = uvicorn.Server(config)
    return server


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        Misuse: It cannot: there is no such port, it is taken, or the address is not this machine's.
    """
    if not 0 <= port <= _LAST_PORT:
        raise Misuse(f"--port {port}: a port is a number from 0 to {_LAST_PORT}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise Misuse(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port"
        ) from None
