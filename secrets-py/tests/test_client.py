"""Tests of the connections of the client, and of its retries if the service is overloaded."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import os
import signal
import socket
import threading
import time
from typing import Any

import pytest
import secrets_service as package
from conftest import client, name
from secrets_service import AsyncClient, Client, _transport
from servers import JSON, raw


NO_ROOM = json.dumps({"error": "rate limit exceeded", "code": "rate_limited"}).encode()
NOT_NOW = json.dumps({"error": "not now", "code": "unavailable"}).encode()


def test_the_connection_is_kept(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')] * 5

    session = Client(host.url, token="t")
    for _ in range(5):
        assert session.project.list() == []

    assert len(host.peers) == 1


def test_requests_have_the_expected_content(host: Any) -> None:
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


def test_a_client_waits_as_long_as_retry_after_says(host: Any, waits: list[float]) -> None:
    host.answers = [
        (429, JSON | {"Retry-After": "5"}, NO_ROOM),
        (503, JSON | {"Retry-After": "0"}, NOT_NOW),
        (201, JSON, b'{"id": "1"}'),
    ]

    assert Client(host.url).project.create(name="x")["id"] == "1"

    assert 5 <= waits[0] <= 5.05 and 0.2 <= waits[1] <= 0.3
    assert len(host.asked) == 3


@pytest.mark.parametrize("header", ["0", "Mon, 01 Jan 2024 00:00:00 GMT"])
def test_retries_slow_down_and_end(host: Any, waits: list[float], header: str) -> None:
    host.answers = [(429, JSON | {"Retry-After": header}, NO_ROOM)] * 50

    with pytest.raises(package.RateLimited):
        Client(host.url, patience=300).project.list()

    assert len(host.asked) == 10
    shortest = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8, 8]
    for wait, least in zip(waits, shortest, strict=True):
        assert least <= wait <= 1.5 * least


def test_a_client_does_not_wait_longer_than_its_limit(host: Any) -> None:
    host.answers = [(429, JSON | {"Retry-After": "60"}, NO_ROOM)]

    with pytest.raises(package.RateLimited) as caught:
        Client(host.url, patience=5).project.list()

    assert caught.value.retry_after == 60


def test_a_request_that_may_have_been_processed_is_not_repeated(host: Any) -> None:
    host.answers = [(503, JSON, NOT_NOW)]

    with pytest.raises(package.Unavailable):
        Client(host.url).project.create(name="x")

    assert len(host.asked) == 1


def test_a_closed_connection_is_replaced(host: Any) -> None:
    host.answers = [
        (200, JSON | {"Connection": "close"}, b'{"projects": []}'),
        (200, JSON, b'{"projects": []}'),
        (None, {}, b""),
        (200, JSON, b'{"projects": []}'),
    ]
    session = Client(host.url)

    for _ in range(3):
        assert session.project.list() == []


def test_an_interrupted_write_raises(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}'), (None, {}, b"")]
    session = Client(host.url)
    session.project.list()

    with pytest.raises(package.Unavailable):
        session.project.create(name="x")

    assert len(host.asked) == 2


def test_an_unreachable_service_raises() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(package.Unavailable, match="no answer from http://127.0.0.1"):
        Client(f"http://127.0.0.1:{port}").project.list()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"message": "kvc_"}'])
def test_a_response_of_another_program_raises(host: Any, body: bytes) -> None:
    host.answers = [(500, {"Content-Type": "text/html"}, body)]

    with pytest.raises(package.InternalError, match="is this the address of the service"):
        Client(host.url).project.list()


@pytest.mark.parametrize("status", [200, 302, 308, 400, 401, 403, 404, 409])
@pytest.mark.parametrize("body", [b"", b"<html>kvc_", b"[]", b'{"other": "kvc_"}'])
def test_a_response_of_another_program_is_no_success(host: Any, status: int, body: bytes) -> None:
    host.answers = [(status, {"Content-Type": "text/html", "Location": "/"}, body)]

    with pytest.raises(package.InternalError) as caught:
        Client(host.url).project.list()

    assert "kvc_" not in repr(caught.value) and caught.value.__cause__ is None


def test_a_redirected_deletion_was_not_done(host: Any) -> None:
    host.answers = [(308, {"Location": "https://elsewhere.example.com"}, b"")]

    with pytest.raises(package.InternalError):
        Client(host.url).project.delete(project="shop")


def test_threads_share_idle_connections(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')] * 8
    session = Client(host.url)

    for _ in range(8):
        thread = threading.Thread(target=session.project.list)
        thread.start()
        thread.join()

    assert len(host.peers) == 1


def test_requests_of_a_burst_run_concurrently(host: Any) -> None:
    host.answers, host.pause = [(200, JSON, b'{"projects": []}')] * 9, 1.0

    async def burst() -> float:
        session = AsyncClient(host.url)
        await session.project.list()
        began = time.monotonic()
        await asyncio.gather(*(session.project.list() for _ in range(8)))
        return time.monotonic() - began

    assert asyncio.run(burst()) < 8 * 1.0


def test_a_closed_client_raises_and_opens_no_socket(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')] * 2
    session = Client(host.url)
    session.project.list()

    session.close()
    with pytest.raises(ValueError, match="the client is closed"):
        session.project.list()
    session.close()

    host.wait_for(lambda: host.open == 0)
    assert len(host.asked) == 1


def test_a_closed_asyncio_client_raises(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')]

    async def late() -> None:
        session = AsyncClient(host.url)
        await session.project.list()
        await session.close()
        with pytest.raises(ValueError, match="the client is closed"):
            await asyncio.wait_for(session.project.list(), 5)

    asyncio.run(late())
    host.wait_for(lambda: host.open == 0)


def test_a_call_that_waits_before_a_retry_ends_with_its_client(host: Any) -> None:
    host.answers = [(429, JSON | {"Retry-After": "1"}, NO_ROOM)]

    async def main() -> None:
        session = AsyncClient(host.url)
        call = asyncio.ensure_future(session.project.list())
        await host.receive(1)
        await session.close()
        with pytest.raises(ValueError, match="the client is closed"):
            await asyncio.wait_for(call, 30)

    asyncio.run(main())


def test_a_client_that_is_dropped_ends_its_threads_and_connections(host: Any) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')] * 4

    async def main() -> None:
        for _ in range(4):
            await AsyncClient(host.url).project.list()

    asyncio.run(main())

    def is_gone() -> bool:
        gc.collect()
        names = [thread.name for thread in threading.enumerate()]
        return host.open == 0 and "secrets-client" not in names

    host.wait_for(is_gone)


def test_a_cancelled_call_frees_its_thread_at_once(host: Any) -> None:
    host.silent = True

    async def main() -> float:
        session = AsyncClient(host.url, timeout=60)
        calls = [asyncio.ensure_future(session.project.list()) for _ in range(40)]
        await host.receive(32)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        host.silent = False
        host.answers = [(200, JSON, b'{"projects": []}')]
        began = time.monotonic()
        assert await session.project.list() == []
        await session.close()
        return time.monotonic() - began

    assert asyncio.run(main()) < 30
    # A call that is cancelled before a thread runs the call sends no request.
    assert len(host.asked) == 33


def test_a_cancelled_call_closes_a_connection_that_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client closes the connection although http.client has already closed its own socket
    object, which it does as soon as it has read `Connection: close`."""
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100\r\n\r\n"
    reads, read_body = threading.Event(), _transport.read_body

    def reading(response: Any) -> Any:
        reads.set()
        return read_body(response)

    monkeypatch.setattr(_transport, "read_body", reading)

    async def main(url: str, is_closed: threading.Event) -> bool:
        session = AsyncClient(url)
        call = asyncio.ensure_future(session.project.list())
        assert await asyncio.to_thread(reads.wait, 30)
        call.cancel()
        return await asyncio.to_thread(is_closed.wait, 30)

    with raw(head, is_kept=True) as (url, is_closed):
        assert asyncio.run(main(url, is_closed))


def test_a_request_whose_thread_cannot_start_is_not_sent(
    host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')] * 3

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def main() -> None:
        async with AsyncClient(host.url) as session:
            with monkeypatch.context() as patched:
                patched.setattr(threading.Thread, "start", fail)
                with pytest.raises(RuntimeError, match="can't start new thread"):
                    await asyncio.wait_for(session.project.list(), 30)
            # One idle thread is enough for requests that follow each other.
            for _ in range(3):
                await asyncio.wait_for(session.project.list(), 30)
            assert session._workers.get()._count == 1

    asyncio.run(main())
    assert len(host.asked) == 3


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_signal_handler_can_make_a_call(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')] * 2
    session, resolve, found = Client(host.url), socket.getaddrinfo, []

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        signal.raise_signal(signal.SIGUSR1)
        return resolve(*arguments)

    monkeypatch.setattr(socket, "getaddrinfo", interrupted)
    previous = signal.signal(signal.SIGUSR1, lambda *_: found.append(session.project.list()))
    try:
        assert session.project.list() == []
    finally:
        signal.signal(signal.SIGUSR1, previous)

    assert found == [[]]


@pytest.mark.parametrize("status", [200, 500])
def test_a_response_that_is_too_large_is_not_read(
    host: Any, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(_transport, "MAX_BODY" if status == 200 else "MAX_ERROR_BODY", 1000)
    monkeypatch.setattr(_transport, "READ_SIZE", 100)
    fits = b'{"projects": []}'.ljust(1000)
    host.answers = [(200, JSON, fits), (status, JSON, b"kvc_" * 300), (200, JSON, fits)]
    session = Client(host.url)

    assert session.project.list() == []
    with pytest.raises(package.InternalError, match="response too large") as caught:
        session.project.list()
    assert session.project.list() == []

    assert caught.value.status == status
    # The first connection is kept after a complete response, and closed after an incomplete one.
    assert len(host.peers) == 2


def test_a_response_is_not_decompressed(host: Any) -> None:
    host.answers = [(200, JSON | {"Content-Encoding": "gzip"}, gzip.compress(b'{"projects": []}'))]

    with pytest.raises(package.InternalError):
        Client(host.url).project.list()


def test_a_response_that_ends_early_is_no_response() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
    with raw(head + b'{"projects": []}') as (url, _):
        with pytest.raises(package.Unavailable, match="the response ended early"):
            Client(url).project.create(name="x")


def test_a_wait_before_a_retry_holds_no_thread(host: Any) -> None:
    host.answers = [(429, JSON | {"Retry-After": "20"}, NO_ROOM)] * 32

    async def main() -> float:
        session = AsyncClient(host.url)
        calls = [asyncio.ensure_future(session.project.list()) for _ in range(32)]
        await host.receive(32)
        host.answers = [(200, JSON, b'{"projects": []}')]
        began = time.monotonic()
        assert await session.project.list() == []
        took = time.monotonic() - began
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await session.close()
        return took

    assert asyncio.run(main()) < 15


def test_a_deadline_includes_the_waits_before_retries(host: Any) -> None:
    host.answers = [(429, JSON | {"Retry-After": "5"}, NO_ROOM)]

    with pytest.raises(package.RateLimited):
        Client(host.url, deadline=4).project.list()


@pytest.mark.parametrize("key", ["", ".", "..", "a/b", "a\\b", "a\nb"])
def test_a_name_that_no_path_can_contain_is_not_found(host: Any, key: str) -> None:
    with pytest.raises(package.NotFound):
        Client(host.url).secret.get(project="p", environment="e", key=key)

    assert host.asked == []


@pytest.mark.parametrize("url", ["", "secrets.example.com", "ftp://x", "http://", "http://u:p@x", "http://:p@x"])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        Client(url)


def test_a_token_with_a_line_break_is_refused() -> None:
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
