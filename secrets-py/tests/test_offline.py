"""Tests of the functions that need no service, with the golden vectors that the tests in all
languages share."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import secrets_service as package
from test_vectors import Vector, named, section

READ = section("formats.json", "read")
WRITE = section("formats.json", "write")
SCANS = section("scan.json", "vectors")
DELIVERIES = section("webhook.json", "vectors")


def refusal(error: package.SecretsError) -> dict[str, Any]:
    fields = [{k: v for k, v in field.items() if k != "index"} for field in error.fields]
    return {"kind": error.kind, "fields": fields}


@pytest.mark.parametrize("vector", READ, ids=named)
def test_a_text_is_read_correctly_or_refused_by_rule(vector: Vector) -> None:
    try:
        read = package.parse(vector["text"], vector["format"])
    except package.Invalid as error:
        assert refusal(error) == vector["error"]
        return
    assert read == {one["key"]: one["value"] for one in vector["secrets"]}
    assert list(read) == list(dict.fromkeys(one["key"] for one in vector["secrets"]))


@pytest.mark.parametrize("vector", WRITE, ids=named)
def test_a_text_is_written_for_its_readers_or_refused_by_rule(vector: Vector) -> None:
    secrets = {one["key"]: one["value"] for one in vector["secrets"]}
    assert len(secrets) == len(vector["secrets"])
    try:
        written = package.render(secrets, vector["format"], name=vector["name_of_object"])
    except package.Invalid as error:
        assert refusal(error) == vector["error"]
        return
    assert written == vector["text"]


@pytest.mark.parametrize("vector", SCANS, ids=named)
def test_a_scan_returns_positions(vector: Vector) -> None:
    found = package.scan(vector["text"].replace("¦", ""), path=vector["path"])
    assert found == [{"path": vector["path"], **one} for one in vector["found"]]


@pytest.mark.parametrize("vector", DELIVERIES, ids=named)
def test_a_delivery_is_accepted_or_refused_by_kind(vector: Vector) -> None:
    headers = {f"Webhook-{name}": vector[name.lower()] for name in ("Id", "Timestamp", "Signature")}
    try:
        package.verify_webhook(
            headers, vector["body"].encode(), vector["secret"], now=vector["now"]
        )
        reason = ""
    except package.UnprovenDelivery as error:
        reason = error.code
    except package.Invalid as error:
        reason = error.kind
    assert reason == vector.get("reason", "")
    assert (reason == "") is vector["valid"]


def test_a_delivery_is_verified_at_the_current_time_by_default() -> None:
    vector = next(one for one in DELIVERIES if one["valid"])
    headers = {f"webhook-{name}": vector[name] for name in ("id", "timestamp", "signature")}

    with pytest.raises(package.UnprovenDelivery) as caught:
        package.verify_webhook(headers, vector["body"].encode(), vector["secret"])

    assert caught.value.code == "stale"
    assert time.time() > vector["now"] + 300


def test_a_delivery_without_headers_proves_nothing() -> None:
    vector = DELIVERIES[0]
    with pytest.raises(package.UnprovenDelivery) as caught:
        package.verify_webhook({}, b"", vector["secret"])
    assert caught.value.code == "malformed"


def test_a_long_text_is_scanned_like_a_short_text() -> None:
    line = "TOKEN=ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
    # The text is longer than those that the calling thread scans itself.
    long = "nothing\n" * 40_000 + line

    [one] = package.scan(line, path="a.txt")

    assert package.scan(long, path="a.txt") == [{**one, "line": 40_001}]


def test_files_are_scanned(tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
    text, bytes_ = tmp_path / "a.txt", tmp_path / "b.bin"
    text.write_text(f"\n\nTOKEN={token}\n")
    bytes_.write_bytes(b"\xff\xfe" + token.encode())

    found = package.scan_files([text, bytes_])

    assert [(one["path"], one["line"]) for one in found] == [(str(text), 3), (str(bytes_), 1)]
    assert token not in json.dumps(found)


def test_a_path_that_is_not_utf_8_is_reported_unchanged() -> None:
    # Python decodes the file name b"\xff.txt" to this string.
    path = "\udcff.txt"
    token = "TOKEN=ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"

    for text in (token, f"{token}\n" + "nothing\n" * 40_000):
        [one] = package.scan(text, path=path)
        assert (one["path"], one["line"]) == (path, 1)


def test_values_that_are_read_are_not_shown() -> None:
    assert repr(package.parse("A=kvc_1", "dotenv")) == "{'A': <hidden>}"
    assert repr(package.render({"A": "kvc_1"}, "json")) == "<hidden>"


@pytest.mark.parametrize("value", [None, 5, b"kvc_1"])
def test_only_strings_are_rendered(value: Any) -> None:
    with pytest.raises(TypeError) as caught:
        package.render({"A": "1", "B": value}, "dotenv")
    assert str(caught.value) == "secrets: the value of 'B' must be a string"


def test_an_unknown_format_is_named() -> None:
    wrong: Any = "toml"
    for work in (lambda: package.parse("", wrong), lambda: package.render({}, wrong)):
        with pytest.raises(package.Invalid) as caught:
            work()
        assert [field["field"] for field in caught.value.fields] == ["format"]

