"""Tests of operations with the embedded service and over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
import secrets_service
from conftest import client, name, sign_in
from secrets_service import UNSET, Client, Hidden, Service, Session

Sessions = Session | Client


def test_a_secret_is_kept_and_read(session: Sessions, shop: str) -> None:
    secret = session.secret.get(project=shop, environment="staging", key="URL")

    assert secret["value"] == "kvc_url"
    assert secret["version"] == 1


def test_a_value_is_not_shown(session: Sessions, shop: str) -> None:
    secret = session.secret.get(project=shop, environment="staging", key="URL")

    assert isinstance(secret["value"], Hidden)
    assert "kvc_url" not in repr(secret)
    assert "kvc_url" not in repr(session.secret.export(project=shop, environment="staging"))
    history = session.secret.history(project=shop, environment="staging", key="URL", values=True)
    assert "kvc_url" not in repr(history)


def test_a_token_is_not_shown(session: Sessions) -> None:
    token = session.token.create(name="deploy", all_projects=True)

    assert token["token"].startswith("env_")
    assert token["token"] not in repr(token)


def test_an_export_is_a_list_or_a_text(session: Sessions, shop: str) -> None:
    listed = session.secret.export(project=shop, environment="staging")
    written = session.secret.export(project=shop, environment="staging", format="dotenv")
    json = session.secret.export(project=shop, environment="staging", format="json")

    assert [(one["key"], one["value"]) for one in listed] == [("URL", "kvc_url")]
    assert written == "URL='kvc_url'\n" or written == "URL=kvc_url\n"
    assert json == '{\n  "URL": "kvc_url"\n}\n'
    assert repr(written) == repr(json) == "<hidden>"


def test_a_deletion_returns_none(session: Sessions, shop: str) -> None:
    assert session.secret.delete(project=shop, environment="staging", key="URL") is None

    with pytest.raises(secrets_service.NotFound):
        session.secret.get(project=shop, environment="staging", key="URL")


def test_a_list_is_without_its_envelope(session: Sessions, shop: str) -> None:
    assert [one["slug"] for one in session.project.list()] == [shop]
    assert [one["key"] for one in session.secret.list(project=shop, environment="staging")] == ["URL"]
    assert session.scan.list() == []


def test_none_clears_a_field_and_unset_keeps_it(session: Sessions, shop: str) -> None:
    session.environment.create(project=shop, name="qa", inherits_from="staging")

    kept = session.environment.update(
        project=shop, environment="qa", description="for tests", inherits_from=UNSET
    )
    assert kept.get("inherits_from") is not None
    freed = session.environment.update(project=shop, environment="qa", inherits_from=None)
    assert freed.get("inherits_from") is None


def test_a_name_that_is_a_word_of_python_ends_in_an_underscore(session: Sessions, shop: str) -> None:
    imported = session.secret.import_(
        project=shop,
        environment="staging",
        secrets=[{"key": "A", "value": "kvc_a"}, {"key": "B", "value": "kvc_b"}],
    )

    assert imported["created"] == 2
    assert session.audit.list(from_="2026-01-01T00:00:00Z")["logs"] is not None


def test_the_log_of_a_team_is_read(session: Sessions, shop: str) -> None:
    team = session.project.get(project=shop)["team_id"]

    page = session.audit.list(team_id=team, action="secret.created", limit=5)

    assert [entry["resource_name"] for entry in page["logs"]] == ["URL"]


def test_an_archive_is_bytes(session: Sessions, shop: str) -> None:
    archive = session.account.export_secrets(
        include_secrets=True, passphrase="correct horse battery staple"
    )

    assert archive.startswith(b"SCEXPORT")


def test_a_scan_is_kept(session: Sessions) -> None:
    token = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"

    scan = session.scan.create(source={"type": "text"}, content=f"token = {token}")

    assert [one["rule_id"] for one in scan["findings"]] == ["github-personal-access-token"]
    finding = scan["findings"][0]["id"]
    changed = session.finding.update(scan=scan["id"], finding=finding, status="resolved")
    assert changed["status"] == "resolved"


def test_refusals_of_a_login_are_results_of_polling(session: Sessions) -> None:
    login = session.device_login.start(client_id="cli")
    grant = "urn:ietf:params:oauth:grant-type:device_code"

    result = session.call(
        "device_login.poll",
        {"grant_type": grant, "device_code": login["device_code"], "client_id": "cli"},
    )

    assert result["error"] == "authorization_pending"


def test_an_unknown_operation_is_not_found(session: Sessions) -> None:
    with pytest.raises(secrets_service.NotFound):
        session.call("secret.guess", {})


def test_values_for_external_secrets_operator_are_not_shown(embedded: Service, program: Any) -> None:
    people = sign_in(embedded, name()), client(program, name())
    for alice in people:
        slug = alice.project.create(name="Shop")["slug"]
        alice.secret.create(project=slug, environment="staging", key="URL", value="kvc_url")
        token = alice.token.create(name="t", all_projects=True)["token"]
        is_here = isinstance(alice, Session)
        machine = embedded.as_token(token) if is_here else Client(program.url, token=token)

        secrets = machine.eso.secrets(project=slug, env="staging")

        assert secrets == {"secrets": {"URL": "kvc_url"}}
        assert "kvc_url" not in repr(secrets)


def test_a_token_that_is_deleted_stops_working(embedded: Service) -> None:
    alice = sign_in(embedded, name())
    made = alice.token.create(name="deploy", all_projects=True)
    machine = embedded.as_token(made["token"])
    assert machine.user.me()["auth_type"] == "service_token"

    alice.token.delete(token=made["id"])

    with pytest.raises(secrets_service.Unauthenticated):
        machine.user.me()


def test_a_token_for_some_addresses_needs_one(embedded: Service) -> None:
    made = sign_in(embedded, name()).token.create(
        name="deploy", all_projects=True, ip_allowlist=["10.0.0.0/8"]
    )

    assert embedded.as_token(made["token"], address="10.1.2.3").project.list() == []
    with pytest.raises(secrets_service.AddressNotAllowed):
        embedded.as_token(made["token"]).project.list()


def test_two_users_do_not_see_each_others_data(embedded: Service, program: Any) -> None:
    for alice, bob in (
        (sign_in(embedded, name()), sign_in(embedded, name())),
        (client(program, name()), client(program, name())),
    ):
        slug = alice.project.create(name="Mine")["slug"]
        with pytest.raises(secrets_service.Forbidden):
            bob.project.get(project=slug)
