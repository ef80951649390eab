"""Servers that send prepared responses, for tests of the client."""

from __future__ import annotations

import asyncio
import json
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import parse_headers
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = {"Content-Type": "application/json"}

# Maximum time until a server notices that it is shut down, in seconds.
POLL_INTERVAL = 0.02


@contextmanager
def raw(sent: bytes, is_kept: bool = False) -> Iterator[tuple[str, threading.Event]]:
    """Starts a server that accepts one connection, reads the request and sends these bytes. Yields
    the URL and an event. If ``is_kept`` is true, the server leaves the connection open, and sets
    the event when the client closes it."""
    is_closed = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(60)
            # Reads the whole request: a connection that is closed with unread data is reset.
            with connection.makefile("rb") as request:
                request.readline()
                headers = parse_headers(request)
                request.read(int(headers.get("Content-Length", 0)))
            connection.sendall(sent)
            if is_kept and connection.recv(65536) == b"":
                is_closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", is_closed
        thread.join(60)


class Answers(BaseHTTPRequestHandler):
    """Request handler of :class:`Host`: sends the next prepared response to each
    request."""

    protocol_version = "HTTP/1.1"
    # Head and body are two writes: with Nagle's algorithm, the second write waits for an
    # acknowledgement.
    disable_nagle_algorithm = True
    server: Host

    def setup(self) -> None:
        super().setup()
        self.server.count(1)

    def finish(self) -> None:
        super().finish()
        self.server.count(-1)

    def do_GET(self) -> None:
        host = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = (self.command, self.path, body, dict(self.headers))
        is_silent, answer = host.take(request, self.client_address)
        if is_silent:
            # Waits until the client closes the connection.
            self.rfile.read(1)
            self.close_connection = True
            return
        status, headers, body = answer
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


class ProxyAnswers(BaseHTTPRequestHandler):
    """Request handler of :class:`Proxy`: responds to each request itself, and refuses
    to open tunnels (``CONNECT``)."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def do_GET(self) -> None:
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        self.send_response(200)
        body = b'{"projects": []}'
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        self.close_connection = True
        self.send_error(407)

    def log_message(self, *_: object) -> None:
        pass


class Proxy(ThreadingHTTPServer):
    """HTTP proxy that responds to requests itself instead of forwarding them, and
    refuses to open tunnels (``CONNECT``)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ProxyAnswers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    def handle_error(self, *_: object) -> None:
        """Ignores the error: clients in tests close connections early."""

    def __enter__(self) -> Proxy:
        threading.Thread(target=self.serve_forever, args=(POLL_INTERVAL,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class RefusingDatabase(socketserver.ThreadingTCPServer):
    """Server that refuses every connection like a PostgreSQL server, with this error code and
    message, and names a table and a constraint."""

    daemon_threads = True

    def __init__(self, code: str, message: str) -> None:
        names = (b"tkvc_table", b"nkvc_constraint")
        fields = (b"SFATAL", b"VFATAL", f"C{code}".encode(), f"M{message}".encode(), *names)
        body = b"".join(field + b"\0" for field in fields) + b"\0"
        answer = b"E" + (len(body) + 4).to_bytes(4, "big") + body

        class Refusal(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.recv(65536)
                self.request.sendall(answer)

        super().__init__(("127.0.0.1", 0), Refusal)
        port = self.socket.getsockname()[1]
        self.url = f"postgres://user:kvc_password@127.0.0.1:{port}/secrets?sslmode=disable"

    def __enter__(self) -> RefusingDatabase:
        threading.Thread(target=self.serve_forever, args=(POLL_INTERVAL,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Host(ThreadingHTTPServer):
    """Server that sends the next response in ``answers`` to each request. Once
    ``answers`` is empty, it responds with a secret whose key is the last segment of the
    path."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        if context is not None:
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        scheme = "http" if context is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server_port}"
        self.answers: list[tuple[int | None, dict[str, str], bytes]] = []
        self.asked: list[tuple[str, str, bytes, dict[str, str]]] = []
        self.peers: set[Any] = set()
        self.pause, self.open = 0.0, 0
        self.silent = False
        self._lock = threading.Lock()

    def take(
        self, request: tuple[str, str, bytes, dict[str, str]], peer: Any
    ) -> tuple[bool, tuple[int | None, dict[str, str], bytes]]:
        """Records a request in ``asked`` and returns the response to send. Both happen under one
        lock: a test that sees the request in ``asked`` can change the responses to later requests
        only."""
        key = request[1].rpartition("/")[2]
        named = json.dumps({"secret": {"key": key, "value": f"kvc_{key}"}}).encode()
        with self._lock:
            is_silent = self.silent
            is_prepared = bool(self.answers) and not is_silent
            answer = self.answers.pop(0) if is_prepared else (200, JSON, named)
            self.peers.add(peer)
            self.asked.append(request)
        return is_silent, answer

    async def receive(self, requests: int) -> None:
        """Waits until the server has received this number of requests, for at most 60 seconds."""

        async def received() -> None:
            while len(self.asked) < requests:
                await asyncio.sleep(0.01)

        await asyncio.wait_for(received(), 60)

    def count(self, change: int) -> None:
        with self._lock:
            self.open += change

    def wait_for(self, is_done: Callable[[], bool]) -> None:
        """Waits until a condition holds, for at most 30 seconds."""
        deadline = time.monotonic() + 30
        while not is_done():
            assert time.monotonic() < deadline, "the condition does not hold"
            time.sleep(0.01)

    def handle_error(self, *_: object) -> None:
        """Ignores the error: clients in tests close connections early."""

    def __enter__(self) -> Host:
        threading.Thread(target=self.serve_forever, args=(POLL_INTERVAL,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
