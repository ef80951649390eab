"""Server process, databases and HTTP clients for the drills (load and failure tests)."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "secrets-py/tests"))
from program import LOGS, SETTINGS, TARGET, jwt  # noqa: E402

FOLDER = Path(os.environ.get("SECRETS_TEST_FOLDER", TARGET / "test/data")) / "drills"


def program():
    """Returns the path of the server program: the one in `SECRETS_DRILL_PROGRAM` if set, else the
    release build if it exists, else the debug build."""
    named = os.environ.get("SECRETS_DRILL_PROGRAM")
    release = TARGET / "release/secrets-http"
    return Path(named) if named else release if release.exists() else TARGET / "debug/secrets-http"


class Sqlite:
    """SQLite database of a service. The drill can run SQL statements only while the service is
    stopped."""

    kind = "sqlite"

    def __init__(self, name):
        folder = FOLDER / f"{name}-{uuid.uuid4().hex[:8]}"
        folder.mkdir(parents=True)
        self.path = folder / "secrets.db"
        self.url = f"sqlite://{self.path}"

    def run(self, statement, **values):
        """Runs an SQL statement, commits and returns the rows. The values replace their
        placeholders, such as `:team`; a value may be a UUID."""
        values = {name: value.bytes if isinstance(value, uuid.UUID) else value
                  for name, value in values.items()}
        with sqlite3.connect(self.path) as connection:
            rows = connection.execute(statement, values).fetchall()
        connection.close()
        return rows

    def run_each(self, statement, rows):
        """Runs an SQL statement with the values of each row, and commits."""
        with sqlite3.connect(self.path) as connection:
            connection.executemany(statement, rows)
        connection.close()

    # SQL expressions that differ between the databases.
    random_id = "randomblob(16)"
    random_hash = "randomblob(32)"
    numbers = "(WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :count) SELECT n FROM n)"

    @staticmethod
    def ago(seconds):
        return f"strftime('%Y-%m-%dT%H:%M:%f', 'now', '-' || CAST({seconds} AS TEXT) || ' seconds') || '+00:00'"

    def remove(self):
        pass


class Postgres:
    """New database on the PostgreSQL server that the test runner has started."""

    kind = "postgres"

    def __init__(self, name):
        import pg8000.native

        server = urllib.parse.urlsplit(os.environ["SECRETS_TEST_POSTGRES_URL"])
        self.name = f"drill_{name}_{uuid.uuid4().hex[:8]}"
        self.login = {"user": server.username, "password": server.password, "host": server.hostname,
                      "port": server.port}
        self._connect, self.error = pg8000.native.Connection, pg8000.native.DatabaseError
        self._server(f"CREATE DATABASE {self.name}")
        self.url = server._replace(path=f"/{self.name}").geturl()

    def _server(self, statement):
        connection = self._connect(**self.login, database="postgres")
        connection.run(statement)
        connection.close()

    def run(self, statement, **values):
        connection = self._connect(**self.login, database=self.name)
        rows = connection.run(statement, **values)
        connection.close()
        return rows or []

    def run_with_retries(self, statements):
        """Runs SQL statements that lock a table each, as a migration does: waits only briefly for a
        lock, and tries again for a minute."""
        # One connection: a login takes longer than a statement.
        connection = self._connect(**self.login, database=self.name)
        try:
            connection.run("SET lock_timeout = '1s'")
            for statement in statements:
                self._run_with_retries(connection, statement)
        finally:
            connection.close()

    def _run_with_retries(self, connection, statement):
        for _ in range(30):
            try:
                connection.run(statement)
                return
            except self.error as error:
                # lock_not_available
                if error.args[0].get("C") != "55P03":
                    raise
            time.sleep(2)
        raise AssertionError(f"no lock: {statement}")

    def run_each(self, statement, rows):
        connection = self._connect(**self.login, database=self.name)
        connection.run("BEGIN")
        prepared = connection.prepare(statement)
        for row in rows:
            prepared.run(**row)
        connection.run("COMMIT")
        connection.close()

    random_id = "gen_random_uuid()"
    random_hash = "decode(md5(random()::text) || md5(random()::text), 'hex')"
    numbers = "(SELECT generate_series(1, CAST(:count AS INT)) AS n)"

    @staticmethod
    def ago(seconds):
        return f"now() - make_interval(secs => {seconds})"

    def remove(self):
        self._server(f"DROP DATABASE {self.name} WITH (FORCE)")


class Node:
    """Running `secrets-http serve` with a database. The test runner searches its log for secret
    values."""

    def __init__(self, database, memory=None, config=None, executable=None, **settings):
        limit = None if memory is None else lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        settings = {
            "SECRETS_DATABASE_URL": database.url, "SECRETS_METRICS_LISTEN": "127.0.0.1:0",
            "RUST_BACKTRACE": "0",
        } | {name: str(value) for name, value in settings.items()}
        arguments = [] if config is None else ["--config", str(config)]
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"drills-{uuid.uuid4().hex[:8]}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [executable or program(), "serve", *arguments], env=SETTINGS | settings, preexec_fn=limit,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.address = self._wait_for(r"listening on http://([0-9.]+):(\d+)")
        self.metrics = self._wait_for(r"metrics on http://([0-9.]+):(\d+)")

    def _wait_for(self, pattern):
        for _ in range(3000):
            if found := re.search(pattern, self.log.read_text()):
                return found[1], int(found[2])
            assert self.process.poll() is None, f"the program ended: {self.log}"
            time.sleep(0.01)
        raise AssertionError(f"the program does not listen: {self.log}")

    def client(self, credential=None, timeout=30):
        return Client(self.address, credential, timeout)

    def person(self, name):
        """Signs in a user with this name, and returns an HTTP client of the user."""
        client = self.client(jwt(name))
        client.user = client.ok("POST", "/api/v1/auth/sync", {})
        client.team = next(team["id"] for team in client.ok("GET", "/api/v1/teams")["teams"])
        return client

    def peak_resident(self):
        """Returns the maximum resident memory of the service since its start, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024

    def refusals(self):
        """Returns the number of requests that each limit of the service has refused, by
        the name of the limit. Limits that refused no request are not included."""
        return self.counters("secrets_refusals_total", "bound")

    def counters(self, name, label):
        """Returns the values of the counters with this name, by the value of this label. Counters
        that are 0 are not included."""
        text = Client(self.metrics).text("GET", "/metrics")
        found = re.findall(name + r"\{" + label + r'="(\w+)"\} ([0-9.]+)', text)
        return {value: int(float(count)) for value, count in found if float(count)}

    def gauge(self, name):
        """Returns the value of the gauge with this name."""
        text = Client(self.metrics).text("GET", "/metrics")
        return float(re.search(rf"^{name} ([0-9.e+]+)$", text, re.MULTILINE)[1])

    def terminate(self):
        """Sends SIGTERM to the service, and waits until it has ended."""
        self.process.terminate()
        assert self.process.wait(60) == 0, f"the program ended with {self.process.returncode}"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)


class Client:
    """HTTP client with one connection, for one thread."""

    def __init__(self, address, credential=None, timeout=30):
        self.address, self.credential, self.timeout = address, credential, timeout
        self.connection = None
        # Header of the last response.
        self.headers = {}

    def again(self):
        """Returns a client with the same credential and a new connection."""
        other = Client(self.address, self.credential, self.timeout)
        other.__dict__ |= {name: value for name, value in self.__dict__.items() if name in ("user", "team")}
        return other

    def connect(self):
        """Connects to the service if there is no connection. Raises OSError if that is not possible."""
        if self.connection is None:
            connection = http.client.HTTPConnection(*self.address, timeout=self.timeout)
            connection.connect()
            self.connection = connection

    def send(self, method, path, body=None, **headers):
        """Sends a request. Returns the status and the body; raises OSError if there is no response."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection(*self.address, timeout=self.timeout)
        if self.credential:
            headers["Authorization"] = f"Bearer {self.credential}"
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            self.connection.request(method, path, data, headers)
            response = self.connection.getresponse()
            status, text, closes = response.status, response.read(), response.will_close
            self.headers = response.headers
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise OSError(repr(error)) from error
        if closes:
            self.close()
        return status, text

    def status(self, method, path, body=None, **headers):
        """Sends a request. Returns the status of the response; 0 if there is no response."""
        try:
            return self.send(method, path, body, **headers)[0]
        except OSError:
            return 0

    def timed(self, method, path, body=None):
        """Sends a request. Returns the status, and the number of seconds until the response was
        read completely."""
        begin = time.monotonic()
        status = self.status(method, path, body)
        return status, time.monotonic() - begin

    def ok(self, method, path, body=None):
        """Sends a request that must succeed. Returns the parsed JSON of the response."""
        status, text = self.send(method, path, body)
        assert 200 <= status < 300, f"{method} {path}: {status} {text[:300]!r}"
        return json.loads(text) if text else None

    def text(self, method, path):
        return self.send(method, path)[1].decode()

    def project(self, name):
        """Creates a project and returns its URL path."""
        return "/api/v1/projects/" + self.ok("POST", "/api/v1/projects", {"name": name, "team_id": self.team})["id"]

    def secret(self, project, environment="production", key="KEY", value="kvc_drill"):
        """Creates a secret and returns its URL path."""
        secrets = f"{project}/environments/{environment}/secrets"
        self.ok("POST", secrets, {"key": key, "value": value})
        return f"{secrets}/{key}"

    def token(self, **fields):
        """Creates a service token for all projects of the team, and returns the token
        string."""
        body = {"name": "drill", "team_id": self.team, "all_projects": True, "permissions": ["read", "write"]}
        return self.ok("POST", "/api/v1/tokens", body | fields)["token"]

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def started(call, problems, *arguments):
    """Calls a function in a new thread, which is returned. An exception is appended to
    `problems`."""
    def run():
        try:
            call(*arguments)
        except Exception as error:
            problems.append(repr(error))

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def command(database, *arguments, executable=None):
    """Runs a command of the server program on a database, and returns the ended process."""
    settings = {"SECRETS_ROOT_KEY": SETTINGS["SECRETS_ROOT_KEY"], "SECRETS_DATABASE_URL": database.url}
    return subprocess.run([executable or program(), *arguments], env=settings, capture_output=True, text=True)


def imported(prefix, count=100, size=65_536):
    """Returns a request body that imports `count` secrets, each with a value of `size` bytes."""
    secrets = [{"key": f"{prefix}_{number}", "value": "x" * size} for number in range(count)]
    return {"secrets": secrets, "overwrite": True}


def raw(address, *lines):
    """Opens a TCP connection and sends these lines as the head of a request. Without lines, sends
    nothing."""
    connection = socket.create_connection(address, timeout=30)
    if lines:
        connection.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
    return connection


def quantile(times, share):
    """Returns a quantile of a list of durations: for the share 0.99, the duration that 99 percent
    do not exceed."""
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]
