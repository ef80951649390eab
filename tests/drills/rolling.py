"""Drill of restarting all nodes in turn (rolling restart) while clients use the service."""

import threading
import time

from program import jwt
from world import Client, Node, started

CLIENTS, NODES = 8, 3


# Seconds for which a node that stops accepts requests, until the balancer has noticed it.
DELAY = {"SECRETS_SHUTDOWN_DELAY": 2}


class Balancer:
    """Chooses a node for each request, as a load balancer does: the nodes whose `/health` is 200, in
    turns."""

    def __init__(self):
        self.nodes, self.ready, self.turn, self.problems = {}, [], 0, []
        self.stop = threading.Event()

    def watch(self):
        """Checks the nodes again and again, until `stop` is set."""
        while not self.stop.wait(0.05):
            self.check()

    def check(self):
        nodes = dict(self.nodes)
        self.ready = [name for name, node in nodes.items() if Client(node.address, timeout=5).status("GET", "/health") == 200]

    def next(self):
        self.turn += 1
        ready = self.ready
        return ready[self.turn % len(ready)] if ready else None


class User:
    """Client that reads and writes through the balancer, on one connection for each node."""

    def __init__(self, balancer, project, number):
        self.balancer, self.number = balancer, number
        self.secrets = f"{project}/environments/production/secrets"
        self.connections, self.failures, self.requests = {}, [], 0
        self.thread = started(self._read_and_write, self.failures)

    def _read_and_write(self):
        version = 0
        while not self.balancer.stop.is_set():
            version += 1
            value = f"kvc_{self.number}_{version}"
            body = {"secrets": [{"key": f"KEY_{self.number}", "value": value}], "overwrite": True}
            self._must_succeed("POST", f"{self.secrets}/bulk", body)
            read = self._must_succeed("GET", f"{self.secrets}/KEY_{self.number}")
            if read is not None and value.encode() not in read:
                self.failures.append(f"{value} was not read")

    def _must_succeed(self, method, path, body=None):
        for _ in range(50):
            name = self.balancer.next()
            node = self.balancer.nodes.get(name)
            if node is None:
                time.sleep(0.02)
                continue
            # A restarted node has another address.
            client = self.connections.get(node.address)
            if client is None:
                client = self.connections[node.address] = Client(node.address, jwt("alice"))
            try:
                status, text = client.send(method, path, body)
            except OSError as error:
                self.failures.append(f"{method}: {error}")
                return None
            self.requests += 1
            if not 200 <= status < 300:
                self.failures.append(f"{method}: {status} {text[:200]!r}")
                return None
            return text
        self.failures.append(f"{method}: no node was ready")
        return None


def rolling(drill):
    """Drill: three nodes are restarted in turn, again and again, while clients read and write
    through a load balancer. No request fails."""
    rounds, balancer = drill.size(2, 20), Balancer()
    names = [f"node {number}" for number in range(NODES)]
    try:
        for name in names:
            balancer.nodes[name] = Node(drill.database, **DELAY)
        project = balancer.nodes[names[0]].person("alice").project("Rolling")
        balancer.check()
        watching = started(balancer.watch, balancer.problems)
        users = [User(balancer, project, number) for number in range(CLIENTS)]
        for _ in range(rounds):
            for name in names:
                time.sleep(0.3)
                balancer.nodes[name].terminate()
                balancer.nodes[name] = Node(drill.database, **DELAY)
                end = time.monotonic() + 30
                while name not in balancer.ready:
                    assert time.monotonic() < end, f"{name} is not ready"
                    time.sleep(0.02)
        balancer.stop.set()
        for thread in [watching, *(user.thread for user in users)]:
            thread.join()
    finally:
        balancer.stop.set()
        for node in balancer.nodes.values():
            node.__exit__()
    failures = balancer.problems + [failure for user in users for failure in user.failures]
    requests = sum(user.requests for user in users)
    drill.note(f"{rounds * NODES} restarts, {requests} requests")
    assert requests >= 10 * rounds * NODES, "hardly any requests were sent"
    assert not failures, f"{len(failures)} requests failed: {failures[:5]}"
