"""Benchmark: one read from Python, compared with the same call from Rust.

python examples/python/overhead.py RUST [ROUNDS], where RUST is the built example read_overhead of
secrets-py. Rust and Python are measured in turn, ROUNDS times each. Prints the medians.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from secrets_service import AsyncSession, Service, Session

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 100
READS = 100
AT = {"environment": "production", "key": "DATABASE_URL"}


def read(session: Session, project: str) -> float:
    """Returns the median time of one read from Python, in microseconds."""
    times = []
    for _ in range(READS):
        began = time.perf_counter()
        session.secret.get(project=project, **AT)
        times.append(time.perf_counter() - began)
    return median(times) * 1e6


async def read_async(session: AsyncSession, project: str) -> float:
    """Returns the median time of one read with the asynchronous session, in microseconds."""
    times = []
    for _ in range(READS):
        began = time.perf_counter()
        await session.secret.get(project=project, **AT)
        times.append(time.perf_counter() - began)
    return median(times) * 1e6


@contextmanager
def rust(url: str) -> Iterator[subprocess.Popen[str]]:
    """Context manager that runs the Rust example as a child process, and yields the process."""
    process = subprocess.Popen(
        [sys.argv[1], url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.communicate(timeout=30)


def ask(process: subprocess.Popen[str]) -> float:
    """Returns the median time of one read in microseconds, as the Rust example measures it."""
    assert process.stdin and process.stdout
    process.stdin.write(f"{READS}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(url: str, rust_url: str) -> str:
    with Service.open(url, root_key=bytes(32)) as service, rust(rust_url) as process:
        alice = service.sign_in(issuer="here", subject="alice", email="alice@example.com")
        project = alice.project.create(name="Web API")["slug"]
        alice.secret.create(project=project, environment=AT["environment"], key=AT["key"], value="postgres://db")
        awaited, loop = AsyncSession(alice._native), asyncio.new_event_loop()
        rounds = [
            (ask(process), read(alice, project), loop.run_until_complete(read_async(awaited, project)))
            for _ in range(ROUNDS)
        ]
        loop.close()
    base, here, later = (median(figures) for figures in zip(*rounds))
    return (
        f"Python {here:.1f} µs, asyncio {later:.1f} µs, Rust {base:.1f} µs,"
        f" overhead {here - base:.1f} and {later - base:.1f} µs,"
        f" ratio {here / base:.2f} and {later / base:.2f}"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print("a read over memory:", compare("memory:", "memory:"))
        here, rust = (f"sqlite://{folder}/{name}.db" for name in ("python", "rust"))
        print("a read over sqlite:", compare(here, rust))


main()
