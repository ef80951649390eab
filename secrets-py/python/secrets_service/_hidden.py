"""Texts that nobody should see by accident."""

from __future__ import annotations

import json
from typing import Any


class Hidden(str):
    """A text whose ``repr`` does not show it.

    It is a string in every other way: comparing, writing and formatting it give the text itself.

    >>> password = Hidden("kvc_1")
    >>> password, {"password": password}
    (<hidden>, {'password': <hidden>})
    >>> password == "kvc_1", f"postgres://app:{password}@db"
    (True, 'postgres://app:kvc_1@db')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "<hidden>"


# The fields that hold such texts, wherever they stand.
FIELDS = frozenset(
    {"accept_url", "access_token", "device_code", "passphrase", "secret", "text", "token", "value"}
)


def read(text: str | bytes) -> Any:
    """Reads JSON, and hides what is not to be seen."""
    return json.loads(text, object_hook=hide)


def hide(fields: dict[str, Any]) -> dict[str, Any]:
    """An object of JSON with what is not to be seen hidden."""
    for name in FIELDS & fields.keys():
        if type(fields[name]) is str:
            fields[name] = Hidden(fields[name])
    values = fields.get("secrets")
    # Values by key.
    if type(values) is dict:
        fields["secrets"] = {
            key: Hidden(value) if type(value) is str else value for key, value in values.items()
        }
    key = fields.get("key")
    # The key of a bundle, which is shown once; any other is the name of a secret.
    if type(key) is str and key.startswith("scbk_"):
        fields["key"] = Hidden(key)
    return fields
