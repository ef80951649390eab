"""Drill of stopping the service while clients write."""

import threading

from program import jwt
from world import Node

WRITERS = 8


class Writer:
    """Client that creates secrets until the service ends. Every second writer uses a new connection
    for each request."""

    def __init__(self, node, secrets, number, round_number):
        self.client, self.secrets = node.client(jwt("alice")), secrets
        self.prefix, self.keeps = f"R{round_number}_W{number}", number % 2 == 0
        self.acknowledged, self.reset, self.began = [], [], threading.Event()
        # Keys of requests whose new connection was reset.
        self.unaccepted = []
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        headers = {} if self.keeps else {"Connection": "close"}
        for number in range(100_000):
            key, is_new = f"{self.prefix}_{number}", self.client.connection is None
            try:
                status, _ = self.client.send(
                    "POST", self.secrets, {"key": key, "value": "kvc_stop"}, **headers)
            except OSError as error:
                # The service does not listen any more, so the request was not accepted.
                if "ConnectionRefusedError" in str(error):
                    return
                # The kernel resets a connection that it establishes while the listener closes.
                if is_new and "ConnectionResetError" in str(error):
                    self.unaccepted.append(key)
                else:
                    self.reset.append(f"{key}: {error}")
                return
            if status == 201:
                self.acknowledged.append(key)
                self.began.set()
            elif status != 503:
                self.reset.append(f"{key}: {status}")
                return


def terminate(drill):
    """Drill: the service gets SIGTERM while clients write. No acknowledged write is lost, and no
    request on an open connection is reset. If a new connection is reset, its request must not have
    been executed."""
    rounds, resets, expected, project = drill.size(3, 50), [], set(), None
    unaccepted, total = set(), 0
    for number in range(rounds + 1):
        with Node(drill.database) as node:
            alice = node.person("alice")
            project = project or alice.project("Stopped")
            secrets = f"{project}/environments/production/secrets"
            listed = alice.ok("GET", secrets)["secrets"]
            keys = {secret["key"] for secret in listed}
            assert expected <= keys, f"round {number}: {len(expected - keys)} acknowledged writes are lost"
            assert not unaccepted & keys, f"round {number}: {unaccepted & keys} were executed and reset"
            for secret in listed:
                assert alice.status("DELETE", f"{secrets}/{secret['key']}") == 204
            if number == rounds:
                node.terminate()
                break
            writers = [Writer(node, secrets, writer, number) for writer in range(WRITERS)]
            for writer in writers:
                writer.began.wait(30)
            node.terminate()
            for writer in writers:
                writer.thread.join()
        expected = {key for writer in writers for key in writer.acknowledged}
        resets += [reset for writer in writers for reset in writer.reset]
        unaccepted |= {key for writer in writers for key in writer.unaccepted}
        total += len(expected)
    drill.note(f"{rounds} stops, {total} acknowledged writes, {len(resets)} resets, {len(unaccepted)} not accepted")
    assert not resets, f"{len(resets)} accepted requests were reset: {resets[:3]}"
