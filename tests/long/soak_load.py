"""Load of `soak`: a mix of requests, and processes that send it. A process has one thread, which
waits for all its connections together, because the processes share the machine with the service."""

import math
import multiprocessing
import os
import random
import select
import socket
import time
from collections import deque
from urllib.parse import urlencode

from program import jwt

# Share of each request in the load, in half percents.
SHARES = {
    "read": 90, "read_inherited": 10, "eso_secret": 10, "eso_secrets": 16, "list_secrets": 16,
    "history": 2, "update": 20, "import_secrets": 4, "create": 3, "delete": 3, "list_projects": 4,
    "list_audit": 2, "unauthenticated": 6, "forbidden": 4, "missing_key": 4, "other_project": 2,
    "invalid": 2, "conflict": 2,
}
ACCOUNTS, PROJECTS, KEYS = 8, 2, 50
ENVIRONMENTS = ["development", "staging", "production"]
IMPORTED = 10
PROCESSES = 2
# Every fifth value is long.
PADDING = ["", "", "", "", "x" * 2_000]
RESPONSE_TIMEOUT = 60
# Time by which requests may be sent too late, because all connections wait for responses.
MAX_DELAY = 30
JWT_RENEWAL = 300


class Account:
    """User with a team, its projects with their secrets, and service tokens."""

    def __init__(self, node, number):
        self.name = f"soak{number}"
        person = node.person(self.name)
        self.writers = [person.token(name=f"writer-{number}") for number in range(2)]
        self.reader = person.token(name="reader", permissions=["read"])
        self.projects = [person.project(f"Project {number}") for number in range(PROJECTS)]
        for project in self.projects:
            for environment in ENVIRONMENTS:
                person.ok("POST", f"{project}/environments/{environment}/secrets/bulk",
                          {"secrets": [{"key": f"KEY_{key}", "value": value(key)} for key in range(KEYS)]})
            person.ok("POST", f"{project}/environments", {"name": "preview", "inherits_from": "production"})
            person.ok("POST", f"{project}/environments/preview/secrets", {"key": "KEY_0", "value": value(0)})


def value(number):
    return f"kvc_soak_{number}_{PADDING[number % len(PADDING)]}"


class Requests:
    """Endless random series of requests. Each is returned as the bytes to send, the statuses that the
    response may have, and a function that is called with the status, or None. If `may_be_busy` is
    true, the service may be too busy for a request (503)."""

    def __init__(self, host, accounts, seed, may_be_busy, shares):
        self.host, self.accounts, self.seed, self.may_be_busy = host, accounts, seed, may_be_busy
        self.chance = random.Random(seed)
        self.deck = [getattr(self, name) for name, share in shares.items() for _ in range(share)]
        self.left, self.number = [], 0
        # Secrets that `create` has created and `delete` will delete.
        self.created = deque()
        self.sessions, self.renewal = {}, 0

    def next(self):
        """Returns the next request."""
        if not self.left:
            self.left = self.chance.sample(self.deck, len(self.deck))
        self.number += 1
        return self.left.pop()()

    def read(self):
        account, secrets = self._secrets()
        return self._get(f"{secrets}/{self._key()}", account.reader)

    def read_inherited(self):
        account, project = self._project()
        return self._get(f"{project}/environments/preview/secrets/{self._key()}", account.reader)

    def eso_secret(self):
        account, project = self._project()
        query = {"project": project.rpartition("/")[2], "env": "production", "key": self._key()}
        return self._get(f"/api/v1/eso/secret?{urlencode(query)}", account.reader)

    def eso_secrets(self):
        account, project = self._project()
        query = {"project": project.rpartition("/")[2], "env": self.chance.choice([*ENVIRONMENTS, "preview"])}
        return self._get(f"/api/v1/eso/secrets?{urlencode(query)}", account.reader)

    def list_secrets(self):
        account, secrets = self._secrets()
        return self._get(secrets, account.reader)

    def history(self):
        account, secrets = self._secrets()
        return self._get(f"{secrets}/{self._key()}/history?limit=20", account.writers[0])

    def update(self):
        account, secrets = self._secrets()
        body = f'{{"value": "{value(self.number)}"}}'
        return self._send("PUT", f"{secrets}/{self._key()}", account.writers[1], body, 200)

    def import_secrets(self):
        account, secrets = self._secrets()
        keys = self.chance.sample(range(KEYS), IMPORTED)
        listed = ", ".join(f'{{"key": "KEY_{key}", "value": "{value(self.number + key)}"}}' for key in keys)
        body = f'{{"secrets": [{listed}], "overwrite": true}}'
        return self._send("POST", f"{secrets}/bulk", account.writers[0], body, 200)

    def create(self):
        account, secrets = self._secrets()
        key = f"TEMPORARY_{self.seed}_{self.number}"
        body = f'{{"key": "{key}", "value": "{value(self.number)}"}}'
        created = (f"{secrets}/{key}", account.writers[0])
        return self._send("POST", secrets, account.writers[0], body, 201, lambda _: self.created.append(created))

    def delete(self):
        if not self.created:
            return self.create()
        created = self.created.popleft()

        def done(status):
            if status == 503:
                self.created.append(created)

        request, statuses, _ = self._send("DELETE", *created, None, 204)
        # A secret is missing if the service was too busy to create it.
        return request, statuses | {404} if self.may_be_busy else statuses, done

    def list_projects(self):
        return self._get("/api/v1/projects", self._session())

    def list_audit(self):
        return self._get("/api/v1/audit?limit=20", self._session())

    def unauthenticated(self):
        _, secrets = self._secrets()
        return self._get(f"{secrets}/{self._key()}", f"wrong-{self.number}", 401)

    def forbidden(self):
        account, secrets = self._secrets()
        return self._send("PUT", f"{secrets}/{self._key()}", account.reader, '{"value": "kvc_soak"}', 403)

    def missing_key(self):
        account, secrets = self._secrets()
        return self._get(f"{secrets}/NONE_{self.seed}_{self.number}", account.reader, 404)

    def other_project(self):
        account, other = self.chance.sample(self.accounts, 2)
        return self._get(f"{other.projects[0]}/environments/production/secrets", account.reader, 403)

    def invalid(self):
        account, secrets = self._secrets()
        return self._send("POST", secrets, account.writers[0], '{"key": "no key", "value": "kvc_soak"}', 400)

    def conflict(self):
        account, secrets = self._secrets()
        body = f'{{"key": "{self._key()}", "value": "kvc_soak"}}'
        return self._send("POST", secrets, account.writers[0], body, 409)

    def _project(self):
        account = self.chance.choice(self.accounts)
        return account, self.chance.choice(account.projects)

    def _secrets(self):
        account, project = self._project()
        return account, f"{project}/environments/{self.chance.choice(ENVIRONMENTS)}/secrets"

    def _key(self):
        return f"KEY_{self.chance.randrange(KEYS)}"

    def _session(self):
        """Returns an identity token of a user, which is renewed before it expires."""
        if time.monotonic() > self.renewal:
            self.sessions = {account.name: jwt(account.name) for account in self.accounts}
            self.renewal = time.monotonic() + JWT_RENEWAL
        return self.sessions[self.chance.choice(self.accounts).name]

    def _get(self, path, credential, status=200):
        return self._send("GET", path, credential, None, status)

    def _send(self, method, path, credential, body, status, done=None):
        head = f"{method} {path} HTTP/1.1\r\nhost: {self.host}\r\nauthorization: Bearer {credential}\r\n"
        statuses = {status, 503} if self.may_be_busy else {status}
        if body is None:
            return f"{head}\r\n".encode(), statuses, done
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        return (head + body).encode(), statuses, done


class Connection:
    """Connection with at most one request that waits for its response."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=RESPONSE_TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.begin = None

    def send(self, request, begin):
        """Sends a request. Its duration is counted from `begin`, at which it should have been sent."""
        self.request, self.begin, self.received = request, begin, b""
        self.sent = time.monotonic()
        self.socket.sendall(request[0])

    def receive(self):
        """Reads from the socket. Returns the status of the response if it is complete, else None."""
        part = self.socket.recv(1 << 18)
        assert part, f"no response to {self._line()}"
        self.received += part
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found:
            return None
        length = head.lower().partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]
        # Only a response without a body may have no length.
        assert length or head[9:12] == b"204", f"response without a length to {self._line()}"
        if len(body) < int(length or 0):
            return None
        status = int(head[9:12])
        _, statuses, done = self.request
        assert status in statuses, f"{self._line()}: {status} instead of {min(statuses)} {body[:300]!r}"
        if done:
            done(status)
        return status

    def _line(self):
        return self.request[0].partition(b" HTTP/1.1")[0].decode()


class Process:
    """Process that sends requests: at `rate` per second, or, if that is None, each when the response
    to the one before it has arrived. If `may_be_busy` is true, the status 503 is no failure."""

    def __init__(self, address, accounts, seed, connections, rate, may_be_busy, shares):
        self.address, self.rate, self.connections = address, rate, connections
        self.requests = Requests("{}:{}".format(*address), accounts, seed, may_be_busy, shares)
        # Written by the process and read by its parent: number of responses without those with the
        # status 503, maximum delay, number of responses with the status 503.
        self.counts, self.is_stopped = multiprocessing.RawArray("d", 3), multiprocessing.RawValue("b", 0)
        self.here, there = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=self._run, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def _run(self, there):
        # The service must get the processor first.
        os.nice(1)
        self.times = [0] * 512
        try:
            self._send()
            there.send((None, self.times))
        except Exception as error:
            there.send((f"{type(error).__name__}: {error}", self.times))

    def _send(self):
        self.polled = select.epoll()
        # Connections are used in turn, so that the service does not close one that is idle for long.
        idle = deque(Connection(self.address) for _ in range(self.connections))
        self.by_number = {connection.socket.fileno(): connection for connection in idle}
        for number in self.by_number:
            self.polled.register(number, select.EPOLLIN)
        waiting, due = deque(), time.monotonic()
        while not self.is_stopped.value:
            now = time.monotonic()
            if self.rate is None:
                waiting.extend([now] * len(idle))
            while self.rate is not None and due <= now:
                waiting.append(due)
                due += self.requests.chance.expovariate(self.rate)
            while waiting and idle:
                begin = waiting.popleft()
                self.counts[1] = max(self.counts[1], now - begin)
                idle.popleft().send(self.requests.next(), begin)
            assert not waiting or now - waiting[0] < MAX_DELAY, f"requests wait for more than {MAX_DELAY} s to be sent"
            idle += self._receive(0.2 if self.rate is None else min(0.2, max(due - now, 0)))
        self._finish(idle)

    def _receive(self, timeout):
        """Waits for responses, and returns the connections that are idle again."""
        ready = []
        for number, _ in self.polled.poll(timeout):
            connection = self.by_number[number]
            if status := connection.receive():
                micros = (time.monotonic() - connection.begin) * 1e6
                self.times[min(int(math.log2(max(micros, 1)) * 16), 511)] += 1
                self.counts[2 if status == 503 else 0] += 1
                connection.begin = None
                ready.append(connection)
        if not ready:
            limit = time.monotonic() - RESPONSE_TIMEOUT
            late = [one for one in self.by_number.values() if one.begin is not None and one.sent < limit]
            assert not late, f"no response within {RESPONSE_TIMEOUT} s: {late[0].request[0][:200]!r}"
        return ready

    def _finish(self, idle):
        """Waits for the last responses, and deletes the secrets that are left of `create`."""
        while len(idle) < self.connections:
            idle += self._receive(0.2)
        while self.requests.created:
            idle.popleft().send(self.requests.delete(), time.monotonic())
            while len(idle) < self.connections:
                idle += self._receive(0.2)


class Load:
    """Running load: several processes that send requests."""

    seed = 0

    def __init__(self, address, accounts, connections, rate, may_be_busy, shares=SHARES):
        self.processes = []
        for _ in range(PROCESSES):
            Load.seed += 1
            self.processes.append(Process(address, accounts, Load.seed, max(connections // PROCESSES, 1),
                                          rate and rate / PROCESSES, may_be_busy, shares))

    def responses(self):
        """Returns the number of responses so far."""
        return sum(one.counts[0] for one in self.processes)

    def busy(self):
        """Returns the number of responses so far with the status 503."""
        return sum(one.counts[2] for one in self.processes)

    def delay(self):
        """Returns the maximum time in seconds by which a request was sent too late."""
        return max(one.counts[1] for one in self.processes)

    def check(self):
        """Raises an error if a process has failed."""
        for one in self.processes:
            if one.here.poll():
                raise AssertionError(one.here.recv()[0])
            assert one.process.is_alive(), "a process of the load has ended"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for one in self.processes:
            one.process.kill()
            one.process.join()

    def stop(self):
        """Stops the load, and returns the durations of the requests as a histogram."""
        for one in self.processes:
            one.is_stopped.value = 1
        results = [one.here.recv() for one in self.processes]
        for one in self.processes:
            one.process.join()
        if failures := [failure for failure, _ in results if failure]:
            raise AssertionError(failures[0])
        return [sum(counts) for counts in zip(*(times for _, times in results))]


def duration(times, share):
    """Returns a quantile of the durations in a histogram, in milliseconds."""
    left = sum(times) * share
    for index, count in enumerate(times):
        left -= count
        if count and left <= 0:
            break
    return 2 ** ((index + 1) / 16) / 1000
