"""Removes control characters from texts of a server or proxy before they are used in errors."""

from __future__ import annotations

import re

# Maximum lengths in characters: of a message, and of a code, a name or a reason phrase. The text can
# come from another server than the service, which has no such limits.
MAX_MESSAGE = 1000
MAX_NAME = 200

# The general category Cc, the property Bidi_Control, and the line separators U+2028 and U+2029.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


def plain(text: str, limit: int) -> str:
    """Returns at most ``limit`` characters of a text, without control characters, which could
    change the output of a terminal. A space replaces each sequence of them. The JavaScript client
    has the same rule (``response.js``)."""
    return _CONTROLS.sub(" ", text[:limit])
