"""Tests of the Dockerfile and of the Docker Compose file."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import known
import yaml
from program import ROOT

BIN = Path(sys.executable).parent
DOCKERFILE = known.DEPLOY / "Dockerfile"
COMPOSE = known.DEPLOY / "compose.yaml"

# Variable that is not secret, although its name looks like the name of a secret.
PUBLIC = {"SECRETS_PUBLIC_URL"}


def run(*command: str | Path) -> None:
    """Runs a command, which must succeed. The message of a failed test contains the output."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout


def service(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"][name]
    return found


def test_the_dockerfile_passes_the_linter() -> None:
    run(BIN / "hadolint", DOCKERFILE)


def test_the_health_check_of_the_image_is_a_valid_script() -> None:
    run("bash", "-n", known.DEPLOY / "live")


def test_the_image_is_built_with_the_oldest_rust_that_is_supported() -> None:
    (version,) = re.findall(r"^FROM rust:([0-9.]+)-slim-", DOCKERFILE.read_text(), re.MULTILINE)

    assert version == known.workspace()["package"]["rust-version"]


def test_the_build_gets_every_package_and_nothing_private() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}

    assert "*" in lines
    assert allowed == {*known.workspace()["members"], "Cargo.toml", "Cargo.lock", "deploy/live"}


def test_the_compose_file_matches_the_schema_of_compose() -> None:
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)


def test_the_compose_file_has_the_version_of_the_program() -> None:
    version = known.workspace()["package"]["version"]

    assert service("secrets")["image"] == f"secrets:{version}"


def test_the_compose_file_contains_no_secret() -> None:
    compose = yaml.safe_load(COMPOSE.read_text())

    assert all(secret.keys() == {"file"} for secret in compose["secrets"].values())
    for name in compose["services"]:
        secrets, variables = service(name)["secrets"], service(name).get("environment", {})
        files = {value for key, value in variables.items() if key.endswith("_FILE")}
        files |= {word for word in service(name).get("command", []) if word.startswith("/run/")}
        assert files == {f"/run/secrets/{secret}" for secret in secrets}
        assert not re.search(r"_(PASSWORD|URL|KEY|SECRET)\b", " ".join(variables.keys() - PUBLIC))


def test_the_service_of_the_compose_file_has_no_privileges() -> None:
    secrets = service("secrets")

    assert secrets["read_only"] is True
    assert secrets["cap_drop"] == ["ALL"]
    assert secrets["security_opt"] == ["no-new-privileges:true"]


def test_containers_start_again_and_have_health_checks() -> None:
    for name in ["secrets", "database", "redis"]:
        assert service(name)["restart"] == "unless-stopped"
    assert service("secrets")["depends_on"]["database"] == {"condition": "service_healthy"}
    assert "pg_isready" in service("database")["healthcheck"]["test"]
    assert "redis-cli ping" in service("redis")["healthcheck"]["test"][1]
    assert 'CMD ["live"]' in DOCKERFILE.read_text()


def test_the_trusted_proxy_is_the_gateway_of_the_network() -> None:
    networks = yaml.safe_load(COMPOSE.read_text())["networks"]
    (address,) = networks["outside"]["ipam"]["config"]

    assert service("secrets")["environment"]["SECRETS_TRUSTED_PROXIES"] == address["gateway"]
    assert networks["database"] == networks["redis"] == {"internal": True}
