"""Drill of reads on one node after changes on another, while a node is stopped and connections are
cut."""

import contextlib
import json
import random
import signal
import threading
import time

from world import Node, started

# Accounts, each with clients of its own.
ACCOUNTS = 8

# Environments with the same secret key, of which another environment inherits one.
PARENTS = ["staging", "production"]

CUT_CONNECTIONS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


class Checker:
    """Thread that makes changes on one of two nodes, and checks that each response of both nodes
    afterwards shows the change. The thread has keys, tokens and a member of its own, so that it knows
    the current state."""

    def __init__(self, account, number, stop):
        self.account, self.number, self.stop = account, number, stop
        self.random, self.checks, self.repeated, self.problems = random.Random(number), 0, 0, []
        self.owners = [owner.again() for owner in account.owners]
        self.secrets = f"{account.project}/environments/production/secrets"
        self.child = f"{account.project}/environments/child/secrets"
        self.key = f"KEY_{number}"
        self.thread = started(self._run, self.problems)

    def _run(self):
        self._change("POST", self.secrets, {"key": self.key, "value": "kvc_0"}, {201, 409})
        version = 0
        while not self.stop.is_set():
            version += 1
            value = f"kvc_{self.number}_{version}"
            changes = [self._value, self._override, self._token, self._permission, self._parent]
            self.random.choice(changes)(value)

    def _value(self, value):
        """Changes a secret, which a child environment inherits."""
        self._change("PUT", f"{self.secrets}/{self.key}", {"value": value}, {200})
        self._shows(self.secrets, value)
        self._shows(self.child, value)

    def _override(self, value):
        """Overrides the secret in the child environment, and removes the override again."""
        self._change("PUT", f"{self.secrets}/{self.key}", {"value": f"{value}_parent"}, {200})
        self._change("POST", self.child, {"key": self.key, "value": value}, {201, 409})
        self._shows(self.child, value)
        self._change("DELETE", f"{self.child}/{self.key}", None, {204, 404})
        self._shows(self.child, f"{value}_parent")

    def _token(self, _):
        """Creates a service token, and deletes it."""
        body = {"name": f"token {self.number}", "team_id": self.account.team, "all_projects": True, "permissions": ["read"]}
        created = self._change("POST", "/api/v1/tokens", body, {201})
        users = self._clients(created["token"])
        self._answers(users, f"{self.secrets}/{self.key}", {200})
        self._change("DELETE", f"/api/v1/tokens/{created['id']}", None, {204, 404})
        self._answers(users, f"{self.secrets}/{self.key}", {401})

    def _permission(self, _):
        """Denies a member of the team access to an environment, and allows it again."""
        with self.account.member_lock:
            path = f"{self.account.project}/environments/staging/permissions/{self.account.member}"
            members = self._clients(self.account.member_credential)
            for role, status in (("none", 403), ("read", 200)):
                self._change("PUT", path, {"role": role}, {200})
                self._answers(members, f"{self.account.project}/environments/staging/secrets/KEY", {status})

    def _parent(self, _):
        """Gives an environment another parent."""
        with self.account.parent_lock:
            for parent in PARENTS:
                self._change("PATCH", f"{self.account.project}/environments/moved", {"inherits_from": parent}, {200})
                secret = f"{self.account.project}/environments/moved/secrets/KEY"
                self._answers(self.owners, secret, {200}, f"kvc_{parent}")

    def _clients(self, credential):
        clients = [owner.again() for owner in self.owners]
        for client in clients:
            client.credential = credential
        return clients

    def _change(self, method, path, body, statuses):
        """Makes a change on any node. Repeats it until the node confirms it."""
        while True:
            status, text = self._send(self.random.choice(self.owners), method, path, body)
            if status in statuses:
                return text
            assert status in (0, 503), f"{method} {path}: {status} {text}"
            self.repeated += 1

    def _send(self, client, method, path, body=None):
        with contextlib.suppress(OSError):
            status, text = client.send(method, path, body)
            return status, json.loads(text) if text else None
        return 0, None

    def _shows(self, secrets, value):
        self._answers(self.owners, f"{secrets}/{self.key}", {200}, value)

    def _answers(self, clients, path, statuses, value=None):
        """Checks the response of each node. A request that a node cannot answer is sent again."""
        for client in clients:
            while True:
                status, text = self._send(client, "GET", path)
                if status not in (0, 503):
                    break
                self.repeated += 1
            shown = text["secret"]["value"] if value and status == 200 else None
            assert (status, shown) in {(expected, value) for expected in statuses}, \
                f"{path}: {status} {shown}, expected {statuses} {value}"
            self.checks += 1


class Account:
    """User of both nodes with a project, and a member of the user's team."""

    def __init__(self, nodes, database, number):
        first = nodes[0].person(f"owner{number}")
        self.owners = [first, nodes[1].client(first.credential)]
        self.team, self.project = first.team, first.project("Coherence")
        first.ok("POST", f"{self.project}/environments", {"name": "child", "inherits_from": "production"})
        first.ok("POST", f"{self.project}/environments", {"name": "moved", "inherits_from": "production"})
        for parent in PARENTS:
            first.secret(self.project, parent, value=f"kvc_{parent}")
        member = nodes[0].person(f"member{number}")
        self.member, self.member_credential = member.user["id"], member.credential
        database.run("INSERT INTO members (team_id, user_id, role, created_at, updated_at) "
                     f"VALUES ('{self.team}', '{self.member}', 'member', now(), now())")
        self.member_lock, self.parent_lock = threading.Lock(), threading.Lock()


def _interrupt(database, node, number):
    """Cuts all connections to the database, or stops the node for a moment, in turns."""
    if number % 2:
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        node.process.send_signal(signal.SIGCONT)
    else:
        database.run(CUT_CONNECTIONS)


def coherence(drill):
    """Drill: a response of any node shows each change that any node has confirmed before the request,
    although a node is stopped and connections to the database are cut meanwhile."""
    limits = {"SECRETS_RATE_LIMIT_PER_TEAM": 0}
    with Node(drill.database, **limits) as one, Node(drill.database, **limits) as other:
        accounts = [Account([one, other], drill.database, number) for number in range(ACCOUNTS)]
        stop, checkers, cuts = threading.Event(), [], 0
        try:
            for number in range(drill.size(16, 64)):
                checkers.append(Checker(accounts[number % ACCOUNTS], number, stop))
            # Interruptions after a time would leave a slow machine hardly any checks between them.
            count, interval = drill.size((1_500, 150), (100_000, 2_000))
            while (checks := sum(checker.checks for checker in checkers)) < count:
                if problems := [problem for checker in checkers for problem in checker.problems]:
                    raise AssertionError(f"{len(problems)} checks failed: {problems[:3]}")
                if checks >= interval * (cuts + 1):
                    _interrupt(drill.database, other, cuts)
                    cuts += 1
                time.sleep(0.01)
        finally:
            stop.set()
            for checker in checkers:
                checker.thread.join(120)
        problems = [problem for checker in checkers for problem in checker.problems]
        hits = sum(node.counters("secrets_cache_lookups_total", "result").get("hit", 0) for node in (one, other))
        one.terminate()
        other.terminate()
    checks, repeated = (sum(getattr(checker, name) for checker in checkers) for name in ("checks", "repeated"))
    drill.note(f"{checks} checks, {hits} hits of the cache, {cuts} interruptions, {repeated} requests repeated")
    assert not problems, f"{len(problems)} checks failed: {problems[:3]}"
    assert hits > checks, "hardly any response came from the cache"
