"""Bundles: the secrets of an environment in a file, opened without a service."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from os import PathLike
from shutil import copyfileobj
from typing import BinaryIO

from . import _native
from ._closing import Closing
from ._hidden import Hidden

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class BundledSecret:
    """A secret in a bundle."""

    key: str
    value: Hidden
    description: str | None
    version: int
    inherited_from: str | None
    """The name of the environment that held it, where that is an ancestor of the bundle's."""
    updated_at: str


class Bundle(Closing):
    """A bundle that is proven to be whole. Gives its secrets, by key, as they are read.

    An error while they are read says that the bundle breaks a rule of the format: what was given
    until then is of one who could sign, but not a bundle.
    """

    def __init__(self, native: _native.Bundle) -> None:
        self._native = native

    @property
    def project(self) -> str:
        """The id of the project."""
        return self._native.project

    @property
    def environment(self) -> str:
        """The id of the environment whose secrets these are."""
        return self._native.environment

    @property
    def seq(self) -> int:
        """Grows with each bundle of an environment: to be given as ``at_least`` for the next one."""
        return self._native.seq

    @property
    def created_at(self) -> str:
        """When it was made."""
        return self._native.created_at

    @property
    def expires_at(self) -> str | None:
        """From when on it is not opened."""
        return self._native.expires_at

    @property
    def signer(self) -> str:
        """Who signed it (``scbs_…``): to be given as ``signer`` for the next one."""
        return self._native.signer

    def __iter__(self) -> Iterator[BundledSecret]:
        return self

    def __next__(self) -> BundledSecret:
        key, value, description, version, inherited_from, updated_at = next(self._native)
        return BundledSecret(key, Hidden(value), description, version, inherited_from, updated_at)

    def values(self) -> dict[str, Hidden]:
        """All that is left, by key."""
        return {secret.key: secret.value for secret in self}

    def close(self) -> None:
        """Lets go of the file."""
        self._native.close()

    def __repr__(self) -> str:
        return f"<secrets_service.Bundle of {self.environment}>"


def open_bundle(
    source: bytes | str | PathLike[str] | BinaryIO,
    *,
    passphrase: str | None = None,
    key: str | None = None,
    private_key: str | None = None,
    signer: str | None = None,
    at_least: int = 0,
    now: datetime | None = None,
) -> Bundle:
    """Opens a bundle: its bytes, the path of a file, or a file in binary mode.

    One of ``passphrase``, ``key`` (``scbk_…``) and ``private_key`` (``scbx_…``) opens it.
    ``signer`` (``scbs_…``) is who must have signed; a private key needs it, since anybody can make
    bundles for a public one. ``at_least`` refuses a bundle that is older than the one of that
    ``seq``. ``now`` is the moment at which it must not have expired.

    All of it is checked before anything is given, and memory is bounded however large it is. Raises
    :class:`BundleError`, or :class:`Invalid` for a key that cannot be one.

    >>> bundle = open_bundle("staging.scb", passphrase="correct horse battery staple")
    ... # doctest: +SKIP
    >>> os.environ.update(bundle.values())  # doctest: +SKIP
    """
    kinds = {"passphrase": passphrase, "key": key, "private_key": private_key}
    unlock = [(kind, text) for kind, text in kinds.items() if text is not None]
    if len(unlock) != 1:
        raise TypeError("one of passphrase, key and private_key must be given")
    if not isinstance(source, (bytes, str, PathLike)) and not source.seekable():
        source = _kept(source)
    micros = None if now is None else (now - _EPOCH) // timedelta(microseconds=1)
    return Bundle(
        _native.Bundle.open(
            source, unlock=unlock[0], signer=signer, at_least=at_least, now=micros
        )
    )


def new_key_pair() -> tuple[Hidden, str]:
    """A new private key (``scbx_…``), and its public one (``scbp_…``) that bundles are made for.

    >>> private, public = new_key_pair()
    >>> private, bundle_key_kind(public)
    (<hidden>, 'public_key')
    """
    private, public = _native.new_key_pair()
    return Hidden(private), public


def public_key(private_key: str) -> str:
    """The public key of a private one."""
    return _native.public_key(private_key)


def bundle_key_kind(text: str) -> str | None:
    """What a text is: ``key``, ``private_key``, ``public_key`` or ``signer``; None if none of them."""
    return _native.bundle_key_kind(text)


def _kept(source: BinaryIO) -> BinaryIO:
    """What can only be read once, where it can be read twice. It is as encrypted there."""
    kept = tempfile.TemporaryFile()
    copyfileobj(source, kept)
    kept.seek(0)
    return kept
