"""Why something did not happen: a class for each kind of error."""

from __future__ import annotations

import json
from typing import Any, ClassVar


class SecretsError(Exception):
    """Why something did not happen. Says what, and never repeats a value.

    ``kind`` names the kind of error and ``code`` the rule, both for programs; ``fields`` are the
    fields that break rules, each with ``field`` and ``message``.
    """

    kind: ClassVar[str] = "internal"

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
    """The input breaks rules that are named by field."""

    kind = "invalid"


class Refused(SecretsError):
    """A rule about the state of things forbids it, whoever asks."""

    kind = "refused"


class Unauthenticated(SecretsError):
    """No credential, or one that proves nothing."""

    kind = "unauthenticated"


class Elsewhere(SecretsError):
    """The caller is known, and may not from where they are."""

    kind = "elsewhere"


class Forbidden(SecretsError):
    """The caller is known and may not."""

    kind = "forbidden"


class NotFound(SecretsError):
    """There is no such thing, or none that may be spoken of."""

    kind = "not_found"


class Conflict(SecretsError):
    """Something of that name is there already."""

    kind = "conflict"


class Stale(SecretsError):
    """The record is not at the version that was expected."""

    kind = "stale"


class PlanLimit(SecretsError):
    """The team's plan has no room: ``resource``, ``plan``, ``limit`` and ``current`` say where."""

    kind = "plan_limit"
    resource: str = ""
    plan: str = ""
    limit: int = 0
    current: int = 0


class RateLimited(SecretsError):
    """Too many requests. After ``retry_after`` seconds another one may be taken."""

    kind = "rate_limited"
    retry_after: int | None = None


class Unavailable(SecretsError):
    """Something that is needed cannot be reached now. ``retry_after`` is in seconds, if it is said."""

    kind = "unavailable"
    retry_after: int | None = None


class InternalError(SecretsError):
    """A fault of the service, or data that does not decrypt."""

    kind = "internal"


class NotStarted(SecretsError):
    """A service does not start: its keys and its data do not belong together, or it has no data."""

    kind = "not_started"


class UnprovenDelivery(SecretsError):
    """What came to a webhook was not sent by the service, or not now.

    ``code`` is ``malformed``, ``tampered`` or ``stale``.
    """

    kind = "unproven_delivery"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


class BundleError(SecretsError):
    """A bundle does not open, or not entirely. Nothing of it that was given may be used then."""

    kind = "bundle"


class BundleMalformed(BundleError):
    """It is no bundle, or not written as one must be."""

    kind = "malformed"


class BundleUnsupported(BundleError):
    """It is of a kind that this version does not know."""

    kind = "unsupported"


class BundleNoRecipient(BundleError):
    """It is not for this key or passphrase."""

    kind = "no_recipient"


class BundleTampered(BundleError):
    """Something of it was changed, moved or cut off."""

    kind = "tampered"


class BundleUntrusted(BundleError):
    """It was not signed by who was named, or nobody was named and somebody must be."""

    kind = "untrusted"


class BundleExpired(BundleError):
    """It was to be used only until a time that is over."""

    kind = "expired"


class BundleStale(BundleError):
    """It is older than one that was seen before."""

    kind = "stale"


KINDS: dict[str, type[SecretsError]] = {
    one.kind: one
    for one in (
        Invalid,
        Refused,
        Unauthenticated,
        Elsewhere,
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
    """The error that the body of an answer tells of."""
    try:
        told = json.loads(body)
        message = str(told["error"])
    except (ValueError, TypeError, KeyError):
        return KINDS[kind]("the answer cannot be read: is this the address of the service?")
    details = told.get("details")
    fields = details.get("fields") if isinstance(details, dict) else None
    error = KINDS[kind](message, code=str(told.get("code", "")), fields=fields)
    if isinstance(error, PlanLimit):
        for name in ("resource", "plan", "limit", "current"):
            setattr(error, name, told.get(name, getattr(error, name)))
    if isinstance(error, (RateLimited, Unavailable)):
        error.retry_after = retry_after
    return error


def of_bundle(kind: str, message: str) -> BundleError:
    """The error of a bundle that is refused."""
    return BUNDLE_KINDS[kind](message)


def _copied(of: type[SecretsError], message: str, fields: dict[str, Any]) -> SecretsError:
    error = of.__new__(of)
    Exception.__init__(error, message)
    error.__dict__.update(fields)
    return error
