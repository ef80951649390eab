"""Connections of the client, and its retries with an overloaded service."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import secrets_service as package
from conftest import client, name
from secrets_service import AsyncClient, Client


class Answers(BaseHTTPRequestHandler):
    """Server that sends prepared responses in turn."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        host: Any = self.server
        length = int(self.headers.get("Content-Length", 0))
        host.asked.append((self.command, self.path, self.rfile.read(length), dict(self.headers)))
        host.peers.add(self.client_address)
        status, headers, body = host.answers.pop(0)
        time.sleep(host.pause)
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def host() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    server.answers, server.asked, server.peers, server.pause = [], [], set(), 0.0
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


JSON = {"Content-Type": "application/json"}
NO_ROOM = json.dumps({"error": "rate limit exceeded", "code": "rate_limited"}).encode()
NOT_NOW = json.dumps({"error": "not now", "code": "unavailable"}).encode()


def test_the_connection_is_kept(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')] * 5

    session = Client(host.url, token="t")
    for _ in range(5):
        assert session.project.list() == []

    assert len(host.peers) == 1


def test_what_is_sent(host: Any) -> None:
    host.answers = [(200, JSON, b'{"secret": {}}'), (204, {}, b"")]
    session = Client(host.url + "/base/", token="kvc_token")

    session.secret.update(project="a b", environment="é", key="K", value="kvc_é")
    session.secret.delete(project="p", environment="e", key="K", expected_version=3)

    (method, path, body, headers), (_, deleted, nothing, _) = host.asked
    assert (method, path) == ("PUT", "/base/api/v1/projects/a%20b/environments/%C3%A9/secrets/K")
    assert json.loads(body) == {"value": "kvc_é"}
    assert headers["Authorization"] == "Bearer kvc_token"
    assert deleted.endswith("/secrets/K?expected_version=3")
    assert nothing == b""


def test_it_waits_when_it_is_told_to(host: Any) -> None:
    host.answers = [
        (429, JSON | {"Retry-After": "1"}, NO_ROOM),
        (503, JSON | {"Retry-After": "0"}, NOT_NOW),
        (201, JSON, b'{"id": "1"}'),
    ]

    began = time.monotonic()
    assert Client(host.url).project.create(name="x")["id"] == "1"

    assert 1 <= time.monotonic() - began < 3
    assert len(host.asked) == 3


def test_it_does_not_wait_longer_than_it_may(host: Any) -> None:
    host.answers = [(429, JSON | {"Retry-After": "60"}, NO_ROOM)]

    with pytest.raises(package.RateLimited) as caught:
        Client(host.url, patience=5).project.list()

    assert caught.value.retry_after == 60


def test_what_may_have_been_done_is_not_done_again(host: Any) -> None:
    host.answers = [(503, JSON, NOT_NOW)]

    with pytest.raises(package.Unavailable):
        Client(host.url).project.create(name="x")

    assert len(host.asked) == 1


def test_a_connection_that_was_closed_is_made_anew(host: Any) -> None:
    host.answers = [
        (200, JSON | {"Connection": "close"}, b'{"projects": []}'),
        (200, JSON, b'{"projects": []}'),
        (None, {}, b""),
        (200, JSON, b'{"projects": []}'),
    ]
    session = Client(host.url)

    for _ in range(3):
        assert session.project.list() == []


def test_a_write_that_broke_off_is_told(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}'), (None, {}, b"")]
    session = Client(host.url)
    session.project.list()

    with pytest.raises(package.Unavailable):
        session.project.create(name="x")

    assert len(host.asked) == 2


def test_a_service_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(package.Unavailable, match="no answer from http://127.0.0.1"):
        Client(f"http://127.0.0.1:{port}").project.list()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"message": "kvc_"}'])
def test_an_answer_of_somebody_else(host: Any, body: bytes) -> None:
    host.answers = [(502, {"Content-Type": "text/html"}, body)]

    with pytest.raises(package.InternalError, match="is this the address of the service"):
        Client(host.url).project.list()


@pytest.mark.parametrize("status", [200, 302, 308])
@pytest.mark.parametrize("body", [b"", b"<html>kvc_", b"[]", b'{"other": "kvc_"}'])
def test_what_is_not_of_the_service_is_no_success(host: Any, status: int, body: bytes) -> None:
    host.answers = [(status, {"Content-Type": "text/html", "Location": "/"}, body)]

    with pytest.raises(package.InternalError) as caught:
        Client(host.url).project.list()

    assert "kvc_" not in repr(caught.value) and caught.value.__cause__ is None


def test_a_deletion_that_is_sent_elsewhere_was_not_done(host: Any) -> None:
    host.answers = [(308, {"Location": "https://elsewhere.example.com"}, b"")]

    with pytest.raises(package.InternalError):
        Client(host.url).project.delete(project="shop")


def test_a_thread_that_ends_takes_its_connection_with_it(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')] * 8
    session = Client(host.url)

    for _ in range(8):
        thread = threading.Thread(target=session.project.list)
        thread.start()
        thread.join()

    gc.collect()
    assert len(session._wire._all) == 0


def test_requests_of_a_burst_are_made_beside_each_other(host: Any) -> None:
    host.answers, host.pause = [(200, JSON, b'{"projects": []}')] * 9, 0.2

    async def burst() -> float:
        session = AsyncClient(host.url)
        await session.project.list()
        began = time.monotonic()
        await asyncio.gather(*(session.project.list() for _ in range(8)))
        return time.monotonic() - began

    assert asyncio.run(burst()) < 8 * 0.2


def test_a_client_that_is_closed_says_so(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')]

    async def late() -> None:
        session = AsyncClient(host.url)
        await session.project.list()
        await session.close()
        with pytest.raises(ValueError, match="closed"):
            await asyncio.wait_for(session.project.list(), 5)

    asyncio.run(late())


@pytest.mark.parametrize("key", ["", ".", "..", "a/b", "a\\b", "a\nb"])
def test_what_no_path_can_name_is_not_found(host: Any, key: str) -> None:
    with pytest.raises(package.NotFound):
        Client(host.url).secret.get(project="p", environment="e", key=key)

    assert host.asked == []


@pytest.mark.parametrize("url", ["", "secrets.example.com", "ftp://x", "http://", "http://u:p@x", "http://:p@x"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        Client(url)


def test_a_token_that_would_end_its_header() -> None:
    with pytest.raises(ValueError, match="token") as caught:
        Client("http://localhost", token="kvc_a\r\nX: y")
    assert "kvc_" not in str(caught.value)


def test_threads_share_a_client(program: Any) -> None:
    session = client(program, name())
    slug = session.project.create(name="Shop")["slug"]
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            session.secret.create(
                project=slug, environment="staging", key=f"K{number}", value="kvc_1"
            )
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert len(session.secret.list(project=slug, environment="staging")) == 16
    session.close()
