"""Benchmark: opening a bundle of 1,000 secrets, compared with decrypting the same number of bytes.

pip install cryptography, then: python examples/python/bundle_open.py [ROUNDS]

Each measurement is repeated ROUNDS times, 50 by default. The fastest time counts.
"""

import os
import sys
import time
from base64 import b64decode
from collections.abc import Callable

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from secrets_service import Service, open_bundle, types

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 50
CHUNK = 65_536


def best(work: Callable[[], object]) -> float:
    """Calls `work` ROUNDS times, and returns the time of the fastest call in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times) * 1000


def main() -> None:
    with Service.open("memory:") as service:
        alice = service.sign_in(issuer="here", subject="alice", email="alice@example.com")
        project = alice.project.create(name="Web API")["slug"]
        for start in range(0, 1000, 100):
            secrets: list[types.BulkImportSecret] = [
                {"key": f"SECRET_{number:04}", "value": os.urandom(32).hex()}
                for number in range(start, start + 100)
            ]
            alice.secret.import_(project=project, environment="production", secrets=secrets)
        made = alice.secret.bundle(
            project=project, environment="production", recipients=[{"type": "raw"}]
        )
    file, key = b64decode(made["bundle"]), made.get("key")

    def opened() -> int:
        return len(open_bundle(file, key=key).values())

    assert opened() == 1000
    cipher, nonce = AESGCM(os.urandom(32)), bytes(12)
    chunks = [cipher.encrypt(nonce, file[at : at + CHUNK], None) for at in range(0, len(file), CHUNK)]

    def decrypted() -> None:
        for chunk in chunks:
            cipher.decrypt(nonce, chunk, None)

    whole, plain = best(opened), best(decrypted)
    print(f"{len(file):,} bytes, 1,000 secrets: opened in {whole:.2f} ms; AES-256-GCM alone {plain:.2f} ms")


main()
