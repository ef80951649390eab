"""Exceptions of the package: a class for each kind of error."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from ._plain import MAX_MESSAGE, MAX_NAME, plain


class SecretsError(Exception):
    """Base class of all errors of this package. The message never contains a secret value.

    Programs should check ``kind`` (the kind of error) and ``code`` (the exact error, such as
    ``sole_owner``) instead of the message. ``fields`` lists the invalid fields, each with ``field``
    and ``message``. For an HTTP response, ``status`` is its status and ``request_id`` the ID of the
    request in the log of the service.
    """

    kind: ClassVar[str] = "internal"
    code: str
    fields: list[dict[str, Any]]
    status: int | None = None
    request_id: str | None = None

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        fields: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code or self.kind
        self.fields = fields or []

    def __reduce__(self) -> Any:
        return _copied, (type(self), str(self), self.__dict__)


class Invalid(SecretsError):
    """Invalid input. ``fields`` holds the message for each invalid field."""

    kind = "invalid"


class Refused(SecretsError):
    """The operation is not possible in the current state of the data, for any caller. ``code`` is
    the reason, such as ``sole_owner``."""

    kind = "refused"


class Unauthenticated(SecretsError):
    """The credential is missing, invalid or expired."""

    kind = "unauthenticated"


class AddressNotAllowed(SecretsError):
    """The caller is authenticated, but their IP address is not allowed."""

    kind = "elsewhere"


class Forbidden(SecretsError):
    """The caller is authenticated, but not permitted to perform the operation."""

    kind = "forbidden"


class NotFound(SecretsError):
    """The object does not exist, or the caller must not learn that it exists."""

    kind = "not_found"


class Conflict(SecretsError):
    """An object with this name already exists."""

    kind = "conflict"


class Stale(SecretsError):
    """The stored object does not have the version that the caller expected."""

    kind = "stale"


class PlanLimit(SecretsError):
    """A limit of the team's plan would be exceeded. ``resource`` is the name of the limited
    resource and ``plan`` the name of the plan; ``limit`` is the limit and ``current`` the current
    usage, each a number of objects or a size in bytes."""

    kind = "plan_limit"
    resource: str = ""
    plan: str = ""
    limit: int = 0
    current: int = 0


class RateLimited(SecretsError):
    """Too many requests. Retry after ``retry_after`` seconds."""

    kind = "rate_limited"
    retry_after: int | None = None


class Unavailable(SecretsError):
    """The service, or something it depends on, cannot be reached. ``retry_after`` is the number of
    seconds to wait, if known."""

    kind = "unavailable"
    retry_after: int | None = None


class InternalError(SecretsError):
    """An internal error of the service, stored data that cannot be decrypted, or a response that
    does not come from the service."""

    kind = "internal"


class NotStarted(SecretsError):
    """The embedded service did not start: the stored data cannot be decrypted with its root key, or
    its database cannot be used. The message never repeats a text of the database server."""

    kind = "not_started"


class UnprovenDelivery(SecretsError):
    """A webhook delivery failed the verification: it may not come from the service, or may be a
    replay.

    ``code`` is ``malformed`` (a header is missing or invalid), ``tampered`` (no signature is valid)
    or ``stale`` (the timestamp is not within five minutes of the current time).
    """

    kind = "unproven_delivery"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


class BundleError(SecretsError):
    """A bundle cannot be opened or read to its end. Do not use secrets already read from it."""

    kind = "bundle"


class BundleMalformed(BundleError):
    """The data is not a bundle, or breaks a rule of the format."""

    kind = "malformed"


class BundleUnsupported(BundleError):
    """The bundle has a version or algorithm that this version of the package does not support."""

    kind = "unsupported"


class BundleNoRecipient(BundleError):
    """The bundle cannot be opened with this key or passphrase."""

    kind = "no_recipient"


class BundleTampered(BundleError):
    """The bundle was changed, reordered or truncated."""

    kind = "tampered"


class BundleUntrusted(BundleError):
    """The bundle was signed by another signer, or a signer is required and none was given."""

    kind = "untrusted"


class BundleExpired(BundleError):
    """The bundle has expired."""

    kind = "expired"


class BundleStale(BundleError):
    """The sequence number of the bundle is lower than ``at_least``."""

    kind = "stale"


KINDS: dict[str, type[SecretsError]] = {
    one.kind: one
    for one in (
        Invalid,
        Refused,
        Unauthenticated,
        AddressNotAllowed,
        Forbidden,
        NotFound,
        Conflict,
        Stale,
        PlanLimit,
        RateLimited,
        Unavailable,
        InternalError,
    )
}

BUNDLE_KINDS: dict[str, type[BundleError]] = {
    one.kind: one
    for one in (
        BundleMalformed,
        BundleUnsupported,
        BundleNoRecipient,
        BundleTampered,
        BundleUntrusted,
        BundleExpired,
        BundleStale,
    )
}


def of_answer(kind: str, body: str | bytes, retry_after: int | None) -> SecretsError:
    """Creates the exception for an error response from its kind and its JSON body."""
    return of_fields(kind, parsed(body), retry_after)


def parsed(body: str | bytes) -> dict[str, Any] | None:
    """Parses the JSON body of an error response. Returns None if the body is not an error of the
    service."""
    try:
        body_fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    is_error = isinstance(body_fields, dict) and "error" in body_fields
    return body_fields if is_error else None


def of_fields(kind: str, body: dict[str, Any] | None, retry_after: int | None) -> SecretsError:
    """Creates the exception for an error response from its kind and the fields of its body.
    ``body`` is None if another program, such as a load balancer, has sent the response."""
    error: SecretsError
    if body is None:
        body = {"error": "the response cannot be parsed: is this the address of the service?"}
    error = KINDS[kind](
        plain(str(body["error"]), MAX_MESSAGE),
        code=plain(str(body.get("code", "")), MAX_NAME),
        fields=_plain_fields(body.get("details")),
    )
    if isinstance(error, PlanLimit):
        for name in ("resource", "plan"):
            setattr(error, name, plain(str(body.get(name, "")), MAX_NAME))
        for name in ("limit", "current"):
            value = body.get(name)
            setattr(error, name, value if isinstance(value, int) else 0)
    if isinstance(error, (RateLimited, Unavailable)):
        error.retry_after = retry_after
    return error


def _plain_fields(details: Any) -> list[dict[str, Any]]:
    """Returns the invalid fields in the details of an error response, with plain texts."""
    fields = details.get("fields") if isinstance(details, dict) else None
    return [
        {
            plain(name, MAX_NAME): plain(one, MAX_MESSAGE) if isinstance(one, str) else one
            for name, one in field.items()
        }
        for field in (fields if isinstance(fields, list) else [])
        if isinstance(field, dict)
    ]


def of_bundle(kind: str, message: str) -> BundleError:
    """Creates the exception for a rejected bundle."""
    return BUNDLE_KINDS[kind](message)


def _copied(of: type[SecretsError], message: str, fields: dict[str, Any]) -> SecretsError:
    error = of.__new__(of)
    Exception.__init__(error, message)
    error.__dict__.update(fields)
    return error


def _publish(*kinds: type[SecretsError]) -> None:
    """Sets the module name of the exception classes to ``secrets_service``, so that tracebacks show
    the public name."""
    for kind in kinds:
        kind.__module__ = "secrets_service"


_publish(SecretsError, BundleError, NotStarted, UnprovenDelivery)
_publish(*KINDS.values(), *BUNDLE_KINDS.values())
