"""Tests of the installed package with the golden vectors in tests/vectors."""

import json
from pathlib import Path
from typing import Any

import pytest
import secrets_service

Vector = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "tests" / "vectors"


def section(file: str, name: str) -> list[Vector]:
    """Returns the vectors of a section of a file. Fails if the section is empty."""
    vectors: list[Vector] = json.loads((FOLDER / file).read_text())[name]
    assert vectors, f"{file}: {name} is empty"
    return vectors


def named(vector: Vector) -> str:
    return str(vector["name"])


RECORDS = section("record.json", "vectors")
TOKENS = section("token.json", "vectors")
GOLDEN = RECORDS[0]


def open_record(vector: Vector, **changes: object) -> str:
    assert vector["flags"] in (0, 1), "a flag that no record has"
    arguments = {
        "record": bytes.fromhex(vector["record"]),
        "key": bytes.fromhex(vector["dek"]),
        "key_version": vector["dek_ver"],
        "purpose": vector["purpose"],
        "hidden": vector["flags"] == 1,
        "instance": vector["instance_id"],
        "project": vector["project_id"],
        "environment": vector["environment_id"],
        "object": vector["object_id"],
        "key_name": vector["key_name"],
        "version": int(vector["version"]),
    } | changes
    return secrets_service.open_record(arguments.pop("record"), **arguments)


def value(vector: Vector) -> str:
    text = vector["value"]
    return text if isinstance(text, str) else text["repeat"] * text["times"]


@pytest.mark.parametrize("vector", [v for v in RECORDS if v["valid"]], ids=named)
def test_a_valid_record_opens_to_its_value(vector: Vector) -> None:
    assert open_record(vector) == value(vector)


@pytest.mark.parametrize("vector", [v for v in RECORDS if not v["valid"]], ids=named)
def test_any_other_record_is_refused(vector: Vector) -> None:
    with pytest.raises(secrets_service.Undecryptable):
        open_record(vector)


@pytest.mark.parametrize("vector", [v for v in TOKENS if v["valid"]], ids=named)
def test_a_token_is_plausible(vector: Vector) -> None:
    assert secrets_service.is_plausible_token(vector["token"])


@pytest.mark.parametrize("vector", [v for v in TOKENS if not v["valid"]], ids=named)
def test_an_invalid_token_is_implausible_except_for_its_length(vector: Vector) -> None:
    looked_up = vector["reason"] == "length"
    assert secrets_service.is_plausible_token(vector["token"]) is looked_up


def test_no_environment_is_the_same_as_the_nil_one() -> None:
    vector = next(v for v in RECORDS if v["valid"] and v["environment_id"].strip("0-") == "")
    assert open_record(vector, environment=None) == value(vector)


@pytest.mark.parametrize(
    "changes",
    [
        {"key": bytes(31)},
        {"purpose": 0},
        {"purpose": 9},
        {"project": "production"},
        {"environment": ""},
        {"key_name": "K" * 256},
        {"version": -1},
        {"version": 1 << 64},
    ],
    ids=str,
)
def test_an_invalid_argument_is_named(changes: dict[str, object]) -> None:
    with pytest.raises((ValueError, OverflowError)):
        open_record(GOLDEN, **changes)


def test_an_error_contains_neither_key_nor_value() -> None:
    with pytest.raises(secrets_service.Undecryptable) as caught:
        open_record(GOLDEN, version=6)
    assert str(caught.value) == "decryption failed"


# Vectors of internal formats, read only by the Rust tests and by the reference implementation.
OF_THE_CORE = {"proxy.json", "wrapped.json", "xaes.json"}

# Vector files that this file, test_bundle.py and test_offline.py read. The padding of records is
# internal.
READ = {
    "bundle.json": {"keys", "vectors"},
    "formats.json": {"read", "write"},
    "record.json": {"padding", "vectors"},
    "scan.json": {"vectors"},
    "token.json": {"vectors"},
    "webhook.json": {"vectors"},
}


def test_every_section_of_vectors_is_read() -> None:
    paths = [path for path in FOLDER.glob("*.json") if path.name not in OF_THE_CORE]
    assert {path.name: set(json.loads(path.read_text())) for path in paths} == READ
