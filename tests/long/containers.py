"""Starts the services of a Docker Compose file with Podman, and checks them.

Usage: containers.py FOLDER, with the folder `deploy` of a copy of the source. Its files with secrets
are created as `docs/deploying.md` describes.
"""

import base64
import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import yaml

sys.path.append(str(Path(__file__).parents[1] / "drills"))
from world import SETTINGS, Client, jwt  # noqa: E402

ADDRESS = ("127.0.0.1", 8080)
VALUE = "kvc_containers"
# Owners of the files: the users of the images.
SERVICE, REDIS = 65532, 999


def run(*command, fails=False):
    """Runs a command and returns its output. Fails if the command does, unless it must fail."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (result.returncode != 0) == fails, f"{command}: {result.returncode}\n{result.stdout}"
    return result.stdout.strip()


def compose(*arguments):
    return run("podman-compose", "--project-name", "secrets", *arguments)


def container(service):
    return f"secrets_{service}_1"


def inside(service, *command, **options):
    """Runs a command in the container of a service."""
    return run("podman", "exec", container(service), *command, **options)


def write_files(folder):
    """Writes the settings and the files with secrets. Returns the secrets."""
    files = folder / "secrets"
    files.mkdir(mode=0o700, exist_ok=True)
    password, redis = secrets.token_hex(32), secrets.token_hex(32)
    for name, owner, text in [
        ("root-key", SERVICE, base64.b64encode(secrets.token_bytes(32)).decode()),
        ("database-password", 0, password),
        ("database-url", SERVICE, f"postgres://secrets:{password}@database/secrets"),
        ("redis-url", SERVICE, f"redis://:{redis}@redis"),
        ("redis-conf", REDIS, f"requirepass {redis}\n"),
    ]:
        (files / name).write_text(text)
        (files / name).chmod(0o600)
        os.chown(files / name, owner, owner)
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in {
        "SECRETS_JWT_ISSUER": SETTINGS["SECRETS_JWT_ISSUER"],
        "SECRETS_JWT_AUDIENCE": SETTINGS["SECRETS_JWT_AUDIENCE"],
        "SECRETS_PUBLIC_URL": "https://secrets.example.com",
    }.items()))
    # Identity tokens of the tests.
    override = {"services": {"secrets": {"environment": {
        "SECRETS_JWT_HS256_SECRET": SETTINGS["SECRETS_JWT_HS256_SECRET"]}}}}
    (folder / "compose.override.yaml").write_text(json.dumps(override))
    return [password, redis, (files / "root-key").read_text()]


def wait(what, condition, limit=90):
    """Waits until a condition is true. Prints the time."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + limit, f"{what}: not within {limit} s"
        time.sleep(0.2)
    print(f"{what}: {time.monotonic() - begin:.1f} s", flush=True)


def is_healthy(service):
    return subprocess.run(["podman", "healthcheck", "run", container(service)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def answers(path="/health"):
    return Client(ADDRESS, timeout=5).status("GET", path) == 200


def check_privileges():
    """Checks that the service runs without privileges, and can write nothing but temporary files."""
    status = dict(line.split(":\t", 1) for line in inside("secrets", "cat", "/proc/1/status").splitlines()
                  if ":\t" in line)
    assert status["Uid"].split() == [str(SERVICE)] * 4, status["Uid"]
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, status
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
    for path in ["/file", "/usr/local/bin/secrets-http", "/var/lib/secrets/file"]:
        assert "Read-only file system" in inside("secrets", "bash", "-c", f"> {path}", fails=True)
    inside("secrets", "bash", "-c", "> /tmp/file")


def check_networks():
    """Checks that the service reaches the database and Redis, that they reach neither each other nor
    anything outside, and that no port of theirs is published."""
    connect = "exec 3<>/dev/tcp/{}/{}".format
    for service, port in [("database", 5432), ("redis", 6379)]:
        inside("secrets", "bash", "-c", connect(service, port))
        assert run("podman", "port", container(service)) == ""
        routes = [line.split() for line in inside(service, "cat", "/proc/net/route").splitlines()[1:]]
        assert all(destination != "00000000" for _, destination, *_ in routes), routes
    inside("database", "bash", "-c", connect("redis", 6379), fails=True)
    inside("redis", "bash", "-c", connect("database", 5432), fails=True)


def check_secrets(values):
    """Checks that no secret is in the configuration or the log of a container."""
    for service in ["secrets", "database", "redis"]:
        shown = run("podman", "inspect", container(service)) + run("podman", "logs", container(service))
        assert not any(value in shown for value in values), service


def check_data():
    """Writes a secret, and reads it after the database and the service were killed."""
    client = Client(ADDRESS, jwt("alice"))
    client.ok("POST", "/api/v1/auth/sync", {})
    client.team = client.ok("GET", "/api/v1/teams")["teams"][0]["id"]
    path = client.secret(client.project("Containers"), value=VALUE)
    for service in ["database", "secrets"]:
        run("podman", "kill", "--signal", "KILL", container(service))
        run("podman", "start", container(service))
        wait(f"reads again after {service} was killed",
             lambda: Client(ADDRESS, jwt("alice"), timeout=5).status("GET", path) == 200)
    assert client.again().ok("GET", path)["secret"]["value"] == VALUE


def check_stop():
    """Checks that the service ends by itself when it is stopped."""
    begin = time.monotonic()
    run("podman", "stop", container("secrets"))
    seconds = time.monotonic() - begin
    code = run("podman", "inspect", "--format", "{{.State.ExitCode}}", container("secrets"))
    assert code == "0", f"exit code {code}"
    print(f"stopped: {seconds:.1f} s")


def main(folder):
    os.chdir(folder)
    values = write_files(Path.cwd()) + [VALUE]
    image = yaml.safe_load(Path("compose.yaml").read_text())["services"]["secrets"]["image"]
    command = ["podman", "run", "--rm", "--network", "none", image, "--version"]
    version = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    size = int(run("podman", "image", "inspect", "--format", "{{.Size}}", image))
    base = int(run("podman", "image", "inspect", "--format", "{{.Size}}", "debian:trixie-slim"))
    print(f"image: {size / 1e6:.0f} MB, of which Debian {base / 1e6:.0f} MB; {version}")
    try:
        compose("up", "--detach", "--no-build")
        for service in ["database", "redis", "secrets"]:
            wait(f"health check of {service}", lambda: is_healthy(service))
        wait("/health", answers)
        health = Client(ADDRESS).ok("GET", "/health")
        assert health["status"] == "ok", health
        for path in ["/", "/api/v1/openapi.json"]:
            assert answers(path), path
        check_privileges()
        check_networks()
        check_data()
        check_secrets(values)
        check_stop()
    except Exception:
        for service in ["database", "redis", "secrets"]:
            subprocess.run(["podman", "logs", "--tail", "20", container(service)])
        raise
    finally:
        subprocess.run(["podman-compose", "--project-name", "secrets", "down", "--volumes"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("containers: ok")


if __name__ == "__main__":
    main(sys.argv[1])
