"""Bundles: encrypted exports of an environment, opened without a service."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from shutil import copyfileobj
from typing import BinaryIO

from . import _native
from ._closing import Closing
from ._hidden import Hidden
from ._input import microseconds


@dataclass(frozen=True)
class BundledSecret:
    """A secret in a bundle."""

    key: str
    value: Hidden
    description: str | None
    version: int
    inherited_from: str | None
    """Name of the ancestor environment that the secret is inherited from, if any."""
    updated_at: str


class Bundle(Closing):
    """An opened bundle: the encrypted and signed export of one environment. Its signature was
    verified when it was opened. Iterating over the bundle decrypts its secrets one by one.

    An error during the iteration means that the bundle breaks a rule of the format, or that its
    file was changed or cannot be read. Then do not use the secrets that were returned before the
    error either.
    """

    def __init__(self, native: _native.Bundle) -> None:
        self._native = native

    @property
    def project(self) -> str:
        """ID of the project whose secrets the bundle contains."""
        return self._native.project

    @property
    def environment(self) -> str:
        """ID of the environment whose secrets the bundle contains."""
        return self._native.environment

    @property
    def seq(self) -> int:
        """Sequence number, which grows with each bundle of an environment.

        Pass it as ``at_least`` when opening the next bundle, so that older bundles are rejected.
        """
        return self._native.seq

    @property
    def created_at(self) -> str:
        """Creation time of the bundle (RFC 3339)."""
        return self._native.created_at

    @property
    def expires_at(self) -> str | None:
        """Expiry time (RFC 3339), from which on the bundle cannot be opened; None if the bundle
        never expires."""
        return self._native.expires_at

    @property
    def signer(self) -> str:
        """Public key of the signer (``scbs_…``). Pass it as ``signer`` when opening the next
        bundle, so that bundles of other signers are rejected."""
        return self._native.signer

    def __iter__(self) -> Iterator[BundledSecret]:
        return self

    def __next__(self) -> BundledSecret:
        key, value, description, version, inherited_from, updated_at = next(self._native)
        return BundledSecret(key, Hidden(value), description, version, inherited_from, updated_at)

    def values(self) -> dict[str, Hidden]:
        """Decrypts all secrets that were not read yet. Returns their values by key."""
        return {secret.key: secret.value for secret in self}

    def close(self) -> None:
        """Closes the bundle, and its file if the bundle was opened by its path. A
        stream that the caller has passed stays open."""
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
    now: float | datetime | None = None,
) -> Bundle:
    """Opens a bundle, given as bytes, a path, or a file opened in binary mode.

    Exactly one of ``passphrase``, ``key`` (``scbk_…``) and ``private_key`` (``scbx_…``) must be
    given. ``signer`` (``scbs_…``) is the expected signer; a private key requires it, because anyone
    can make a bundle for a public key. ``at_least`` rejects a bundle with a smaller ``seq``.
    ``now`` is the time against which the expiry is checked: a time, or seconds since 1970. It
    defaults to the current time.

    The whole bundle is verified before any secret is returned. Memory use does not grow with the
    size of the bundle. Raises :class:`BundleError`, or :class:`Invalid` for a malformed key.

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
    time = microseconds(now)
    return Bundle(
        _native.Bundle.open(source, unlock=unlock[0], signer=signer, at_least=at_least, now=time)
    )


def new_key_pair() -> tuple[Hidden, str]:
    """Generates a private key (``scbx_…``) and its public key (``scbp_…``). The private key opens
    bundles that were created for the public key.

    >>> private, public = new_key_pair()
    >>> private, bundle_key_kind(public)
    (<hidden>, 'public_key')
    """
    private, public = _native.new_key_pair()
    return Hidden(private), public


def public_key(private_key: str) -> str:
    """Returns the public key (``scbp_…``) of a private key (``scbx_…``) for bundles."""
    return _native.public_key(private_key)


def bundle_key_kind(text: str) -> str | None:
    """Returns the kind of a bundle key: ``key``, ``private_key``, ``public_key`` or
    ``signer``; None if the string is not a bundle key."""
    return _native.bundle_key_kind(text)


def _kept(source: BinaryIO) -> BinaryIO:
    """Copies a stream without random access, such as a pipe, to a temporary file, and
    returns the file. The copied bundle is still encrypted."""
    kept = tempfile.TemporaryFile()
    copyfileobj(source, kept)
    kept.seek(0)
    return kept
