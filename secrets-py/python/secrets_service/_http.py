"""Requests and responses of the operations over HTTP."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from . import _errors
from ._endpoints import Endpoint
from ._hidden import read
from ._input import encoded
from ._native import hide
from ._plain import MAX_MESSAGE, MAX_NAME, plain
from ._transport import Answer

# Content type of each text format of an export.
MEDIA_TYPES = {
    "dotenv": "text/plain",
    "docker": "text/plain",
    "shell": "text/plain",
    "json": "application/json",
    "yaml": "application/yaml",
    "k8s": "application/yaml",
    "csv": "text/csv",
}

# Maximum number of digits of a Retry-After header.
MAX_DIGITS = 9


def request(endpoint: Endpoint, input: dict[str, Any]) -> tuple[str, bytes | None]:
    """Builds the request target (path and query) and the body of an operation's request."""
    try:
        return _request(endpoint, input)
    except UnicodeEncodeError:
        # Half of a surrogate pair, which UTF-8 cannot represent.
        raise invalid("body", "must be a JSON document") from None


def _request(endpoint: Endpoint, input: dict[str, Any]) -> tuple[str, bytes | None]:
    target, rest = endpoint.template, dict(input)
    for field in fields_of(endpoint.template):
        value = rest.pop(field, None)
        if not isinstance(value, str):
            raise invalid(field, "is required" if value is None else "must be a string")
        target = target.replace("{" + field + "}", segment(value))
    query: list[tuple[str, str]] = []
    for field in endpoint.query:
        value = rest.pop(field, None)
        values = value if isinstance(value, list) else [value]
        query += [(field, written(one)) for one in values if one is not None]
    if query:
        target = f"{target}?{urlencode(query)}"
    if not endpoint.has_body:
        return target, None
    return target, json.dumps(rest, ensure_ascii=False, default=encoded).encode()


def invalid(field: str, rule: str) -> _errors.Invalid:
    return _errors.Invalid(
        f"{field} {rule}", code="invalid_request", fields=[{"field": field, "message": rule}]
    )


def fields_of(template: str) -> list[str]:
    return [part.partition("}")[0] for part in template.split("{")[1:]]


def segment(value: str) -> str:
    """Percent-encodes a value as one path segment. Raises NotFound for a value that cannot be a
    segment, such as ``..``."""
    value.encode()
    if not value or value in (".", "..") or any(c in "/\\" or not c.isprintable() for c in value):
        raise _errors.NotFound("resource not found", code="not_found")
    return quote(value, safe="")


def written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(encoded(value) if isinstance(value, datetime) else value)


def output(endpoint: Endpoint, answer: Answer, format: object, origin: str = "") -> Any:
    """Decodes the output of an operation. ``format`` is the text format of an export, or None."""
    if not answer.body and not endpoint.has_output:
        return None
    try:
        return decoded(endpoint, answer, format)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    # Raised here: the exception above contains the response body.
    raise failure(answer, origin)


def decoded(endpoint: Endpoint, answer: Answer, format: object) -> Any:
    """Decodes a response body. Raises an error for a body that the service would never send, such
    as an error page of a proxy."""
    body = answer.body or b""
    media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if format is not None:
        if media_type != MEDIA_TYPES.get(str(format)):
            raise ValueError("another program has sent the response")
        return hide({"text": body.decode()})
    if body and media_type == "application/octet-stream":
        return b64encode(body).decode()
    made = read(body)
    return without_data(made) if endpoint.envelope is None else made[endpoint.envelope]


def without_data(made: Any) -> Any:
    """Removes the field ``data`` that a service with the setting ``SECRETS_ENVELOPE=both`` adds to
    a response that is an object.

    A test checks that the output of no operation has a field ``data`` of its own.
    """
    if isinstance(made, dict):
        made.pop("data", None)
    return made


def poll_result(answer: Answer) -> Any:
    """Decodes an OAuth error such as ``authorization_pending``, which is a normal result of polling
    a device login. Returns None for any other response."""
    fields = _errors.parsed(answer.body or b"")
    return None if fields is None or "code" in fields else hide(fields)


def failure(answer: Answer, origin: str = "") -> _errors.SecretsError:
    """Converts an error response into an exception."""
    error: _errors.SecretsError
    if answer.body is None:
        error = _errors.InternalError("response too large")
    else:
        fields = _errors.parsed(answer.body)
        kind = kind_of(answer.status, fields)
        error = _errors.of_fields(kind, fields, retry_after(answer.headers.get("Retry-After", "")))
        if fields is None:
            error.args = (foreign(answer, origin),)
    error.status = answer.status
    request_id = answer.headers.get("X-Request-Id")
    error.request_id = None if request_id is None else plain(request_id, MAX_NAME)
    return error


def foreign(answer: Answer, origin: str) -> str:
    """Returns the error message for a response that another program, such as a load balancer, has
    sent instead of the service."""
    status = f"{answer.status} {plain(answer.reason, MAX_NAME)}".strip()
    location = answer.headers.get("Location")
    if 300 <= answer.status < 400 and location:
        to = origin_of(location, origin)
        if to is None:
            return f"{origin} redirects to an invalid URL (status {status})"
        if to != origin:
            return f"{origin} redirects to {to} (status {status}): use that address"
        return f"{origin} redirects to another path (status {status}): is the address complete?"
    if answer.status in (429, 502, 503, 504):
        return f"{origin} answered with status {status}"
    return f"the response (status {status}) cannot be parsed: is this the address of the service?"


def origin_of(location: str, base: str) -> str | None:
    """Returns the origin (scheme, host and port) of a URL that may be relative to ``base``, without
    the credentials that the URL may contain; None for an invalid URL."""
    try:
        parts = urlsplit(urljoin(base, location))
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    origin = f"{parts.scheme}://{host}" + ("" if port is None else f":{port}")
    return plain(origin, MAX_MESSAGE)


def retry_after(header: str) -> int | None:
    """Returns the number of seconds to wait before a retry, from a Retry-After header with a number
    of seconds or a date; None if the header is invalid."""
    if header.isascii() and header.isdigit():
        return int(header) if len(header) <= MAX_DIGITS else None
    try:
        until = parsedate_to_datetime(header)
        if until.tzinfo is None:
            until = until.replace(tzinfo=timezone.utc)
        return max(0, ceil((until - datetime.now(timezone.utc)).total_seconds()))
    except (ValueError, TypeError, OverflowError):
        return None


def kind_of(status: int, fields: dict[str, Any] | None) -> str:
    """Returns the kind of an error response, such as ``not_found``. ``fields`` is None if another
    program has sent the response."""
    code = None if fields is None else fields.get("code")
    if status < 400 or (fields is None and status < 500 and status != 429):
        return "internal"
    if status == 400:
        return "invalid" if fields is not None and "details" in fields else "refused"
    if status == 403:
        return "elsewhere" if code == "ip_not_allowed" else "forbidden"
    if status == 409:
        return "stale" if code == "version_conflict" else "conflict"
    if status == 429:
        return "plan_limit" if code == "plan_limit_exceeded" else "rate_limited"
    known = {401: "unauthenticated", 404: "not_found"}
    known |= {502: "unavailable", 503: "unavailable", 504: "unavailable"}
    return known.get(status, "internal" if status >= 500 else "invalid")
