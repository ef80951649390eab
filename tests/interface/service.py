"""The program under test, as a child process, and those who use it."""

import base64
import hashlib
import hmac
import json
import subprocess
import threading
import time
import urllib.request

SECRET = "a secret of the test suite, of 32 bytes or more"
# How many of a kind there are to be deleted.
DOOMED = 5

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class Service:
    """`secrets-http serve` over a store in memory. Its log is kept for the runner to look through."""

    def __init__(self, program, log):
        environment = {
            "SECRETS_LISTEN": "127.0.0.1:0",
            "SECRETS_DATABASE_URL": "memory:",
            "SECRETS_ROOT_KEY": base64.b64encode(bytes([7]) * 32).decode(),
            "SECRETS_JWT_ISSUER": "https://issuer.test",
            "SECRETS_JWT_AUDIENCE": "secrets",
            "SECRETS_JWT_HS256_SECRET": SECRET,
            "SECRETS_RATE_LIMIT_PER_IP": "0",
            "SECRETS_RATE_LIMIT_PER_PRINCIPAL": "0",
        }
        self.log = open(log, "ab")
        self.process = subprocess.Popen(
            [program, "serve"], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        self.url = self._address()
        threading.Thread(target=self._keep, daemon=True).start()

    def _address(self):
        for line in self.process.stderr:
            self.log.write(line)
            _, found, address = line.decode().strip().partition("listening on ")
            if found:
                return address
        raise SystemExit(f"the program ended: {self.process.wait()}")

    def _keep(self):
        for line in self.process.stderr:
            self.log.write(line)
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def call(self, method, path, credential=None, body=None):
        """What a request that must succeed is answered with."""
        headers = {"Content-Type": "application/json"}
        if credential:
            headers["Authorization"] = f"Bearer {credential}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None


def jwt(name):
    """A token of the symmetric issuer, good for an hour."""
    claims = {
        "iss": "https://issuer.test", "aud": "secrets", "sub": name, "exp": int(time.time()) + 3600,
        "email": f"{name}@example.com", "email_verified": True,
    }
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    signed = b".".join(_base64url(part) for part in parts)
    mac = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
    return (signed + b"." + _base64url(mac)).decode()


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class World:
    """A person with one of everything, and what the names in paths may stand for."""

    def __init__(self, service, name):
        self.service, self.person = service, jwt(name)
        user = self.call("POST", "/api/v1/auth/sync")
        team = self.call("GET", "/api/v1/teams")["teams"][0]["id"]
        project = self._project(name, team)
        environments = f"/api/v1/projects/{project}/environments"
        secrets = f"{environments}/development/secrets"
        for key in ("DATABASE_URL", "API_KEY"):
            self.call("POST", secrets, {"key": key, "value": "kvc_first"})
            self.call("PUT", f"{secrets}/{key}", {"value": "kvc_second"})
        invited = {"email": f"friend.of.{name}@example.com", "role": "member"}
        self.call("POST", f"/api/v1/teams/{team}/members", invited)
        invitation = self.call("GET", f"/api/v1/teams/{team}/invitations")[0]["id"]
        text = {"team_id": team, "source": {"type": "text"}, "content": "nothing"}
        scan = self.call("POST", "/api/v1/scans", text)["id"]
        spare = self.call("POST", "/api/v1/tokens", self._token(team, "spare"))
        self.service_token = self.call("POST", "/api/v1/tokens", self._token(team, "used"))["token"]
        self.names = {
            "project": [project], "environment": ["development"], "key": ["DATABASE_URL"],
            "team": [team], "user": [user["id"]], "invitation": [invitation],
            "scan": [scan], "token": [spare["id"]],
            # Those that requests that delete take, so that what the others need stays.
            "doomed_project": [self._project(f"{name} doomed {n}", team) for n in range(DOOMED)],
            "doomed_environment": [self._environment(environments, n) for n in range(DOOMED)],
        }

    def _project(self, name, team):
        return self.call("POST", "/api/v1/projects", {"name": name, "team_id": team})["slug"]

    def _environment(self, environments, number):
        return self.call("POST", environments, {"name": f"doomed-{number}"})["name"]

    @staticmethod
    def _token(team, name):
        permissions = ["read", "write"]
        return {"name": name, "team_id": team, "all_projects": True, "permissions": permissions}

    def call(self, method, path, body=None):
        return self.service.call(method, path, self.person, body)

    def session(self):
        """The credential of a command line that the person let in."""
        login = self.service.call("POST", "/api/v1/auth/cli/device", body={"client_id": "cli"})
        self.call("POST", "/api/v1/auth/cli/approve", {"user_code": login["user_code"]})
        poll = {"grant_type": GRANT, "device_code": login["device_code"], "client_id": "cli"}
        return self.service.call("POST", "/api/v1/auth/cli/token", body=poll)["access_token"]
