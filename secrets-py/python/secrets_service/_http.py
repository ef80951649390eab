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
from ._hidden import hide, read
from ._input import encoded
from ._transport import Answer


def request(endpoint: Endpoint, input: dict[str, Any]) -> tuple[str, bytes | None]:
    """Builds the target and the body of a request."""
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
    """Quotes a path segment. A value that cannot be a segment is not found."""
    value.encode()
    if not value or value in (".", "..") or any(c in "/\\" or not c.isprintable() for c in value):
        raise _errors.NotFound("resource not found", code="not_found")
    return quote(value, safe="")


def written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(encoded(value) if isinstance(value, datetime) else value)


def output(endpoint: Endpoint, answer: Answer, is_text: bool, origin: str = "") -> Any:
    """Decodes the output of an operation."""
    if is_text:
        return hide({"text": answer.body.decode()})
    if not answer.body and endpoint.envelope is None:
        return None
    if answer.headers.get("Content-Type", "").startswith("application/octet-stream"):
        return b64encode(answer.body).decode()
    try:
        made = read(answer.body)
        return made if endpoint.envelope is None else made[endpoint.envelope]
    except (ValueError, KeyError, TypeError):
        # Without the cause, whose text contains the response body.
        raise failure(answer, origin) from None


def failure(answer: Answer, origin: str = "") -> _errors.SecretsError:
    """Converts an error response into an exception."""
    error = _errors.of_answer(
        kind_of(answer), answer.body, retry_after(answer.headers.get("Retry-After", ""))
    )
    error.status = answer.status
    error.request_id = answer.headers.get("X-Request-Id")
    if not _errors.is_of_service(answer.body):
        error.args = (foreign(answer, origin),)
    return error


def foreign(answer: Answer, origin: str) -> str:
    """Message for a response that another program sent, such as a load balancer."""
    status = f"{answer.status} {answer.reason}".strip()
    location = answer.headers.get("Location")
    if 300 <= answer.status < 400 and location:
        to = origin_of(urljoin(origin, location))
        if to not in (None, origin):
            return f"{origin} redirects to {to} (status {status}): use that address"
        return f"{origin} redirects to another path (status {status}): is the address complete?"
    if answer.status in (429, 502, 503, 504):
        return f"{origin} answered with status {status}"
    return f"the response (status {status}) cannot be parsed: is this the address of the service?"


def origin_of(url: str) -> str | None:
    """Origin of a URL, without credentials."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port is None else f":{port}")


def retry_after(header: str) -> int | None:
    """Seconds of a Retry-After header: a number, or a date."""
    if header.isascii() and header.isdigit():
        return int(header)
    try:
        until = parsedate_to_datetime(header)
    except (ValueError, TypeError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=timezone.utc)
    return max(0, ceil((until - datetime.now(timezone.utc)).total_seconds()))


def kind_of(answer: Answer) -> str:
    try:
        told = json.loads(answer.body)
        code, has_fields = told.get("code"), "details" in told
    except (ValueError, AttributeError):
        code, has_fields = None, True
    if answer.status < 400:
        return "internal"
    if answer.status == 400:
        return "invalid" if has_fields else "refused"
    if answer.status == 403:
        return "elsewhere" if code == "ip_not_allowed" else "forbidden"
    if answer.status == 409:
        return "stale" if code == "version_conflict" else "conflict"
    if answer.status == 429:
        return "plan_limit" if code == "plan_limit_exceeded" else "rate_limited"
    known = {401: "unauthenticated", 404: "not_found"}
    known |= {502: "unavailable", 503: "unavailable", 504: "unavailable"}
    return known.get(answer.status, "internal" if answer.status >= 500 else "invalid")
