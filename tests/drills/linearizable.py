"""Drill of concurrent requests of the same secrets while nodes are killed (SIGKILL): the responses must
be those of a service that executes one request at a time (linearizability)."""

import json
import random
import threading
import time

import histories_test
from histories import ABSENT, CONFLICT, EXISTS, KEPT, NO_VERSION, READS, UNKNOWN, Operation, check, check_versions
from program import jwt
from world import Client, Node, started

CLIENTS = 16

# Secrets that clients use at the same time. Half of the operations are of the first two of them.
ACTIVE, FREQUENT = 10, 2

# A secret is replaced by a new one after this number of operations, or of operations without a response.
# The checker tries the latter at every time after their start.
MAX_OPERATIONS, MAX_UNKNOWN = 600, 4

# Limits that would refuse requests of a single team.
LIMITS = {"SECRETS_RATE_LIMIT_PER_TEAM": 0}


class Secret:
    """Secret with the history of its operations, and the last version that a client has seen."""

    def __init__(self, project, number):
        self.key = f"KEY_{number}"
        # The others are never deleted, and get more versions than the service keeps.
        self.may_delete = number % 2 == 0
        self.secrets = f"{project}/environments/production/secrets"
        self.path = f"{self.secrets}/{self.key}"
        # Version 0 if there is no secret. Other clients change it, so the current version may be another.
        self.operations, self.unknown, self.version = [], 0, 0

    def record(self, operation):
        """Adds an operation to the history."""
        self.operations.append(operation)
        self.unknown += operation.is_unknown
        if operation.result == ABSENT or operation.result[0] == "deleted":
            self.version = 0
        elif operation.result[0] in ("value", "version"):
            self.version = operation.result[1]


class Service:
    """Nodes with one database, and their secrets. A node that is killed is `None` until it runs again."""

    def __init__(self, database, count):
        self.database, self.nodes = database, [None] * count
        self.lock, self.stop = threading.Lock(), threading.Event()

    def __enter__(self):
        try:
            for place in range(len(self.nodes)):
                self.nodes[place] = Node(self.database, **LIMITS)
            self.project = self.nodes[0].person("alice").project("Linearizable")
        except BaseException:
            self.__exit__()
            raise
        self.secrets = [Secret(self.project, number) for number in range(ACTIVE)]
        self.active = list(self.secrets)
        return self

    def chosen(self, chance):
        """Returns a random secret. Replaces it by a new one if its history is long."""
        place = chance.randrange(FREQUENT if chance.random() < 0.5 else ACTIVE)
        with self.lock:
            secret = self.active[place]
            if len(secret.operations) >= MAX_OPERATIONS or secret.unknown >= MAX_UNKNOWN:
                secret = self.active[place] = Secret(self.project, len(self.secrets))
                self.secrets.append(secret)
        return secret

    def restart(self, chance):
        """Kills a random node and starts it again."""
        place = chance.randrange(len(self.nodes))
        # First, so that only requests which already run have no response.
        node, self.nodes[place] = self.nodes[place], None
        node.process.kill()
        node.process.wait(30)
        if len(self.nodes) > 1:
            time.sleep(chance.uniform(0, 0.5))
        self.nodes[place] = Node(self.database, **LIMITS)

    def operations(self):
        return sum(len(secret.operations) for secret in list(self.secrets))

    def __exit__(self, *error):
        self.stop.set()
        for node in self.nodes:
            if node is not None:
                node.__exit__()


class User:
    """Client that executes random operations on any node, one at a time, and records them."""

    def __init__(self, service, number, problems):
        self.service, self.number, self.random = service, number, random.Random(number)
        self.clients, self.written, self.refused = {}, 0, 0
        self.thread = started(self._run, problems)

    def _run(self):
        while not self.service.stop.is_set():
            node = self.random.choice(self.service.nodes)
            client = self._connected(node)
            if client is None:
                time.sleep(0.01)
                continue
            secret = self.service.chosen(self.random)
            self.execute(client, secret, *self._chosen(secret))

    def _connected(self, node):
        """Returns a client that is connected to the node; `None` if the node does not run."""
        if node is None:
            return None
        client = self.clients.get(node)
        if client is None:
            client = self.clients[node] = Client(node.address, jwt("alice"))
        try:
            client.connect()
        except OSError:
            return None
        return client

    def _chosen(self, secret):
        """Returns a random kind of operation on this secret, and its arguments."""
        chance, value, version = self.random.random(), f"kvc_{self.number}_{self.written}", secret.version
        self.written += 1
        if version == 0 and chance < 0.6 or chance < 0.03:
            return "create", (value,)
        if chance < 0.35:
            return "read", ()
        if chance < 0.42:
            return "history", (None, None)
        if chance < 0.49:
            return "history", (self.random.randrange(1, version + 2), 1)
        if chance < 0.70:
            return "write", (value, None)
        near = max(version + self.random.choice([0, 0, 0, -1, 1]), 0)
        if chance < 0.88:
            return "write", (value, near)
        expected = self.random.choice([None, near])
        if chance < 0.96 or not secret.may_delete:
            oldest = max(version - self.random.choice([5, 5, KEPT + 2]), 0)
            return "rollback", (self.random.randrange(oldest, version + 2), expected)
        return "delete", (expected,)

    def execute(self, client, secret, kind, arguments):
        """Sends a request and records the operation. Operations that were certainly not executed, and
        reads without a response, are not recorded."""
        method, path, body, headers = self._request(secret, kind, arguments)
        invoked, identity = time.monotonic_ns(), None
        try:
            status, text = client.send(method, path, body, **headers)
        except OSError:
            result = UNKNOWN
        else:
            result, identity = _result(secret, kind, status, text, client.headers)
        returned = time.monotonic_ns()
        if result is None:
            self.refused += 1
            time.sleep(0.01)
        elif result != UNKNOWN or kind not in READS:
            secret.record(Operation(self.number, kind, arguments, invoked, returned, result, identity))

    def _request(self, secret, kind, arguments):
        """Returns method, path, body and headers of the request for an operation. A read is the read of
        a secret, or rarely the export of its environment; an expected version is in the body or in
        the header `If-Match`."""
        if kind == "read":
            path = f"{secret.secrets}/export" if self.random.random() < 0.1 else secret.path
            return "GET", path, None, {}
        if kind == "history":
            query = "&".join(f"{name}={number}" for name, number in zip(("before", "limit"), arguments) if number is not None)
            return "GET", f"{secret.path}/history?{query}", None, {}
        if kind == "create":
            return "POST", secret.secrets, {"key": secret.key, "value": arguments[0]}, {}
        headers, expected = {}, arguments[-1]
        if kind == "delete":
            query = ""
            if expected is not None and self.random.random() < 0.5:
                query = f"?expected_version={expected}"
            elif expected is not None:
                headers["If-Match"] = f'"{expected}"'
            return "DELETE", secret.path + query, None, headers
        body = {"value": arguments[0]} if kind == "write" else {"version": arguments[0]}
        if expected is not None and self.random.random() < 0.5:
            body["expected_version"] = expected
        elif expected is not None:
            headers["If-Match"] = f'"{expected}"'
        if kind == "write":
            return "PUT", secret.path, body, headers
        return "POST", f"{secret.path}/rollback", body, headers


def _result(secret, kind, status, text, headers):
    """Returns the result that a response means, and the ID of the secret if the response contains it.
    The result is `None` if the operation was certainly not executed."""
    if status == 503:
        # Without the header, it is unknown whether the request was committed.
        return (None if "Retry-After" in headers else UNKNOWN), None
    body = json.loads(text) if text else {}
    if status in (404, 409):
        failures = {
            "secret not found": ABSENT, "version not found": NO_VERSION, "already_exists": EXISTS,
            "version_conflict": CONFLICT,
        }
        failure = failures.get(body["error"] if status == 404 else body["code"])
        assert failure, f"{kind}: {status} {body}"
        return failure, None
    assert status in (200, 201, 204), f"{kind}: {status} {text[:200]!r}"
    if kind == "delete":
        return ("deleted",), None
    if kind == "history":
        return ("history", tuple((entry["version"], entry["value"]) for entry in body["history"])), None
    found = body.get("secret") or next((one for one in body["secrets"] if one["key"] == secret.key), None)
    if found is None:
        return ABSENT, None
    result = ("value", found["version"], found["value"]) if kind == "read" else ("version", found["version"])
    return result, found["id"]


def linearizable(drill):
    """Drill: clients read and change the same secrets, with and without an expected version, while nodes
    are killed. The responses are those of a service that executes one request at a time, and the
    versions of each secret are 1, 2, 3 and so on."""
    histories_test.run()
    kills, chance, problems = 0, random.Random(1), []
    count, interval = drill.size((2_000, 500), (50_000, 1_500))
    with Service(drill.database, 2 if drill.database.kind == "postgres" else 1) as service:
        users = [User(service, number, problems) for number in range(CLIENTS)]
        try:
            begin = time.monotonic()
            while service.operations() < count:
                assert not problems, f"{len(problems)} clients failed: {problems[:3]}"
                assert time.monotonic() < begin + drill.size(300, 3_600), "hardly any operations are executed"
                if service.operations() >= interval * (kills + 1):
                    time.sleep(chance.uniform(0, 0.1))
                    service.restart(chance)
                    kills += 1
                time.sleep(0.01)
        finally:
            service.stop.set()
            for user in users:
                user.thread.join()
        took = time.monotonic() - begin
        assert not problems, f"{len(problems)} clients failed: {problems[:3]}"
        _read_all(service, users[0])
        for node in service.nodes:
            node.terminate()
    begin = time.monotonic()
    _check(service.secrets, begin + drill.size(30, 600))
    operations = [operation for secret in service.secrets for operation in secret.operations]
    changes = sum(operation.may_change for operation in operations)
    unknown = sum(operation.is_unknown for operation in operations)
    conflicts = sum(operation.result == CONFLICT for operation in operations)
    drill.note(f"{len(operations)} operations in {took:.0f} s of {len(service.secrets)} secrets, {changes} changes, "
               f"{conflicts} version conflicts, {unknown} without a response, {kills} kills, "
               f"checked in {time.monotonic() - begin:.1f} s")
    assert unknown, "no request was interrupted"
    assert conflicts > len(operations) / 100 and changes > len(operations) / 10, "hardly any changes or conflicts"


def _check(secrets, deadline):
    """Checks the history of each secret. Fails with the reports of the first three that are wrong."""
    failures = []
    for secret in secrets:
        try:
            check_versions(secret.key, secret.operations)
            check(secret.key, secret.operations, deadline)
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "\n".join([f"{len(failures)} of {len(secrets)} secrets failed:", *failures[:3]])


def _read_all(service, user):
    """Reads the last version and the history of each secret on each node."""
    for node in service.nodes:
        client = Client(node.address, jwt("alice"))
        for secret in service.secrets:
            for kind, arguments in (("read", ()), ("history", (None, None))):
                user.execute(client, secret, kind, arguments)
