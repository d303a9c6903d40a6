"""Who may use a live view: its own page, which knows a random token; every other request is refused in silence.

A browser sends requests for any page that is open in it, so that a server of this machine is not private by itself. A
request needs the token in its path; its Host must be this machine by name or an address by number, which no foreign
name can be bound to; and an Origin, if there is one, must be that Host.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import socket
import threading
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from dalembert.errors import UnsupportedError

_STARTING = threading.Lock()


def guarded_server(token: str, host: str, port: int, label: str) -> Any:
    """A ``viser.ViserServer`` that answers only requests whose path begins with the token.

    viser has no hook for this; it gets the one of websockets when it starts its server.

    Args:
        host: who may connect.
        port: to listen on; the next free one if it is taken.
        label: of the page.
    """
    import viser
    import websockets.asyncio.server as library

    serve, guarded = library.serve, []

    def checked(handler: Any, *place: Any, **options: Any) -> Any:
        if not str(getattr(handler, "__module__", "")).startswith("viser."):
            return serve(handler, *place, **options)  # somebody else's server, on another thread
        page = options.pop("process_request")

        def answer(connection: Any, request: Any) -> Any:
            path = own_path(request.path, request.headers, token, host)
            if path is None:
                return connection.respond(HTTPStatus.FORBIDDEN, "Open the address that the program printed.\n")
            request.path = path
            return page(connection, request)

        guarded.append(True)
        return serve(handler, *place, process_request=answer, logger=_silent(), **options)

    with _STARTING:
        library.serve = checked  # type: ignore[assignment, misc]
        try:
            server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
        finally:
            library.serve = serve  # type: ignore[misc]
    if not guarded:
        server.stop()
        raise UnsupportedError(
            f"viser {viser.__version__} cannot be kept to its own page: any page in a browser could control the live "
            "view; use viser 1.1"
        )
    return server


def own_path(path: str, headers: Any, token: str, host: str) -> str | None:
    """The path of a request without the token, or None for one that does not come from the page of the view.

    Args:
        headers: of the request, as websockets has them.
        host: on which the server listens.
    """
    given, _, rest = path.removeprefix("/").partition("?")[0].partition("/")
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    if not hmac.compare_digest(given.encode(), token.encode()) or len(hosts) != 1 or len(origins) > 1:
        return None
    own = {f"{scheme}://{hosts[0]}".lower() for scheme in ("http", "https")}
    if not _is_this_machine(hosts[0], host) or any(x.lower() not in own for x in origins):
        return None
    return f"/{rest}"


def _is_this_machine(name: str, host: str) -> bool:
    try:
        given = urlsplit(f"//{name}").hostname or ""
    except ValueError:
        return False
    try:
        ipaddress.ip_address(given)
    except ValueError:
        return given in {"localhost", host.lower(), socket.gethostname().lower()}
    return True


def _silent() -> logging.Logger:
    """A log that nobody reads: whoever knocks at a port must not fill the terminal."""
    logger = logging.Logger("dalembert.viewer.live")
    logger.addHandler(logging.NullHandler())
    return logger
