"""What needs no service: formats, finding credentials, and checking deliveries to webhooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Literal, TypedDict

from . import _native, types
from ._hidden import Hidden


class Sighting(TypedDict):
    """A credential that was found in a text: all but the credential."""

    path: str
    """The file it is in; empty for a text."""

    rule_id: str
    """The rule that found it."""

    description: str
    """What the rule finds."""

    severity: types.Severity
    """How bad it is."""

    line: int
    """Its line, from 1."""

    column: int
    """Its column, from 1, in characters."""

    redacted: str
    """Its first and last characters."""

    entropy: float
    """Its entropy, in bits for each character."""


def parse(text: str, format: Literal["dotenv", "json", "yaml"]) -> dict[str, Hidden]:
    """The values in a ``.env`` file, or in a flat object of JSON or YAML, by key.

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
    """The text that holds values by key. ``name`` is what a Kubernetes Secret is called.

    A key or a value that the format cannot carry is refused by name.

    >>> print(render({"GREETING": "good day"}, "shell"), end="")
    export GREETING='good day'
    """
    return Hidden(_native.render([(key, str(value)) for key, value in secrets.items()], format, name))


def scan(text: str, *, path: str = "") -> list[Sighting]:
    """Finds credentials in a text. ``path`` is where it is from, for rules about some files only.

    >>> found = scan("token = ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5")
    >>> [(one["rule_id"], one["line"], one["column"]) for one in found]
    [('github-personal-access-token', 1, 9)]
    """
    return [{"path": path, **one} for one in _native.scan(text, path)]


def scan_files(paths: Iterable[str | PathLike[str]]) -> list[Sighting]:
    """Finds credentials in files. What is not UTF-8 is looked at as far as it is text."""
    found: list[Sighting] = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            found += scan(file.read(), path=fspath(path))
    return found


def is_plausible_token(text: str) -> bool:
    """Whether a text can be a service token: says no to a typing error, without asking a server.

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
    now: float | None = None,
) -> None:
    """Refuses a delivery to a webhook that the service did not send just now.

    ``headers`` are those of the request and ``body`` its very bytes; ``secret`` is what was shown
    when the webhook was made (``whsec_…``). ``now`` is in seconds since 1970, the present unless it
    is given. Raises :class:`UnprovenDelivery`.
    """
    given = {name.lower(): value for name, value in headers.items()}
    seconds = None if now is None else int(now)
    _native.verify_webhook(
        id=given.get("webhook-id", ""),
        timestamp=given.get("webhook-timestamp", ""),
        signature=given.get("webhook-signature", ""),
        body=body,
        secret=secret,
        now=seconds,
    )
