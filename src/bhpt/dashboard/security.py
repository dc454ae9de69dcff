"""Who may look at a dashboard, and what its pages may do.

The dashboard is read only. It answers requests for its own host names alone, so that no other site
can reach it through a name that it controls (DNS rebinding), and where others than this machine
could connect it asks for a token.
"""

import hmac
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bhpt.domain import Misuse

COOKIE = "bhpt-token"
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""Hash of nothing: plotly.js makes an empty style element and fills it by script."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' {EMPTY_STYLE}",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_LEAST_TOKEN = 16  # characters


@dataclass(frozen=True, slots=True)
class Access:
    """Who is let in.

    Attributes:
        hosts: Names in the Host header that are answered, in lower case.
        token: What a visitor must send; None if only this machine can connect.
    """

    hosts: frozenset[str]
    token: str | None = None


def access_to(host: str, token: str | None, names: Sequence[str] = ()) -> Access:
    """Who is let in at an address.

    Args:
        host: The address that is listened on.
        token: What visitors must send.
        names: Further host names under which the machine is reached.

    Raises:
        Misuse: Others could connect and there is no token, or it is too short.
    """
    if token is not None and len(token) < _LEAST_TOKEN:
        raise Misuse(f"the token is too short: use at least {_LEAST_TOKEN} characters")
    allowed = {name.lower() for name in names}
    if is_loopback(host):
        return Access(frozenset({"localhost", "127.0.0.1", "::1", host.lower(), *allowed}), token)
    if token is None:
        raise Misuse(
            f"--host {host} can be reached from other machines: "
            "put a secret into a file and give --token-file FILE"
        )
    own = {socket.gethostname().lower(), socket.getfqdn().lower(), "localhost"}
    return Access(frozenset({host.lower(), *own, *allowed}), token)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guarded:
    """Lets in who may look, and sends the security headers with every answer.

    Args:
        app: What is guarded.
        access: Who may look.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a visitor without access, or to the first request with the token."""
        headers = Headers(scope=scope)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("the dashboard is read only", 405)
        if not self._is_known_host(headers.get("host", "")):
            return PlainTextResponse("this host name is not answered", 400)
        if self._access.token is None:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        shown = dict(query).get("token")
        if shown is not None and self._is_token(shown):
            return _admitted(scope["path"], [pair for pair in query if pair[0] != "token"], shown)
        if self._is_token(_bearer(headers)) or self._is_token(_cookie(headers)):
            return None
        return PlainTextResponse("a token is needed: open the address with ?token=…", 401)

    def _is_known_host(self, host: str) -> bool:
        name = _host_name(host)
        if name in self._access.hosts:
            return True
        return self._access.token is not None and _is_address(name)

    def _is_token(self, text: str | None) -> bool:
        token = self._access.token
        if text is None or token is None:
            return False
        return hmac.compare_digest(text.encode(), token.encode())


def _host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_address(name: str) -> bool:
    """Whether a host is an address in numbers, which no other site can make a name for."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _bearer(headers: Headers) -> str | None:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else None


def _cookie(headers: Headers) -> str | None:
    return cookie_parser(headers.get("cookie", "")).get(COOKIE)


def _admitted(path: str, query: list[tuple[str, str]], token: str) -> Response:
    """Keep the token in a cookie that no script can read, and take it out of the address."""
    to = path if path.startswith("/") and not path.startswith("//") else "/"
    rest = f"?{urlencode(query)}" if query else ""
    answer = RedirectResponse(f"{to}{rest}", 303)
    answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/")
    return answer
