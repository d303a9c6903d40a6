"""A live view answers its own page only, and nothing that knocks at its port harms it or fills the terminal."""

from __future__ import annotations

import http.client
import importlib.util
import math
import socket
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest

import dalembert as da

pytestmark = pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="needs viser (extra live)")


@pytest.fixture(scope="module")
def live():
    pendulum = da.load("double_pendulum", parameters="default")
    with da.view(pendulum, q=[0.4, 0.2], live=True, open=False, port=18700) as live:
        yield live


UPGRADE = {
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "viser-v",
}  # fmt: skip


def asked(live, path=None, **headers):
    """The status of a request, a WebSocket's if it has the headers of one."""
    address = urlsplit(live.address)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=10)
    connection.putrequest("GET", address.path if path is None else path, skip_host=True)
    for name, value in {"Host": address.netloc, **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_page_itself_is_answered(live):
    port, token = urlsplit(live.address).port, urlsplit(live.address).path.strip("/")
    assert len(token) >= 20
    assert asked(live) == asked(live, f"/{token}") == asked(live, f"/{token}/index.html?darkMode") == 200
    assert asked(live, f"/{token}/missing.js") == 404
    own = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}"}
    assert asked(live, f"/{token}", **UPGRADE, **own) == 101
    assert asked(live, f"/{token}", **UPGRADE, Host=f"[::1]:{port}") == 101


def test_two_views_have_two_tokens(live):
    with da.view(live.mechanism, live=True, open=False, port=18700) as other:
        assert urlsplit(other.address).path != urlsplit(live.address).path
        assert asked(other, urlsplit(live.address).path) == 403
        assert asked(other) == 200


@pytest.mark.parametrize("upgrade", [{}, UPGRADE])
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}), ("/index.html", {}), ("/wrong/", {}), ("/?{token}", {}), ("/x/{token}/", {}), ("/{token}x", {}),
        ("/{token}/", {"Host": "evil.example:{port}"}), ("/{token}/", {"Host": "localhost.evil.example"}),
        ("/{token}/", {"Host": ""}), ("/{token}/", {"Host": "]"}),
        ("/{token}/", {"Origin": "http://evil.example"}), ("/{token}/", {"Origin": "null"}),
        ("/{token}/", {"Origin": "http://localhost:1"}),
    ],
)  # fmt: skip
def test_foreign_requests_are_refused(live, path, headers, upgrade):
    address = urlsplit(live.address)
    known = {"token": address.path.strip("/"), "port": address.port}
    given = {name: value.format(**known) for name, value in headers.items()}
    assert asked(live, path.format(**known), **upgrade, **given) == 403


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 5000, b"GET\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"x" * 100_000,
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n", b"GET / HT",
        b"GET //[ HTTP/1.1\r\nHost: localhost\r\nOrigin: http://[\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)  # fmt: skip
def test_whatever_knocks_prints_nothing_and_harms_nothing(live, sent, capfd):
    for reset in (False, True):
        with socket.create_connection(("127.0.0.1", urlsplit(live.address).port), timeout=10) as probe:
            probe.sendall(sent)
            if not reset:
                probe.shutdown(socket.SHUT_WR)
                probe.settimeout(10)
                try:
                    while probe.recv(65536):
                        pass
                except ConnectionError:
                    pass
    time.sleep(0.05)
    assert asked(live) == 200
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 4.0])
def test_numbers_that_no_slider_has_are_dropped(live, value):
    before = live.q
    moved = live._slider_moved(1, "elbow", -math.pi, math.pi)
    moved(SimpleNamespace(client=object(), target=SimpleNamespace(value=value)))
    assert live.q.tolist() == before.tolist()
    live.control = "hold"
    live.run()
    moved(SimpleNamespace(client=object(), target=SimpleNamespace(value=value)))
    live.pause()
    live.control = None
    assert np.isfinite(live._state.wanted).all() and abs(live._state.wanted[1]) <= math.pi
    import asyncio

    drag = live._dragging(1, "lower")
    event = SimpleNamespace(phase="start", start_position=(0.0, 0.0, 0.0), end_position=(value * 1e6, 0.0, 0.0))
    asyncio.run(drag(event))
    assert live._state.pull is None


def test_a_motion_is_played_at_times_and_speeds_that_exist():
    pendulum = da.load("double_pendulum", parameters="default")
    motion = da.simulate(pendulum, [1.0, 0.5], t=0.5)
    with da.view(motion, live=True, open=False, port=18720) as live:
        live._play.value = False
        before = live.q
        for value in (math.nan, math.inf, -1.0, 0.6):
            live._time_moved(SimpleNamespace(client=object(), target=SimpleNamespace(value=value)))
            assert live.q.tolist() == before.tolist()
        for value in (math.nan, math.inf, -1e9):
            live._speed.value, live._play.value = value, True
            time.sleep(0.1)
            live._play.value = False
            assert 0.0 <= live.t <= 0.5
