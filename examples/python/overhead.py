"""Benchmark: one read from Python, compared with the same call from Rust.

python examples/python/overhead.py [SECONDS [RUST]], where RUST is the built example read_overhead.
"""

import json
import subprocess
import sys
import tempfile
import time

from secrets_service import Service, Session

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0


def measure(session: Session, project: str) -> float:
    """Measures the microseconds of one read."""
    reads, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        session.secret.get(project=project, environment="production", key="DATABASE_URL")
        reads += 1
    return (time.perf_counter() - began) / reads * 1e6


def main() -> None:
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for url in ("memory:", f"sqlite://{folder}/secrets.db"):
            with Service.open(url, root_key=bytes(32)) as service:
                alice = service.sign_in(issuer="here", subject="alice", email="alice@example.com")
                project = alice.project.create(name="Web API")["slug"]
                alice.secret.create(
                    project=project, environment="production", key="DATABASE_URL", value="postgres://db"
                )
                figures[url.partition(":")[0]] = measure(alice, project)
    rust = {}
    if len(sys.argv) > 2:
        told = subprocess.run([sys.argv[2], str(SECONDS)], check=True, capture_output=True, text=True)
        rust = json.loads(told.stdout)
    for store, python in figures.items():
        beside = f", Rust {rust[store]:.1f} µs, overhead {python - rust[store]:.1f} µs" if rust else ""
        print(f"a read over {store}: Python {python:.1f} µs{beside}")


main()
