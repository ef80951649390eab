"""A call in progress: its deadline, its retries, and the socket through which it can be aborted."""

from __future__ import annotations

import logging
import os
import random
import socket
import threading
import time
from typing import Any

from . import _errors

LOGGER = logging.getLogger("secrets_service")

# Maximum number of requests of a call.
MAX_ATTEMPTS = 10

# Minimum wait before the first retry, in seconds. It doubles with each further retry.
FIRST_BACKOFF = 0.1

# Upper limit of the minimum wait, in seconds.
MAX_BACKOFF = 8.0


class Call:
    """Call of an operation. One thread performs the call. If ``can_abort``, any thread of the same
    process can abort it."""

    def __init__(
        self, name: str, *, deadline: float, patience: float, can_abort: bool = False
    ) -> None:
        self.name, self._can_abort, self._process = name, can_abort, os.getpid()
        now = time.monotonic()
        self._deadline, self._ends_at, self._retries_until = deadline, now + deadline, now + patience
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_aborted = False
        self._attempts = 0
        # True if this request opened its connection. Only a kept connection can be closed by a
        # server that has not seen the request.
        self.has_new_connection = False

    def remaining(self, timeout: float) -> float:
        """Returns the seconds that the next network operation may take: at most ``timeout``."""
        self.check()
        return min(timeout, max(self._ends_at - time.monotonic(), 0.001))

    def check(self) -> None:
        """Raises an error if the call was aborted or its deadline has passed."""
        if self._is_aborted:
            raise ConnectionAbortedError("the call was cancelled")
        if expired := self.expired():
            raise TimeoutError(expired)

    def expired(self) -> str:
        """Returns the text of the error if the deadline has passed, else an empty text."""
        has_passed = time.monotonic() >= self._ends_at
        return f"the deadline of {self._deadline:g} s has passed" if has_passed else ""

    def attach(self, connected: Any) -> None:
        """Sets the socket that :meth:`abort` shuts down. The call has a duplicate, because http.client
        closes its own socket before it reads a response with ``Connection: close``."""
        with self._lock:
            self.check()
            if not self._can_abort:
                return
            self._close()
            # The family of the duplicate is of no importance for a shutdown.
            self._socket = socket.fromfd(connected.fileno(), socket.AF_INET, socket.SOCK_STREAM)

    def detach(self) -> None:
        """Removes the socket, since another call may use the connection next."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def abort(self) -> None:
        """Ends the call: a thread that waits for the network immediately gets an error."""
        # A child process has inherited the socket of its parent, and perhaps a locked lock.
        if os.getpid() != self._process:
            return
        with self._lock:
            self._is_aborted = True
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    # The connection is already closed.
                    pass

    def pause(self, error: _errors.SecretsError, method: str) -> float | None:
        """Returns the seconds to wait before a retry; None if the request must not be retried.

        A request is retried only if the response names the time to wait, and never if the request
        may have taken effect: a gateway that reports 502 or 504 may have passed it on. The wait is
        that of the response or an exponential backoff, the longer of the two, and a random part. The
        JavaScript client has the same rule (``retry.js``).
        """
        self._attempts += 1
        if not isinstance(error, (_errors.RateLimited, _errors.Unavailable)):
            return None
        seconds = error.retry_after
        if seconds is None or (error.status in (502, 504) and method != "GET"):
            return None
        if self._attempts >= MAX_ATTEMPTS:
            return None
        backoff = min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** (self._attempts - 1))
        wait = max(float(seconds), backoff)
        left = min(self._retries_until, self._ends_at) - time.monotonic()
        if wait > left:
            return None
        wait = min(left, wait + random.uniform(0, backoff / 2))
        LOGGER.info("%s: status %s, retry in %.1f s", self.name, error.status, wait)
        return wait
