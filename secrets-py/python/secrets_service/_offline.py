"""Functions that need no service: formats, scanning for credentials, webhook verification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from os import PathLike, fspath
from typing import Literal, TypedDict

from . import _native, types
from ._hidden import Hidden
from ._input import microseconds


class Sighting(TypedDict):
    """Report about a credential that was found by a scan. It does not contain the whole
    credential."""

    path: str
    """Path of the scanned file; empty if none was given."""

    rule_id: str
    """ID of the matching rule."""

    description: str
    """Description of the rule."""

    severity: types.Severity
    """Severity of the rule."""

    line: int
    """Line number, from 1."""

    column: int
    """Column, from 1, in characters."""

    redacted: str
    """First and last characters of the credential."""

    entropy: float
    """Entropy of the credential, in bits per character."""


def parse(text: str, format: Literal["dotenv", "json", "yaml"]) -> dict[str, Hidden]:
    """Parses the text of a ``.env`` file, or of a JSON or YAML object without nested objects.
    Returns the values by key.

    >>> found = parse("URL=https://example.com  # home", "dotenv")
    >>> found, found["URL"] == "https://example.com"
    ({'URL': <hidden>}, True)
    """
    return {key: Hidden(value) for key, value in _native.parse(text, format)}


def render(
    secrets: Mapping[str, str],
    format: types.Format,
    *,
    name: str = "secrets",
) -> Hidden:
    """Renders secrets, given as values by key, in a text format. ``name`` is the name of the
    Kubernetes Secret in the format ``k8s``.

    Raises :class:`Invalid` for a key or a value that the format cannot represent; the attribute
    ``fields`` of the error identifies the key or value. Raises ``TypeError`` for a value that is not
    a string.

    >>> print(render({"GREETING": "good day"}, "shell"), end="")
    export GREETING='good day'
    """
    for key, value in secrets.items():
        if not isinstance(value, str):
            raise TypeError(f"secrets: the value of {key!r} must be a string")
    return Hidden(_native.render(list(secrets.items()), format, name))


def scan(text: str, *, path: str = "") -> list[Sighting]:
    """Finds credentials in a text. ``path`` is the path of the file that contains the text. It is
    only copied into the result, because no built-in rule depends on the path.

    ``KeyboardInterrupt`` ends the call, also while a long text is scanned.

    >>> found = scan("token = ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5")
    >>> [(one["rule_id"], one["line"], one["column"]) for one in found]
    [('github-personal-access-token', 1, 9)]
    """
    return [{"path": path, **one} for one in _native.scan(text, path)]


def scan_files(paths: Iterable[str | PathLike[str]]) -> list[Sighting]:
    """Finds credentials in files. Bytes that are not UTF-8 are replaced before the scan."""
    found: list[Sighting] = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            found += scan(file.read(), path=fspath(path))
    return found


def is_plausible_token(text: str) -> bool:
    """Returns True if a text has the form and the checksum of a service token. Detects a mistyped
    token without a request to the service.

    >>> is_plausible_token("env_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno2VMQpv")
    True
    >>> is_plausible_token("env_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno2VMQpw")
    False
    """
    return _native.is_plausible_token(text)


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    secret: str,
    *,
    now: float | datetime | None = None,
) -> None:
    """Verifies the signature and the timestamp of a webhook delivery.

    ``headers`` are the headers of the request and ``body`` its raw bytes; ``secret`` is the signing
    secret that was shown when the webhook was created (``whsec_…``). ``now`` is a
    time, or seconds since 1970, and defaults to the current time; the timestamp must be within five
    minutes of it. Raises :class:`UnprovenDelivery` if the verification fails.
    """
    given = {name.lower(): value for name, value in headers.items()}
    time = microseconds(now)
    _native.verify_webhook(
        id=given.get("webhook-id", ""),
        timestamp=given.get("webhook-timestamp", ""),
        signature=given.get("webhook-signature", ""),
        body=body,
        secret=secret,
        now=None if time is None else time // 1_000_000,
    )
