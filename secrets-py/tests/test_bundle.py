"""Tests of bundles, with the golden vectors that the tests in all languages share."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from base64 import b64decode
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import secrets_service as package
from conftest import name, sign_in
from test_vectors import Vector, named, section

BUNDLES = section("bundle.json", "vectors")
KEYS = section("bundle.json", "keys")
VALID = [one for one in BUNDLES if one["valid"]]
REFUSED = [one for one in BUNDLES if not one["valid"]]
KINDS = {"key": "key", "private": "private_key", "public": "public_key", "signer": "signer"}


def data(vector: Vector) -> bytes:
    if "bundle" in vector:
        return b64decode(vector["bundle"])
    return b"".join(part(one) for one in vector["parts"])


def part(one: Any) -> bytes:
    if isinstance(one, str):
        return b64decode(one)
    return data(next(v for v in BUNDLES if v["name"] == one["of"]))[one["from"] : one["to"]]


def arguments(vector: Vector) -> dict[str, Any]:
    kinds = {"key": "key", "private": "private_key", "passphrase": "passphrase"}
    return {
        kinds[vector["unlock"]["type"]]: vector["unlock"]["text"],
        "signer": vector.get("signer"),
        "at_least": vector.get("at_least", 0),
        "now": datetime.fromtimestamp(vector["now"], timezone.utc),
    }


def fields_of(secret: package.BundledSecret) -> dict[str, Any]:
    fields = {name: getattr(secret, name) for name in secret.__dataclass_fields__}
    return {name: field for name, field in fields.items() if field is not None}


def expected(secret: Vector) -> Vector:
    value = secret["value"]
    if isinstance(value, str):
        return secret
    return secret | {"value": value["before"] + value["repeat"] * value["times"]}


@pytest.mark.parametrize("vector", VALID, ids=named)
def test_a_bundle_opens_to_its_contents(vector: Vector, tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    path.write_bytes(data(vector))
    about = vector["about"]

    with path.open("rb") as file:
        for source in (data(vector), path, str(path), file, io.BytesIO(data(vector)), once(path)):
            bundle = package.open_bundle(source, **arguments(vector))

            assert [fields_of(one) for one in bundle] == [expected(one) for one in vector["secrets"]]
            assert (bundle.project, bundle.environment) == (about["project"], about["environment"])
            assert (bundle.seq, bundle.signer) == (about["seq"], about["signer"])
            assert bundle.created_at == about["created"]
            assert bundle.expires_at == about.get("expires")
            bundle.close()


def once(path: Path) -> Any:
    """Returns the content of a file as a pipe, which can be read only once and is not
    seekable."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(path.read_bytes())
            pipe.flush()
            os._exit(0)
    os.close(writing)
    return os.fdopen(reading, "rb")


@pytest.mark.parametrize("vector", REFUSED, ids=named)
def test_any_other_bundle_is_refused_by_kind(vector: Vector) -> None:
    with pytest.raises(package.BundleError) as caught:
        list(package.open_bundle(data(vector), **arguments(vector)))

    assert caught.value.kind == vector["error"]
    assert type(caught.value).__name__ == "Bundle" + vector["error"].title().replace("_", "")


@pytest.mark.parametrize("vector", KEYS, ids=named)
def test_the_text_of_a_key_is_accepted_or_refused(vector: Vector) -> None:
    kind = package.bundle_key_kind(vector["text"])

    assert (kind == KINDS[vector["kind"]]) is vector["valid"]
    if vector["valid"] and vector["kind"] == "private":
        assert package.public_key(vector["text"]) == vector["public"]


def test_the_time_may_be_in_seconds() -> None:
    vector = next(one for one in VALID if one["name"] == "a second before it expires")
    expiry: float = vector["now"] + 1

    for now in (vector["now"], float(vector["now"]), expiry - 0.000_5):
        with package.open_bundle(data(vector), **arguments(vector) | {"now": now}) as bundle:
            assert len(bundle.values()) == len(vector["secrets"])
    for now in (expiry, float(expiry), expiry + 0.000_5):
        with pytest.raises(package.BundleExpired):
            package.open_bundle(data(vector), **arguments(vector) | {"now": now})


def test_values_are_not_shown() -> None:
    vector = next(one for one in VALID if one["name"] == "golden bundle")
    bundle = package.open_bundle(data(vector), **arguments(vector))
    secret = next(bundle)
    remaining = bundle.values()

    assert isinstance(secret.value, package.Hidden)
    assert "kvc_" not in repr(secret) + repr(bundle) + repr(remaining)
    assert any("kvc_" in value for value in [secret.value, *remaining.values()])
    assert set(map(type, remaining.values())) == {package.Hidden}


@pytest.mark.parametrize("argument", ["key", "private_key", "passphrase"])
def test_an_invalid_key_is_named(argument: str) -> None:
    wrong: Any = {argument: "kvc_x"}
    with pytest.raises(package.Invalid) as caught:
        package.open_bundle(b"", **wrong)

    assert [field["field"] for field in caught.value.fields] == [argument]
    assert "kvc_x" not in str(caught.value)


def test_exactly_one_key_or_passphrase_is_required() -> None:
    with pytest.raises(TypeError):
        package.open_bundle(b"")
    with pytest.raises(TypeError):
        package.open_bundle(b"", key="a", passphrase="b")


class Broken(io.BytesIO):
    def read(self, _: int | None = -1) -> bytes:
        raise OSError("the disk is gone")


class Long(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        return bytes((size or 0) + 1)


def test_an_error_of_a_file_is_raised_unchanged() -> None:
    golden = VALID[0]
    with pytest.raises(OSError, match="the disk is gone"):
        package.open_bundle(Broken(data(golden)), **arguments(golden))
    with pytest.raises(OSError, match="more bytes than requested"):
        package.open_bundle(Long(data(golden)), **arguments(golden))
    text: Any = io.StringIO("SCBUNDLE")
    with pytest.raises(OSError, match="binary mode"):
        package.open_bundle(text, **arguments(golden))
    with pytest.raises(FileNotFoundError):
        package.open_bundle("/nowhere/bundle", **arguments(golden))


def test_a_bundle_is_iterated_once_and_closed() -> None:
    golden = VALID[0]
    bundle = package.open_bundle(data(golden), **arguments(golden))

    assert len(list(bundle)) == len(golden["secrets"])
    assert list(bundle) == []
    bundle.close()
    assert list(bundle) == []


COUNT = """
import resource, sys
from secrets_service import open_bundle
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = most()
with open(sys.argv[1], "rb") as file:
    for source in (sys.argv[1], file):
        bundle = open_bundle(source, key=sys.argv[2])
        print(sum(len(secret.value) for secret in bundle))
print(most() - before)
"""


def test_a_large_bundle_takes_little_memory(embedded: package.Service, tmp_path: Path) -> None:
    session = sign_in(embedded, name())
    slug = session.project.create(name="Large")["slug"]
    value = "kvc_" * 16_384
    for hundred in range(2):
        session.secret.import_(
            project=slug,
            environment="staging",
            secrets=[{"key": f"K{hundred}_{number:02}", "value": value} for number in range(100)],
        )
    made = session.secret.bundle(project=slug, environment="staging", recipients=[{"type": "raw"}])
    path = tmp_path / "large.scb"
    path.write_bytes(b64decode(made["bundle"]))
    assert path.stat().st_size > 12 * 1024 * 1024

    done = subprocess.run(
        [sys.executable, "-c", COUNT, path, made["key"]], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    *counted, kibibytes = (int(line) for line in done.stdout.split())
    assert counted == [200 * len(value)] * 2
    assert kibibytes < 8 * 1024
