"""Server program as a child process, and identity tokens of its users. The tests in
`tests/interface` use this module too."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LOGS = Path(os.environ.get("SECRETS_TEST_LOGS", TARGET / "test/logs"))

ISSUER = "https://issuer.test"
SECRET = "a secret of the test suite, of 32 bytes or more"

SETTINGS = {
    "SECRETS_LISTEN": "127.0.0.1:0",
    "SECRETS_DATABASE_URL": "memory:",
    "SECRETS_ROOT_KEY": base64.b64encode(bytes([7]) * 32).decode(),
    "SECRETS_JWT_ISSUER": ISSUER,
    "SECRETS_JWT_AUDIENCE": "secrets",
    "SECRETS_JWT_HS256_SECRET": SECRET,
    "SECRETS_RATE_LIMIT_PER_IP": "0",
    "SECRETS_RATE_LIMIT_PER_PRINCIPAL": "0",
    "SECRETS_EGRESS_ALLOW": "127.0.0.1",
    # Short timeouts, since no database server answers.
    "SECRETS_DEBUG_TIMINGS": "retries=10,verify=100,budget=5000",
}


class Program:
    """Running `secrets-http serve`, with a store in memory unless the settings name a database. The
    test runner searches its log for secret values."""

    def __init__(
        self,
        program: str | Path = TARGET / "debug/secrets-http",
        log: Path | None = None,
        **settings: object,
    ) -> None:
        self._process = subprocess.Popen(
            [program, "serve"],
            env=SETTINGS | {name: str(value) for name, value in settings.items()},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        LOGS.mkdir(parents=True, exist_ok=True)
        self._log = (log or LOGS / f"python-{self._process.pid}.log").open("a")
        self.url = self._address()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _address(self) -> str:
        assert self._process.stderr
        for line in self._process.stderr:
            self._log.write(line)
            _, found, address = line.strip().partition("listening on ")
            if found:
                return address
        raise AssertionError(f"the program ended with {self._process.wait()}: {self._log.name}")

    def _keep(self) -> None:
        assert self._process.stderr
        self._log.writelines(self._process.stderr)
        self._log.close()

    def kill(self) -> None:
        """Kills the program with SIGKILL."""
        self._process.kill()
        self._process.wait(30)
        self._keeper.join(30)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._keeper.join(30)


def jwt(name: str) -> str:
    """Creates an identity token for the user with this name, from the issuer that the test servers
    trust. The token is valid for an hour."""
    claims = {
        "iss": ISSUER, "aud": "secrets", "sub": name, "exp": int(time.time()) + 3600,
        "email": f"{name}@example.com", "email_verified": True,
    }  # fmt: skip
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    signed = b".".join(base64url(part) for part in parts)
    mac = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
    return (signed + b"." + base64url(mac)).decode()


def base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
