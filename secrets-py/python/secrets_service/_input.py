"""Conversion of arguments into the input of an operation: optional fields, and times."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any, Final

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# Limit of seconds since 1970, in either direction: their microseconds are 64-bit integers.
_MAX_SECONDS = 2**43


class Unset(Enum):
    """Type of :data:`UNSET`, the default of a parameter whose field is left unchanged."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""Default of a parameter whose field is left unchanged. ``None`` removes the value of
the field instead."""


def given(name: str, value: object) -> dict[str, Any]:
    """Returns a dict with one field of an operation's input; an empty dict if the value is None."""
    return {} if value is None else {name: value}


def said(name: str, value: object) -> dict[str, Any]:
    """Returns a dict with one field of an operation's input; an empty dict if the value is UNSET.
    The value None is sent as null."""
    return {} if value is UNSET else {name: value}


def encoded(value: object) -> str:
    """Converts a ``datetime`` to the string that the service expects: RFC 3339 in UTC,
    with microseconds."""
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} is not a type of an input")
    if value.tzinfo is None:
        raise ValueError("a time must have a time zone: datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def microseconds(now: float | datetime | None) -> int | None:
    """Converts a time, or seconds since 1970, to microseconds since 1970. None stays
    None."""
    if now is None:
        return None
    if isinstance(now, datetime):
        if now.tzinfo is None:
            raise ValueError("now: must have a time zone")
        return (now - _EPOCH) // timedelta(microseconds=1)
    if not isinstance(now, (int, float)):
        raise TypeError("now: must be a datetime, or seconds since 1970")
    if not abs(now) < _MAX_SECONDS:
        raise ValueError("now: is out of range")
    return round(now * 1_000_000)
