"""HTTP connections of a client, based on urllib3."""

from __future__ import annotations

import http.client
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Generic, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, LocationParseError, ProtocolError
from urllib3.util import parse_url

from . import _errors
from ._call import Call
from ._connections import CURRENT, Pool, TlsPool
from ._hidden import Hidden
from ._plain import MAX_MESSAGE, plain

T = TypeVar("T")

# Maximum number of idle connections of a client.
MAX_IDLE = 32

# Maximum size of a response body, in bytes. An export of the service has at most 64 MiB of values.
MAX_BODY = 256 << 20

# Maximum size of the body of an error response, in bytes.
MAX_ERROR_BODY = 1 << 20

# Bytes that are read from a response at once.
READ_SIZE = 1 << 20


@dataclass(frozen=True)
class Request:
    """HTTP request. Its ``repr`` contains neither the path, which may include a token, nor the
    body."""

    method: str
    target: str = field(repr=False)
    body: bytes | None = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """HTTP response."""

    status: int
    reason: str
    headers: urllib3.HTTPHeaderDict
    body: bytes | None = field(repr=False)
    """Body of the response; None if it is larger than the limit."""


class PerProcess(Generic[T]):
    """Holder of an object that each process creates separately. After a fork, a child
    process cannot use the object of its parent: the two processes would share its
    sockets, and the threads of the parent do not exist in the child."""

    def __init__(self, create: Callable[[], T]) -> None:
        self._create = create
        self._by_process: dict[int, T] = {}

    def get(self) -> T:
        """Returns the object of this process. Creates it on first use."""
        process = os.getpid()
        found = self._by_process.get(process)
        if found is None:
            # Atomic: threads that come here at once get the same object.
            found = self._by_process.setdefault(process, self._create())
            for other in [one for one in list(self._by_process) if one != process]:
                self._by_process.pop(other, None)
        return found

    def existing(self) -> T | None:
        """Returns the object of this process, or None if this process has not created its object
        yet."""
        return self._by_process.get(os.getpid())


class Transport:
    """Sends requests to one service, directly or through a proxy. Threads may share a transport."""

    def __init__(
        self,
        url: str,
        *,
        headers: dict[str, str],
        timeout: float,
        context: ssl.SSLContext | None,
        proxy: str | None,
    ) -> None:
        parts = address(url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._base = self.origin + parts.path.rstrip("/")
        self._headers, self._timeout = headers, timeout
        if context is None and parts.scheme == "https":
            context = ssl.create_default_context()
        self._context = context
        if proxy is None and not is_local(parts.hostname) and not proxy_bypass(parts.netloc):
            proxy = getproxies().get(parts.scheme)
        self._proxy = Hidden(checked_proxy(proxy)) if proxy else None
        self._pools = PerProcess(self._pool)
        self.is_closed = False

    def send(self, call: Call, request: Request) -> Answer:
        """Sends a request and reads the whole response."""
        failed: Exception = ConnectionError("no connection")
        for _ in range(MAX_IDLE + 1):
            if self.is_closed:
                raise ValueError("the client is closed")
            call.has_new_connection = False
            try:
                return self._exchange(call, request)
            except (HTTPError, OSError, http.client.HTTPException) as error:
                failed = error
            # The server may have closed an idle connection. Only a GET is sent again: another
            # request may already have taken effect.
            is_kept = not call.has_new_connection
            if request.method != "GET" or not is_kept or not isinstance(failed, ProtocolError):
                break
        # Raised here: the frames of urllib3 contain the body and the headers of the request.
        raise self._unavailable(failed, call)

    def close(self) -> None:
        """Closes the idle connections. A connection that is in use closes once its request is
        completed."""
        self.is_closed = True
        pool = self._pools.existing()
        if pool is not None:
            pool.clear()

    def _exchange(self, call: Call, request: Request) -> Answer:
        headers = dict(self._headers)
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        # A signal handler can interrupt a call and perform another one on the same thread.
        interrupted, CURRENT.call = CURRENT.call, call
        try:
            call.check()
            response = self._pools.get().urlopen(
                request.method,
                self._base + request.target,
                body=request.body,
                headers=headers,
                timeout=urllib3.Timeout(connect=self._timeout, read=self._timeout),
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
            )
            body = read_body(response)
            # A response without a length looks complete if its connection was shut down.
            call.check()
            return Answer(response.status, response.reason or "", response.headers, body)
        finally:
            call.detach()
            CURRENT.call = interrupted

    def _pool(self) -> urllib3.PoolManager:
        options: dict[str, Any] = {"maxsize": MAX_IDLE, "ssl_context": self._context}
        pool: urllib3.PoolManager
        if self._proxy is None:
            pool = urllib3.PoolManager(**options)
        else:
            parts = urlsplit(self._proxy)
            if parts.username is not None:
                name, password = unquote(parts.username), unquote(parts.password or "")
                options["proxy_headers"] = urllib3.make_headers(
                    proxy_basic_auth=f"{name}:{password}"
                )
            host = parts.netloc.rpartition("@")[2]
            if parts.scheme == "https":
                options["proxy_ssl_context"] = self._context or ssl.create_default_context()
            pool = urllib3.ProxyManager(f"{parts.scheme}://{host}", **options)
        pool.pool_classes_by_scheme = {"http": Pool, "https": TlsPool}
        return pool

    def _unavailable(self, failed: Exception, call: Call) -> _errors.SecretsError:
        cause = root_cause(failed)
        if isinstance(cause, ssl.SSLCertVerificationError):
            text = f"certificate of {self.origin} not trusted: {cause.verify_message}"
        else:
            text = f"no answer from {self.origin}: {call.expired() or reason(cause)}"
        if self._proxy is not None:
            text = f"{text} (through a proxy)"
        error = _errors.Unavailable(text)
        error.__cause__ = copied(cause)
        return error


def read_body(response: urllib3.BaseHTTPResponse) -> bytes | None:
    """Reads a response body without decompressing it. If the body is larger than 256 MiB (1 MiB for
    a status outside 2xx), closes the connection and returns None. After a complete read, urllib3
    keeps the connection for the next request."""
    limit = MAX_BODY if response.status < 300 else MAX_ERROR_BODY
    parts, size = [], 0
    while part := response.read(READ_SIZE, decode_content=False):
        size += len(part)
        if size > limit:
            response.close()
            return None
        parts.append(part)
    return b"".join(parts)


def address(url: str) -> Any:
    """Parses and checks the address of a service, such as ``https://HOST``."""
    try:
        parts = urlsplit(url)
        parse_url(url)
        check_host(parts.hostname)
    except (ValueError, LocationParseError):
        raise ValueError("url: must be http://HOST or https://HOST") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url: must be http://HOST or https://HOST")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("url: must be an address without credentials or parameters")
    return parts


def check_host(host: str | None) -> None:
    """Raises a ValueError for a host name with an empty label or a label of more than 63
    characters. Without this check, Python raises the error only when it resolves the name."""
    (host or "").encode("idna")


def is_local(host: str) -> bool:
    """Returns True for ``localhost`` and for loopback addresses."""
    if host.rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def checked_proxy(proxy: str) -> str:
    """Returns the URL of a proxy, with ``http://`` added if it has no scheme. Raises a ValueError
    if the URL is invalid."""
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(proxy)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        parse_url(proxy)
        check_host(parts.hostname)
    except (ValueError, LocationParseError):
        is_valid = False
    if not is_valid:
        raise ValueError("proxy: must be http://HOST:PORT or https://HOST:PORT")
    return proxy


def root_cause(error: BaseException) -> BaseException:
    """Returns the innermost cause of an exception. Does not follow ``__context__``, because it can
    be an exception that the caller of the client is handling."""
    seen = [error]
    while True:
        inner = seen[-1].__cause__
        for one in (getattr(seen[-1], "reason", None), *seen[-1].args):
            inner = inner or (one if isinstance(one, BaseException) else None)
        if inner is None or inner in seen:
            return seen[-1]
        seen.append(inner)


def reason(cause: BaseException) -> str:
    """Returns the message of a network error, without addresses and without parts of
    the request."""
    if isinstance(cause, ConnectionAbortedError) and cause.errno is None:
        return str(cause)
    if isinstance(cause, (TimeoutError, urllib3.exceptions.TimeoutError)):
        return "timed out"
    if isinstance(cause, http.client.IncompleteRead):
        return "the response ended early"
    if isinstance(cause, http.client.RemoteDisconnected):
        return "connection closed without a response"
    if isinstance(cause, OSError):
        # The text can contain the reason phrase of a proxy.
        text = plain(str(cause) if cause.strerror is None else cause.strerror, MAX_MESSAGE)
        return text[:1].lower() + text[1:] if text[1:2].islower() else text
    return type(cause).__name__


def copied(cause: BaseException) -> OSError:
    """Returns a copy of a network error with plain texts, and without the traceback and the causes,
    because they contain the request."""
    if isinstance(cause, OSError):
        texts = [plain(one, MAX_MESSAGE) if isinstance(one, str) else one for one in cause.args]
        try:
            made = type(cause)(*texts)
        except TypeError:
            return OSError(reason(cause))
        made.__dict__.update(cause.__dict__)
        return made
    # An error of http.client contains a part of the response.
    return ConnectionError(reason(cause))
