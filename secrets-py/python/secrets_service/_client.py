"""HTTP client with the same methods as the embedded service."""

from __future__ import annotations

import asyncio
import http.client
import json
import queue
import select
import ssl
import threading
import time
import weakref
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from . import _errors
from ._async_operations import AsyncOperations
from ._closing import AsyncClosing, Closing
from ._endpoints import ENDPOINTS, Endpoint
from ._hidden import hide, read
from ._operations import Operations

T = TypeVar("T")

VERSION = "1"

# Maximum number of concurrent requests of an AsyncClient.
WORKERS = 32


class Answer(NamedTuple):
    """HTTP response."""

    status: int
    kind: str
    retry_after: int | None
    body: bytes


class Client(Operations, Closing):
    """HTTP client of a service. It has the same methods as a session of an embedded service.

    ``token`` is a service token, a token of the identity provider or the credential of a command
    line login; without a token, only public operations are allowed. ``timeout`` is the timeout of
    each network operation, in seconds. If the service is overloaded or unavailable and names a time
    to wait, the request is retried after that time, for at most ``patience`` seconds in total.
    ``context`` holds the trusted certificate authorities; the default is those of the system.

    Threads may share a client; each thread has its own connection, which is kept open.

    >>> client = Client("https://secrets.example.com", token="env_…")  # doctest: +SKIP
    >>> client.secret.get(project="shop", environment="staging", key="URL")  # doctest: +SKIP
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        patience: float = 30.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(self.call)
        self._wire = Wire(url, token, timeout, patience, context)

    def call(self, name: str, input: dict[str, Any]) -> Any:
        """Calls an operation by name, as the methods of the namespaces do."""
        return self._wire.call(name, input)

    def close(self) -> None:
        """Closes the connections."""
        self._wire.close()

    def __repr__(self) -> str:
        return f"<secrets_service.Client of {self._wire.origin}>"


class AsyncClient(AsyncOperations, AsyncClosing):
    """:class:`Client` for asyncio. Requests run on threads, so they do not block the event loop."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        patience: float = 30.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(self.call)
        self._wire = Wire(url, token, timeout, patience, context)
        self._workers = Workers()

    async def call(self, name: str, input: dict[str, Any]) -> Any:
        """Calls an operation by name, as the methods of the namespaces do."""
        return await self._workers.run(lambda: self._wire.call(name, input))

    async def close(self) -> None:
        """Closes the connections."""
        self._workers.end()
        self._wire.close()

    def __repr__(self) -> str:
        return f"<secrets_service.AsyncClient of {self._wire.origin}>"


class Wire:
    """HTTP connections of a client, with its retries."""

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        patience: float,
        context: ssl.SSLContext | None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url: must be http://HOST or https://HOST")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("url: must be an address without credentials or parameters")
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._context = context or ssl.create_default_context() if parts.scheme == "https" else None
        self._headers = {"User-Agent": f"secrets_service/{VERSION}", "Accept": "application/json"}
        if token is not None:
            if not token.isascii() or not token.isprintable():
                raise ValueError("token: must be printable ASCII")
            self._headers["Authorization"] = f"Bearer {token}"
        self._timeout, self._patience = timeout, patience
        self._own = threading.local()
        # Weak: a connection belongs to its thread and goes away with it.
        self._all: weakref.WeakSet[http.client.HTTPConnection] = weakref.WeakSet()
        self._lock = threading.Lock()

    def call(self, name: str, input: dict[str, Any]) -> Any:
        """Calls an operation."""
        endpoint = ENDPOINTS.get(name)
        if endpoint is None:
            raise _errors.NotFound("resource not found")
        target, body = request(endpoint, input)
        deadline = time.monotonic() + self._patience
        while True:
            answer = self._send(endpoint.method, self._path + target, body)
            if 200 <= answer.status < 300:
                is_text = name == "secret.export" and input.get("format") is not None
                return output(endpoint, answer, is_text)
            # An OAuth error is a result of this operation.
            if name == "device_login.poll" and answer.status == 400 and b'"code"' not in answer.body:
                return read(answer.body)
            error = failure(answer)
            pause = wait(error)
            if pause is None or time.monotonic() + pause > deadline:
                raise error
            time.sleep(pause)

    def close(self) -> None:
        """Closes the connections of all threads."""
        with self._lock:
            for connection in list(self._all):
                connection.close()
            self._all.clear()

    def _send(self, method: str, target: str, body: bytes | None) -> Answer:
        headers = self._headers
        if body is not None:
            headers = {**headers, "Content-Type": "application/json"}
        try:
            for is_new, connection in self._connections():
                try:
                    return self._ask(connection, method, target, body, headers)
                except (http.client.RemoteDisconnected, ConnectionError):
                    connection.close()
                    # The server closed the idle connection. Only a GET is sent again: another
                    # request may already have taken effect.
                    if is_new or method != "GET":
                        raise
        except ssl.SSLCertVerificationError as cause:
            raise _errors.Unavailable(
                f"certificate of {self.origin} not trusted: {cause.verify_message}"
            ) from cause
        except (OSError, http.client.HTTPException) as cause:
            raise _errors.Unavailable(f"no answer from {self.origin}") from cause
        raise _errors.Unavailable(f"no answer from {self.origin}")

    def _connections(self) -> Iterator[tuple[bool, http.client.HTTPConnection]]:
        """Yields the connection of this thread if it is still open, then a new connection."""
        known: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if known is None:
            known = self._own.connection = self._connection()
            with self._lock:
                self._all.add(known)
        if is_open(known):
            yield False, known
        known.close()
        yield True, known

    def _connection(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=self._context
        )

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        body: bytes | None,
        headers: dict[str, str],
    ) -> Answer:
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            said = answer.read()
        except BaseException:
            # An unread rest of this response would be taken for the next response.
            connection.close()
            raise
        after = answer.getheader("Retry-After", "")
        retry_after = int(after) if after.isascii() and after.isdigit() else None
        return Answer(answer.status, answer.getheader("Content-Type", ""), retry_after, said)


def is_open(connection: http.client.HTTPConnection) -> bool:
    """True if the server has not closed a kept connection."""
    sock = connection.sock
    if sock is None:
        return False
    # No response is pending, so a readable socket means that the server closed the connection.
    poll = select.poll()
    poll.register(sock, select.POLLIN | select.POLLHUP | select.POLLERR)
    return not poll.poll(0)


def request(endpoint: Endpoint, input: dict[str, Any]) -> tuple[str, bytes | None]:
    """Builds the target and the body of a request."""
    target, rest = endpoint.template, dict(input)
    for field in fields_of(endpoint.template):
        value = rest.pop(field, None)
        if not isinstance(value, str):
            rule = "is required" if value is None else "must be a string"
            raise _errors.Invalid(
                f"{field} {rule}", code="invalid_request", fields=[{"field": field, "message": rule}]
            )
        target = target.replace("{" + field + "}", segment(value))
    query: list[tuple[str, str]] = []
    for field in endpoint.query:
        value = rest.pop(field, None)
        values = value if isinstance(value, list) else [value]
        query += [(field, written(one)) for one in values if one is not None]
    if query:
        target = f"{target}?{urlencode(query)}"
    return target, json.dumps(rest).encode() if endpoint.has_body else None


def fields_of(template: str) -> list[str]:
    return [part.partition("}")[0] for part in template.split("{")[1:]]


def segment(value: str) -> str:
    """Quotes a path segment. A value that cannot be a segment is not found."""
    if not value or value in (".", "..") or any(c in "/\\" or not c.isprintable() for c in value):
        raise _errors.NotFound("resource not found", code="not_found")
    return quote(value, safe="")


def written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def output(endpoint: Endpoint, answer: Answer, is_text: bool) -> Any:
    """Decodes the output of an operation."""
    if is_text:
        return hide({"text": answer.body.decode()})
    if not answer.body and endpoint.envelope is None:
        return None
    if answer.kind.startswith("application/octet-stream"):
        return b64encode(answer.body).decode()
    try:
        made = read(answer.body)
        return made if endpoint.envelope is None else made[endpoint.envelope]
    except (ValueError, KeyError, TypeError):
        # Without the cause, whose text contains the response body.
        raise _errors.of_answer("internal", b"", None) from None


def failure(answer: Answer) -> _errors.SecretsError:
    """Converts an error response into an exception."""
    return _errors.of_answer(kind_of(answer), answer.body, answer.retry_after)


def kind_of(answer: Answer) -> str:
    try:
        told = json.loads(answer.body)
        code, has_fields = told.get("code"), "details" in told
    except (ValueError, AttributeError):
        code, has_fields = None, True
    if answer.status < 400:
        return "internal"
    if answer.status == 400:
        return "invalid" if has_fields else "refused"
    if answer.status == 403:
        return "elsewhere" if code == "ip_not_allowed" else "forbidden"
    if answer.status == 409:
        return "stale" if code == "version_conflict" else "conflict"
    if answer.status == 429:
        return "plan_limit" if code == "plan_limit_exceeded" else "rate_limited"
    known = {401: "unauthenticated", 404: "not_found", 503: "unavailable"}
    return known.get(answer.status, "internal" if answer.status >= 500 else "invalid")


def wait(error: _errors.SecretsError) -> float | None:
    """Seconds to wait before a retry; None if the request must not be retried.

    Without a response from the service, a write may already have taken effect.
    """
    if isinstance(error, (_errors.RateLimited, _errors.Unavailable)):
        return error.retry_after
    return None


class Workers:
    """Thread pool for requests. Its threads are daemons: they do not delay the program's end."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        # Number of threads, and of unfinished jobs.
        self._count, self._open = 0, 0
        self._has_ended = False
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], T]) -> T:
        """Runs a function on a thread and returns its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                result = work()
            except BaseException as error:
                tell(future.set_exception, error)
            else:
                tell(future.set_result, result)

        def tell(settle: Callable[[Any], None], outcome: object) -> None:
            try:
                loop.call_soon_threadsafe(lambda: None if future.done() else settle(outcome))
            except RuntimeError:
                # The event loop is closed, so no task is waiting.
                pass

        with self._lock:
            if self._has_ended:
                raise ValueError("the client is closed")
            self._open += 1
            if self._open > self._count and self._count < WORKERS:
                self._count += 1
                threading.Thread(target=self._work, name="secrets-client", daemon=True).start()
            self._jobs.put(job)
        return await future

    def end(self) -> None:
        """Lets the threads end after the queued jobs."""
        with self._lock:
            self._has_ended = True
            for _ in range(self._count):
                self._jobs.put(None)
            self._count = 0

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            with self._lock:
                self._open -= 1
