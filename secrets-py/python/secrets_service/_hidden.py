"""Strings that are not shown in logs by accident."""

from __future__ import annotations

import json
from typing import Any

from ._native import hide


class Hidden(str):
    """A string whose ``repr`` is ``<hidden>``.

    In every other way it is a plain string: comparing, writing and formatting use the real text. So
    ``str(value)``, f-strings, ``%s`` and methods such as ``strip`` return a plain string that a log
    shows. PyYAML writes only plain strings: pass ``str(value)``.

    >>> password = Hidden("kvc_1")
    >>> password, {"password": password}
    (<hidden>, {'password': <hidden>})
    >>> password == "kvc_1", f"postgres://app:{password}@db"
    (True, 'postgres://app:kvc_1@db')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "<hidden>"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Returns the schema of this type for pydantic: a string. The JSON output of a
        pydantic model contains the real string."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="json"),
        )


def read(text: str | bytes) -> Any:
    """Parses JSON, and converts the strings in secret fields, such as ``value`` and
    ``token``, to :class:`Hidden`."""
    return json.loads(text, object_hook=hide)
