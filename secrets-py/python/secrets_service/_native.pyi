from collections.abc import Callable
from os import PathLike
from typing import Any, BinaryIO, TypedDict, final, overload

from .types import Severity

class _Sighting(TypedDict):
    rule_id: str
    description: str
    severity: Severity
    line: int
    column: int
    redacted: str
    entropy: float

__all__ = [
    "Bundle",
    "Service",
    "Session",
    "Undecryptable",
    "bundle_key_kind",
    "end",
    "hide",
    "is_plausible_token",
    "new_key_pair",
    "open_record",
    "parse",
    "public_key",
    "render",
    "scan",
    "verify_webhook",
]

_Done = Callable[[Any, BaseException | None], None]

class Undecryptable(Exception):
    """A record does not decrypt: it was moved, changed or truncated, or the key is wrong."""

@final
class Service:
    @staticmethod
    @overload
    def open(url: str, *, root_key: bytes | None, allow_egress: str) -> Service: ...
    @staticmethod
    @overload
    def open(
        url: str, *, root_key: bytes | None, allow_egress: str, done: _Done | None = None
    ) -> Any: ...
    def sign_in(
        self,
        *,
        issuer: str,
        subject: str,
        email: str,
        email_verified: bool,
        name: str | None,
        done: _Done | None = None,
    ) -> Any: ...
    def as_token(self, token: str, *, address: str | None) -> Session: ...
    def close(self, *, done: _Done | None = None) -> None: ...

@final
class Session:
    def call(self, name: str, input: dict[str, Any], *, done: _Done | None = None) -> Any: ...

def open_record(
    record: bytes,
    *,
    key: bytes,
    key_version: int,
    purpose: int,
    hidden: bool,
    instance: str,
    project: str,
    environment: str | None,
    object: str,
    key_name: str,
    version: int,
) -> str:
    """Decrypts a sealed record. Fails unless the record is intact and was sealed for this context.

    ``key`` is the project key, 32 bytes, with the version ``key_version``. The other arguments are
    the context that the record is bound to: the ids are UUIDs, ``object`` is the secret or other
    object that owns the record, ``key_name`` is empty and ``version`` 0 for objects without them.

    Raises :class:`Undecryptable` if the record does not decrypt, :class:`ValueError` if an argument
    is invalid, and :class:`OverflowError` if a number is out of range.
    """

def hide(fields: dict[str, Any]) -> dict[str, Any]: ...
def is_plausible_token(text: str) -> bool: ...
def parse(text: str, format: str) -> list[tuple[str, str]]: ...
def render(secrets: list[tuple[str, str]], format: str, name: str) -> str: ...
def scan(text: str, path: str) -> list[_Sighting]: ...
def verify_webhook(
    *, id: str, timestamp: str, signature: str, body: bytes, secret: str, now: int | None
) -> None: ...
def end() -> None: ...

@final
class Bundle:
    @staticmethod
    def open(
        source: bytes | str | PathLike[str] | BinaryIO,
        *,
        unlock: tuple[str, str],
        signer: str | None,
        at_least: int,
        now: int | None,
    ) -> Bundle: ...
    @property
    def project(self) -> str: ...
    @property
    def environment(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def created_at(self) -> str: ...
    @property
    def expires_at(self) -> str | None: ...
    @property
    def signer(self) -> str: ...
    def __iter__(self) -> Bundle: ...
    def __next__(self) -> tuple[str, str, str | None, int, str | None, str]: ...
    def close(self) -> None: ...

def new_key_pair() -> tuple[str, str]: ...
def public_key(private_key: str) -> str: ...
def bundle_key_kind(text: str) -> str | None: ...
