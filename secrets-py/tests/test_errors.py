"""Tests that an error raises the same exception class with an embedded service and over HTTP."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
import secrets_service as package
from conftest import client, name, sign_in
from program import jwt
from secrets_service import Client, SecretsError, Service, Session, _errors
from secrets_service._plain import MAX_MESSAGE, MAX_NAME, plain
from servers import RefusingDatabase

Sessions = Session | Client


def test_a_rule_is_named_by_field(session: Sessions, shop: str) -> None:
    with pytest.raises(package.Invalid) as caught:
        session.secret.create(project=shop, environment="staging", key="1", value="kvc_value")

    assert caught.value.code == "invalid_key"
    assert [field["field"] for field in caught.value.fields] == ["key"]
    assert "kvc_value" not in str(caught.value) + repr(caught.value)


def test_a_rule_about_stored_data_names_no_field(session: Sessions, shop: str) -> None:
    session.environment.create(project=shop, name="qa", inherits_from="staging")

    with pytest.raises(package.Refused) as caught:
        session.environment.update(project=shop, environment="staging", inherits_from="qa")

    assert caught.value.code == "circular_inheritance"
    assert caught.value.fields == []


def test_a_second_secret_of_the_same_key(session: Sessions, shop: str) -> None:
    with pytest.raises(package.Conflict):
        session.secret.create(project=shop, environment="staging", key="URL", value="kvc_2")


def test_another_version_than_expected(session: Sessions, shop: str) -> None:
    with pytest.raises(package.Stale) as caught:
        session.secret.update(
            project=shop, environment="staging", key="URL", value="kvc_2", expected_version=7
        )

    assert caught.value.code == "version_conflict"


def test_an_argument_of_another_type(session: Sessions, shop: str) -> None:
    wrong: Any = 7
    with pytest.raises(package.Invalid):
        session.secret.get(project=wrong, environment="staging", key="URL")
    with pytest.raises(package.Invalid):
        session.secret.create(project=shop, environment="staging", key="A", value=wrong)


def test_a_service_token_cannot_list_teams(embedded: Service, program: Any) -> None:
    for alice in (sign_in(embedded, name()), client(program, name())):
        token = alice.token.create(name="t", all_projects=True)["token"]
        is_here = isinstance(alice, Session)
        machine = embedded.as_token(token) if is_here else Client(program.url, token=token)
        with pytest.raises(package.Forbidden):
            machine.team.list()


@pytest.mark.parametrize("token", ["env_" + "a" * 49, "not a token"])
def test_an_invalid_credential_is_refused(embedded: Service, program: Any, token: str) -> None:
    for session in (embedded.as_token(token), Client(program.url, token=token)):
        with pytest.raises(package.Unauthenticated):
            session.user.me()


def test_a_user_who_never_signed_in_gets_an_error_that_says_so(program: Any) -> None:
    newcomer = Client(program.url, token=jwt(name()))

    with pytest.raises(package.Unauthenticated, match="sync"):
        newcomer.project.list()


def test_every_kind_has_a_class() -> None:
    body = b'{"error": "no", "code": "x"}'

    for kind, error in _errors.KINDS.items():
        made = _errors.of_answer(kind, body, 3)
        assert type(made) is error
        assert made.kind == kind
        assert (str(made), made.code) == ("no", "x")


def test_a_limit_of_a_plan_says_which() -> None:
    body = '{"error": "no", "code": "y", "resource": "members", "plan": "free", "limit": 3, "current": 3}'

    error = _errors.of_answer("plan_limit", body, None)

    assert isinstance(error, package.PlanLimit)
    assert (error.resource, error.plan, error.limit, error.current) == ("members", "free", 3, 3)


@pytest.mark.parametrize(
    "controls",
    [
        *("\0", "\n", "\x1b", "\x1f", "\x7f", "\x80", "\x9f", "\u061c", "\u200e", "\u200f"),
        *("\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069", "\r\n", "\x1b\u202e"),
    ],
    ids=ascii,
)
def test_control_characters_are_replaced_by_one_space(controls: str) -> None:
    assert plain(f"a{controls}b", 9) == "a b"


def test_other_characters_of_a_text_remain() -> None:
    text = " a~\xa0é\u200d\u2027\u202f\u2065\u206a\U0001f511"

    assert plain(text, 99) == text
    assert plain(text, 3) == " a~"


def test_texts_of_an_error_response_are_plain() -> None:
    text = "\x1b[2J" + "é" * 2000
    field = {"field": text, "message": text, "index": 3, "key": text}
    body = {"error": text, "code": text, "details": {"fields": [field, text]}}
    limit = {"resource": text, "plan": text, "limit": text, "current": 3}

    error = _errors.of_answer("plan_limit", json.dumps(body | limit), None)

    message, short = f" [2J{'é' * (MAX_MESSAGE - 4)}", f" [2J{'é' * (MAX_NAME - 4)}"
    assert isinstance(error, package.PlanLimit)
    assert (str(error), error.code) == (message, short)
    assert (error.resource, error.plan, error.limit, error.current) == (short, short, 0, 3)
    assert error.fields == [{"field": message, "message": message, "index": 3, "key": message}]


@pytest.mark.parametrize("copied", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_travels_between_processes(copied: Any) -> None:
    body = '{"error": "no", "code": "x", "details": {"fields": [{"field": "a", "message": "b"}]}}'
    for error in (_errors.of_answer("rate_limited", body, 9), package.UnprovenDelivery("stale", "no")):
        other = copied(error)
        assert (type(other), str(other), other.__dict__) == (type(error), str(error), error.__dict__)


def test_all_are_errors_of_the_package() -> None:
    for error in (*_errors.KINDS.values(), *_errors.BUNDLE_KINDS.values(), package.NotStarted):
        assert issubclass(error, SecretsError)
        assert error.__name__ in package.__all__


@pytest.mark.parametrize(
    ("url", "root_key"),
    [
        ("", bytes(32)),
        ("mysql://localhost/x", bytes(32)),
        ("sqlite://", bytes(32)),
        ("sqlite:///tmp/x.db?mode=ro", bytes(32)),
        ("sqlite:///tmp/x.db", None),
        ("memory:", bytes(31)),
        ("memory:", "AAAA"),
        ("memory:", "not base64!"),
        ("memory:", "é" * 44),
    ],
)
def test_an_invalid_argument_of_open_is_named(url: str, root_key: Any) -> None:
    with pytest.raises(ValueError, match=r"^(url|root_key): "):
        Service.open(url, root_key=root_key)


def test_a_wrong_entry_of_the_egress_is_named() -> None:
    with pytest.raises(ValueError, match=r"^allow_egress: "):
        Service.open("memory:", allow_egress=["169.254.169.254"])


def test_another_root_key_does_not_open(tmp_path: Any) -> None:
    url = f"sqlite://{tmp_path}/secrets.db"
    Service.open(url, root_key=bytes(32)).close()

    with pytest.raises(package.NotStarted):
        Service.open(url, root_key=bytes(31) + b"\1")


@pytest.mark.parametrize(
    ("code", "shown"), [("28P01", "28P01"), ("kvc_code of \x1b[2J a server", "unknown")]
)
def test_a_text_of_the_database_server_is_not_shown(code: str, shown: str) -> None:
    refusing = RefusingDatabase(code, "kvc_password \x1b[2J")
    with refusing as database, pytest.raises(package.NotStarted) as caught:
        Service.open(database.url, root_key=bytes(32))

    reason = f"cannot open the database: the database returned error {shown}"
    assert str(caught.value) == f"the store failed: {reason}"
    assert "kvc_" not in repr(caught.value)


def test_a_closed_service_says_so(tmp_path: Any) -> None:
    service = Service.open("memory:")
    session = service.sign_in(issuer="here", subject="1", email="a@example.com")
    service.close()
    service.close()

    with pytest.raises(ValueError, match="closed"):
        session.user.me()


def test_half_a_character_is_refused_alike(session: Sessions, shop: str) -> None:
    with pytest.raises(package.Invalid):
        session.secret.create(project=shop, environment="staging", key="HALF", value="\ud800")
