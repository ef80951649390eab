"""The whole service in this process."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Sequence
from typing import Any

from . import _native
from ._async_operations import AsyncOperations
from ._closing import AsyncClosing, Closing
from ._hidden import read
from ._operations import Operations

# Given to the core, which calls it with a result or an error, on a thread of its own.
Done = Callable[[Any, "BaseException | None"], None]


class Session(Operations):
    """Somebody who uses a service in this process. Threads may share it."""

    def __init__(self, native: _native.Session) -> None:
        super().__init__(self.call)
        self._native = native

    def call(self, name: str, input: dict[str, Any]) -> Any:
        """Does the operation of this name: what the methods of the namespaces do."""
        return read(self._native.call(name, json.dumps(input)))

    def __repr__(self) -> str:
        return "<secrets_service.Session>"


class AsyncSession(AsyncOperations):
    """Somebody who uses a service in this process, for asyncio.

    What was begun goes on to its end, even if whoever awaits it is cancelled.
    """

    def __init__(self, native: _native.Session) -> None:
        super().__init__(self.call)
        self._native = native

    async def call(self, name: str, input: dict[str, Any]) -> Any:
        """Does the operation of this name: what the methods of the namespaces do."""
        text = json.dumps(input)
        return read(await finished(lambda done: self._native.call(name, text, done=done)))

    def __repr__(self) -> str:
        return "<secrets_service.AsyncSession>"


class Service(Closing):
    """The service, embedded: it keeps its secrets in a database and needs no other process.

    >>> with Service.open("memory:") as service:
    ...     session = service.sign_in(issuer="my-program", subject="1", email="alice@example.com")
    ...     project = session.project.create(name="Web API")
    ...     secret = session.secret.create(
    ...         project=project["slug"], environment="staging", key="API_KEY", value="kvc_1")
    ...     session.secret.get(project="web-api", environment="staging", key="API_KEY")["value"]
    <hidden>
    """

    def __init__(self, native: _native.Service) -> None:
        self._native = native

    @classmethod
    def open(
        cls,
        url: str,
        *,
        root_key: bytes | str | None = None,
        allow_egress: Sequence[str] = (),
    ) -> Service:
        """Opens the service over its database: ``memory:``, ``sqlite://PATH`` or ``postgres://…``.

        ``root_key`` is 32 bytes, or their base64. Nothing in the database can be read without it;
        what is in memory alone goes without. ``allow_egress`` are networks, addresses and host
        names that rotations may reach though they are not public.

        A file of SQLite is this process's alone until the service is closed. After ``os.fork`` a
        service is of no use to the child, which must open its own.
        """
        return cls(_native.Service.open(url, **_settings(root_key, allow_egress)))

    def sign_in(
        self,
        *,
        issuer: str,
        subject: str,
        email: str,
        email_verified: bool = True,
        name: str | None = None,
    ) -> Session:
        """Signs a person in, whom this program knows: makes or refreshes their account.

        ``issuer`` and ``subject`` say who they are for good; the rest may change.
        """
        return Session(
            self._native.sign_in(
                issuer=issuer,
                subject=subject,
                email=email,
                email_verified=email_verified,
                name=name,
            )
        )

    def as_token(self, token: str, *, address: str | None = None) -> Session:
        """A session of who holds a service token (``env_…``) and calls from ``address``.

        Each call looks whether the token is still good.
        """
        return Session(self._native.as_token(token, address=address))

    def close(self) -> None:
        """Ends the service. What is under way is waited for, for five seconds at most."""
        self._native.close()

    def __repr__(self) -> str:
        return "<secrets_service.Service>"


class AsyncService(AsyncClosing):
    """The service, embedded in a program of asyncio: see :class:`Service`."""

    def __init__(self, native: _native.Service) -> None:
        self._native = native

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        root_key: bytes | str | None = None,
        allow_egress: Sequence[str] = (),
    ) -> AsyncService:
        """See :meth:`Service.open`."""
        settings = _settings(root_key, allow_egress)
        return cls(await finished(lambda done: _native.Service.open(url, **settings, done=done)))

    async def sign_in(
        self,
        *,
        issuer: str,
        subject: str,
        email: str,
        email_verified: bool = True,
        name: str | None = None,
    ) -> AsyncSession:
        """See :meth:`Service.sign_in`."""
        return AsyncSession(
            await finished(
                lambda done: self._native.sign_in(
                    issuer=issuer,
                    subject=subject,
                    email=email,
                    email_verified=email_verified,
                    name=name,
                    done=done,
                )
            )
        )

    def as_token(self, token: str, *, address: str | None = None) -> AsyncSession:
        """See :meth:`Service.as_token`."""
        return AsyncSession(self._native.as_token(token, address=address))

    async def close(self) -> None:
        """See :meth:`Service.close`."""
        await finished(lambda done: self._native.close(done=done))

    def __repr__(self) -> str:
        return "<secrets_service.AsyncService>"


async def finished(begin: Callable[[Done], Any]) -> Any:
    """Begins something in the core, and gives what comes of it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        # Whoever waited may have been cancelled.
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def done(result: Any, error: BaseException | None) -> None:
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            # The loop has ended, and with it whoever waited.
            pass

    begin(done)
    return await future


def _settings(root_key: bytes | str | None, allow_egress: Sequence[str]) -> dict[str, Any]:
    if isinstance(allow_egress, str):
        raise TypeError("allow_egress: must be a list of texts")
    return {"root_key": _bytes(root_key), "allow_egress": ",".join(allow_egress)}


def _bytes(root_key: bytes | str | None) -> bytes | None:
    if root_key is None or isinstance(root_key, bytes):
        return root_key
    try:
        return b64decode(root_key.strip(), validate=True)
    except NotBase64:
        raise ValueError("root_key: must be 32 bytes, or their base64") from None


