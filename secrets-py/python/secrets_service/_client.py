"""HTTP client with the same methods as the embedded service."""

from __future__ import annotations

import asyncio
import os
import ssl
from time import sleep
from typing import Any

from . import _errors
from ._async_operations import AsyncOperations
from ._call import Call
from ._closing import AsyncClosing, Closing
from ._endpoints import ENDPOINTS
from ._hidden import Hidden
from ._http import failure, output, poll_result, request
from ._operations import Operations
from ._transport import PerProcess, Request, Transport
from ._version import version
from ._workers import Workers


# Maximum of a timeout, in seconds. The operating system does not accept much longer timeouts.
MAX_SECONDS = 1_000_000


class Client(Operations, Closing):
    """HTTP client of a service. It has the same methods as a session of an embedded service.

    ``token`` is a service token, a token of the identity provider or the credential of a command
    line login. Without a token, only public operations are allowed.

    ``timeout`` is the timeout of each network operation and ``deadline`` the maximum time of a
    call, with its retries, in seconds. Neither bounds the resolution of the host name, whose time
    is set in the operating system; if the deadline passes meanwhile, the call fails afterwards. If
    the service is overloaded or unavailable and its response has a ``Retry-After`` header, the
    request is retried after the time in the header, for at most ``patience`` seconds in total. A
    call sends at most 10 requests.

    ``context`` is the TLS context with the trusted certificate authorities; by default, those of
    the system are trusted.
    ``proxy`` is the URL of a proxy; an empty string means a direct connection. By default, the
    proxy is read from the environment variables ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``,
    except for ``localhost`` and loopback addresses.

    Threads may share a client. After a fork, parent and child process may both use the client.

    >>> client = Client("https://secrets.example.com", token="env_…")  # doctest: +SKIP
    >>> client.secret.get(project="shop", environment="staging", key="URL")  # doctest: +SKIP
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        deadline: float = 300.0,
        patience: float = 30.0,
        context: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        super().__init__(self.call)
        token = hidden(token)
        self._wire = Wire(url, token, timeout, deadline, patience, context, proxy)

    @classmethod
    def from_env(
        cls,
        *,
        timeout: float = 60.0,
        deadline: float = 300.0,
        patience: float = 30.0,
        context: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> Client:
        """Creates a client from ``SECRETS_URL``, and ``SECRETS_TOKEN`` or ``SECRETS_TOKEN_FILE``.

        The file contains the token. If neither ``SECRETS_TOKEN`` nor ``SECRETS_TOKEN_FILE`` is set,
        the client has no token.
        """
        url, token = settings()
        return cls(
            url,
            token=token,
            timeout=timeout,
            deadline=deadline,
            patience=patience,
            context=context,
            proxy=proxy,
        )

    def call(self, name: str, input: dict[str, Any]) -> Any:
        """Calls an operation by name, such as ``secret.get``. The methods such as
        ``client.secret.get`` use this method."""
        exchange = self._wire.exchange(name, input)
        while (pause := exchange.send()) is not None:
            sleep(pause)
        return exchange.output

    def close(self) -> None:
        """Closes the client.

        Requests that are already sent are completed. Calls that are queued or wait for a retry
        raise ``ValueError``.
        """
        self._wire.transport.close()

    def __repr__(self) -> str:
        return f"<secrets_service.Client of {origin(self)}>"


class AsyncClient(AsyncOperations, AsyncClosing):
    """:class:`Client` for asyncio. Worker threads send the requests, so that they do not block the
    event loop.

    If the task that awaits a call is cancelled, the connection of the call is closed. In this case,
    a write may or may not have taken effect.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        deadline: float = 300.0,
        patience: float = 30.0,
        context: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        super().__init__(self.call)
        token = hidden(token)
        self._wire = Wire(url, token, timeout, deadline, patience, context, proxy)
        self._workers = PerProcess(Workers)

    @classmethod
    def from_env(
        cls,
        *,
        timeout: float = 60.0,
        deadline: float = 300.0,
        patience: float = 30.0,
        context: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> AsyncClient:
        """Creates a client from ``SECRETS_URL``, and ``SECRETS_TOKEN`` or ``SECRETS_TOKEN_FILE``.

        The file contains the token. If neither ``SECRETS_TOKEN`` nor ``SECRETS_TOKEN_FILE`` is set,
        the client has no token.
        """
        url, token = settings()
        return cls(
            url,
            token=token,
            timeout=timeout,
            deadline=deadline,
            patience=patience,
            context=context,
            proxy=proxy,
        )

    async def call(self, name: str, input: dict[str, Any]) -> Any:
        """Calls an operation by name, such as ``secret.get``. The methods such as
        ``client.secret.get`` use this method."""
        exchange = self._wire.exchange(name, input, can_abort=True)
        while (pause := await self._workers.get().run(exchange.call, exchange.send)) is not None:
            await asyncio.sleep(pause)
        return exchange.output

    async def close(self) -> None:
        """Closes the client.

        Requests that are already sent are completed. Calls that are queued or wait for a retry
        raise ``ValueError``.
        """
        self._wire.transport.close()
        workers = self._workers.existing()
        if workers is not None:
            workers.end()

    def __repr__(self) -> str:
        return f"<secrets_service.AsyncClient of {origin(self)}>"


class Wire:
    """Settings of a client, and the connections to its service."""

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        deadline: float,
        patience: float,
        context: ssl.SSLContext | None,
        proxy: str | None,
    ) -> None:
        if not isinstance(url, str):
            raise TypeError("url: must be a string")
        for name, seconds in (("timeout", timeout), ("deadline", deadline), ("patience", patience)):
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
                raise TypeError(f"{name}: must be a number of seconds")
            if not 0 <= seconds <= MAX_SECONDS or (seconds == 0 and name != "patience"):
                raise ValueError(f"{name}: must be greater than 0 and at most {MAX_SECONDS}")
        if context is not None and not isinstance(context, ssl.SSLContext):
            raise TypeError("context: must be an ssl.SSLContext")
        if proxy is not None and not isinstance(proxy, str):
            raise TypeError("proxy: must be a string")
        headers = {"User-Agent": f"secrets-service-python/{version()}", "Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = Hidden(f"Bearer {checked_token(token)}")
        self.deadline, self.patience = deadline, patience
        self.transport = Transport(
            url, headers=headers, timeout=timeout, context=context, proxy=proxy
        )

    def exchange(self, name: str, input: dict[str, Any], can_abort: bool = False) -> Exchange:
        """Prepares the request of an operation, without sending it."""
        if self.transport.is_closed:
            raise ValueError("the client is closed")
        return Exchange(self, name, input, can_abort)


class Exchange:
    """HTTP request of one operation. The caller repeats :meth:`send` until ``output``
    is set or an exception is raised."""

    def __init__(self, wire: Wire, name: str, input: dict[str, Any], can_abort: bool) -> None:
        endpoint = ENDPOINTS.get(name)
        if endpoint is None:
            raise _errors.NotFound("resource not found", code="not_found")
        self.call = Call(
            name, deadline=wire.deadline, patience=wire.patience, can_abort=can_abort
        )
        self.output: Any = None
        self._name, self._endpoint, self._transport = name, endpoint, wire.transport
        self._request = Request(endpoint.method, *request(endpoint, input))
        self._format = input.get("format") if name == "secret.export" else None

    def send(self) -> float | None:
        """Sends the request. Returns the seconds to wait before the next attempt, or None if
        ``output`` is set."""
        endpoint, origin = self._endpoint, self._transport.origin
        answer = self._transport.send(self.call, self._request)
        if answer.body is None:
            raise failure(answer, origin)
        if 200 <= answer.status < 300:
            self.output = output(endpoint, answer, self._format, origin)
            return None
        if self._name == "device_login.poll" and answer.status == 400:
            self.output = poll_result(answer)
            if self.output is not None:
                return None
        error = failure(answer, origin)
        pause = self.call.pause(error, endpoint.method)
        if pause is None:
            raise error
        return pause


def settings() -> tuple[str, str | None]:
    """Reads the address of the service from ``SECRETS_URL``, and the token from ``SECRETS_TOKEN``
    or from the file in ``SECRETS_TOKEN_FILE``. The token is None if neither variable is set."""
    url, token = os.environ.get("SECRETS_URL"), os.environ.get("SECRETS_TOKEN") or None
    path = os.environ.get("SECRETS_TOKEN_FILE")
    if not url:
        raise ValueError("SECRETS_URL: is not set")
    if path and token:
        raise ValueError("SECRETS_TOKEN and SECRETS_TOKEN_FILE: only one may be set")
    if path:
        token = token_of(path)
    return url, None if token is None else Hidden(token)


def token_of(path: str) -> str:
    """Reads a token from a file, and removes the white space around the token."""
    with open(path, "rb") as file:
        token = file.read().decode(errors="replace").strip()
    if not token:
        raise ValueError("SECRETS_TOKEN_FILE: the file is empty")
    return token


def origin(client: Client | AsyncClient) -> str:
    """Returns the origin (scheme, host and port) of a client's service, for messages.
    If the constructor of the client has failed, returns the string ``an unknown
    origin``."""
    wire: Wire | None = getattr(client, "_wire", None)
    return "an unknown origin" if wire is None else wire.transport.origin


def hidden(token: str | None) -> str | None:
    """Converts a token to :class:`Hidden`. The caller replaces its variable by the result, so that
    a traceback that shows the values of local variables does not show the token."""
    return Hidden(token) if isinstance(token, str) else token


def checked_token(token: object) -> str:
    if not isinstance(token, str):
        raise TypeError("token: must be a string")
    if not token:
        raise ValueError("token: must not be empty")
    if token != token.strip():
        raise ValueError("token: must not begin or end with white space or a newline")
    if not token.isascii() or not token.isprintable():
        raise ValueError("token: must be printable ASCII")
    return token
