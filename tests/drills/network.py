"""Drills with requests from many client addresses, and with many open connections."""

import ipaddress
import random
import resource
import threading
import time

from program import jwt
from world import Node, raw


def flood(drill):
    """Drill: wrong credentials from many addresses do not block a valid credential from a new
    address."""
    count, threads = drill.size(6_000, 200_000), 8
    limits = {"SECRETS_RATE_LIMIT_PER_IP": 100, "SECRETS_TRUSTED_PROXIES": "127.0.0.1/32"}
    with Node(drill.database, **limits) as node:
        alice = node.person("alice")
        begin, errors = time.monotonic(), []

        def send(seed):
            chance = random.Random(seed)
            try:
                for _ in range(count // threads // 100):
                    _pipeline(node, [_address(chance) for _ in range(100)])
            except Exception as error:
                errors.append(error)

        floods = [threading.Thread(target=send, args=(seed,)) for seed in range(threads)]
        for one in floods:
            one.start()
        during = []
        while any(one.is_alive() for one in floods):
            during.append(_status(alice, len(during)))
            time.sleep(0.05)
        took = time.monotonic() - begin
        after = [_status(alice, 100_000 + number) for number in range(50)]
        public = node.client().status("GET", "/api/v1", **{"X-Forwarded-For": "198.51.100.77"})
        refusals = node.refusals()
        node.terminate()
    if errors:
        raise errors[0]
    drill.note(f"{count} addresses in {took:.0f} s, {len(during)} good requests meanwhile, refused {refusals}")
    assert set(during) | set(after) == {200}, f"a good credential: {set(during) | set(after)}"
    assert public == 200, f"a public endpoint: {public}"


def _address(chance):
    if chance.random() < 0.5:
        return str(ipaddress.IPv4Address(chance.randrange(0x0B000000, 0xDF000000)))
    # All IPv6 addresses are in one /32, because a customer of a provider has no larger network.
    return str(ipaddress.IPv6Address((0x20010DB8 << 96) | (chance.getrandbits(32) << 64) | chance.getrandbits(64)))


def _status(client, number):
    return client.status("GET", "/api/v1/projects", **{"X-Forwarded-For": f"203.0.{number // 250 % 256}.{number % 250}"})


def _pipeline(node, addresses):
    """Sends one request with a wrong credential for each client address, all at once on one
    connection, and reads the responses. The header `X-Forwarded-For` contains the address."""
    connection = raw(node.address)
    requests = [
        f"GET /api/v1/projects HTTP/1.1\r\nHost: drill\r\nAuthorization: Bearer kvc_wrong\r\n"
        f"X-Forwarded-For: {address}\r\n"
        + ("Connection: close\r\n" if number + 1 == len(addresses) else "") + "\r\n"
        for number, address in enumerate(addresses)
    ]
    connection.sendall("".join(requests).encode())
    text = b""
    while part := connection.recv(1 << 16):
        text += part
    connection.close()
    answers = text.count(b"HTTP/1.1 401") + text.count(b"HTTP/1.1 429")
    assert answers == len(addresses), f"{answers} of {len(addresses)} requests were answered"


def silent(drill):
    """Drill: many connections that send nothing do not prevent responses to another client."""
    count = drill.size(400, 2_000)
    with Node(drill.database) as node:
        # After the start of the node, which must raise its own limit.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, count + 512), hard), hard))
        alice = node.person("alice")
        connections = [raw(node.address) for _ in range(count)]
        times, end = [], time.monotonic() + drill.size(2, 10)
        while time.monotonic() < end:
            # Each request uses a new connection, because only new connections could be delayed.
            status, seconds = node.client(jwt("alice")).timed("GET", "/api/v1/projects")
            assert status == 200, f"a healthy client: {status}"
            times.append(seconds)
        for connection in connections:
            connection.close()
        assert alice.status("GET", "/health") == 200
        node.terminate()
    drill.note(f"{count} silent connections, {len(times)} requests")
    drill.bound("worst", max(times), 0.2)
