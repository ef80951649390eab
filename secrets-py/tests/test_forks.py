"""Tests of clients that were used before a fork: each child process gets the responses to its own
requests, and no process hangs.

The environment variable ``SECRETS_TEST_FORK_RUNS`` sets how often the tests with a process pool and
with gunicorn run. The default is 1.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from certificates import Authority
from servers import Host

BEGIN = """
import asyncio, multiprocessing, os, ssl, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from secrets_service import AsyncClient, Client
url, authority = sys.argv[1:]
context = ssl.create_default_context(cafile=authority) if authority else None
client = Client(url, token="t", context=context)
asynchronous = AsyncClient(url, token="t", context=context)
def read(key):
    return client.secret.get(project="p", environment="e", key=key)["value"] == f"kvc_{key}"
async def read_async(key):
    found = await asynchronous.secret.get(project="p", environment="e", key=key)
    return found["value"] == f"kvc_{key}"
def reads(keys):
    async def main():
        return await asyncio.gather(*(read_async(key) for key in keys))
    return asyncio.run(asyncio.wait_for(main(), 60))
def child(work):
    process = os.fork()
    if process == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return process
def ended(processes):
    return [os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in processes]
"""


def run(code: str, url: str, authority: Path | str = "") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code, url, str(authority)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


# Delay of each response in seconds, so that children wait for responses at the same time.
PAUSE = 0.01

# Runs of a test with many reads, and reads of each run.
RUNS = int(os.environ.get("SECRETS_TEST_FORK_RUNS", "1"))
READS = 2000

# Processes of a pool, and workers of gunicorn.
POOL_SIZE, WORKERS = 8, 4

POOL = f"""
assert read("START")
with multiprocessing.get_context("fork").Pool({POOL_SIZE}) as pool:
    right = pool.map(read, [f"K{{number}}" for number in range({READS})])
print(right.count(True), right.count(False))
"""

CELERY_POOL = "import billiard\n" + POOL.replace("multiprocessing.get_context", "billiard.get_context")


def tls(authority: Authority) -> Host:
    return Host(authority.server())


def plain(authority: Authority) -> Host:
    return Host()


@pytest.mark.parametrize(
    ("code", "serve"),
    [(POOL, plain), (POOL, tls), (CELERY_POOL, plain)],
    ids=["multiprocessing", "multiprocessing-tls", "celery"],
)
@pytest.mark.parametrize("number", range(RUNS))
def test_a_pool_of_forked_processes_reads_its_own_responses(
    code: str, serve: Callable[[Authority], Host], number: int, authority: Authority
) -> None:
    with serve(authority) as host:
        host.pause = PAUSE
        assert run(code, host.url, authority.path if serve is tls else "") == [f"{READS} 0"]
        # Each process has one connection, which stays open.
        assert len(host.asked) == READS + 1
        assert 2 < len(host.peers) <= POOL_SIZE + 1


def test_threads_and_tasks_go_on_beside_forks(host: Host) -> None:
    code = """
wrong = []
def work(number):
    wrong.extend(key for one in range(85) if not read(key := f"T{number}_{one}"))
threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
threads.append(threading.Thread(target=lambda: wrong.extend(
    one for one in range(20) if not all(reads([f"A{one}_{number}" for number in range(32)])))))
for thread in threads:
    thread.start()
children = [child(lambda: all(read(f"C{one}_{number}") for number in range(20)))
            for one in range(10)]
for thread in threads:
    thread.join()
print(ended(children), wrong)
"""
    assert run(code, host.url) == [f"{[0] * 10} []"]


def test_an_asyncio_client_works_in_a_child(host: Host) -> None:
    code = """
assert all(reads(["PARENT"]))
children = [child(lambda: all(reads([f"C{one}"])) and all(reads([f"D{one}_{number}"
            for number in range(40)]))) for one in range(4)]
assert all(reads([f"Q{number}" for number in range(40)]))
print(ended(children))
"""
    assert run(code, host.url) == [f"{[0] * 4}"]


def test_a_child_of_a_child_has_connections_of_its_own(host: Host) -> None:
    code = """
def grandchild():
    return read("CHILD") and ended([child(lambda: read("GRANDCHILD"))]) == [0] and read("CHILD_2")
assert read("PARENT")
print(ended([child(grandchild)]), read("PARENT_2"))
"""
    assert run(code, host.url) == ["[0] True"]
    assert len(host.peers) == 3


def test_a_child_does_not_abort_a_call_of_its_parent(host: Host) -> None:
    code = """
import socket
from secrets_service._call import Call
one, other = socket.socketpair()
other.settimeout(60)
call = Call("project.list", deadline=60, patience=0, can_abort=True)
call.attach(one)
print(ended([child(lambda: call.abort() is None)]))
one.sendall(b"x")
print(other.recv(1))
call.abort()
print(other.recv(1))
"""
    assert run(code, host.url) == ["[0]", "b'x'", "b''"]


GUNICORN = """
import os, ssl
from secrets_service import Client
authority = os.environ["AUTHORITY"]
context = ssl.create_default_context(cafile=authority) if authority else None
client = Client(os.environ["SECRETS_URL"], context=context)
def read(key):
    return client.secret.get(project="p", environment="e", key=key)["value"]
read("PRELOADED")
def app(environ, start_response):
    body = f"{os.getpid()} {read(environ['PATH_INFO'][1:])}".encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""

# Threads of each worker of gunicorn, threads that send requests to gunicorn, and requests of each of their
# connections.
THREADS, CALLERS, REQUESTS = 2, 8, 25


@contextmanager
def gunicorn(folder: Path, **variables: str) -> Iterator[str]:
    """Starts gunicorn and yields its URL. Gunicorn loads the application once, before it forks its
    worker processes."""
    (folder / "app.py").write_text(GUNICORN)
    workers = ["--workers", str(WORKERS), "--worker-class", "gthread", "--threads", str(THREADS)]
    command = ["--preload", *workers, "--bind", "127.0.0.1:0", "--timeout", "0", "app:app"]
    server = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *command],
        cwd=folder, env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stderr
        url = next(
            line.split()[-2] for line in server.stderr if "Listening at: http://127" in line
        )
        threading.Thread(target=server.stderr.read, daemon=True).start()
        yield url
    finally:
        server.terminate()
        server.wait(30)


def calls(url: str, caller: int) -> Iterator[tuple[str, str]]:
    """Sends the requests of one caller to gunicorn. For each request, yields the
    process ID of the worker that responded, and an error message (empty if the response
    was right)."""
    for first in range(0, READS // CALLERS, REQUESTS):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        for number in range(first, first + REQUESTS):
            key = f"G{caller}_{number}"
            connection.request("GET", f"/{key}")
            worker, _, value = connection.getresponse().read().decode().partition(" ")
            yield worker, "" if value == f"kvc_{key}" else f"{key}: {value}"
        connection.close()


@pytest.mark.parametrize("serve", [plain, tls])
@pytest.mark.parametrize("number", range(RUNS))
def test_the_workers_of_gunicorn_read_their_own_responses(
    serve: Callable[[Authority], Host], number: int, authority: Authority, tmp_path: Path
) -> None:
    outcomes: list[tuple[str, str]] = []

    def call(url: str, caller: int) -> None:
        try:
            outcomes.extend(calls(url, caller))
        except Exception as error:
            outcomes.append(("", repr(error)))

    trusted = str(authority.path) if serve is tls else ""
    with serve(authority) as host:
        host.pause = PAUSE / 10
        with gunicorn(tmp_path, SECRETS_URL=host.url, AUTHORITY=trusted) as url:
            threads = [threading.Thread(target=call, args=(url, one)) for one in range(CALLERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        assert [error for _, error in outcomes if error] == []
        assert len(outcomes) == READS
        assert len({worker for worker, _ in outcomes}) > 1
        # Each thread has one connection, which stays open, and so has the preloaded application.
        assert len(host.asked) == READS + 1
        assert 2 < len(host.peers) <= WORKERS * THREADS + 1
