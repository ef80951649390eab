"""Drill of restarting all nodes in turn (rolling restart) while clients use the service."""

import os
import threading
import time

from program import jwt
from world import Client, Node, command, started

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


class Cluster:
    """Three nodes with one database, and clients that read and write through a load balancer."""

    def __init__(self, database):
        self.database, self.balancer, self.users, self.restarts = database, Balancer(), [], 0
        self.names = [f"node {number}" for number in range(NODES)]

    def __enter__(self):
        try:
            for name in self.names:
                self.balancer.nodes[name] = Node(self.database, **DELAY)
            project = self.balancer.nodes[self.names[0]].person("alice").project("Rolling")
            self.balancer.check()
            self.watching = started(self.balancer.watch, self.balancer.problems)
            self.users = [User(self.balancer, project, number) for number in range(CLIENTS)]
        except BaseException:
            self.__exit__()
            raise
        return self

    def restart(self, executable=None):
        """Replaces all nodes in turn by nodes with this program."""
        for name in self.names:
            time.sleep(0.3)
            self.balancer.nodes[name].terminate()
            self.balancer.nodes[name] = Node(self.database, executable=executable, **DELAY)
            self.restarts += 1
            end = time.monotonic() + 30
            while name not in self.balancer.ready:
                assert time.monotonic() < end, f"{name} is not ready"
                time.sleep(0.02)

    def finish(self, drill):
        """Stops the clients. Fails if one of their requests has failed."""
        self.balancer.stop.set()
        for thread in [self.watching, *(user.thread for user in self.users)]:
            thread.join()
        failures = self.balancer.problems + [failure for user in self.users for failure in user.failures]
        requests = sum(user.requests for user in self.users)
        drill.note(f"{self.restarts} restarts, {requests} requests")
        assert requests >= 10 * self.restarts, "hardly any requests were sent"
        assert not failures, f"{len(failures)} requests failed: {failures[:5]}"

    def __exit__(self, *error):
        self.balancer.stop.set()
        for node in self.balancer.nodes.values():
            node.__exit__()


def rolling(drill):
    """Drill: three nodes are restarted in turn while clients read and write through a load balancer.
    No request fails."""
    with Cluster(drill.database) as cluster:
        for _ in range(drill.size(1, 20)):
            cluster.restart()
        cluster.finish(drill)


def upgrade(drill):
    """Drill: the database is migrated to the schema of a later version while three nodes of this
    version and clients use it, and the nodes are restarted in turn. No request fails.

    With the program of a later version in `SECRETS_DRILL_LATER`, that program migrates, and the nodes
    are replaced by it and back again. Without it, the drill changes the tables as a later version may.
    """
    later = os.environ.get("SECRETS_DRILL_LATER")
    with Cluster(drill.database) as cluster:
        time.sleep(0.5)
        if later:
            migrated = command(drill.database, "migrate", executable=later)
            assert migrated.returncode == 0, migrated.stderr
            cluster.restart(later)
        else:
            expand(drill.database)
        cluster.restart()
        cluster.finish(drill)
        versions = drill.database.run("SELECT MAX(version) FROM _sqlx_migrations")
        drill.note(f"schema version {versions[0][0]}")


def expand(database):
    """Changes all tables as a migration may that programs of this version need not know: a new
    column in each, and a new table."""
    names = [name for name, in database.run(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1")]
    database.run_with_retries([f"ALTER TABLE {name} ADD COLUMN later_column BIGINT NOT NULL DEFAULT 7"
                               for name in names if name != "_sqlx_migrations"])
    database.run("CREATE TABLE later_table (id UUID NOT NULL PRIMARY KEY)")
    database.run("""INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                    SELECT MAX(version) + 1, 'later', TRUE, '', 0 FROM _sqlx_migrations""")
