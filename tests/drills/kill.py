"""Drill of killing the service (SIGKILL) while clients write."""

import json
import random
import time
import uuid

from audit import unsealed, wait
from program import jwt
from world import Node, command, started

WRITERS = 8
ENVIRONMENTS = ["production", "staging"]

# A value spans several pages of an SQLite database, so that a part of a write would be noticed. It is
# not longer, because debug builds encrypt slowly.
PADDING = "x" * 5_000


class Writer:
    """Client that writes keys which no other client writes. The requests are single writes, imports
    and change sets of two environments."""

    def __init__(self, number):
        self.number, self.random = number, random.Random(number)
        # Values by environment and key, as the service has acknowledged them.
        self.state = {}
        # Values after the request that has no response yet; the value of a deleted key is None.
        self.pending = {}
        # Secret ID and version of each single write: acknowledged, and sent without a response.
        self.acknowledged, self.requests, self.problems = set(), 0, []
        self.thread = None

    def start(self, node, project):
        self.client, self.project = node.client(jwt("alice")), project
        self.thread = started(self._write, self.problems)

    def _write(self):
        while True:
            method, path, body, self.pending = self._request()
            try:
                status, text = self.client.send(method, path, body)
            except OSError:
                return
            if status == 503:
                # Without the header, it is unknown whether the request was committed.
                if "retry-after" not in self.client.headers:
                    return
                self.pending = {}
                time.sleep(0.05)
                continue
            if not 200 <= status < 300:
                self.problems.append(f"{method} {path}: {status} {text[:200]!r}")
                return
            if method == "PUT" or path.endswith("/secrets"):
                secret = json.loads(text)["secret"]
                self.acknowledged.add((secret["id"], secret["version"]))
            self.state, self.pending = self._after(self.pending), {}
            self.requests += 1

    def _after(self, changes):
        state = self.state | changes
        return {place: value for place, value in state.items() if value is not None}

    def _value(self):
        return f"kvc_{self.number}_{self.random.getrandbits(64):016x}_{PADDING}"

    def _request(self):
        """Returns method, path and body of the next request, and the values that it sets."""
        kind, environment = self.random.randrange(8), self.random.choice(ENVIRONMENTS)
        secrets = f"{self.project}/environments/{environment}/secrets"
        if kind == 0:
            keys = [f"IMPORTED_{self.number}_{number}" for number in range(5)]
            values = {key: self._value() for key in keys}
            body = {"overwrite": True, "secrets": [{"key": key, "value": value} for key, value in values.items()]}
            return "POST", f"{secrets}/bulk", body, {(environment, key): value for key, value in values.items()}
        if kind == 1:
            key = f"SET_{self.number}"
            values = {(name, key): self._value() for name in ENVIRONMENTS}
            changes = [{"environment": name, "key": key, "action": "set", "value": value}
                       for (name, key), value in values.items()]
            return "POST", f"{self.project}/changes", {"changes": changes}, values
        key = f"KEY_{self.number}_{self.random.randrange(3)}"
        exists, value = (environment, key) in self.state, self._value()
        if kind == 2 and exists:
            return "DELETE", f"{secrets}/{key}", None, {(environment, key): None}
        if exists:
            return "PUT", f"{secrets}/{key}", {"value": value}, {(environment, key): value}
        return "POST", secrets, {"key": key, "value": value}, {(environment, key): value}

    def compare(self, stored):
        """Compares the writer's keys with the stored ones: either the request without a response was
        applied completely, or not at all."""
        own = {place: value for place, value in stored.items() if place[1].split("_")[1] == str(self.number)}
        before, after = self.state, self._after(self.pending)
        if own not in (before, after):
            wrong = {place for place in before.keys() | own.keys() if own.get(place) != before.get(place)}
            raise AssertionError(f"writer {self.number}: {wrong} is not as acknowledged")
        self.state, self.pending = own, {}


def kill(drill):
    """Drill: the service is killed again and again while clients write, and while the keys of
    projects are replaced. No acknowledged write is lost, none is applied in part, each is recorded
    once, and every record can be decrypted."""
    rounds, project, moment = drill.size(4, 100), None, random.Random(1)
    writers = [Writer(number) for number in range(WRITERS)]
    for number in range(rounds + 1):
        # The exports of a debug build may need several seconds beside the replacement of the keys.
        with Node(drill.database, SECRETS_REQUEST_TIMEOUT=20) as node:
            alice = node.person("alice")
            project = project or alice.project("Killed")
            _compare(alice, project, writers)
            if number == rounds:
                wait(lambda: unsealed(drill.database) == 0, 60, "the audit entries are not sealed")
                node.terminate()
                break
            for writer in writers:
                writer.start(node, project)
            time.sleep(moment.uniform(0.1, 1.2))
            # On a slow machine, hardly anything is written until then.
            end = time.monotonic() + 60
            while sum(writer.requests for writer in writers) < 10 * (number + 1) and all(
                    writer.thread.is_alive() for writer in writers):
                assert time.monotonic() < end, "hardly anything is written"
                time.sleep(0.01)
            node.process.kill()
            node.process.wait(30)
            for writer in writers:
                writer.thread.join()
                assert not writer.problems, writer.problems
        # The next process replaces the keys as soon as it starts, beside the writers.
        _command(drill.database, "keys", "rotate-data")
    _must_be_recorded_once(drill.database, writers)
    _command(drill.database, "doctor", "verify")
    requests = sum(writer.requests for writer in writers)
    keys = drill.database.run("SELECT MAX(version) FROM project_keys")[0][0]
    drill.note(f"{rounds} kills, {requests} acknowledged requests, {keys} keys of the project")
    assert requests >= 10 * rounds and keys > rounds / 2, "hardly anything was written or replaced"


def _compare(alice, project, writers):
    stored = {}
    for environment in ENVIRONMENTS:
        found = alice.ok("GET", f"{project}/environments/{environment}/secrets/export")["secrets"]
        stored |= {(environment, secret["key"]): secret["value"] for secret in found}
    for writer in writers:
        writer.compare(stored)


def _must_be_recorded_once(database, writers):
    rows = database.run("SELECT resource_id, metadata FROM audit_log "
                        "WHERE resource_type = 'secret' AND action IN ('secret.created', 'secret.updated')")
    identity = lambda value: str(uuid.UUID(bytes=value) if isinstance(value, bytes) else value)  # noqa: E731
    recorded = [(identity(secret), json.loads(metadata).get("version")) for secret, metadata in rows]
    assert len(recorded) == len(set(recorded)), "a version is recorded twice"
    missing = {entry for writer in writers for entry in writer.acknowledged} - set(recorded)
    assert not missing, f"{len(missing)} acknowledged writes are not recorded"


def _command(database, *arguments):
    result = command(database, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
