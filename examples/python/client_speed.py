"""Benchmark: a read over HTTP with `secrets_service.Client`, `requests` and `httpx`.

pip install httpx requests, then: python examples/python/client_speed.py READS PROGRAM

READS is the number of reads with each client. PROGRAM is the path of the built program secrets-http,
which this benchmark starts. Without PROGRAM, the environment variables SECRETS_URL and SECRETS_TOKEN name a
service and a user; a project is created there, and deleted at the end.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median, quantiles

import httpx
import requests
from secrets_service import Client

ROUNDS = 20
VALUE = "postgres://db"


@contextmanager
def service(program: str) -> Iterator[tuple[str, str]]:
    """Context manager that starts the service. Yields its URL and the token of a user."""
    limits = {"SECRETS_RATE_LIMIT_PER_IP": "0", "SECRETS_RATE_LIMIT_PER_PRINCIPAL": "0"}
    # A read writes nothing, so that most of its time is that of the client.
    settings = {**limits, "SECRETS_AUDIT_READS": "off", "SECRETS_LOG": "warn"}
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "dev", "--listen", "127.0.0.1:0", "--data-dir", f"{folder}/data"]
        process = subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout
            exports = (line for line in process.stdout if line.startswith("export "))
            url, token = (next(exports).strip().partition("=")[2] for _ in range(2))
            yield url, token
        finally:
            process.terminate()
            process.wait(30)


def compare(reads: int, url: str, token: str) -> None:
    with Client(url, token=token) as ours, requests.Session() as session, httpx.Client() as client:
        project = ours.project.create(name="Client speed")["slug"]
        ours.secret.create(project=project, environment="production", key="URL", value=VALUE)
        path = f"{url}/api/v1/projects/{project}/environments/production/secrets/URL"
        session.headers["Authorization"] = client.headers["Authorization"] = f"Bearer {token}"

        readers: dict[str, Callable[[], str]] = {
            "requests": lambda: session.get(path).json()["secret"]["value"],
            "httpx": lambda: client.get(path).json()["secret"]["value"],
            "secrets_service": lambda: ours.secret.get(
                project=project, environment="production", key="URL"
            )["value"],
        }
        try:
            print_table(measure(readers, reads))
        finally:
            ours.project.delete(project=project)


def measure(readers: dict[str, Callable[[], str]], reads: int) -> dict[str, list[float]]:
    """Measures the time of each read in microseconds, by client. The clients take turns, so that changes
    of the machine's speed affect all of them."""
    times: dict[str, list[float]] = {name: [] for name in readers}
    for number in range(-1, ROUNDS):
        for name, read in readers.items():
            for _ in range(max(1, reads // ROUNDS)):
                began = time.perf_counter()
                value = read()
                # The first round opens the connections.
                if number >= 0:
                    times[name].append((time.perf_counter() - began) * 1e6)
                assert value == VALUE, f"{name} has read another value"
    return times


def print_table(times: dict[str, list[float]]) -> None:
    base = median(times["requests"])
    print(f"{'client':<16}{'reads':>8}{'median µs':>12}{'p99 µs':>12}{'ratio':>8}")
    for name, found in times.items():
        middle, p99 = median(found), quantiles(found, n=100)[98]
        print(f"{name:<16}{len(found):>8}{middle:>12.0f}{p99:>12.0f}{middle / base:>8.2f}")


def main() -> None:
    reads = int(sys.argv[1])
    if len(sys.argv) > 2:
        with service(sys.argv[2]) as (url, token):
            compare(reads, url, token)
    else:
        compare(reads, os.environ["SECRETS_URL"], os.environ["SECRETS_TOKEN"])


main()
