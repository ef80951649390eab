"""What operations take and give.

Made by secrets-py/generate/operations.py from the document of the interface; not edited by hand.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from ._hidden import Hidden

if sys.version_info >= (3, 11):
    from typing import NotRequired
elif TYPE_CHECKING:
    from typing_extensions import NotRequired

__all__ = [
    "Account",
    "AccountData",
    "AccountTeam",
    "Allowed",
    "AuditEntry",
    "AuditPage",
    "Billing",
    "BySeverity",
    "CliGrant",
    "CliSession",
    "CliUser",
    "Connection",
    "ConnectionMethod",
    "Decided",
    "DeliveryStatus",
    "DeviceLogin",
    "DeviceRequest",
    "Environment",
    "EnvironmentPermission",
    "EsoSecret",
    "EsoSecrets",
    "Finding",
    "FindingStatus",
    "Format",
    "Granted",
    "ImportResult",
    "Integration",
    "Invitation",
    "InvitationPublicInfo",
    "InvitedRole",
    "MatchedSecret",
    "MemberAccess",
    "MyPermissions",
    "NewRecipient",
    "NewRecipientPassphrase",
    "NewRecipientRaw",
    "NewRecipientX25519",
    "Outcome",
    "PaymentStatus",
    "PermissionLevel",
    "Project",
    "ProjectPermission",
    "ProjectWithEnvironments",
    "ProxyConnection",
    "Role",
    "Rotation",
    "RotationHistory",
    "RotationStatus",
    "RotationWebhook",
    "RotationWebhookWithSecret",
    "Scan",
    "ScanSource",
    "ScanStatus",
    "ScanWithFindings",
    "ScannedFile",
    "SealedBundle",
    "Secret",
    "SecretMapping",
    "SecretVersion",
    "SecretWithValue",
    "ServiceToken",
    "ServiceTokenWithToken",
    "Severity",
    "SourceKind",
    "SslMode",
    "SubmittedFinding",
    "SubmittedSecret",
    "Team",
    "TeamMember",
    "TeamName",
    "TeamUse",
    "TeamWithMembers",
    "TestResult",
    "TokenSelf",
    "TriggerType",
    "Use",
    "User",
    "UserTeam",
    "Uses",
    "WantedStatus",
    "WebhookDelivery",
    "WebhookEvent",
]

Allowed = Literal["read", "write"]
"""What a token may do; also written `secrets:read` and `secrets:write`."""

ConnectionMethod = Literal["direct", "proxied"]
"""Who dials the database."""

DeliveryStatus = Literal["pending", "delivered", "failed"]
"""How a delivery to a webhook is doing."""

FindingStatus = Literal["unresolved", "resolved", "false_positive", "ignored"]
"""What was said of a finding."""

Format = Literal["dotenv", "docker", "shell", "json", "yaml", "csv", "k8s"]
"""A format to write secrets in."""

Integration = Literal["postgresql", "mysql"]
"""What kind of database it is."""

InvitedRole = Literal["member", "admin"]
"""What somebody can be invited to be. Owners are made of members."""

MemberAccess = Literal["none", "read", "write", "admin"]
"""What a person may do in an environment. Owners and admins of the team may everything."""

Outcome = Literal["success", "failed", "rolled_back"]
"""How an attempt ended."""

PaymentStatus = Literal["active", "trialing", "past_due", "canceled", "none"]
"""Whether a team pays."""

PermissionLevel = Literal["read", "read_write", "admin"]
"""What the rotated user may do in the database."""

Role = Literal["member", "admin", "owner"]
"""A person's role in a team."""

RotationStatus = Literal["active", "paused", "disabled", "error"]
"""How a rotation is doing."""

ScanStatus = Literal["completed"]
"""How far a scan is. Scans are done when they are answered."""

Severity = Literal["high", "medium", "low"]
"""How bad it is that a credential is known."""

SourceKind = Literal["text", "files", "findings"]
"""A kind of thing to scan."""

SslMode = Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
"""How a connection to a database is protected. Never opportunistic: `allow` and `prefer` mean
`require`.
"""

TriggerType = Literal["scheduled", "manual"]
"""Why a rotation was attempted."""

WantedStatus = Literal["active", "paused"]
"""The statuses that a person can give."""

WebhookEvent = Literal["rotation.started", "rotation.completed", "rotation.failed"]
"""What a webhook can be told of."""


class Account(TypedDict):
    """A person's account."""

    created_at: str
    """When they first signed in."""

    teams: list[AccountTeam]
    """Their teams."""

    user: User
    """The person."""


class AccountData(TypedDict):
    """What is kept of a person. Values of secrets are not part of it."""

    audit_logs: list[AuditEntry]
    """What they did, the newest 10,000 entries, newest first."""

    format_version: int
    """1."""

    generated_at: str
    """When it was put together."""

    invitations: list[InvitationPublicInfo]
    """Their pending invitations."""

    memberships: list[AccountTeam]
    """Their teams."""

    projects: list[Project]
    """The projects they can reach."""

    service_tokens: list[ServiceToken]
    """The service tokens they made."""

    user: User
    """The person."""


class AccountTeam(TypedDict):
    """A person's place in a team."""

    id: str
    """Which team."""

    is_personal: bool
    """Whether it came with their first sign-in, or that of whoever invited them."""

    name: str
    """What it is called."""

    role: Role
    """Their role."""


class AuditEntry(TypedDict):
    """Who did what, when and from where. Names are those of the time: things may be gone since."""

    action: str
    """What was done, such as `secret.created`."""

    actor_email: NotRequired[str | None]
    """A person's address then."""

    actor_id: NotRequired[str | None]
    """Which one."""

    actor_name: NotRequired[str | None]
    """Its name then."""

    actor_type: str
    """`user`, `service_token` or `system`."""

    created_at: str
    """When."""

    environment_id: NotRequired[str | None]
    """The environment concerned."""

    environment_name: NotRequired[str | None]
    """Its name then."""

    hash: NotRequired[str | None]
    """The hash that seals the entry into its chain, in hexadecimal; absent for some seconds."""

    id: str
    """Which entry."""

    ip_address: NotRequired[str | None]
    """The client's address."""

    metadata: dict[str, Any]
    """More about it; never a value."""

    outcome: str
    """`success`, `denied` or `failure`."""

    prev_hash: NotRequired[str | None]
    """The hash of the entry before."""

    project_id: NotRequired[str | None]
    """The project concerned."""

    project_name: NotRequired[str | None]
    """Its name then."""

    request_id: NotRequired[str | None]
    """The request."""

    resource_id: NotRequired[str | None]
    """Which one."""

    resource_name: NotRequired[str | None]
    """Its name then: a secret's key, say."""

    resource_type: str
    """The kind of thing it was done to."""

    team_id: NotRequired[str | None]
    """The team concerned."""

    user_agent: NotRequired[str | None]
    """The client's name for itself."""


class AuditPage(TypedDict):
    """A page of the log."""

    limit: int
    """How many entries a page holds."""

    logs: list[AuditEntry]
    """The entries, in the order asked for."""

    next_cursor: NotRequired[str | None]
    """Leads to the next page, if there is one."""


class Billing(TypedDict):
    """What a team pays, and for what."""

    billing_email: NotRequired[str | None]
    """Where invoices are sent."""

    cancel_at_period_end: bool
    """Whether the plan ends with it."""

    current_period_end: NotRequired[str | None]
    """When it ends."""

    current_period_start: NotRequired[str | None]
    """When what was paid for began."""

    invoices: list[dict[str, Any]]
    """What was asked for; nobody asks yet."""

    limits: dict[str, int | None]
    """What the plan allows, by name; `null` for as much as there is room for."""

    plan: str
    """Its plan."""

    provider: str
    """Whom it pays."""

    seats: int
    """How many members it has."""

    status: PaymentStatus
    """Whether it pays."""

    team_id: str
    """Which team."""


class BySeverity(TypedDict):
    """How many findings of each severity."""

    high: int
    """Of high severity."""

    low: int
    """Of low severity."""

    medium: int
    """Of medium severity."""


class CliGrant(TypedDict):
    """A session, as its client gets it (RFC 6749, section 5.1)."""

    access_token: Hidden
    """The credential; shown this once."""

    expires_in: int
    """How many seconds it lasts."""

    token_type: str
    """`Bearer`."""

    user: CliUser
    """As whom it counts."""


class CliSession(TypedDict):
    """A session, without its credential."""

    client_name: NotRequired[str | None]
    """What the client called itself."""

    created_at: str
    """When it began."""

    current: bool
    """Whether the caller uses it now."""

    expires_at: str
    """When it ends."""

    hostname: NotRequired[str | None]
    """What it called its machine."""

    id: str
    """Which session."""

    ip_address: NotRequired[str | None]
    """The address it called from."""

    os: NotRequired[str | None]
    """What it called its operating system."""

    token_prefix: str
    """The first characters of its credential."""


class CliUser(TypedDict):
    """As whom a session counts."""

    email: str
    """Their address."""

    id: str
    """Which person."""

    name: str
    """Their name."""


class Connection(TypedDict):
    """How a database is reached."""

    admin_password: str
    """Their password."""

    admin_username: str
    """Who may make users there, 1 to 63 bytes that can be seen."""

    ca_certificate: NotRequired[str | None]
    """The authorities that are believed about the server, as PEM of at most 32 KiB; the machine's
    own where nothing is given.
    """

    database: str
    """The database on it, 1 to 63 bytes that can be seen."""

    host: str
    """Its host name or address, at most 253 characters."""

    port: NotRequired[int | None]
    """Its port, 1 to 65535; 5432 or 3306 unless it is said."""

    ssl_mode: NotRequired[SslMode | None]
    """`verify-full` unless it is said."""


class Decided(TypedDict):
    """How the login stands now."""

    status: str
    """`approved` or `denied`."""


class DeviceLogin(TypedDict):
    """A login that has begun (RFC 8628, section 3.2)."""

    device_code: Hidden
    """The code that the client keeps and asks with."""

    expires_in: int
    """How many seconds the codes last."""

    interval: int
    """How many seconds the client must wait between its questions."""

    user_code: str
    """The code that the client shows to its person."""

    verification_uri: str
    """Where the person goes."""

    verification_uri_complete: str
    """The same, with the code in it."""


class DeviceRequest(TypedDict):
    """Who asks."""

    client_name: NotRequired[str | None]
    """What the client calls itself."""

    created_at: str
    """When it asked."""

    expires_at: str
    """When the code ends."""

    hostname: NotRequired[str | None]
    """What it calls its machine."""

    ip_address: NotRequired[str | None]
    """The address it called from."""

    os: NotRequired[str | None]
    """What it calls its operating system."""

    status: str
    """`pending`, `approved`, `denied` or `redeemed`."""


class Environment(TypedDict):
    """An environment."""

    created_at: str
    """When it was made."""

    description: NotRequired[str | None]
    """What it is for."""

    id: str
    """Which environment."""

    inherits_from: NotRequired[str | None]
    """The environment it inherits from."""

    name: str
    """Its name."""

    order: int
    """Where it stands in lists."""

    project_id: str
    """Whose environment."""

    updated_at: str
    """When it last changed."""


class EnvironmentPermission(TypedDict):
    """What a person may do in an environment."""

    can_admin: bool
    """Whether it includes saying who may."""

    can_read: bool
    """Whether that includes reading."""

    can_write: bool
    """Whether it includes writing."""

    created_at: str
    """When it was first said; where nobody said it, when the environment was made."""

    environment_id: str
    """In which environment."""

    environment_name: str
    """Its name."""

    granted_by: NotRequired[str | None]
    """Who said so, where somebody did."""

    id: str
    """Names the pair of environment and person: always the same for the same two (RFC 9562,
    version 8, of their SHA-256).
    """

    role: MemberAccess
    """What they may do."""

    updated_at: str
    """When it was last said; likewise."""

    user_email: str
    """Their address."""

    user_id: str
    """Who."""

    user_name: str
    """Their name."""


class EsoSecret(TypedDict):
    """A value."""

    value: Hidden
    """The value."""


class EsoSecrets(TypedDict):
    """Values by key."""

    secrets: dict[str, Hidden]
    """The values, ordered by key."""


class Finding(TypedDict):
    """Something a scan found."""

    column: NotRequired[int | None]
    """Its column, from 1, in characters."""

    comment: NotRequired[str | None]
    """Why."""

    commit: NotRequired[str | None]
    """The commit it is in."""

    created_at: str
    """When it was found."""

    description: str
    """What the rule finds."""

    entropy: NotRequired[float | None]
    """Its entropy, in bits for each character."""

    fingerprint: str
    """What it is known again by: the same in each scan of the same team and project."""

    id: str
    """Which finding."""

    line: NotRequired[int | None]
    """Its line, from 1."""

    matches_secret: NotRequired[MatchedSecret | None]
    """The stored secret that it is the value of; for those who may read that."""

    path: NotRequired[str | None]
    """The file it is in."""

    redacted: NotRequired[str | None]
    """Its first and last characters; nothing of a value that is stored here."""

    rule_id: str
    """The rule that found it."""

    scan_id: str
    """Whose finding."""

    severity: Severity
    """How bad it is."""

    status: FindingStatus
    """What was said of it."""

    updated_at: str
    """When something was said of it."""

    updated_by: NotRequired[str | None]
    """Who said it."""


class Granted(TypedDict):
    """A person, and what they may do."""

    role: MemberAccess
    """What they may do."""

    user_id: str
    """Who: a member of the team."""


class ImportResult(TypedDict):
    """What an import did."""

    created: int
    """Keys the environment did not have."""

    skipped: int
    """Keys that were left alone."""

    updated: int
    """Keys that got a new value."""


class Invitation(TypedDict):
    """An invitation, as those who run the team see it."""

    accept_url: NotRequired[Hidden | None]
    """Where it is accepted, for the inviter to pass on."""

    created_at: str
    """When it was made."""

    email: str
    """Who is invited."""

    expires_at: str
    """When it ends."""

    id: str
    """Which invitation."""

    invited_by: str
    """Who invites."""

    invited_by_email: NotRequired[str]
    """Their address."""

    last_sent_at: str
    """When it was last sent."""

    role: Role
    """In which role."""

    status: str
    """`pending`."""

    team_id: str
    """To which team."""


class InvitationPublicInfo(TypedDict):
    """An invitation, as the one who is invited sees it."""

    created_at: str
    """When it was made."""

    email: str
    """Who is invited."""

    expires_at: str
    """When it ends."""

    id: str
    """Which invitation."""

    invited_by_email: NotRequired[str]
    """Their address."""

    invited_by_name: str
    """Who invites."""

    role: Role
    """In which role."""

    status: str
    """`pending`."""

    team_id: str
    """To which team."""

    team_name: str
    """What it is called."""

    token: NotRequired[Hidden | None]
    """The token it is accepted by, in the list of one's own."""


class MatchedSecret(TypedDict):
    """A stored secret whose value was found."""

    environment_id: str
    """Its environment."""

    key: str
    """Its key."""

    project_id: str
    """Its project."""


class MyPermissions(TypedDict):
    """What the caller may do in each environment of a project."""

    is_team_admin: bool
    """Whether the caller is an owner or admin of the team, and so may everything."""

    permissions: list[EnvironmentPermission]
    """One for each environment, in their order."""

NewRecipient: TypeAlias = "NewRecipientRaw | NewRecipientPassphrase | NewRecipientX25519"
"""Somebody whom a bundle is for."""


class NewRecipientPassphrase(TypedDict):
    """Whoever knows a passphrase."""

    passphrase: str
    """12 to 1,024 characters."""

    type: Literal["passphrase"]


class NewRecipientRaw(TypedDict):
    """Whoever has a key that is drawn for this bundle and shown once."""

    type: Literal["raw"]


class NewRecipientX25519(TypedDict):
    """Whoever has the private key of a pair."""

    public_key: str
    """The public one, `scbp_…`."""

    type: Literal["x25519"]


class Project(TypedDict):
    """A project."""

    created_at: str
    """When it was made."""

    created_by: NotRequired[str | None]
    """Who made it."""

    description: NotRequired[str | None]
    """What it is for."""

    id: str
    """Which project."""

    name: str
    """What people call it."""

    slug: str
    """Its name in addresses; kept when it is renamed."""

    team_id: str
    """Whose project."""

    updated_at: str
    """When it last changed."""


class ProjectPermission(TypedDict):
    """What members may do in the environments of a project where nothing is said of them."""

    is_set: bool
    """Whether it was said of this project; else it is what the operator chose for all."""

    project_id: str
    """In which project."""

    role: MemberAccess
    """What they may do."""

    set_by: NotRequired[str | None]
    """Who said it."""

    updated_at: NotRequired[str | None]
    """When it was last said."""


class ProjectWithEnvironments(TypedDict):
    """A project and its environments."""

    created_at: str
    """When it was made."""

    created_by: NotRequired[str | None]
    """Who made it."""

    description: NotRequired[str | None]
    """What it is for."""

    id: str
    """Which project."""

    name: str
    """What people call it."""

    slug: str
    """Its name in addresses; kept when it is renamed."""

    team_id: str
    """Whose project."""

    updated_at: str
    """When it last changed."""

    environments: list[Environment]
    """Its environments, in their order; for a token, those of its scope."""


class ProxyConnection(TypedDict):
    """A function of AWS Lambda that reaches a database for us."""

    lambda_arn: str
    """Which function."""

    region: str
    """Its region; the one in `lambda_arn`."""

    shared_secret: str
    """What messages to and from it are signed and encrypted with: 32 to 512 visible ASCII
    characters.
    """


class Rotation(TypedDict):
    """A rotation. How its database is reached is never told."""

    connection_method: ConnectionMethod
    """Who dials the database."""

    created_at: str
    """When it was made."""

    environment_id: str
    """The environment whose secrets it writes."""

    error_message: NotRequired[str | None]
    """What is wrong."""

    id: str
    """Which rotation."""

    injected_secrets: list[str]
    """The keys it has written; none before its first success."""

    integration_type: Integration
    """What kind of database."""

    last_rotation_at: NotRequired[str | None]
    """When it last succeeded."""

    name: str
    """Its name."""

    next_rotation_at: NotRequired[str | None]
    """When it rotates next; absent while it is paused or disabled."""

    rotation_interval_days: int
    """How many days lie between rotations."""

    status: RotationStatus
    """How it is doing."""

    updated_at: str
    """When it last changed."""


class RotationHistory(TypedDict):
    """How an attempt to rotate ended."""

    completed_at: str
    """When it ended."""

    error_message: NotRequired[str | None]
    """Why it ended so."""

    id: str
    """Which attempt."""

    rotation_config_id: str
    """Whose attempt."""

    started_at: str
    """When it was begun."""

    status: Outcome
    """How it ended."""

    trigger_type: TriggerType
    """Why it was begun."""

    triggered_by: NotRequired[str | None]
    """Who asked for it."""

    version: int
    """Its number within the rotation, from 1."""


class RotationWebhook(TypedDict):
    """A webhook of a rotation. What signs deliveries to it is there once, when it is made."""

    created_at: str
    """When it was made."""

    enabled: bool
    """Whether it is told anything: false once its receiver was given up."""

    events: list[WebhookEvent]
    """What it is told."""

    id: str
    """Which webhook."""

    rotation_config_id: str
    """Whose events it is told."""

    secret: NotRequired[Hidden | None]
    """What signs deliveries to it: `whsec_` and 32 bytes in base64."""

    url: str
    """Where it is."""


class RotationWebhookWithSecret(TypedDict):
    """A webhook of a rotation. What signs deliveries to it is there once, when it is made."""

    created_at: str
    """When it was made."""

    enabled: bool
    """Whether it is told anything: false once its receiver was given up."""

    events: list[WebhookEvent]
    """What it is told."""

    id: str
    """Which webhook."""

    rotation_config_id: str
    """Whose events it is told."""

    secret: Hidden
    """What signs deliveries to it: `whsec_` and 32 bytes in base64."""

    url: str
    """Where it is."""


class Scan(TypedDict):
    """A scan."""

    by_severity: BySeverity
    """How many of each severity."""

    completed_at: str
    """When it was done."""

    created_at: str
    """When it was made."""

    created_by: str
    """Who made it."""

    findings_count: int
    """How many findings it has."""

    id: str
    """Which scan."""

    project_id: NotRequired[str | None]
    """The project it was made for."""

    secrets_compared: int
    """How many stored values it was compared with."""

    source: ScanSource
    """What was scanned."""

    started_at: str
    """When it began."""

    status: ScanStatus
    """How far it is."""

    team_id: str
    """Whose scan."""

    truncated: bool
    """Whether more was found than the 1,000 worst, which are kept."""


class ScanSource(TypedDict):
    """What is scanned."""

    commit: NotRequired[str | None]
    """The commit it is: at most 100 visible characters."""

    name: NotRequired[str | None]
    """What people call it: at most 200 visible characters."""

    type: SourceKind
    """Of which kind it is."""


class ScanWithFindings(TypedDict):
    """A scan with what it found."""

    by_severity: BySeverity
    """How many of each severity."""

    completed_at: str
    """When it was done."""

    created_at: str
    """When it was made."""

    created_by: str
    """Who made it."""

    findings_count: int
    """How many findings it has."""

    id: str
    """Which scan."""

    project_id: NotRequired[str | None]
    """The project it was made for."""

    secrets_compared: int
    """How many stored values it was compared with."""

    source: ScanSource
    """What was scanned."""

    started_at: str
    """When it began."""

    status: ScanStatus
    """How far it is."""

    team_id: str
    """Whose scan."""

    truncated: bool
    """Whether more was found than the 1,000 worst, which are kept."""

    findings: list[Finding]
    """What it found, in the order of what was scanned."""


class ScannedFile(TypedDict):
    """A file to scan."""

    content: str
    """What it holds."""

    path: str
    """Its path: 1 to 1,024 characters, none of them a control character."""


class SealedBundle(TypedDict):
    """A bundle, and what its maker should know of it."""

    bundle: str
    """The file, in base64."""

    created_at: str
    """When it was made."""

    expires_at: NotRequired[str | None]
    """From when on it does not open."""

    key: NotRequired[str | None]
    """The key that opens it, where one was asked for. Nobody can be told it again."""

    secrets: int
    """How many secrets it holds."""

    seq: int
    """Its number: the microsecond at which it was made."""

    signer: str
    """Who signed it: this installation, each time. Whoever opens bundles should know it."""


class Secret(TypedDict):
    """A secret, with its value only where the operation gives values."""

    created_at: str
    """When it was made."""

    created_by: NotRequired[str | None]
    """Who made it."""

    description: NotRequired[str | None]
    """What it is for."""

    environment_id: str
    """The environment that holds it."""

    hidden: NotRequired[bool]
    """Whether it hides its key."""

    id: str
    """Which secret."""

    inherited_from: NotRequired[str | None]
    """The name of the environment that holds it, where that is an ancestor of the one asked."""

    key: str
    """Its key."""

    type: str
    """`string`."""

    updated_at: str
    """When anything of it last changed."""

    updated_by: NotRequired[str | None]
    """Who last changed it."""

    value: NotRequired[Hidden | None]
    """The value."""

    version: int
    """Counts the values it has had, from 1."""


class SecretMapping(TypedDict):
    """Under which keys the parts of a credential are written, where not under the usual ones."""

    database: NotRequired[str | None]
    """The database."""

    host: NotRequired[str | None]
    """The host."""

    password: NotRequired[str | None]
    """The password."""

    port: NotRequired[str | None]
    """The port."""

    url: NotRequired[str | None]
    """All of them as one address."""

    username: NotRequired[str | None]
    """The user."""


class SecretVersion(TypedDict):
    """A version that was replaced."""

    change_type: str
    """How it came to be: `created`, `updated`, `hidden` or `rolled_back`."""

    changed_at: str
    """When it was made."""

    changed_by: NotRequired[str | None]
    """Who made it."""

    created_at: str
    """When it was replaced, and so became an entry."""

    id: str
    """This entry: the same each time it is read."""

    key: str
    """The secret's key."""

    secret_id: str
    """Whose version."""

    value: NotRequired[Hidden | None]
    """The value it held, where values are given; a version that hid its key held none."""

    version: int
    """Which version."""


class SecretWithValue(TypedDict):
    """A secret, with its value only where the operation gives values."""

    created_at: str
    """When it was made."""

    created_by: NotRequired[str | None]
    """Who made it."""

    description: NotRequired[str | None]
    """What it is for."""

    environment_id: str
    """The environment that holds it."""

    hidden: NotRequired[bool]
    """Whether it hides its key."""

    id: str
    """Which secret."""

    inherited_from: NotRequired[str | None]
    """The name of the environment that holds it, where that is an ancestor of the one asked."""

    key: str
    """Its key."""

    type: str
    """`string`."""

    updated_at: str
    """When anything of it last changed."""

    updated_by: NotRequired[str | None]
    """Who last changed it."""

    value: Hidden
    """The value."""

    version: int
    """Counts the values it has had, from 1."""


class ServiceToken(TypedDict):
    """A service token. The token itself is there once, when it is made."""

    all_environments: bool
    """Whether it reaches all environments of its projects."""

    all_projects: bool
    """Whether it reaches all projects of the team."""

    created_at: str
    """When it was made."""

    created_by: str
    """Who made it."""

    environment_ids: list[str]
    """The environments it reaches, unless it is all of its projects."""

    expires_at: NotRequired[str | None]
    """When it ends."""

    id: str
    """Which token."""

    ip_allowlist: list[str]
    """Addresses it may be used from: empty for all."""

    last_used_at: NotRequired[str | None]
    """When it was last used: at most a minute and a few seconds behind."""

    last_used_ip: NotRequired[str | None]
    """From where."""

    name: str
    """What people call it."""

    permissions: list[str]
    """`read`, `write`."""

    project_ids: list[str]
    """The projects it reaches, unless it is all."""

    rotated_at: NotRequired[str | None]
    """When it was last rotated."""

    scopes: list[str]
    """The same list, under the name that clients of this interface read."""

    status: str
    """`active` or `expired`; one that is deleted is not told of."""

    team_id: str
    """Whose token."""

    token: NotRequired[Hidden | None]
    """The token itself."""

    token_prefix: str
    """The token's first characters."""

    updated_at: str
    """When it last changed."""


class ServiceTokenWithToken(TypedDict):
    """A service token. The token itself is there once, when it is made."""

    all_environments: bool
    """Whether it reaches all environments of its projects."""

    all_projects: bool
    """Whether it reaches all projects of the team."""

    created_at: str
    """When it was made."""

    created_by: str
    """Who made it."""

    environment_ids: list[str]
    """The environments it reaches, unless it is all of its projects."""

    expires_at: NotRequired[str | None]
    """When it ends."""

    id: str
    """Which token."""

    ip_allowlist: list[str]
    """Addresses it may be used from: empty for all."""

    last_used_at: NotRequired[str | None]
    """When it was last used: at most a minute and a few seconds behind."""

    last_used_ip: NotRequired[str | None]
    """From where."""

    name: str
    """What people call it."""

    permissions: list[str]
    """`read`, `write`."""

    project_ids: list[str]
    """The projects it reaches, unless it is all."""

    rotated_at: NotRequired[str | None]
    """When it was last rotated."""

    scopes: list[str]
    """The same list, under the name that clients of this interface read."""

    status: str
    """`active` or `expired`; one that is deleted is not told of."""

    team_id: str
    """Whose token."""

    token: Hidden
    """The token itself."""

    token_prefix: str
    """The token's first characters."""

    updated_at: str
    """When it last changed."""


class SubmittedFinding(TypedDict):
    """A finding of another scanner, such as a pre-commit hook."""

    column: NotRequired[int | None]
    """Its column, from 1."""

    commit: NotRequired[str | None]
    """The commit it is in."""

    description: NotRequired[str | None]
    """What the rule finds: at most 500 visible characters."""

    fingerprint: NotRequired[str | None]
    """What it is known again by where the credential is not given: at most 2,048 characters."""

    line: NotRequired[int | None]
    """Its line, from 1."""

    path: NotRequired[str | None]
    """The file it is in."""

    rule_id: str
    """The rule that found it: 1 to 100 visible characters."""

    secret: NotRequired[str | None]
    """The credential itself. It is hashed, compared and dropped."""

    severity: NotRequired[Severity | None]
    """How bad it is; as the rule of this id says, or medium."""


class SubmittedSecret(TypedDict):
    """Made of these."""

    description: NotRequired[str | None]

    key: str
    """A secret's name: `[A-Za-z_][A-Za-z0-9_.-]{0,254}`, case kept; `export` and `bulk` belong to
    the interface.
    """

    value: str
    """A secret's value: UTF-8 without NUL, at most 65,536 bytes."""


class Team(TypedDict):
    """A team."""

    created_at: str
    """When it was made."""

    created_by: str
    """Who made it."""

    id: str
    """Which team."""

    is_personal: bool
    """Whether it came with its owner's first sign-in."""

    name: str
    """What people call it."""

    plan: str
    """What it may use."""

    slug: str
    """Its name in addresses."""

    updated_at: str
    """When it last changed."""


class TeamMember(TypedDict):
    """Somebody's place in a team, or one that is kept for whoever was invited."""

    accept_url: NotRequired[Hidden | None]
    """Where they accept it, for the inviter to pass on."""

    avatar_url: NotRequired[str | None]
    """An image of them."""

    created_at: str
    """When they joined or were invited."""

    email: str
    """Their address."""

    id: str
    """Names this place: the person's id, or the invitation's."""

    invitation_id: NotRequired[str | None]
    """The invitation that is pending."""

    joined_at: NotRequired[str | None]
    """When they joined."""

    name: NotRequired[str | None]
    """Their name."""

    role: Role
    """Their role."""

    status: str
    """`active`, or `pending` while they have not joined."""

    team_id: str
    """Which team."""

    updated_at: str
    """When their role last changed."""

    user_id: NotRequired[str | None]
    """Which person, once they have joined."""


class TeamName(TypedDict):
    """A team's names."""

    id: str
    """Which team."""

    name: str
    """What people call it."""

    slug: str
    """Its name in addresses."""


class TeamUse(TypedDict):
    """What a team uses of its plan."""

    period_end: str
    """When the next begins."""

    period_start: str
    """When the month began, in UTC."""

    plan: str
    """Its plan."""

    team_id: str
    """Which team."""

    usage: Uses
    """What it uses."""


class TeamWithMembers(TypedDict):
    """A team as one of its members sees it."""

    created_at: str
    """When it was made."""

    created_by: str
    """Who made it."""

    id: str
    """Which team."""

    is_personal: bool
    """Whether it came with its owner's first sign-in."""

    name: str
    """What people call it."""

    plan: str
    """What it may use."""

    slug: str
    """Its name in addresses."""

    updated_at: str
    """When it last changed."""

    member_count: int
    """How many members there are."""

    members: list[TeamMember]
    """The members, in the order they joined."""

    role: Role
    """The caller's role."""


class TestResult(TypedDict):
    """How a connection works."""

    message: str
    """Why not, or what is to be known; nothing of what the server says."""

    success: bool
    """Whether a rotation could work with it."""


class TokenSelf(TypedDict):
    """A service token, as it sees itself."""

    auth_type: str
    """`service_token`."""

    created_at: str
    """When it was made."""

    environment_ids: NotRequired[list[str]]
    """The environments it reaches, unless it is all of its projects."""

    expires_at: NotRequired[str | None]
    """When it ends."""

    id: str
    """Which token."""

    name: str
    """What people call it."""

    permissions: list[str]
    """The same."""

    project_ids: list[str]
    """The projects it reaches, unless it is all."""

    scopes: list[str]
    """`read`, `write`."""

    team_id: str
    """Whose token."""


class Use(TypedDict):
    """How much is used of one thing."""

    limit: NotRequired[int | None]
    """How much the plan allows; `null` for as much as there is room for."""

    total: NotRequired[int | None]
    """How much in all places, where the limit is one of each."""

    used: NotRequired[int | None]
    """How much, in the place to which the limit applies; absent where it is not counted."""


class User(TypedDict):
    """A person and their teams."""

    auth_type: str
    """`user`."""

    avatar_url: NotRequired[str | None]
    """An image of them."""

    created_at: str
    """When they first signed in."""

    email: str
    """Their address."""

    external_id: str
    """Who they are to their identity provider (`sub`)."""

    first_name: NotRequired[str | None]
    """Their given name."""

    id: str
    """Which person."""

    last_login_at: NotRequired[str | None]
    """When they last signed in."""

    last_name: NotRequired[str | None]
    """Their family name."""

    name: str
    """Their name."""

    teams: list[UserTeam]
    """Their teams."""

    updated_at: str
    """When something about them last changed."""


class UserTeam(TypedDict):
    """A person's place in a team."""

    created_at: str
    """When they joined."""

    role: Role
    """Their role."""

    team: TeamName
    """The team's names."""

    team_id: str
    """Which team."""

    user_id: str
    """The person."""


class Uses(TypedDict):
    """What a team uses, of each thing that is counted."""

    api_requests: Use
    """Requests. They are not counted by team: that would be a write for each."""

    environments: Use
    """Environments; plans limit them in each project, so `used` is that of the fullest one."""

    members: Use
    """Members."""

    projects: Use
    """Projects."""

    rotations: Use
    """Rotations of credentials."""

    secrets: Use
    """Secrets; plans limit them in each environment, so `used` is that of the fullest one."""

    service_tokens: Use
    """Service tokens."""


class WebhookDelivery(TypedDict):
    """An event on its way to a webhook, or there. The message's id is `msg_` and the delivery's."""

    attempts: int
    """How often it was sent."""

    created_at: str
    """When the event happened."""

    event: str
    """Of what: an event of the rotation, or `webhook.test`."""

    id: str
    """Which delivery."""

    next_attempt_at: NotRequired[str | None]
    """When it is sent next, while it is pending."""

    response_status: NotRequired[int | None]
    """The status of the receiver's last answer."""

    status: DeliveryStatus
    """How it is doing."""
