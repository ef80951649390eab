"""Where each operation is over HTTP.

Made by tests/tools/faces.py from the document of the interface; not edited by hand.
"""

from __future__ import annotations

from typing import NamedTuple


class Endpoint(NamedTuple):
    """An operation's place in the interface."""

    method: str
    templates: tuple[str, ...]
    """Its paths, the one that says most first."""
    query: tuple[str, ...]
    """What of an input stands in the query; the rest is the body."""
    has_body: bool
    envelope: str | None
    """Under which name the answer has the output."""


ENDPOINTS = {
    "account.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/account",
        ),
        (),
        True,
        None,
    ),
    "account.export": Endpoint(
        "GET",
        (
            "/api/v1/account/data-export",
        ),
        (),
        False,
        None,
    ),
    "account.export_secrets": Endpoint(
        "POST",
        (
            "/api/v1/account/data-export",
        ),
        (),
        True,
        None,
    ),
    "account.get": Endpoint(
        "GET",
        (
            "/api/v1/account",
        ),
        (),
        False,
        None,
    ),
    "account.update": Endpoint(
        "PATCH",
        (
            "/api/v1/account",
        ),
        (),
        True,
        None,
    ),
    "audit.list": Endpoint(
        "GET",
        (
            "/api/v1/teams/{team_id}/audit",
            "/api/v1/audit",
        ),
        ("action", "actor_id", "actor_type", "project_id", "environment_id", "resource_type", "resource_id", "key", "outcome", "ip", "from", "to", "limit", "cursor", "order", "team_id"),
        False,
        None,
    ),
    "billing.get": Endpoint(
        "GET",
        (
            "/api/v1/teams/{team}/billing",
        ),
        (),
        False,
        None,
    ),
    "billing.set_plan": Endpoint(
        "PUT",
        (
            "/api/v1/teams/{team}/billing",
        ),
        (),
        True,
        None,
    ),
    "cli_session.list": Endpoint(
        "GET",
        (
            "/api/v1/auth/cli/sessions",
        ),
        (),
        False,
        "sessions",
    ),
    "cli_session.revoke": Endpoint(
        "POST",
        (
            "/api/v1/auth/cli/revoke",
        ),
        (),
        True,
        None,
    ),
    "device_login.approve": Endpoint(
        "POST",
        (
            "/api/v1/auth/cli/approve",
        ),
        (),
        True,
        None,
    ),
    "device_login.deny": Endpoint(
        "POST",
        (
            "/api/v1/auth/cli/deny",
        ),
        (),
        True,
        None,
    ),
    "device_login.look_up": Endpoint(
        "GET",
        (
            "/api/v1/auth/cli/device/{user_code}",
        ),
        (),
        False,
        None,
    ),
    "device_login.poll": Endpoint(
        "POST",
        (
            "/api/v1/auth/cli/token",
        ),
        (),
        True,
        None,
    ),
    "device_login.start": Endpoint(
        "POST",
        (
            "/api/v1/auth/cli/device",
        ),
        (),
        True,
        None,
    ),
    "environment.create": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments",
        ),
        (),
        True,
        None,
    ),
    "environment.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/projects/{project}/environments/{environment}",
        ),
        (),
        False,
        None,
    ),
    "environment.get": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}",
        ),
        (),
        False,
        None,
    ),
    "environment.list": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments",
        ),
        (),
        False,
        "environments",
    ),
    "environment.update": Endpoint(
        "PATCH",
        (
            "/api/v1/projects/{project}/environments/{environment}",
        ),
        (),
        True,
        None,
    ),
    "eso.secret": Endpoint(
        "GET",
        (
            "/api/v1/eso/secret",
        ),
        ("project", "env", "key"),
        False,
        None,
    ),
    "eso.secrets": Endpoint(
        "GET",
        (
            "/api/v1/eso/secrets",
        ),
        ("project", "env"),
        False,
        None,
    ),
    "finding.update": Endpoint(
        "PATCH",
        (
            "/api/v1/scans/{scan}/findings/{finding}",
        ),
        (),
        True,
        None,
    ),
    "invitation.accept": Endpoint(
        "POST",
        (
            "/api/v1/invitations/{token}/accept",
        ),
        (),
        False,
        None,
    ),
    "invitation.list": Endpoint(
        "GET",
        (
            "/api/v1/teams/{team}/invitations",
        ),
        (),
        False,
        None,
    ),
    "invitation.look_up": Endpoint(
        "GET",
        (
            "/api/v1/invitations/{token}",
        ),
        (),
        False,
        None,
    ),
    "invitation.mine": Endpoint(
        "GET",
        (
            "/api/v1/invitations",
        ),
        (),
        False,
        None,
    ),
    "invitation.resend": Endpoint(
        "POST",
        (
            "/api/v1/teams/{team}/invitations/{invitation}/resend",
        ),
        (),
        False,
        None,
    ),
    "invitation.revoke": Endpoint(
        "DELETE",
        (
            "/api/v1/teams/{team}/invitations/{invitation}",
        ),
        (),
        False,
        None,
    ),
    "member.invite": Endpoint(
        "POST",
        (
            "/api/v1/teams/{team}/members",
        ),
        (),
        True,
        None,
    ),
    "member.remove": Endpoint(
        "DELETE",
        (
            "/api/v1/teams/{team}/members/{user}",
        ),
        (),
        False,
        None,
    ),
    "member.update": Endpoint(
        "PATCH",
        (
            "/api/v1/teams/{team}/members/{user}",
        ),
        (),
        True,
        None,
    ),
    "permission.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/projects/{project}/environments/{environment}/permissions/{user}",
        ),
        (),
        False,
        None,
    ),
    "permission.list": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/permissions",
        ),
        (),
        False,
        "permissions",
    ),
    "permission.mine": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/my-permissions",
        ),
        (),
        False,
        None,
    ),
    "permission.put": Endpoint(
        "PUT",
        (
            "/api/v1/projects/{project}/environments/{environment}/permissions/{user}",
        ),
        (),
        True,
        None,
    ),
    "permission.put_all": Endpoint(
        "PUT",
        (
            "/api/v1/projects/{project}/environments/{environment}/permissions",
        ),
        (),
        True,
        "permissions",
    ),
    "permission_defaults.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/projects/{project}/permissions/defaults",
        ),
        (),
        False,
        None,
    ),
    "permission_defaults.get": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/permissions/defaults",
        ),
        (),
        False,
        None,
    ),
    "permission_defaults.put": Endpoint(
        "PUT",
        (
            "/api/v1/projects/{project}/permissions/defaults",
        ),
        (),
        True,
        None,
    ),
    "project.create": Endpoint(
        "POST",
        (
            "/api/v1/projects",
        ),
        (),
        True,
        None,
    ),
    "project.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/projects/{project}",
        ),
        (),
        False,
        None,
    ),
    "project.get": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}",
        ),
        (),
        False,
        None,
    ),
    "project.list": Endpoint(
        "GET",
        (
            "/api/v1/projects",
        ),
        (),
        False,
        "projects",
    ),
    "project.restore": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/restore",
        ),
        (),
        False,
        None,
    ),
    "project.update": Endpoint(
        "PATCH",
        (
            "/api/v1/projects/{project}",
        ),
        (),
        True,
        None,
    ),
    "rotation.create": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations",
        ),
        (),
        True,
        None,
    ),
    "rotation.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}",
        ),
        ("revoke",),
        False,
        None,
    ),
    "rotation.get": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}",
        ),
        (),
        False,
        None,
    ),
    "rotation.history": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/history",
        ),
        (),
        False,
        None,
    ),
    "rotation.list": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations",
        ),
        (),
        False,
        "rotations",
    ),
    "rotation.rotate": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/rotate",
        ),
        (),
        False,
        None,
    ),
    "rotation.test": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/test",
        ),
        (),
        False,
        None,
    ),
    "rotation.test_connection": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/test",
        ),
        (),
        True,
        None,
    ),
    "rotation.update": Endpoint(
        "PUT",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}",
        ),
        (),
        True,
        None,
    ),
    "scan.create": Endpoint(
        "POST",
        (
            "/api/v1/scans",
        ),
        (),
        True,
        None,
    ),
    "scan.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/scans/{scan}",
        ),
        (),
        False,
        None,
    ),
    "scan.get": Endpoint(
        "GET",
        (
            "/api/v1/scans/{scan}",
        ),
        (),
        False,
        None,
    ),
    "scan.list": Endpoint(
        "GET",
        (
            "/api/v1/scans",
        ),
        ("team_id", "project_id"),
        False,
        "scans",
    ),
    "secret.create": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets",
        ),
        (),
        True,
        "secret",
    ),
    "secret.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets/{key}",
        ),
        ("expected_version",),
        False,
        None,
    ),
    "secret.export": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets/export",
        ),
        ("format", "name"),
        False,
        "secrets",
    ),
    "secret.get": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets/{key}",
        ),
        (),
        False,
        "secret",
    ),
    "secret.history": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets/{key}/history",
        ),
        ("values", "before", "limit"),
        False,
        "history",
    ),
    "secret.import": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets/bulk",
        ),
        (),
        True,
        None,
    ),
    "secret.list": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets",
        ),
        (),
        False,
        "secrets",
    ),
    "secret.roll_back": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets/{key}/rollback",
        ),
        (),
        True,
        "secret",
    ),
    "secret.update": Endpoint(
        "PUT",
        (
            "/api/v1/projects/{project}/environments/{environment}/secrets/{key}",
        ),
        (),
        True,
        "secret",
    ),
    "team.create": Endpoint(
        "POST",
        (
            "/api/v1/teams",
        ),
        (),
        True,
        None,
    ),
    "team.get": Endpoint(
        "GET",
        (
            "/api/v1/teams/{team}",
        ),
        (),
        False,
        None,
    ),
    "team.list": Endpoint(
        "GET",
        (
            "/api/v1/teams",
        ),
        (),
        False,
        "teams",
    ),
    "token.create": Endpoint(
        "POST",
        (
            "/api/v1/tokens",
        ),
        (),
        True,
        None,
    ),
    "token.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/tokens/{token}",
        ),
        (),
        False,
        None,
    ),
    "token.list": Endpoint(
        "GET",
        (
            "/api/v1/tokens",
        ),
        ("team_id",),
        False,
        "tokens",
    ),
    "token.rotate": Endpoint(
        "POST",
        (
            "/api/v1/tokens/{token}/rotate",
        ),
        (),
        True,
        None,
    ),
    "usage.get": Endpoint(
        "GET",
        (
            "/api/v1/teams/{team}/usage",
        ),
        (),
        False,
        None,
    ),
    "user.me": Endpoint(
        "GET",
        (
            "/api/v1/users/me",
        ),
        (),
        False,
        None,
    ),
    "user.sync": Endpoint(
        "POST",
        (
            "/api/v1/auth/sync",
        ),
        (),
        False,
        None,
    ),
    "webhook.create": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/webhooks",
        ),
        (),
        True,
        None,
    ),
    "webhook.delete": Endpoint(
        "DELETE",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/webhooks/{webhook}",
        ),
        (),
        False,
        None,
    ),
    "webhook.deliveries": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/webhooks/{webhook}/deliveries",
        ),
        (),
        False,
        "deliveries",
    ),
    "webhook.list": Endpoint(
        "GET",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/webhooks",
        ),
        (),
        False,
        None,
    ),
    "webhook.redeliver": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/webhooks/{webhook}/deliveries/{delivery}/redeliver",
        ),
        (),
        False,
        None,
    ),
    "webhook.test": Endpoint(
        "POST",
        (
            "/api/v1/projects/{project}/environments/{environment}/rotations/{rotation}/webhooks/{webhook}/test",
        ),
        (),
        False,
        None,
    ),
}
