"""Server that the interface tests call, as a child process, and its users."""

import json
import socket
import sys
import threading
import urllib.request
from pathlib import Path

import openapi

sys.path.append(str(Path(__file__).parents[2] / "secrets-py/tests"))
from program import Program, jwt  # noqa: E402

# Number of objects of each kind that are created to be deleted.
DELETED = 5

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class Service(Program):
    """Server process with a store in memory, and its OpenAPI document."""

    def __init__(self, program, log, envelope):
        super().__init__(program, log, SECRETS_ENVELOPE=envelope)
        # Operations that `call` has called, and differences between their responses and the
        # document.
        self.called, self.differences = set(), []
        with urllib.request.urlopen(f"{self.url}/api/v1/openapi.json") as answer:
            self.document = json.load(answer)

    def call(self, method, path, credential=None, body=None):
        """Sends a request that must succeed, compares the response with the document, and returns
        the parsed body."""
        headers = {"Content-Type": "application/json"}
        if credential:
            headers["Authorization"] = f"Bearer {credential}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        result = json.loads(text) if text else None
        operation, differences = openapi.check_response(
            self.document, method, path, answer.status, result)
        self.called.add(operation)
        self.differences += differences
        return result


class Database:
    """Fake PostgreSQL server for rotations. It refuses TLS, so that every rotation fails
    immediately."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._refuse, daemon=True).start()

    def _refuse(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                # A short timeout, because some clients wait for the server to send first.
                connection.settimeout(0.2)
                try:
                    if connection.recv(8):
                        connection.sendall(b"N")
                except OSError:
                    pass


class World:
    """User with several objects of each kind. `names` contains the values that
    Schemathesis inserts into path parameters."""

    def __init__(self, service, name):
        self.service, self.name, self.person = service, name, jwt(name)
        user = self.call("POST", "/api/v1/auth/sync")["id"]
        self.team = self.call("GET", "/api/v1/teams")["teams"][0]["id"]
        # The names are the same as in the examples of the document.
        self.project = self._project("Web API")
        deleted = range(DELETED)
        scan = self._scan("token = ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5")
        login = [self._login() for _ in deleted]
        self.service_token = self._token("used")["token"]
        self.database = Database()
        self.names = {
            "project": [self.project], "environment": ["production"],
            "key": [self._key("DATABASE_URL")],
            "team": [self.team], "user": [user], "friend": [self._friend()],
            "invitation": [self._invitation("invited")],
            "scan": [scan["id"]], "finding": [found["id"] for found in scan["findings"]],
            "token": [self._token("rotated")["id"]],
            "rotation": [self._rotation("main-db")], "host": ["127.0.0.1"],
            "port": [self.database.port],
            "user_code": [one["user_code"] for one in login],
            "device_code": [one["device_code"] for one in login],
            # Separate objects for requests that delete, so that other requests find their objects.
            "deleted_project": [self._project("deleted 0")], "deleted_key": [self._key("DELETED_0")],
            "deleted_environment": [self._environment(f"deleted-{n}") for n in deleted],
            "deleted_rotation": [self._rotation("deleted-0")],
            "deleted_scan": [self._scan("nothing")["id"] for n in deleted],
            "deleted_token": [self._token(f"deleted {n}")["id"] for n in deleted],
            "deleted_invitation": [self._invitation(f"deleted.{n}") for n in deleted],
        }
        self._call_others()

    def _call_others(self):
        """Calls the operations for which Schemathesis generates no request that
        succeeds."""
        self.session()
        self.call("GET", "/api/v1/account/data-export")
        environment = f"/api/v1/projects/{self.project}/environments/production"
        permission = {"user_id": self.names["friend"][0], "role": "none"}
        self.call("PUT", f"{environment}/permissions", {"permissions": [permission]})
        webhooks = f"{environment}/rotations/main-db/webhooks"
        body = {"url": f"https://127.0.0.1:{self.database.port}", "events": ["rotation.started"]}
        webhook = self.call("POST", webhooks, body)["id"]
        self.call("POST", f"{webhooks}/{webhook}/test")
        self.call("GET", f"{webhooks}/{webhook}/deliveries")
        body = {"name": "restored", "team_id": self.team}
        project = self.call("POST", "/api/v1/projects", body)["id"]
        self.call("DELETE", f"/api/v1/projects/{project}")
        self.call("POST", f"/api/v1/projects/{project}/restore")

    def _project(self, name):
        body = {"name": name, "team_id": self.team}
        return self.call("POST", "/api/v1/projects", body)["slug"]

    def _environment(self, name):
        environments = f"/api/v1/projects/{self.project}/environments"
        return self.call("POST", environments, {"name": name})["name"]

    def _key(self, key):
        secrets = f"/api/v1/projects/{self.project}/environments/production/secrets"
        self.call("POST", secrets, {"key": key, "value": "kvc_first"})
        self.call("PUT", f"{secrets}/{key}", {"value": "kvc_second"})
        return key

    def _rotation(self, name):
        rotations = f"/api/v1/projects/{self.project}/environments/production/rotations"
        connection = {
            "host": "127.0.0.1", "port": self.database.port, "database": "app",
            "admin_username": "rotator", "admin_password": "kvc_admin",
        }
        body = {
            "name": name, "integration_type": "postgresql", "connection_method": "direct",
            "connection": connection, "rotation_interval_days": 30,
        }
        return self.call("POST", rotations, body)["name"]

    def _scan(self, text):
        body = {"team_id": self.team, "source": {"type": "text"}, "content": text}
        return self.call("POST", "/api/v1/scans", body)

    def _token(self, name):
        body = {"name": name, "team_id": self.team, "all_projects": True}
        return self.call("POST", "/api/v1/tokens", body | {"permissions": ["read", "write"]})

    def _invitation(self, name):
        body = {"email": f"{name}.{self.name}@example.com"}
        invited = self.call("POST", f"/api/v1/teams/{self.team}/members", body)
        return invited["invitation_id"]

    def _friend(self):
        friend = jwt(f"friend.{self.name}")
        user = self.service.call("POST", "/api/v1/auth/sync", friend)["id"]
        self._invitation("friend")
        token = self.service.call("GET", "/api/v1/invitations", friend)[0]["token"]
        self.service.call("GET", f"/api/v1/invitations/{token}", friend)
        self.service.call("POST", f"/api/v1/invitations/{token}/accept", friend)
        return user

    def _login(self):
        return self.service.call("POST", "/api/v1/auth/cli/device", body={"client_id": "cli"})

    def call(self, method, path, body=None):
        return self.service.call(method, path, self.person, body)

    def session(self):
        """Creates a command-line session that the user has approved, and returns its credential."""
        login = self._login()
        self.call("POST", "/api/v1/auth/cli/approve", {"user_code": login["user_code"]})
        poll = {"grant_type": GRANT, "device_code": login["device_code"], "client_id": "cli"}
        return self.service.call("POST", "/api/v1/auth/cli/token", body=poll)["access_token"]
