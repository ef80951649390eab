"""Test servers in separate processes.

Usage: python processes.py gateway URL [STATUS...]
       python processes.py drip headers|body SECONDS

A gateway is a load balancer and an HTTP proxy: it forwards requests and tunnels to the service at the
URL, whatever host they name. It answers its first requests with the statuses and an HTML page; status
200 forwards the request. The other server sends one byte of a response at a time, with a pause after
each.

Both print their URL, and then a line for each request. They end when their standard input is closed.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# Maximum time for which a process runs, in seconds.
TIMEOUT = 120

PAGE = b"<html>kvc_page</html>"

# Hop-by-hop headers, which a gateway does not forward.
OF_CONNECTION = {"connection", "content-length", "proxy-connection", "transfer-encoding"}

Headers = list[tuple[str, str]]


class Process:
    """Running child process: ``python processes.py`` with these arguments."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, __file__, *(str(argument) for argument in arguments)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        # Kills the process at the time limit, so that no wait for the process takes longer.
        self._limit = threading.Timer(TIMEOUT, self._process.kill)
        self._limit.daemon = True
        self._limit.start()
        assert self._process.stdout
        self.url = self._process.stdout.readline().strip()
        assert self.url, f"the process ended with {self._process.wait()}"

    def end(self) -> list[tuple[str, str, dict[str, str]]]:
        """Ends the process. Returns the method, the target and the headers of each request that the
        server has received."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        lines = self._process.stdout.read().splitlines()
        return [(method, target, headers) for method, target, headers in map(json.loads, lines)]

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._limit.cancel()


class Handler(BaseHTTPRequestHandler):
    """Base class of the request handlers. It prints each request."""

    protocol_version = "HTTP/1.1"

    def report(self) -> None:
        line = json.dumps([self.command, self.path, dict(self.headers)])
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def log_message(self, *_: object) -> None:
        pass


class Gateway(Handler):
    """Request handler of a gateway."""

    service: str
    statuses: list[int]

    def do_GET(self) -> None:
        self.report()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = self.statuses.pop(0) if self.statuses else 200
        if status != 200:
            self.answer(status, [("Content-Type", "text/html"), ("Retry-After", "1")], PAGE)
            return
        # A client of a proxy sends the URL, and a client of a load balancer the path.
        target = urlsplit(self.path)._replace(scheme="", netloc="").geturl()
        connection = http.client.HTTPConnection(self.service, timeout=TIMEOUT)
        connection.request(self.command, target, body, dict(forwarded(self.headers.items())))
        with connection.getresponse() as response:
            self.answer(response.status, forwarded(response.getheaders()), response.read())
        connection.close()

    do_POST = do_PUT = do_GET

    def answer(self, status: int, headers: Headers, body: bytes) -> None:
        self.send_response_only(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        self.report()
        self.close_connection = True
        host, _, port = self.service.rpartition(":")
        with socket.create_connection((host, int(port))) as target:
            self.send_response_only(200)
            self.end_headers()
            ends = {self.connection: target, target: self.connection}
            while True:
                for one in select.select(list(ends), [], [])[0]:
                    part = one.recv(65536)
                    if not part:
                        return
                    ends[one].sendall(part)


def forwarded(headers: Iterable[tuple[str, str]]) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in OF_CONNECTION]


class Drip(Handler):
    """Request handler that sends one byte of a response at a time and never completes the
    response."""

    part: str
    pause: float

    def do_GET(self) -> None:
        self.report()
        self.close_connection = True
        begin = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n"
        self.wfile.write(begin if self.part == "headers" else begin + b"\r\n")
        try:
            while True:
                self.wfile.write(b"x")
                time.sleep(self.pause)
        except OSError:
            # The client has closed the connection.
            pass


def main(kind: str, *arguments: str) -> None:
    if kind == "gateway":
        Gateway.service = urlsplit(arguments[0]).netloc
        Gateway.statuses = [int(status) for status in arguments[1:]]
    else:
        Drip.part, Drip.pause = arguments[0], float(arguments[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), {"gateway": Gateway, "drip": Drip}[kind])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()
    # Exits without waiting for the threads of connections.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
