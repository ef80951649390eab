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
    """Call of an operation by one thread. If ``can_abort`` is true, any thread of the same process
    can abort the call."""

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
        """Returns the maximum duration of the next network operation, in seconds: the time until
        the deadline, at most ``timeout``."""
        self.check()
        return min(timeout, max(self._ends_at - time.monotonic(), 0.001))

    def check(self) -> None:
        """Raises an error if the call was aborted or its deadline has passed."""
        if self._is_aborted:
            raise ConnectionAbortedError("the call was cancelled")
        if expired := self.expired():
            raise TimeoutError(expired)

    def expired(self) -> str:
        """Returns an error message if the deadline has passed; otherwise an empty
        string."""
        has_passed = time.monotonic() >= self._ends_at
        return f"the deadline of {self._deadline:g} s has passed" if has_passed else ""

    def attach(self, connected: Any) -> None:
        """Sets the socket that :meth:`abort` shuts down. Stores a duplicate of the socket, because
        http.client closes the original before it reads the body of a response with ``Connection:
        close``."""
        with self._lock:
            self.check()
            if not self._can_abort:
                return
            self._close()
            # The family of the duplicate is of no importance for a shutdown.
            self._socket = socket.fromfd(connected.fileno(), socket.AF_INET, socket.SOCK_STREAM)

    def detach(self) -> None:
        """Closes the duplicate socket that :meth:`attach` stored, so that aborting this call does
        not affect the next call that uses the connection."""
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

        A request is retried only if the response has a ``Retry-After`` header, and never if the
        service may already have executed a write: a gateway that answers 502 or 504 may have
        forwarded the request. The wait is the longer of ``Retry-After`` and an exponential backoff,
        plus a random time. The JavaScript client has the same rule (``retry.js``).
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
