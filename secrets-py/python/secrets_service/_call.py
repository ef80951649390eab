"""A call in progress: its deadline, its retries, and the socket through which it can be aborted."""

from __future__ import annotations

import logging
import socket
import threading
import time

from . import _errors

LOGGER = logging.getLogger("secrets_service")


class Call:
    """Call of an operation. One thread performs the call; any thread can abort it."""

    def __init__(self, name: str, *, deadline: float, patience: float) -> None:
        self.name = name
        now = time.monotonic()
        self._deadline, self._ends_at, self._retries_until = deadline, now + deadline, now + patience
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_aborted = False
        # True if this request opened its connection. Only a kept connection can be closed by a
        # server that has not seen the request.
        self.has_new_connection = False

    def remaining(self, timeout: float) -> float:
        """Seconds that the next network operation may take, at most ``timeout``."""
        self.check()
        return min(timeout, max(self._ends_at - time.monotonic(), 0.001))

    def check(self) -> None:
        """Raises an error if the call was aborted or its deadline has passed."""
        if self._is_aborted:
            raise ConnectionAbortedError("the call was cancelled")
        if expired := self.expired():
            raise TimeoutError(expired)

    def expired(self) -> str:
        """Text of the error if the deadline has passed, else an empty text."""
        has_passed = time.monotonic() >= self._ends_at
        return f"the deadline of {self._deadline:g} s has passed" if has_passed else ""

    def attach(self, twin: socket.socket) -> None:
        """Sets the socket that :meth:`abort` shuts down: a duplicate of the connection's socket."""
        with self._lock:
            self.check()
            self._socket = twin

    def detach(self) -> None:
        """Removes the socket, since another call may use the connection next."""
        with self._lock:
            self._socket = None

    def abort(self) -> None:
        """Ends the call: a thread that waits for the network gets an error at once."""
        with self._lock:
            self._is_aborted = True
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    # The connection is already closed.
                    pass

    def pause(self, error: _errors.SecretsError, method: str) -> float | None:
        """Seconds to wait before a retry; None if the request must not be retried.

        A request is retried only if the response names the time to wait, and never if the request
        may have taken effect: a gateway that reports 502 or 504 may have passed it on.
        """
        if not isinstance(error, (_errors.RateLimited, _errors.Unavailable)):
            return None
        seconds = error.retry_after
        if seconds is None or (error.status in (502, 504) and method != "GET"):
            return None
        if time.monotonic() + seconds > min(self._retries_until, self._ends_at):
            return None
        LOGGER.info("%s: status %s, retry in %d s", self.name, error.status, seconds)
        return float(seconds)
