"""The embedded service."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from . import _native
from ._async_operations import AsyncOperations
from ._closing import AsyncClosing, Closing
from ._finished import finished
from ._operations import Operations


class Session(Operations):
    """Session of a user or a service token. Threads may share a session."""

    def __init__(self, native: _native.Session) -> None:
        super().__init__(self.call)
        self._native = native

    def call(self, name: str, input: dict[str, Any]) -> Any:
        """Calls an operation by name, such as ``secret.get``. The methods such as
        ``session.secret.get`` use this method."""
        return self._native.call(name, input)

    def __repr__(self) -> str:
        return "<secrets_service.Session>"


class AsyncSession(AsyncOperations):
    """:class:`Session` for asyncio.

    An operation that has started runs to its end, even if the task that awaits it is cancelled.
    """

    def __init__(self, native: _native.Session) -> None:
        super().__init__(self.call)
        self._native = native

    async def call(self, name: str, input: dict[str, Any]) -> Any:
        """Calls an operation by name, such as ``secret.get``. The methods such as
        ``session.secret.get`` use this method."""
        return await finished(lambda done: self._native.call(name, input, done=done))

    def __repr__(self) -> str:
        return "<secrets_service.AsyncSession>"


class Service(Closing):
    """The secrets service, embedded in this process. Apart from a database, it needs no server.

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
        root_key: bytes | bytearray | str | None = None,
        allow_egress: Sequence[str] = (),
    ) -> Service:
        """Opens the service with a database: ``memory:``, ``sqlite://PATH`` or ``postgres://…``.

        ``root_key`` is 32 bytes, or their base64. Nothing in the database can be read without it;
        ``memory:`` does not need it. ``allow_egress`` lists the networks, addresses and host names
        that rotations may connect to although they are not public.

        An SQLite file is used by this process alone until the service is closed. After ``os.fork``
        the child process cannot use the service of its parent and must open its own.
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
        """Signs in a user that this program has authenticated. Creates or updates their account.

        ``issuer`` and ``subject`` identify the user, so they must be the same at every sign-in. The
        other arguments may change.
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
        """Creates a session for a service token (``env_…``). ``address`` is the client IP address
        that the service checks against the token's allowlist.

        Every call authenticates the token again.
        """
        return Session(self._native.as_token(token, address=address))

    def close(self) -> None:
        """Closes the service. Waits at most five seconds for operations that are still running."""
        self._native.close()

    def __repr__(self) -> str:
        return "<secrets_service.Service>"


class AsyncService(AsyncClosing):
    """:class:`Service` for asyncio: the secrets service, embedded in this process."""

    def __init__(self, native: _native.Service) -> None:
        self._native = native

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        root_key: bytes | bytearray | str | None = None,
        allow_egress: Sequence[str] = (),
    ) -> AsyncService:
        """Opens the service with a database. The arguments are those of :meth:`Service.open`."""
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
        """Signs in a user that this program has authenticated. The arguments are those of
        :meth:`Service.sign_in`."""
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
        """Creates a session for a service token. The arguments are those of
        :meth:`Service.as_token`."""
        return AsyncSession(self._native.as_token(token, address=address))

    async def close(self) -> None:
        """Closes the service. Waits at most five seconds for operations that are still running."""
        await finished(lambda done: self._native.close(done=done))

    def __repr__(self) -> str:
        return "<secrets_service.AsyncService>"


Session.__module__ = AsyncSession.__module__ = "secrets_service"


def _settings(root_key: bytes | bytearray | str | None, allow_egress: Sequence[str]) -> dict[str, Any]:
    if isinstance(allow_egress, str):
        raise TypeError("allow_egress: must be a list of strings")
    return {"root_key": _bytes(root_key), "allow_egress": ",".join(allow_egress)}


def _bytes(root_key: object) -> bytes | None:
    if root_key is None or isinstance(root_key, bytes):
        return root_key
    if isinstance(root_key, (bytearray, memoryview)):
        return bytes(root_key)
    if not isinstance(root_key, str):
        raise TypeError("root_key: must be bytes or a string")
    try:
        return b64decode(root_key.strip(), validate=True)
    except ValueError:
        raise ValueError("root_key: must be 32 bytes, or their base64") from None


