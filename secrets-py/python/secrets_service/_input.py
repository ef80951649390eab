"""What is not given."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final


class Unset(Enum):
    """The type of :data:`UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""Stands for what is not given, where ``None`` says something else: take it away."""


def given(name: str, value: object) -> dict[str, Any]:
    """A field, unless it is None."""
    return {} if value is None else {name: value}


def said(name: str, value: object) -> dict[str, Any]:
    """A field of which None says something."""
    return {} if value is UNSET else {name: value}
