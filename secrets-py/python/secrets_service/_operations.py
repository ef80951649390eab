"""The operations: a namespace for each noun, a method for each verb.

Made by secrets-py/generate/operations.py from the document of the interface; not edited by hand.
"""

from __future__ import annotations

import builtins
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Literal, overload

from . import types
from ._hidden import Hidden
from ._input import UNSET, Unset, given, said


class AccountOperations:
    """Operations on the caller's account."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def delete(
        self,
        *,
        confirm: str,
    ) -> None:
        """Delete it, with the teams that nobody else is in.

        For people.

        ``confirm``: the address of the account.
        """
        self._call(
            "account.delete",
            {
                "confirm": confirm,
            },
        )

    def export(self) -> types.AccountData:
        """Take along what is kept of one, without values.

        For people.
        """
        made: types.AccountData = self._call("account.export", {})
        return made

    def export_secrets(
        self,
        *,
        include_secrets: Literal[True],
        passphrase: str,
    ) -> bytes:
        """Take along what one may read, under a passphrase.

        For people.

        ``passphrase``: what the file is protected with: 12 to 1,024 characters.
        """
        made: str = self._call(
            "account.export_secrets",
            {
                "include_secrets": include_secrets,
                "passphrase": passphrase,
            },
        )
        return b64decode(made)

    def get(self) -> types.Account:
        """See the account.

        For people.
        """
        made: types.Account = self._call("account.get", {})
        return made

    def update(
        self,
        *,
        name: str,
    ) -> types.Account:
        """Rename it.

        For people.

        ``name``: what the person is called from now on, whatever their identity provider says.
        """
        made: types.Account = self._call(
            "account.update",
            {
                "name": name,
            },
        )
        return made


class AuditOperations:
    """Operations on the log."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def list(
        self,
        *,
        action: builtins.list[str] | None = None,
        actor_id: str | None = None,
        actor_type: Literal["user", "service_token", "system", "anonymous"] | None = None,
        project_id: str | None = None,
        environment_id: str | None = None,
        resource_type: str | None = None,
        resource_id: str | None = None,
        key: str | None = None,
        outcome: Literal["success", "denied", "failure"] | None = None,
        ip: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        order: Literal["desc", "asc"] | None = None,
        team_id: str | None = None,
    ) -> types.AuditPage:
        """Read the logs of the teams one runs.

        For people.

        ``action``: any of these actions, such as secret.read or secret.*; may be repeated.
        ``actor_id``: by this user or token.
        ``actor_type``: user, service_token, system or anonymous.
        ``project_id``: of this project.
        ``environment_id``: of this environment.
        ``resource_type``: about this kind of thing.
        ``resource_id``: about this thing.
        ``key``: about the secret of this key.
        ``outcome``: success, denied or failure.
        ``ip``: from this address.
        ``from_``: not before; 30 days ago where nothing is said.
        ``to``: before.
        ``limit``: 1 to 200 entries a page; 50.
        ``cursor``: the next_cursor of the page before.
        ``order``: desc or asc.
        ``team_id``: of this team.
        """
        made: types.AuditPage = self._call(
            "audit.list",
            {
                **given("action", action),
                **given("actor_id", actor_id),
                **given("actor_type", actor_type),
                **given("project_id", project_id),
                **given("environment_id", environment_id),
                **given("resource_type", resource_type),
                **given("resource_id", resource_id),
                **given("key", key),
                **given("outcome", outcome),
                **given("ip", ip),
                **given("from", from_),
                **given("to", to),
                **given("limit", limit),
                **given("cursor", cursor),
                **given("order", order),
                **given("team_id", team_id),
            },
        )
        return made


class BillingOperations:
    """Operations on what a team pays for."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def get(
        self,
        *,
        team: str,
    ) -> types.Billing:
        """See the plan.

        For people.

        ``team``: an id.
        """
        made: types.Billing = self._call(
            "billing.get",
            {
                "team": team,
            },
        )
        return made

    def set_plan(
        self,
        *,
        team: str,
        plan: str,
    ) -> types.Billing:
        """Put a team on a plan; for operators.

        For people.

        ``team``: an id.
        ``plan``: which.
        """
        made: types.Billing = self._call(
            "billing.set_plan",
            {
                "team": team,
                "plan": plan,
            },
        )
        return made


class CliSessionOperations:
    """Operations on cli sessions."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def list(self) -> builtins.list[types.CliSession]:
        """List the sessions of command lines.

        For people.
        """
        made: builtins.list[types.CliSession] = self._call("cli_session.list", {})
        return made

    def revoke(
        self,
        *,
        id: str | None = None,
    ) -> None:
        """End a session.

        For people.

        ``id``: which one; the one that sends this where it is absent.
        """
        self._call(
            "cli_session.revoke",
            {
                **given("id", id),
            },
        )


class DeviceLoginOperations:
    """Operations on device logins."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def approve(
        self,
        *,
        user_code: str,
    ) -> types.Decided:
        """Let a command line in.

        For people.

        ``user_code``: the code that the client shows.
        """
        made: types.Decided = self._call(
            "device_login.approve",
            {
                "user_code": user_code,
            },
        )
        return made

    def deny(
        self,
        *,
        user_code: str,
    ) -> types.Decided:
        """Refuse it.

        For people.

        ``user_code``: the code that the client shows.
        """
        made: types.Decided = self._call(
            "device_login.deny",
            {
                "user_code": user_code,
            },
        )
        return made

    def look_up(
        self,
        *,
        user_code: str,
    ) -> types.DeviceRequest:
        """See who asks.

        For people.

        ``user_code``: the code that a command line shows.
        """
        made: types.DeviceRequest = self._call(
            "device_login.look_up",
            {
                "user_code": user_code,
            },
        )
        return made

    def poll(
        self,
        *,
        client_id: str | None = None,
        device_code: str | None = None,
        grant_type: str | None = None,
    ) -> types.CliGrant:
        """Ask how the login stands.

        ``client_id``: ``cli``.
        ``device_code``: the code that the client kept.
        ``grant_type``: ``urn:ietf:params:oauth:grant-type:device_code``.
        """
        made: types.CliGrant = self._call(
            "device_login.poll",
            {
                **given("client_id", client_id),
                **given("device_code", device_code),
                **given("grant_type", grant_type),
            },
        )
        return made

    def start(
        self,
        *,
        client_id: str,
        client_name: str | None = None,
        hostname: str | None = None,
        os: str | None = None,
    ) -> types.DeviceLogin:
        """Begin a login from a command line (RFC 8628).

        ``client_id``: ``cli``.
        ``client_name``: what the client calls itself: 1 to 100 characters.
        ``hostname``: what it calls its machine: 1 to 100 characters.
        ``os``: what it calls its operating system: 1 to 100 characters.
        """
        made: types.DeviceLogin = self._call(
            "device_login.start",
            {
                "client_id": client_id,
                **given("client_name", client_name),
                **given("hostname", hostname),
                **given("os", os),
            },
        )
        return made


class EnvironmentOperations:
    """Operations on environments."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def create(
        self,
        *,
        project: str,
        name: str,
        description: str | None = None,
        inherits_from: str | None = None,
    ) -> types.Environment:
        """Create an environment.

        For people.

        ``project``: a project's id or slug.
        ``name``: its name.
        ``description``: what it is for.
        ``inherits_from``: the environment it inherits from, by id or name: one of the same
            project.
        """
        made: types.Environment = self._call(
            "environment.create",
            {
                "project": project,
                "name": name,
                **given("description", description),
                **given("inherits_from", inherits_from),
            },
        )
        return made

    def delete(
        self,
        *,
        project: str,
        environment: str,
    ) -> None:
        """Delete an environment and its secrets.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        """
        self._call(
            "environment.delete",
            {
                "project": project,
                "environment": environment,
            },
        )

    def get(
        self,
        *,
        project: str,
        environment: str,
    ) -> types.Environment:
        """See an environment.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        """
        made: types.Environment = self._call(
            "environment.get",
            {
                "project": project,
                "environment": environment,
            },
        )
        return made

    def list(
        self,
        *,
        project: str,
    ) -> builtins.list[types.Environment]:
        """List the environments of a project.

        For people and service tokens.

        ``project``: a project's id or slug.
        """
        made: builtins.list[types.Environment] = self._call(
            "environment.list",
            {
                "project": project,
            },
        )
        return made

    def update(
        self,
        *,
        project: str,
        environment: str,
        description: str | None = None,
        inherits_from: str | None | Unset = UNSET,
        name: str | None = None,
    ) -> types.Environment:
        """Change an environment: its name, parent or description.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``description``: what it is for.
        ``inherits_from``: the environment it inherits from, by id or name; ``null`` for none.
        ``name``: its name, unless it is a default environment.
        """
        made: types.Environment = self._call(
            "environment.update",
            {
                "project": project,
                "environment": environment,
                **given("description", description),
                **said("inherits_from", inherits_from),
                **given("name", name),
            },
        )
        return made


class EsoOperations:
    """What operators of container orchestrators read."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def secret(
        self,
        *,
        project: str,
        env: str,
        key: str,
    ) -> types.EsoSecret:
        """Read one value, for an operator of a container orchestrator.

        For service tokens.

        ``project``: a project's id or slug.
        ``env``: an environment's name or id.
        ``key``: a secret's key.
        """
        made: types.EsoSecret = self._call(
            "eso.secret",
            {
                "project": project,
                "env": env,
                "key": key,
            },
        )
        return made

    def secrets(
        self,
        *,
        project: str,
        env: str,
    ) -> types.EsoSecrets:
        """Read all values of an environment.

        For service tokens.

        ``project``: a project's id or slug.
        ``env``: an environment's name or id.
        """
        made: types.EsoSecrets = self._call(
            "eso.secrets",
            {
                "project": project,
                "env": env,
            },
        )
        return made


class FindingOperations:
    """Operations on findings."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def update(
        self,
        *,
        scan: str,
        finding: str,
        status: types.FindingStatus,
        comment: str | None = None,
    ) -> types.Finding:
        """Say what became of a finding.

        For people.

        ``scan``: an id.
        ``finding``: an id.
        ``status``: what it is.
        ``comment``: why: at most 500 characters. What was said before stays where nothing is
            given.
        """
        made: types.Finding = self._call(
            "finding.update",
            {
                "scan": scan,
                "finding": finding,
                "status": status,
                **given("comment", comment),
            },
        )
        return made


class InvitationOperations:
    """Operations on invitations."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def accept(
        self,
        *,
        token: str,
    ) -> types.Team:
        """Accept an invitation.

        For people.

        ``token``: an invitation's token.
        """
        made: types.Team = self._call(
            "invitation.accept",
            {
                "token": token,
            },
        )
        return made

    def list(
        self,
        *,
        team: str,
    ) -> builtins.list[types.Invitation]:
        """List the pending invitations of a team.

        For people.

        ``team``: an id.
        """
        made: builtins.list[types.Invitation] = self._call(
            "invitation.list",
            {
                "team": team,
            },
        )
        return made

    def look_up(
        self,
        *,
        token: str,
    ) -> types.InvitationPublicInfo:
        """See an invitation.

        For people.

        ``token``: an invitation's token.
        """
        made: types.InvitationPublicInfo = self._call(
            "invitation.look_up",
            {
                "token": token,
            },
        )
        return made

    def mine(self) -> builtins.list[types.InvitationPublicInfo]:
        """List one's own pending invitations.

        For people.
        """
        made: builtins.list[types.InvitationPublicInfo] = self._call("invitation.mine", {})
        return made

    def resend(
        self,
        *,
        team: str,
        invitation: str,
    ) -> None:
        """Send an invitation again, with a new token.

        For people.

        ``team``: an id.
        ``invitation``: an id.
        """
        self._call(
            "invitation.resend",
            {
                "team": team,
                "invitation": invitation,
            },
        )

    def revoke(
        self,
        *,
        team: str,
        invitation: str,
    ) -> None:
        """Revoke an invitation.

        For people.

        ``team``: an id.
        ``invitation``: an id.
        """
        self._call(
            "invitation.revoke",
            {
                "team": team,
                "invitation": invitation,
            },
        )


class MemberOperations:
    """Operations on members."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def invite(
        self,
        *,
        team: str,
        email: str,
        role: types.InvitedRole | None = None,
    ) -> types.TeamMember:
        """Invite somebody to a team.

        For people.

        ``team``: an id.
        ``email``: their address: they must prove that it is theirs.
        ``role``: what they are to be; a plain member, where nothing is said.
        """
        made: types.TeamMember = self._call(
            "member.invite",
            {
                "team": team,
                "email": email,
                **given("role", role),
            },
        )
        return made

    def remove(
        self,
        *,
        team: str,
        user: str,
    ) -> None:
        """Remove a member, or leave.

        For people.

        ``team``: an id.
        ``user``: an id.
        """
        self._call(
            "member.remove",
            {
                "team": team,
                "user": user,
            },
        )

    def update(
        self,
        *,
        team: str,
        user: str,
        role: types.Role,
    ) -> types.TeamMember:
        """Give a member another role.

        For people.

        ``team``: an id.
        ``user``: an id.
        ``role``: their new role.
        """
        made: types.TeamMember = self._call(
            "member.update",
            {
                "team": team,
                "user": user,
                "role": role,
            },
        )
        return made


class PermissionOperations:
    """Operations on permissions."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def delete(
        self,
        *,
        project: str,
        environment: str,
        user: str,
    ) -> None:
        """Take back what was said of a member.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``user``: an id.
        """
        self._call(
            "permission.delete",
            {
                "project": project,
                "environment": environment,
                "user": user,
            },
        )

    def list(
        self,
        *,
        project: str,
        environment: str,
    ) -> builtins.list[types.EnvironmentPermission]:
        """List what members may do in an environment.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        """
        made: builtins.list[types.EnvironmentPermission] = self._call(
            "permission.list",
            {
                "project": project,
                "environment": environment,
            },
        )
        return made

    def mine(
        self,
        *,
        project: str,
    ) -> types.MyPermissions:
        """See what one may do in a project.

        For people.

        ``project``: a project's id or slug.
        """
        made: types.MyPermissions = self._call(
            "permission.mine",
            {
                "project": project,
            },
        )
        return made

    def put(
        self,
        *,
        project: str,
        environment: str,
        user: str,
        role: types.MemberAccess,
    ) -> types.EnvironmentPermission:
        """Say what a member may do in an environment.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``user``: an id.
        ``role``: ``none``, ``read``, ``write`` or ``admin``.
        """
        made: types.EnvironmentPermission = self._call(
            "permission.put",
            {
                "project": project,
                "environment": environment,
                "user": user,
                "role": role,
            },
        )
        return made

    def put_all(
        self,
        *,
        project: str,
        environment: str,
        permissions: builtins.list[types.Granted],
    ) -> builtins.list[types.EnvironmentPermission]:
        """Say what several members may do in an environment.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``permissions``: 1 to 100 of them, each person once.
        """
        made: builtins.list[types.EnvironmentPermission] = self._call(
            "permission.put_all",
            {
                "project": project,
                "environment": environment,
                "permissions": permissions,
            },
        )
        return made


class PermissionDefaultsOperations:
    """Operations on what members may do where nothing is said."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def delete(
        self,
        *,
        project: str,
    ) -> None:
        """Take that back.

        For people.

        ``project``: a project's id or slug.
        """
        self._call(
            "permission_defaults.delete",
            {
                "project": project,
            },
        )

    def get(
        self,
        *,
        project: str,
    ) -> types.ProjectPermission:
        """See what members may do where nothing is said.

        For people.

        ``project``: a project's id or slug.
        """
        made: types.ProjectPermission = self._call(
            "permission_defaults.get",
            {
                "project": project,
            },
        )
        return made

    def put(
        self,
        *,
        project: str,
        role: types.MemberAccess,
    ) -> types.ProjectPermission:
        """Say what members may do where nothing is said.

        For people.

        ``project``: a project's id or slug.
        ``role``: ``none``, ``read``, ``write`` or ``admin``.
        """
        made: types.ProjectPermission = self._call(
            "permission_defaults.put",
            {
                "project": project,
                "role": role,
            },
        )
        return made


class ProjectOperations:
    """Operations on projects."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def create(
        self,
        *,
        name: str,
        description: str | None = None,
        slug: str | None = None,
        team_id: str | None = None,
    ) -> types.Project:
        """Create a project with its three environments.

        For people.

        ``name``: what people call it.
        ``description``: what it is for.
        ``slug``: its name in addresses; made from the name where it is not given.
        ``team_id``: whose project; the caller's only team, or their personal one.

        >>> project = session.project.create(name="Web API")
        >>> project["slug"]
        'web-api'
        """
        made: types.Project = self._call(
            "project.create",
            {
                "name": name,
                **given("description", description),
                **given("slug", slug),
                **given("team_id", team_id),
            },
        )
        return made

    def delete(
        self,
        *,
        project: str,
    ) -> None:
        """Delete a project; it can be restored for 30 days.

        For people.

        ``project``: a project's id or slug.
        """
        self._call(
            "project.delete",
            {
                "project": project,
            },
        )

    def get(
        self,
        *,
        project: str,
    ) -> types.ProjectWithEnvironments:
        """See a project and its environments.

        For people and service tokens.

        ``project``: a project's id or slug.
        """
        made: types.ProjectWithEnvironments = self._call(
            "project.get",
            {
                "project": project,
            },
        )
        return made

    def list(self) -> builtins.list[types.Project]:
        """List the projects one can reach.

        For people and service tokens.
        """
        made: builtins.list[types.Project] = self._call("project.list", {})
        return made

    def restore(
        self,
        *,
        project: str,
    ) -> types.Project:
        """Restore a deleted project.

        For people.

        ``project``: a project's id or slug.
        """
        made: types.Project = self._call(
            "project.restore",
            {
                "project": project,
            },
        )
        return made

    def update(
        self,
        *,
        project: str,
        description: str | None = None,
        name: str | None = None,
    ) -> types.Project:
        """Rename a project or describe it.

        For people.

        ``project``: a project's id or slug.
        ``description``: what it is for.
        ``name``: what people call it. Its slug stays, so that addresses do.
        """
        made: types.Project = self._call(
            "project.update",
            {
                "project": project,
                **given("description", description),
                **given("name", name),
            },
        )
        return made


class RotationOperations:
    """Operations on rotations."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def create(
        self,
        *,
        project: str,
        environment: str,
        connection: types.Connection,
        connection_method: types.ConnectionMethod,
        integration_type: types.Integration,
        name: str,
        rotation_interval_days: int,
        permission_level: types.PermissionLevel | None = None,
        proxy: types.ProxyConnection | None = None,
        rotate_immediately: bool | None = None,
        secret_mapping: types.SecretMapping | None = None,
    ) -> types.Rotation:
        """Create a rotation; its database is not dialled.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``connection``: how it is reached.
        ``connection_method``: who dials it.
        ``integration_type``: what kind of database.
        ``name``: its name, unique within the environment.
        ``rotation_interval_days``: how many days lie between rotations, 1 to 365.
        ``permission_level``: what the rotated users may do; ``read_write`` unless it is said.
        ``proxy``: what reaches it, where ``connection_method`` is ``proxied``.
        ``rotate_immediately``: whether it rotates as soon as it is created.
        ``secret_mapping``: under which keys the credential is written, where not under the usual
            ones.
        """
        made: types.Rotation = self._call(
            "rotation.create",
            {
                "project": project,
                "environment": environment,
                "connection": connection,
                "connection_method": connection_method,
                "integration_type": integration_type,
                "name": name,
                "rotation_interval_days": rotation_interval_days,
                **given("permission_level", permission_level),
                **given("proxy", proxy),
                **given("rotate_immediately", rotate_immediately),
                **given("secret_mapping", secret_mapping),
            },
        )
        return made

    def delete(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
        revoke: bool | None = None,
    ) -> None:
        """Delete a rotation; its users and secrets stay, unless they are revoked.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        ``revoke``: true to delete its secrets and shut its users out.
        """
        self._call(
            "rotation.delete",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
                **given("revoke", revoke),
            },
        )

    def get(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
    ) -> types.Rotation:
        """See a rotation.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        """
        made: types.Rotation = self._call(
            "rotation.get",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
            },
        )
        return made

    def history(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
    ) -> builtins.list[types.RotationHistory]:
        """List how the last 200 attempts ended, newest first.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        """
        made: builtins.list[types.RotationHistory] = self._call(
            "rotation.history",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
            },
        )
        return made

    def list(
        self,
        *,
        project: str,
        environment: str,
    ) -> builtins.list[types.Rotation]:
        """List the rotations of an environment, by name.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        """
        made: builtins.list[types.Rotation] = self._call(
            "rotation.list",
            {
                "project": project,
                "environment": environment,
            },
        )
        return made

    def rotate(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
    ) -> types.RotationHistory:
        """Rotate now, and learn how it ended within 45 seconds.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        """
        made: types.RotationHistory = self._call(
            "rotation.rotate",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
            },
        )
        return made

    def test(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
    ) -> types.TestResult:
        """Try the connection of a rotation.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        """
        made: types.TestResult = self._call(
            "rotation.test",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
            },
        )
        return made

    def test_connection(
        self,
        *,
        project: str,
        environment: str,
        connection: types.Connection,
        connection_method: types.ConnectionMethod,
        integration_type: types.Integration,
        proxy: types.ProxyConnection | None = None,
    ) -> types.TestResult:
        """Try a connection without keeping it.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``connection``: how it is reached.
        ``connection_method``: who dials it.
        ``integration_type``: what kind of database.
        ``proxy``: what reaches it, where ``connection_method`` is ``proxied``.
        """
        made: types.TestResult = self._call(
            "rotation.test_connection",
            {
                "project": project,
                "environment": environment,
                "connection": connection,
                "connection_method": connection_method,
                "integration_type": integration_type,
                **given("proxy", proxy),
            },
        )
        return made

    def update(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
        rotation_interval_days: int | None = None,
        status: types.WantedStatus | None = None,
    ) -> types.Rotation:
        """Give a rotation another interval, pause it or let it go on.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        ``rotation_interval_days``: how many days lie between rotations, 1 to 365.
        ``status``: ``paused`` keeps the time that is left; ``active`` goes on, also after an
            error.
        """
        made: types.Rotation = self._call(
            "rotation.update",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
                **given("rotation_interval_days", rotation_interval_days),
                **given("status", status),
            },
        )
        return made


class ScanOperations:
    """Operations on scans."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def create(
        self,
        *,
        source: types.ScanSource,
        content: str | None = None,
        files: builtins.list[types.ScannedFile] | None = None,
        findings: builtins.list[types.SubmittedFinding] | None = None,
        project_id: str | None = None,
        team_id: str | None = None,
    ) -> types.ScanWithFindings:
        """Look for credentials in a text or files.

        For people.

        ``source``: what it is.
        ``content``: a text.
        ``files``: 1 to 1,000 files.
        ``findings``: 1 to 1,000 findings of another scanner.
        ``project_id``: the project it is for, by id or slug: its values alone are compared.
        ``team_id``: whose scan; the project's team, or the caller's only one, or their personal
            one.
        """
        made: types.ScanWithFindings = self._call(
            "scan.create",
            {
                "source": source,
                **given("content", content),
                **given("files", files),
                **given("findings", findings),
                **given("project_id", project_id),
                **given("team_id", team_id),
            },
        )
        return made

    def delete(
        self,
        *,
        scan: str,
    ) -> None:
        """Delete a scan.

        For people.

        ``scan``: an id.
        """
        self._call(
            "scan.delete",
            {
                "scan": scan,
            },
        )

    def get(
        self,
        *,
        scan: str,
    ) -> types.ScanWithFindings:
        """See a scan and what it found.

        For people.

        ``scan``: an id.
        """
        made: types.ScanWithFindings = self._call(
            "scan.get",
            {
                "scan": scan,
            },
        )
        return made

    def list(
        self,
        *,
        team_id: str | None = None,
        project_id: str | None = None,
    ) -> builtins.list[types.Scan]:
        """List scans.

        For people.

        ``team_id``: of this team.
        ``project_id``: of this project.
        """
        made: builtins.list[types.Scan] = self._call(
            "scan.list",
            {
                **given("team_id", team_id),
                **given("project_id", project_id),
            },
        )
        return made


class SecretOperations:
    """Operations on secrets."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def bundle(
        self,
        *,
        project: str,
        environment: str,
        recipients: builtins.list[types.NewRecipient],
        expires_in_seconds: int | None = None,
    ) -> types.SealedBundle:
        """Take along all values an environment sees, in a file that opens without the service.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``recipients``: whom it is for: 1 to 16, of which one raw and one passphrase at most.
        ``expires_in_seconds``: after how many seconds it does not open any more: a minute to a
            year; never, where nothing is said.
        """
        made: types.SealedBundle = self._call(
            "secret.bundle",
            {
                "project": project,
                "environment": environment,
                "recipients": recipients,
                **given("expires_in_seconds", expires_in_seconds),
            },
        )
        return made

    def create(
        self,
        *,
        project: str,
        environment: str,
        key: str,
        description: str | None = None,
        hidden: bool | None = None,
        value: str | None = None,
    ) -> types.Secret:
        """Create a secret.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``key``: its key.
        ``description``: what it is for.
        ``hidden``: ``true`` hides the key in this environment, whatever an ancestor says.
        ``value``: its value, unless it is to hide the key.

        >>> secret = session.secret.create(
        ...     project="shop", environment="staging", key="API_KEY", value="kvc_1")
        >>> secret["version"]
        1
        """
        made: types.Secret = self._call(
            "secret.create",
            {
                "project": project,
                "environment": environment,
                "key": key,
                **given("description", description),
                **given("hidden", hidden),
                **given("value", value),
            },
        )
        return made

    def delete(
        self,
        *,
        project: str,
        environment: str,
        key: str,
        expected_version: int | None = None,
    ) -> None:
        """Delete a secret for good.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``key``: a secret's key.
        ``expected_version``: the version the secret must have.
        """
        self._call(
            "secret.delete",
            {
                "project": project,
                "environment": environment,
                "key": key,
                **given("expected_version", expected_version),
            },
        )

    @overload
    def export(
        self,
        *,
        project: str,
        environment: str,
        format: None = None,
        name: str | None = None,
    ) -> builtins.list[types.SecretWithValue]: ...

    @overload
    def export(
        self,
        *,
        project: str,
        environment: str,
        format: types.Format,
        name: str | None = None,
    ) -> Hidden: ...

    def export(
        self,
        *,
        project: str,
        environment: str,
        format: types.Format | None = None,
        name: str | None = None,
    ) -> builtins.list[types.SecretWithValue] | Hidden:
        """Read all values an environment sees.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``format``: a format; a JSON list where nothing is said.
        ``name``: the name of the Kubernetes Secret.

        >>> for secret in session.secret.export(project="shop", environment="staging"):
        ...     print(secret["key"], secret["value"])
        URL https://shop.example.com
        >>> print(session.secret.export(project="shop", environment="staging", format="json"), end="")
        {
          "URL": "https://shop.example.com"
        }
        """
        made: builtins.list[types.SecretWithValue] | dict[str, Hidden] = self._call(
            "secret.export",
            {
                "project": project,
                "environment": environment,
                **given("format", format),
                **given("name", name),
            },
        )
        return made["text"] if isinstance(made, dict) else made

    def get(
        self,
        *,
        project: str,
        environment: str,
        key: str,
    ) -> types.SecretWithValue:
        """Read a secret.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``key``: a secret's key.

        >>> secret = session.secret.get(project="shop", environment="staging", key="URL")
        >>> secret["value"]
        <hidden>
        >>> print(secret["value"])
        https://shop.example.com
        """
        made: types.SecretWithValue = self._call(
            "secret.get",
            {
                "project": project,
                "environment": environment,
                "key": key,
            },
        )
        return made

    def history(
        self,
        *,
        project: str,
        environment: str,
        key: str,
        values: bool | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> builtins.list[types.SecretVersion]:
        """List the versions a secret has replaced.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``key``: a secret's key.
        ``values``: true to be given values.
        ``before``: versions before this one.
        ``limit``: 1 to 100 versions; 100.
        """
        made: builtins.list[types.SecretVersion] = self._call(
            "secret.history",
            {
                "project": project,
                "environment": environment,
                "key": key,
                **given("values", values),
                **given("before", before),
                **given("limit", limit),
            },
        )
        return made

    def import_(
        self,
        *,
        project: str,
        environment: str,
        secrets: builtins.list[types.SubmittedSecret],
        overwrite: bool | None = None,
    ) -> types.ImportResult:
        """Import up to 100 secrets, or none.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        """
        made: types.ImportResult = self._call(
            "secret.import",
            {
                "project": project,
                "environment": environment,
                "secrets": secrets,
                **given("overwrite", overwrite),
            },
        )
        return made

    def list(
        self,
        *,
        project: str,
        environment: str,
    ) -> builtins.list[types.Secret]:
        """List the secrets an environment sees, without values.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        """
        made: builtins.list[types.Secret] = self._call(
            "secret.list",
            {
                "project": project,
                "environment": environment,
            },
        )
        return made

    def roll_back(
        self,
        *,
        project: str,
        environment: str,
        key: str,
        version: int,
        expected_version: int | None = None,
    ) -> types.Secret:
        """Give a secret the value of an older version.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``key``: a secret's key.
        ``version``: a version that was replaced.
        ``expected_version``: the version the secret must have for the rollback to happen.
        """
        made: types.Secret = self._call(
            "secret.roll_back",
            {
                "project": project,
                "environment": environment,
                "key": key,
                "version": version,
                **given("expected_version", expected_version),
            },
        )
        return made

    def update(
        self,
        *,
        project: str,
        environment: str,
        key: str,
        description: str | None = None,
        expected_version: int | None = None,
        hidden: bool | None = None,
        value: str | None = None,
    ) -> types.Secret:
        """Change a secret; what it held is kept.

        For people and service tokens.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``key``: a secret's key.
        ``description``: what it is for.
        ``expected_version``: the version the secret must have for the change to happen.
        ``hidden``: ``true`` hides the key in this environment and goes without a value; ``false``
            needs one.
        ``value``: a new value; the secret is then no longer hidden.

        >>> secret = session.secret.update(
        ...     project="shop", environment="staging", key="URL", value="https://example.com")
        >>> secret["version"]
        2
        """
        made: types.Secret = self._call(
            "secret.update",
            {
                "project": project,
                "environment": environment,
                "key": key,
                **given("description", description),
                **given("expected_version", expected_version),
                **given("hidden", hidden),
                **given("value", value),
            },
        )
        return made


class TeamOperations:
    """Operations on teams."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def create(
        self,
        *,
        name: str,
    ) -> types.Team:
        """Create a team.

        For people.

        ``name``: what people call it.
        """
        made: types.Team = self._call(
            "team.create",
            {
                "name": name,
            },
        )
        return made

    def get(
        self,
        *,
        team: str,
    ) -> types.TeamWithMembers:
        """See a team and its members.

        For people.

        ``team``: an id.
        """
        made: types.TeamWithMembers = self._call(
            "team.get",
            {
                "team": team,
            },
        )
        return made

    def list(self) -> builtins.list[types.TeamWithMembers]:
        """List one's teams.

        For people.
        """
        made: builtins.list[types.TeamWithMembers] = self._call("team.list", {})
        return made


class TokenOperations:
    """Operations on tokens."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def create(
        self,
        *,
        name: str,
        all_projects: bool | None = None,
        environments: builtins.list[str] | None = None,
        expires_at: str | None = None,
        expires_in_days: int | None = None,
        ip_allowlist: builtins.list[str] | None = None,
        permissions: builtins.list[types.Allowed] | None = None,
        project_ids: builtins.list[str] | None = None,
        scopes: builtins.list[types.Allowed] | None = None,
        team_id: str | None = None,
    ) -> types.ServiceTokenWithToken:
        """Create a service token; it is shown this once.

        For people.

        ``name``: what people call it.
        ``all_projects``: whether it reaches all projects of the team, later ones too.
        ``environments``: the environments it reaches, by id or name; all of its projects where
            they are not given.
        ``expires_at``: when it ends.
        ``expires_in_days``: how many days it lasts.
        ``ip_allowlist``: the networks it may be used from, or single addresses: at most 32; from
            everywhere where none are given.
        ``permissions``: what it may do; read, where nothing is said.
        ``project_ids``: the projects it reaches, by id or slug.
        ``scopes``: another name for ``permissions``.
        ``team_id``: whose token; the caller's only team, or their personal one.

        >>> token = session.token.create(
        ...     name="deploy", all_projects=True, permissions=["read"], expires_in_days=90)
        >>> token["token"].startswith("env_")
        True
        """
        made: types.ServiceTokenWithToken = self._call(
            "token.create",
            {
                "name": name,
                **given("all_projects", all_projects),
                **given("environments", environments),
                **given("expires_at", expires_at),
                **given("expires_in_days", expires_in_days),
                **given("ip_allowlist", ip_allowlist),
                **given("permissions", permissions),
                **given("project_ids", project_ids),
                **given("scopes", scopes),
                **given("team_id", team_id),
            },
        )
        return made

    def delete(
        self,
        *,
        token: str,
    ) -> None:
        """Delete a service token.

        For people.

        ``token``: an id.
        """
        self._call(
            "token.delete",
            {
                "token": token,
            },
        )

    def list(
        self,
        *,
        team_id: str | None = None,
    ) -> builtins.list[types.ServiceToken]:
        """List service tokens.

        For people.

        ``team_id``: of this team.
        """
        made: builtins.list[types.ServiceToken] = self._call(
            "token.list",
            {
                **given("team_id", team_id),
            },
        )
        return made

    def rotate(
        self,
        *,
        token: str,
        grace_period_seconds: int | None = None,
    ) -> types.ServiceTokenWithToken:
        """Give a service token another text; it is shown this once.

        For people.

        ``token``: an id.
        ``grace_period_seconds``: how long the old text is taken as well; it is not, where nothing
            is said.
        """
        made: types.ServiceTokenWithToken = self._call(
            "token.rotate",
            {
                "token": token,
                **given("grace_period_seconds", grace_period_seconds),
            },
        )
        return made


class UsageOperations:
    """Operations on how much of its plan a team uses."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def get(
        self,
        *,
        team: str,
    ) -> types.TeamUse:
        """See how much of the plan is used.

        For people.

        ``team``: an id.
        """
        made: types.TeamUse = self._call(
            "usage.get",
            {
                "team": team,
            },
        )
        return made


class UserOperations:
    """Operations on users."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def me(self) -> types.User | types.TokenSelf:
        """See who one is."""
        made: types.User | types.TokenSelf = self._call("user.me", {})
        return made

    def sync(self) -> types.User:
        """Sign in: make or refresh one's account.

        For people, with an account or without.
        """
        made: types.User = self._call("user.sync", {})
        return made


class WebhookOperations:
    """Operations on webhooks."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def create(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
        events: builtins.list[types.WebhookEvent],
        url: str,
    ) -> types.RotationWebhookWithSecret:
        """Create a webhook; what signs its deliveries is shown this once.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        ``events``: what it is told: at least one event, each once.
        ``url``: where it is.
        """
        made: types.RotationWebhookWithSecret = self._call(
            "webhook.create",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
                "events": events,
                "url": url,
            },
        )
        return made

    def delete(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
        webhook: str,
    ) -> None:
        """Delete a webhook.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        ``webhook``: an id.
        """
        self._call(
            "webhook.delete",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
                "webhook": webhook,
            },
        )

    def deliveries(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
        webhook: str,
    ) -> builtins.list[types.WebhookDelivery]:
        """List what a webhook was told.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        ``webhook``: an id.
        """
        made: builtins.list[types.WebhookDelivery] = self._call(
            "webhook.deliveries",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
                "webhook": webhook,
            },
        )
        return made

    def list(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
    ) -> builtins.list[types.RotationWebhook]:
        """List a rotation's webhooks.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        """
        made: builtins.list[types.RotationWebhook] = self._call(
            "webhook.list",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
            },
        )
        return made

    def redeliver(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
        webhook: str,
        delivery: str,
    ) -> types.WebhookDelivery:
        """Send a webhook again what it was told.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        ``webhook``: an id.
        ``delivery``: an id.
        """
        made: types.WebhookDelivery = self._call(
            "webhook.redeliver",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
                "webhook": webhook,
                "delivery": delivery,
            },
        )
        return made

    def test(
        self,
        *,
        project: str,
        environment: str,
        rotation: str,
        webhook: str,
    ) -> types.WebhookDelivery:
        """Send a webhook a test.

        For people.

        ``project``: a project's id or slug.
        ``environment``: an environment's id or name.
        ``rotation``: a rotation's name.
        ``webhook``: an id.
        """
        made: types.WebhookDelivery = self._call(
            "webhook.test",
            {
                "project": project,
                "environment": environment,
                "rotation": rotation,
                "webhook": webhook,
            },
        )
        return made


class Operations:
    """All operations."""

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self.account = AccountOperations(call)
        self.audit = AuditOperations(call)
        self.billing = BillingOperations(call)
        self.cli_session = CliSessionOperations(call)
        self.device_login = DeviceLoginOperations(call)
        self.environment = EnvironmentOperations(call)
        self.eso = EsoOperations(call)
        self.finding = FindingOperations(call)
        self.invitation = InvitationOperations(call)
        self.member = MemberOperations(call)
        self.permission = PermissionOperations(call)
        self.permission_defaults = PermissionDefaultsOperations(call)
        self.project = ProjectOperations(call)
        self.rotation = RotationOperations(call)
        self.scan = ScanOperations(call)
        self.secret = SecretOperations(call)
        self.team = TeamOperations(call)
        self.token = TokenOperations(call)
        self.usage = UsageOperations(call)
        self.user = UserOperations(call)
        self.webhook = WebhookOperations(call)
