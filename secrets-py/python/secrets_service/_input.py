"""Optional fields of inputs."""

from __future__ import annotations

from datetime import datetime, timezone
from enum import Enum
from typing import Any, Final


class Unset(Enum):
    """The type of :data:`UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""Default of a field that is left unchanged, where ``None`` removes its value."""


def given(name: str, value: object) -> dict[str, Any]:
    """Field of an input, left out if the value is None."""
    return {} if value is None else {name: value}


def said(name: str, value: object) -> dict[str, Any]:
    """Field of an input, left out if the value is UNSET; None is sent as null."""
    return {} if value is UNSET else {name: value}


def encoded(value: object) -> str:
    """JSON form of a time: UTC, with microseconds."""
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} is not a type of an input")
    if value.tzinfo is None:
        raise ValueError("a time must have a time zone: datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
