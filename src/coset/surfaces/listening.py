"""Where a server of ours may listen: on this machine as it is, beyond it only behind a token.

In: a host, a port, a token from the process's environment. Out: an open socket, or a `UserError` that says what to do.
The MCP server and the web page share it. Knows neither of them.
"""

from __future__ import annotations

import ipaddress
import socket

from coset.errors import CosetError, UserError

SHORTEST_TOKEN = 16
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def check_exposure(host: str, token: str | None, variable: str, how: str) -> None:
    """Raises `UserError` for an address that others can reach without a token. `variable` is where the token is read
    from, `how` is what a client does with it."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise UserError(f"the token in {variable} is too short: use at least {SHORTEST_TOKEN} characters")
    if token is None and not is_loopback(host):
        raise UserError(
            f"'{host}' can be reached by others: set a token in {variable}, which {how}, or serve on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def in_address(host: str) -> str:
    """A host as it is written in an address."""
    return f"[{host}]" if ":" in host else host


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes requests; port 0 takes any that is free."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = found[0]
        return socket.create_server(place[:2], family=family, backlog=128)
    except OSError as error:
        raise CosetError(f"cannot serve on {host}:{port}: {error.strerror or error}; choose another --port") from None
