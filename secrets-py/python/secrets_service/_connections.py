"""Connections of urllib3 that fail once the deadline of a call has passed, and connection pools
that a child process can use after a fork."""

from __future__ import annotations

import http.client
import io
import logging
import queue
import socket
import threading
from collections import deque
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from ._call import Call

# Bytes of a body that are sent at once, between two checks of the deadline: a TLS record.
CHUNK = 16384

# Timeout of a connection, in seconds, if urllib3 has set none.
DEFAULT_TIMEOUT = 60.0


class _Thread(threading.local):
    call: Call | None = None


# Call that the current thread performs. urllib3 cannot pass it to its connections as an argument.
CURRENT = _Thread()


def _call() -> Call:
    assert CURRENT.call is not None
    return CURRENT.call


class _Connection(HTTPConnection):
    """Connection that fails once the deadline of its call has passed, and that another thread can
    abort."""

    def _new_conn(self) -> socket.socket:
        call = _call()
        call.has_new_connection = True
        failed: OSError | None = None
        try:
            found = socket.getaddrinfo(self.host, self.port, 0, socket.SOCK_STREAM)
        except OSError as error:
            raise NewConnectionError(self, "name resolution failed") from error
        for family, kind, protocol, _, target in found:
            try:
                sock = socket.socket(family, kind, protocol)
            except OSError as error:
                # The system may not support the family, such as IPv6. The error of another address
                # says more.
                failed = failed or error
                continue
            try:
                for option in self.socket_options or ():
                    sock.setsockopt(*option)
                call.attach(sock)
                timeout = self.timeout if isinstance(self.timeout, (int, float)) else DEFAULT_TIMEOUT
                sock.settimeout(call.remaining(timeout))
                sock.connect(target)
                call.check()
                return sock
            except OSError as error:
                failed = error
                sock.close()
        raise NewConnectionError(self, "connection failed") from failed or OSError("no address")

    def request(self, *args: Any, **kwargs: Any) -> None:
        call = _call()
        if self.sock is not None and not call.has_new_connection:
            call.attach(self.sock)
        super().request(*args, **kwargs)

    def send(self, data: Any) -> None:
        if self.sock is None or not isinstance(data, bytes):
            super().send(data)
            return
        timeout = self.timeout if isinstance(self.timeout, (int, float)) else DEFAULT_TIMEOUT
        for begin in range(0, len(data), CHUNK):
            self.sock.settimeout(_call().remaining(timeout))
            super().send(data[begin : begin + CHUNK])


class _Response(http.client.HTTPResponse):
    """Response whose reads raise an error once the deadline of the call has passed."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        self.fp = io.BufferedReader(_Reader(sock))


class _Reader(io.RawIOBase):
    """Reader of a socket that raises an error once the deadline of the call has passed."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._raw = sock, sock.makefile("rb", buffering=0)
        self._timeout = sock.gettimeout() or DEFAULT_TIMEOUT

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_call().remaining(self._timeout))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TlsConnection(_Connection, HTTPSConnection):
    """:class:`_Connection` with TLS."""


_Connection.response_class = _Response


class _Idle(queue.LifoQueue[Any]):
    """Queue of the idle connections of a pool. The queue uses no lock: a lock that another thread
    holds during a fork would stay locked in the child process."""

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self._connections: deque[Any] = deque()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        # None stands for a connection that is yet to be opened.
        if item is None:
            return
        if len(self._connections) >= self.maxsize:
            item.close()
            return
        # Must happen before another thread can take the connection.
        if CURRENT.call is not None:
            CURRENT.call.detach()
        self._connections.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        try:
            return self._connections.pop()
        except IndexError:
            raise queue.Empty from None

    def qsize(self) -> int:
        return len(self._connections)


class Pool(HTTPConnectionPool):
    """Pool of connections without TLS."""

    ConnectionCls: Any = _Connection
    QueueCls = _Idle


class TlsPool(HTTPSConnectionPool):
    """Pool of connections with TLS."""

    ConnectionCls: Any = _TlsConnection
    QueueCls = _Idle


class _OwnRequests(logging.Filter):
    """Log filter that drops the records of urllib3 about requests of this package, because a path
    can contain an invitation token. Other users of urllib3 keep their records."""

    def filter(self, record: logging.LogRecord) -> bool:
        return CURRENT.call is None


logging.getLogger("urllib3.connectionpool").addFilter(_OwnRequests())
