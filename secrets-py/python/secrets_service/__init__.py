"""Secrets for programs: the embedded service, an HTTP client, and offline functions.

:class:`Service` runs the service in this process, :class:`Client` calls a service over HTTP. Both
have the same methods, and both have an asyncio variant. :func:`open_bundle` reads an exported
environment without a service.
"""

import atexit

from . import types
from ._bundle import (
    Bundle,
    BundledSecret,
    bundle_key_kind,
    new_key_pair,
    open_bundle,
    public_key,
)
from ._client import AsyncClient, Client
from ._environment import load_env
from ._errors import (
    AddressNotAllowed,
    BundleError,
    BundleExpired,
    BundleMalformed,
    BundleNoRecipient,
    BundleStale,
    BundleTampered,
    BundleUnsupported,
    BundleUntrusted,
    Conflict,
    Forbidden,
    InternalError,
    Invalid,
    NotFound,
    NotStarted,
    PlanLimit,
    RateLimited,
    Refused,
    SecretsError,
    Stale,
    Unauthenticated,
    Unavailable,
    UnprovenDelivery,
)
from ._hidden import Hidden
from ._input import UNSET
from ._native import Undecryptable, end, open_record
from ._offline import (
    Sighting,
    is_plausible_token,
    parse,
    render,
    scan,
    scan_files,
    verify_webhook,
)
from ._service import AsyncService, AsyncSession, Service, Session
from ._version import version

__all__ = [
    "UNSET",
    "AddressNotAllowed",
    "AsyncClient",
    "AsyncService",
    "AsyncSession",
    "Bundle",
    "BundleError",
    "BundleExpired",
    "BundleMalformed",
    "BundleNoRecipient",
    "BundleStale",
    "BundleTampered",
    "BundleUnsupported",
    "BundleUntrusted",
    "BundledSecret",
    "Client",
    "Conflict",
    "Forbidden",
    "Hidden",
    "InternalError",
    "Invalid",
    "NotFound",
    "NotStarted",
    "PlanLimit",
    "RateLimited",
    "Refused",
    "SecretsError",
    "Service",
    "Session",
    "Sighting",
    "Stale",
    "Unauthenticated",
    "Unavailable",
    "Undecryptable",
    "UnprovenDelivery",
    "__version__",
    "bundle_key_kind",
    "is_plausible_token",
    "load_env",
    "new_key_pair",
    "open_bundle",
    "open_record",
    "parse",
    "public_key",
    "render",
    "scan",
    "scan_files",
    "types",
    "verify_webhook",
]

__version__ = version()

# At exit, keep threads with running operations out of the interpreter that shuts down.
atexit.register(end)
del atexit, end, version
