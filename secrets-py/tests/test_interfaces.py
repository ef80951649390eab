"""Tests of using the package with pydantic and PyYAML, and of arguments of the wrong type."""

from __future__ import annotations

import json
import logging
import random
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest
import secrets_service as package
import yaml
from conftest import name, sign_in
from pydantic import BaseModel, TypeAdapter, ValidationError
from secrets_service import Client, Hidden, Service, types
from servers import JSON, Host


# List that contains itself.
RECURSIVE: list[Any] = []
RECURSIVE.append(RECURSIVE)


class Settings(BaseModel):
    password: Hidden


def test_pydantic_accepts_a_hidden_value_and_hides_it() -> None:
    made = Settings.model_validate({"password": "kvc_1"})

    assert type(made.password) is Hidden
    assert "kvc_" not in repr(made) + repr(made.model_dump())
    assert json.loads(made.model_dump_json()) == {"password": "kvc_1"}
    assert Settings.model_json_schema()["properties"]["password"]["type"] == "string"
    with pytest.raises(ValidationError):
        Settings.model_validate({"password": 5})


def test_pydantic_validates_results(session: Any, shop: str) -> None:
    secret = session.secret.get(project=shop, environment="staging", key="URL")

    made = TypeAdapter(types.SecretWithValue).validate_python(secret)

    assert made["value"] == "kvc_url"
    assert repr(made["value"]) == "<hidden>"


def test_yaml_takes_the_plain_string() -> None:
    assert yaml.safe_dump({"A": str(Hidden("kvc_1"))}) == "A: kvc_1\n"


def test_times_are_accepted(session: Any) -> None:
    later = datetime.now(timezone.utc) + timedelta(days=3)
    zone = timezone(timedelta(hours=5))

    token = session.token.create(name="t", all_projects=True, expires_at=later.astimezone(zone))
    entries = session.audit.list(from_=later - timedelta(days=6), to=later)["logs"]
    none = session.audit.list(from_=later - timedelta(days=20), to=later - timedelta(days=10))

    found = datetime.fromisoformat(token["expires_at"].replace("Z", "+00:00"))
    assert abs(found - later) < timedelta(seconds=1)
    assert entries and not none["logs"]
    with pytest.raises(ValueError, match="time zone"):
        session.token.create(name="t", all_projects=True, expires_at=datetime(2030, 1, 1))


class Key(str, Enum):
    URL = "URL"


def test_values_are_converted_as_json_does(session: Any, shop: str) -> None:
    at = {"project": shop, "environment": "staging"}
    number: Any = True

    assert session.secret.get(**at, key=Key.URL)["value"] == "kvc_url"
    assert session.secret.get(**at, key=Hidden("URL"))["version"] == 1
    imported = session.secret.import_(**at, secrets=({"key": "A", "value": "kvc_é😀"},))
    assert imported["created"] == 1
    assert session.secret.get(**at, key="A")["value"] == "kvc_é😀"
    with pytest.raises(package.Invalid):
        session.secret.update(**at, key="A", value="kvc_2", expected_version=number)
    with pytest.raises(package.Stale):
        session.secret.update(**at, key="A", value="kvc_2", expected_version=2)


def nested(levels: int) -> Any:
    value: Any = "kvc_1"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        "kvc_\ud800",
        {"kvc_\ud800": 1},
        float("nan"),
        float("inf"),
        10**400,
        nested(200),
        nested(5000),
        RECURSIVE,
    ],
    ids=["surrogate", "name", "nan", "infinity", "digits", "nested", "deep", "recursive"],
)
def test_a_value_that_is_not_json_is_refused(embedded: Service, value: Any) -> None:
    session = sign_in(embedded, name())

    with pytest.raises(package.Invalid) as caught:
        session.call("project.get", {"project": value})

    assert [field["field"] for field in caught.value.fields] == ["body"]
    assert "kvc_" not in str(caught.value)


@pytest.mark.parametrize("value", [b"kvc_1", {1: "kvc_1"}, {"kvc_1"}, object()], ids=lambda one: type(one).__name__)
def test_a_value_of_another_type_is_a_type_error(embedded: Service, value: Any) -> None:
    session = sign_in(embedded, name())

    with pytest.raises(TypeError) as caught:
        session.call("project.get", {"project": value})

    assert "kvc_" not in str(caught.value)


@pytest.mark.parametrize("value", [2**63, -(2**70), 0.5, nested(100), None, ["a"]], ids=lambda one: type(one).__name__)
def test_a_value_of_json_is_judged_by_the_operation(embedded: Service, value: Any) -> None:
    session = sign_in(embedded, name())

    with pytest.raises(package.Invalid) as caught:
        session.call("project.get", {"project": value})

    assert [field["field"] for field in caught.value.fields] == ["project"]


def test_retries_are_logged_without_values(
    host: Host,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    waits: list[float],
) -> None:
    monkeypatch.setattr(random, "uniform", lambda least, most: (least + most) / 2)
    caplog.set_level(logging.INFO, "secrets_service")
    host.answers = [
        (429, JSON | {"Retry-After": "0"}, b'{"error": "no", "code": "rate_limited"}'),
        (200, JSON, b'{"secret": {}}'),
    ]

    Client(host.url).secret.update(project="p", environment="e", key="K", value="kvc_1")

    assert caplog.messages == ["secret.update: status 429, retry in 0.1 s"]
    assert waits == [0.125]


def test_the_version_is_named(host: Host) -> None:
    host.answers = [(200, JSON, b'{"projects": []}')]

    Client(host.url).project.list()

    assert isinstance(package.__version__, str)
    agent = host.asked[0][3]["User-Agent"]
    assert agent == f"secrets-service-python/{package.__version__}"


def test_errors_have_public_names() -> None:
    for one in (package.NotFound, package.BundleStale, package.NotStarted, package.Session):
        assert one.__module__ == "secrets_service"


URL = "http://127.0.0.1"


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("url", {"url": 5}),
        ("url", {"url": b"http://127.0.0.1"}),
        ("token", {"url": URL, "token": b"kvc_1"}),
        ("context", {"url": URL, "context": "ca.pem"}),
        ("timeout", {"url": URL, "timeout": "5"}),
        ("deadline", {"url": URL, "deadline": None}),
        ("patience", {"url": URL, "patience": True}),
        ("proxy", {"url": URL, "proxy": 5}),
    ],
)
def test_an_argument_of_the_wrong_type_is_named(argument: str, given: Any) -> None:
    with pytest.raises(TypeError, match=f"^{argument}: must be "):
        Client(**given)


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("token", {"token": "kvc_1\n"}),
        ("timeout", {"timeout": 0}),
        ("deadline", {"deadline": -1}),
        ("deadline", {"deadline": float("nan")}),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(argument: str, given: Any) -> None:
    with pytest.raises(ValueError, match=f"^{argument}: ") as caught:
        Client(URL, **given)
    assert "kvc_" not in str(caught.value)


def test_a_root_key_of_the_wrong_type_is_named() -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match="^root_key: "):
        Service.open("memory:", root_key=wrong)
    with Service.open("memory:", root_key=bytearray(32)) as service:
        assert sign_in(service, name()).project.list() == []


@pytest.mark.parametrize(
    ("now", "error"),
    [
        (datetime(2030, 1, 1), ValueError),
        (float("nan"), ValueError),
        (float("-inf"), ValueError),
        (1e13, ValueError),
        ("2030-01-01", TypeError),
    ],
    ids=str,
)
def test_a_time_that_cannot_be_used_is_named(now: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="^now: "):
        package.open_bundle(b"", key="scbk_", now=now)
    with pytest.raises(error, match="^now: "):
        package.verify_webhook({}, b"", "whsec_", now=now)
