"""Generates the golden vectors of bundles from fixed inputs, with the writer in `bundle.py`."""

import base64
import copy
import json
from collections.abc import Callable
from typing import Any

import bundle
import reference as ref

Vector = dict[str, Any]
Fixed = Callable[[str, int], bytes]

NOW = 1_767_225_600
STARTED = "2026-01-01T00:00:00Z"
PROJECT = "00000000-0000-4000-8000-0000000000aa"
ENVIRONMENT = "00000000-0000-4000-8000-0000000000bb"
PASSPHRASE = "kvc correct horse battery"
# Minimum Argon2id costs, so that every reader is fast.
LEAST = {"m": 19_456, "it": 2, "p": 1}

HEADER = {
    "seq": NOW * 1_000_000,
    "created": STARTED,
    "project": PROJECT,
    "environment": ENVIRONMENT,
}

THREE = [
    {"key": "A", "value": "kvc_a", "version": 1, "updated_at": STARTED},
    {
        "key": "B",
        "value": "kvc_b",
        "description": "What it is for",
        "version": 7,
        "inherited_from": "production",
        "updated_at": "2025-12-31T23:59:59.000001Z",
    },
    {"key": "_c.d-e", "value": "", "version": 4_294_967_295, "updated_at": "2025-12-31T23:59:59.250Z"},
]

# Bundle that the Rust crate has written, so that this reader also opens output of the crate.
MADE_IN_RUST = (
    "U0NCVU5ETEUBAAACz3sidiI6MSwic3VpdGUiOiJBMjU2R0NNLUhLREYtU0hBMjU2Iiwic2FsdCI6ImRQNWY1YW01"
    "Z1Y4WGE0VHpsQlBrcUEiLCJjaHVuayI6NjU1MzYsInNlcSI6MTc2NzIyNTYwMDEyMzQ1NiwiY3JlYXRlZCI6IjIw"
    "MjYtMDEtMDFUMDA6MDA6MDAuMTIzNDU2WiIsImV4cGlyZXMiOiIyMDI2LTAxLTMxVDAwOjAwOjAwLjEyMzQ1Nloi"
    "LCJwcm9qZWN0IjoiMDAwMDAwMDAtMDAwMC0wMDAwLTAwMDAtMDAwMDAwMDAwMGFhIiwiZW52aXJvbm1lbnQiOiIw"
    "MDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwYmIiLCJzaWduZXIiOiJEZWtING9RekZvZ0ZMVlRpWkRp"
    "NnNtOVJQRWxNWFBpUU1hTXk4Wkp0YTlBIiwicmVjaXBpZW50cyI6W3sidCI6InJhdyIsInciOiIzUUpLbTMwbHRX"
    "M09HblQyVURGRjRZUG9jVU53OEZka2ZYSUpIQ0JPTG1tRDNZNzFweExVaUoyMkpjQkdRQTkxIn0seyJ0IjoiYXJn"
    "b24yaWQiLCJzIjoibkhKNjJQTEhKY1pjTlJXNGxOU2lfQSIsIm0iOjY1NTM2LCJpdCI6MywicCI6NCwidyI6IklO"
    "ckdMR0xiUVFTOHJESUJxV3E4UjlVM1oxTGVrd1pzNFVmeW9wSTk4RjR5ZnJZZ0dHanhJbHdkYUgyTXhkVVAifSx7"
    "InQiOiJ4MjU1MTkiLCJlbmMiOiJoSEdwcWU4S1FlLUlfVm5YUUo3M294c3FkelVVMGRScllyME95b1EtejBvIiwi"
    "dyI6IlBMbmUzVnZtMGpWZl92eXh6NWw3bVNOYk9kY1UzU1dDeFFDTUIzTnBUUXF6NmRnelBEV2JVdUxPNS1PVHFJ"
    "ZHEifV19cvAouQay9y24rxS85BrwKi3HCVInN7VdM/z+R5ymZBok+qPtP7w0kFFgdSW3opkIaNjGt5L2eDityu3A"
    "5D+fb/ll+g5eZOTQHVF65AgnJDlUcuwGnC2BYbJkMSfOIeYFQz+seO1JXcdC1AKXtUvvi+/Hs7d49SHytlaCPUkK"
    "vxrlrz2WSOPAEHLwTUsABwGZjZ0jUdXSyiCjeJAonxAHDoTSdzUrjnOiXZAtbP0FolSOi5sfvAzGM4ZCGwg8LKFQ"
    "T6WX6jr/Od56jS0yb/Gz5XoTTnh6M7C7WDCr0Bldfjl9MyH6rVY+pUv16QC2BqAIIGAiGmzxf+aWnHxd27vOPh/y"
    "rHCRhAMk9hrQuohsKwoSSQVrqzGYK18zYwd1y6/KuJwrxzLz3eyXU3NGIFxpoYmFdMWELfxS2pqob/PM7hIRimlH"
    "3zXe53ptzFLNe9X9R37riJtKmLvNnDLuKnTBV6zFpfysYBHbNqPEfQ=="
)
MADE_KEY = "scbk_5EwK7vyKaveUfok2Dyf9JPKx25Ago2eIUW7VptjvS3f3QYsvL"
MADE_PRIVATE_KEY = "scbx_cHWYya07pcb5nxrSCjHucAUHolzR1D4qdeJiR47Gl8E2s1opu"
MADE_SIGNER = "scbs_3IVe13O0qEg7UqVWZL6F9H79XrYfhDIPC7FNpMNlA4u0JDLQQ"
MADE_SECRETS = [
    {"key": "A", "value": "kvc_a", "version": 1, "updated_at": "2026-01-01T00:00:00.123456Z"},
    {
        "key": "B",
        "value": "kvc_\x01\"\\é日\n\u2028\U0001f511",
        "description": "What it is\nfor",
        "version": 7,
        "inherited_from": "production",
        "updated_at": "2026-01-01T00:00:00.123456Z",
    },
]


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


class Maker:
    """Makes vectors of bundles. Most of them are variants of one valid (golden) bundle for a raw
    key."""

    def __init__(self, fixed: Fixed) -> None:
        self.fixed = fixed
        self.key = fixed("bundle key", 32)
        self.private = fixed("bundle private key", 32)
        self.signing = fixed("bundle signing key", 32)
        self.vectors: list[Vector] = []
        self.unlock = {"type": "key", "text": bundle.text_of("scbk_", self.key)}

    def writer(self, name: str = "golden", **header: object) -> bundle.Writer:
        """Returns a writer of a bundle without recipients. `header` replaces fields of the
        header."""
        named = {k: v for k, v in (HEADER | header).items() if v is not None}
        return bundle.Writer(
            self.fixed(f"bundle {name} file key", 32),
            self.fixed(f"bundle {name} salt", 16),
            self.signing,
            named,
        )

    def raw(self, name: str = "golden", **header: object) -> bundle.Writer:
        writer = self.writer(name, **header)
        writer.raw(self.key)
        return writer

    def signer(self) -> str:
        return bundle.text_of("scbs_", self.writer().signer())

    def vector(self, name: str, data: bytes | list[object], **more: object) -> Vector:
        vector: Vector = {"name": name, "unlock": self.unlock, "now": NOW}
        if isinstance(data, bytes):
            vector["bundle"] = base64.b64encode(data).decode()
        else:
            vector["parts"] = data
        vector |= more
        self.vectors.append({k: v for k, v in vector.items() if v is not None})
        return self.vectors[-1]

    def accept(
        self, name: str, data: bytes | list[object], secrets: list[Vector], **more: object
    ) -> None:
        vector = self.vector(name, data, **more)
        vector["valid"] = True
        whole = self.bytes_of(vector)
        header = json.loads(whole[13 : 13 + int.from_bytes(whole[9:13])])
        about = {name: header[name] for name in (*HEADER, "expires") if name in header}
        about["signer"] = bundle.text_of("scbs_", ref.from_base64url(header["signer"]))
        vector |= {"about": about, "secrets": secrets}

    def refuse(self, name: str, error: str, data: bytes | list[object], **more: object) -> None:
        vector = self.vector(name, data, **more)
        vector |= {"valid": False, "error": error}

    def bytes_of(self, vector: Vector) -> bytes:
        return bytes_of(vector, self.vectors)


def bytes_of(vector: Vector, vectors: list[Vector]) -> bytes:
    """Returns the bytes of the bundle in a vector, which the vector contains as base64 or as
    several parts. A part can be a slice of the bundle in another vector."""
    if "bundle" in vector:
        return base64.b64decode(vector["bundle"])
    whole = b""
    for part in vector["parts"]:
        if isinstance(part, str):
            whole += base64.b64decode(part)
        else:
            other = next(other for other in vectors if other["name"] == part["of"])
            whole += bytes_of(other, vectors)[part["from"] : part["to"]]
    return whole


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def secret(key: str, value: str, **more: object) -> Vector:
    return {"key": key, "value": value, "version": 1, "updated_at": STARTED} | more


def accepted(make: Maker) -> None:
    golden = make.raw().seal(compact(THREE))
    make.accept("golden bundle", golden, THREE)
    make.accept("of the signer named", golden, THREE, signer=make.signer())
    make.accept("of the number seen last", golden, THREE, at_least=HEADER["seq"])
    make.accept("without secrets", make.raw("empty").seal(b"[]"), [])

    phrase = make.writer("passphrase")
    phrase.passphrase(PASSPHRASE, make.fixed("bundle argon2 salt", 16), **LEAST)
    unlock = {"type": "passphrase", "text": PASSPHRASE}
    make.accept("for a passphrase", phrase.seal(compact(THREE)), THREE, unlock=unlock)
    phrase = make.writer("passphrase as ours")
    phrase.passphrase(PASSPHRASE, make.fixed("bundle argon2 salt 2", 16), 65_536, 3, 4)
    name = "for a passphrase, with the costs of ours"
    make.accept(name, phrase.seal(compact(THREE)), THREE, unlock=unlock)
    phrase = make.writer("passphrase in eight lanes")
    phrase.passphrase("日本語のパスフレーズです", make.fixed("bundle argon2 salt 3", 16), 19_456, 10, 8)
    other = {"type": "passphrase", "text": "日本語のパスフレーズです"}
    name = "for a passphrase beyond ASCII, ten passes in eight lanes"
    make.accept(name, phrase.seal(compact(THREE)), THREE, unlock=other)

    several(make)
    times(make)
    payloads(make)
    chunks(make)


def several(make: Maker) -> None:
    private = {"type": "private", "text": bundle.text_of("scbx_", make.private)}
    public = bundle.public_of(make.private)
    one = make.writer("x25519")
    one.x25519(public, make.fixed("bundle ephemeral", 32))
    made = one.seal(compact(THREE))
    pinned = {"unlock": private, "signer": make.signer()}
    make.accept("for a public key", made, THREE, **pinned)
    make.refuse("for a public key, and no signer is named", "untrusted", made, unlock=private)

    forged = copy.deepcopy(one)
    forged.signing = make.fixed("bundle forger", 32)
    make.refuse("for a public key, by anybody", "untrusted", forged.seal(b"[]"), **pinned)
    resigned = one.file(one.header_json(), b"".join(one.chunks(b"[]")), forged.signing)
    make.refuse("signed by another than it says", "tampered", resigned, **pinned)

    many = make.writer("several")
    second = make.fixed("bundle second private key", 32)
    many.x25519(bundle.public_of(second), make.fixed("bundle ephemeral 2", 32))
    many.raw(make.key)
    many.x25519(public, make.fixed("bundle ephemeral 3", 32))
    many.passphrase(PASSPHRASE, make.fixed("bundle argon2 salt 4", 16), **LEAST)
    make.accept("for four, by the key", many.seal(compact(THREE)), THREE)
    whole: list[object] = [{"of": "for four, by the key", "from": 0, "to": 1 << 20}]
    unlock = {"type": "passphrase", "text": PASSPHRASE}
    make.accept("for four, by the passphrase", whole, THREE, unlock=unlock)
    make.accept("for four, by one private key", whole, THREE, **pinned)
    unlock = {"type": "private", "text": bundle.text_of("scbx_", second)}
    make.accept(
        "for four, by the other private key", whole, THREE, unlock=unlock, signer=make.signer()
    )

    sixteen = make.writer("sixteen")
    for number in range(15):
        key = bundle.public_of(make.fixed(f"bundle private key {number}", 32))
        sixteen.x25519(key, make.fixed(f"bundle ephemeral of {number}", 32))
    sixteen.raw(make.key)
    make.accept("for sixteen", sixteen.seal(b"[]"), [])
    key = bundle.public_of(make.fixed("bundle private key 16", 32))
    sixteen.x25519(key, make.fixed("bundle ephemeral of 16", 32))
    make.refuse("for seventeen", "malformed", sixteen.seal(b"[]"))

    low = make.writer("low order")
    low.x25519(public, make.fixed("bundle ephemeral 5", 32))
    low.slots[0]["enc"] = ref.base64url(bytes(32))
    make.refuse("for a public key, with a point of low order", "no_recipient", low.seal(b"[]"), **pinned)


def times(make: Maker) -> None:
    expires = make.raw("expires", expires="2026-01-01T00:01:00Z").seal(compact(THREE))
    make.accept("a second before it expires", expires, THREE, now=NOW + 59)
    make.refuse("when it expires", "expired", expires, now=NOW + 60)
    make.refuse("expired and changed", "tampered", changed(expires, -1), now=NOW + 60)
    other = copy.deepcopy(make.raw())
    other.signing = make.fixed("bundle forger", 32)
    named = bundle.text_of("scbs_", other.signer())
    make.refuse("expired and of another signer", "untrusted", expires, now=NOW + 60, signer=named)
    make.refuse(
        "expired and older than one that was seen", "expired", expires,
        now=NOW + 60, at_least=HEADER["seq"] + 1,
    )  # fmt: skip
    golden = make.raw().seal(compact(THREE))
    make.refuse("older than one that was seen", "stale", golden, at_least=HEADER["seq"] + 1)
    largest = make.raw("largest", seq=2**53 - 1).seal(b"[]")
    make.accept("of the largest number", largest, [], at_least=2**53 - 1)
    finest = "2026-01-01T00:00:00.000001Z"
    make.accept("made and expiring at a microsecond",
                make.raw("finest", created=finest, expires="2026-01-01T00:00:00.100Z").seal(b"[]"), [])


def payloads(make: Maker) -> None:
    odd = [secret("A", "kvc_\"\\/\b\f\n\r\t\x01 }]{[ é \u2028 \U0001f511", description="{\"")]
    make.accept("letters that are escaped", make.raw("odd").seal(json.dumps(odd).encode()), odd)
    make.accept("letters that are not", make.raw("odd 2").seal(compact(odd)), odd)
    spaced = json.dumps(THREE, indent=2).encode()
    make.accept("white space between secrets", make.raw("spaced").seal(b" \t" + spaced), THREE)
    make.accept("white space in an empty list", make.raw("spaced 2").seal(b"[ \n]"), [])
    writer = make.raw("spaced header")
    header = json.dumps(json.loads(writer.header_json()), indent=1).encode()
    make.accept("white space in the header",
                writer.file(header, b"".join(writer.chunks(compact(THREE)))), THREE)
    order = [secret(key, "kvc_v") for key in ("A", "A-", "A.", "A0", "AA", "A_", "Aa", "_", "a")]
    make.accept("keys in the order of bytes", make.raw("order").seal(compact(order)), order)

    def refuse(name: str, payload: bytes) -> None:
        make.refuse(name, "malformed", make.raw(f"payload {name}").seal(payload))

    one = secret("A", "kvc_a")
    refuse("a payload that is no array", compact(one))
    refuse("a payload of other things", b"[1]")
    refuse("a payload of lists", b'[["A","kvc_a",1,"2026-01-01T00:00:00Z"]]')
    refuse("a payload that ends early", compact(THREE)[:-1])
    refuse("a payload that ends within a secret", compact(THREE)[:40])
    refuse("a comma at the end", compact([one])[:-1] + b",]")
    refuse("two commas", b"[" + compact(one) + b",," + compact(secret("B", "kvc_b")) + b"]")
    refuse("no comma", b"[" + compact(one) + b" " + compact(secret("B", "kvc_b")) + b"]")
    refuse("something after the payload", compact(THREE) + b"[]")
    refuse("white space after the payload", compact(THREE) + b"\n")
    refuse("keys out of order", compact([secret("B", "kvc_b"), one]))
    refuse("a key twice", compact([one, one]))
    refuse("a field of a secret that is unknown", compact([one | {"hidden": False}]))
    refuse("a field of a secret twice", compact([one])[:-2] + b',"key":"A"}]')
    refuse("a field of a secret that is null", compact([one | {"description": None}]))
    refuse("a secret without a value", compact([{k: v for k, v in one.items() if k != "value"}]))
    refuse("a value with NUL", compact([secret("A", "kvc_\0")]))
    refuse("a value that is a number", compact([one | {"value": 1}]))
    refuse("a key that is none", compact([secret("1A", "kvc_a")]))
    refuse("a version with a fraction", compact([one | {"version": 1.0}]))
    refuse("a time written otherwise", compact([one | {"updated_at": "2026-01-01T00:00:00+00:00"}]))
    refuse("a payload that is not UTF-8", b'[{"key":"A","value":"\xff"}]')


def chunks(make: Maker) -> None:
    def filled(length: int) -> list[Vector]:
        """Returns secrets whose JSON text (the payload of the bundle) has this length in bytes."""
        secrets: list[Vector] = []
        while (left := length - len(compact(secrets))) > 0:
            empty = len(compact([secret("K000", "")])) - (1 if secrets else 2)
            most = 40_000 if left > 50_000 else left - empty
            secrets.append(secret(f"K{len(secrets):03}", "kvc_".ljust(most, "x")))
        assert len(compact(secrets)) == length
        return secrets

    def summarized(secrets: list[Vector]) -> list[Vector]:
        long = [{"repeat": "x", "times": len(s["value"]) - 4} for s in secrets]
        return [s | {"value": {"before": "kvc_"} | v} for s, v in zip(secrets, long, strict=True)]

    size, tag = bundle.CHUNK, bundle.TAG
    exact, over, three = filled(size), filled(size + 1), filled(2 * size + 100)
    make.accept("one full chunk", make.raw("one full").seal(compact(exact)), summarized(exact))
    make.accept("a second chunk of one byte", make.raw("one over").seal(compact(over)), summarized(over))
    writer = make.raw("three")
    made = writer.seal(compact(three))
    make.accept("three chunks", made, summarized(three))

    sealed = writer.chunks(compact(three))
    start = len(made) - sum(map(len, sealed))
    places = [start + at * (size + tag) for at in range(3)] + [len(made)]

    def piece(number: int) -> Vector:
        return {"of": "three chunks", "from": places[number], "to": places[number + 1]}

    def signed_again(name: str, order: list[int | bytes]) -> None:
        parts = [sealed[part] if isinstance(part, int) else part for part in order]
        whole = writer.file(writer.header_json(), b"".join(parts))
        pieces = [piece(part) if isinstance(part, int) else b64(part) for part in order]
        make.refuse(name, "tampered", [b64(whole[:start]), *pieces])

    def unsigned(name: str, order: list[int]) -> None:
        head = {"of": "three chunks", "from": 0, "to": start}
        make.refuse(name, "tampered", [head, *map(piece, order)])

    unsigned("chunks in another order", [1, 0, 2])
    unsigned("a chunk left out", [0, 2])
    unsigned("the last chunk left out", [0, 1])
    unsigned("a chunk twice", [0, 0, 1, 2])
    signed_again("chunks in another order, signed", [1, 0, 2])
    signed_again("the first chunk left out, signed", [1, 2])
    signed_again("a chunk in the middle left out, signed", [0, 2])
    signed_again("the last chunk left out, signed", [0, 1])
    signed_again("a chunk twice, signed", [0, 0, 1, 2])
    last = writer.chunk(compact(three)[2 * size :], 2, False)
    signed_again("a last chunk that does not say so, signed", [0, 1, last])
    first = writer.chunk(compact(three)[:size], 0, True)
    signed_again("a chunk that says it is the last, signed", [first, 1, 2])
    empty = writer.chunk(b"", 3, True)
    not_last = writer.chunk(compact(three)[2 * size :], 2, False)
    signed_again("an empty chunk at the end, signed", [0, 1, not_last, empty])
    signed_again("a chunk that is cut, signed", [0, 1, sealed[2][:-1]])
    signed_again("something after the last chunk, signed", [0, 1, sealed[2] + b"\0"])
    signed_again("no chunk, signed", [])
    signed_again("an empty chunk alone, signed", [writer.chunk(b"", 0, True)])
    short = writer.chunk(compact(three)[:100], 0, False) + writer.chunk(compact(three)[100:200], 1, True)
    signed_again("a short chunk before the last, signed", [short])


def changed(data: bytes, at: int, mask: int = 1) -> bytes:
    copied = bytearray(data)
    copied[at] ^= mask
    return bytes(copied)


def made_in_rust(make: Maker) -> None:
    data = base64.b64decode(MADE_IN_RUST)
    for name, kind, text in (
        ("made in Rust, by the key", "key", MADE_KEY),
        ("made in Rust, by the passphrase", "passphrase", PASSPHRASE),
        ("made in Rust, by the private key", "private", MADE_PRIVATE_KEY),
    ):
        unlock = {"type": kind, "text": text}
        make.accept(name, data, MADE_SECRETS, unlock=unlock, signer=MADE_SIGNER)


def damaged(make: Maker) -> None:
    golden = make.raw().seal(compact(THREE))
    length = int.from_bytes(golden[9:13])
    mac, sig, body = 13 + length, 45 + length, 109 + length
    for name, error, data in (
        ("nothing", "malformed", b""),
        ("the first bytes alone", "malformed", golden[:8]),
        ("another beginning", "malformed", changed(golden, 0)),
        ("an archive of ours", "malformed", b"SCEXPORT\1" + golden[9:]),
        ("another version of the file", "unsupported", golden[:8] + b"\2" + golden[9:]),
        ("cut within the header", "malformed", golden[: 13 + length // 2]),
        ("a header of no bytes", "malformed", golden[:9] + bytes(4) + golden[13 + length :]),
        ("a header of 16 KiB and a byte", "malformed",
         golden[:9] + (16_385).to_bytes(4) + golden[13:]),
        ("a header of 4 GiB", "malformed", golden[:9] + b"\xff" * 4 + golden[13:]),
        ("cut within the mac", "malformed", golden[: mac + 20]),
        ("cut within the signature", "malformed", golden[: sig + 60]),
        ("cut behind the signature", "tampered", golden[:body]),
        ("the last byte cut off", "tampered", golden[:-1]),
        ("a byte more", "tampered", golden + b"\0"),
        ("a bit of the mac", "tampered", changed(golden, mac)),
        ("a bit of the signature", "tampered", changed(golden, sig + 40)),
        ("a bit of a chunk", "tampered", changed(golden, body)),
        ("a bit of the last tag", "tampered", changed(golden, -1)),
        ("a space for a letter's place in the header", "tampered",
         golden[:9] + (length + 1).to_bytes(4) + golden[13:14] + b" " + golden[14:]),
    ):  # fmt: skip
        make.refuse(name, error, data)
    other = bundle.text_of("scbk_", make.fixed("bundle other key", 32))
    make.refuse("another key", "no_recipient", golden, unlock={"type": "key", "text": other})
    make.refuse("a passphrase for what has a key", "no_recipient", golden,
                unlock={"type": "passphrase", "text": PASSPHRASE})
    private = {"type": "private", "text": bundle.text_of("scbx_", make.private)}
    make.refuse("a private key for what has a key", "no_recipient", golden, unlock=private)
    signer = bundle.text_of("scbs_", bundle.Writer(b"", b"", make.key, {}).signer())
    make.refuse("another signer than was named", "untrusted", golden, signer=signer)

    phrase = make.writer("passphrase")
    phrase.passphrase(PASSPHRASE, make.fixed("bundle argon2 salt", 16), **LEAST)
    wrong = {"type": "passphrase", "text": PASSPHRASE + "s"}
    make.refuse("another passphrase", "no_recipient", phrase.seal(b"[]"), unlock=wrong)
    public = make.writer("x25519 for another")
    public.x25519(bundle.public_of(make.key), make.fixed("bundle ephemeral 4", 32))
    make.refuse("another private key", "no_recipient", public.seal(b"[]"),
                unlock=private, signer=make.signer())


def headers(make: Maker) -> None:
    """Makes vectors of headers that break a rule, although their MAC and their signature are
    correct."""

    def refuse(
        name: str, error: str = "malformed", text: Callable[[bytes], bytes] | None = None,
        **fields: object,
    ) -> None:  # fmt: skip
        writer = make.raw(f"header {name}")
        header = json.loads(writer.header_json()) | fields
        header = {k: v for k, v in header.items() if v != "absent"}
        written = compact(header)
        written = text(written) if text else written
        make.refuse(name, error, writer.file(written, b"".join(writer.chunks(b"[]"))))

    def slot(name: str, error: str = "malformed", text: Callable[[bytes], bytes] | None = None,
             **fields: object) -> None:  # fmt: skip
        writer = make.raw(f"header {name}")
        refuse(name, error, text, recipients=[writer.slots[0] | fields])

    refuse("another version of the header", "unsupported", v=2)
    refuse("another suite", "unsupported", suite="XC20P-HKDF-SHA256")
    refuse("another size of chunks", "unsupported", chunk=32_768)
    slot("a recipient of an unknown kind", "unsupported", t="scrypt", n=15)
    refuse("a later version with other fields", "unsupported", v=2, salt=1, compressed=True)
    for name in ("v", "salt", "chunk", "seq", "created", "project", "signer", "recipients"):
        refuse(f"a header without {name}", **{name: "absent"})
    refuse("a field of the header that is unknown", note="")
    refuse("a field of the header twice", text=lambda h: h[:-1] + b',"seq":1}')
    refuse("a header that is no object", text=lambda h: b"[" + h + b"]")
    refuse("a header that is not JSON", text=lambda h: h[:-1])
    refuse("something after the header's object", text=lambda h: h + b"{}")
    refuse("a header that is not UTF-8", text=lambda h: h.replace(b"A256", b"\xff256"))
    refuse("a number as text", seq="3")
    refuse("a number with a fraction", seq=3.0)
    refuse("a number below 0", seq=-1)
    refuse("the number 2^53", seq=2**53)
    refuse("a truth for a version", v=True)
    refuse("an end that is null", expires=None)
    refuse("a time with an offset", created="2026-01-01T00:00:00+00:00")
    refuse("a time in small letters", created="2026-01-01t00:00:00z")
    refuse("a time with a fraction of zeros", created="2026-01-01T00:00:00.000Z")
    refuse("a time in nanoseconds", created="2026-01-01T00:00:00.000000001Z")
    refuse("a day that is none", created="2026-02-30T00:00:00Z")
    refuse("a leap second", created="2016-12-31T23:59:60Z")
    refuse("an id in capitals", project=PROJECT.upper())
    refuse("an id without hyphens", environment=ENVIRONMENT.replace("-", ""))
    refuse("no recipients", recipients=[])
    refuse("recipients that are no list", recipients={})
    refuse("a recipient that is a list", recipients=[["raw"]])

    golden = make.raw("golden salt")
    salt = ref.base64url(golden.salt)
    refuse("a salt of 15 bytes", salt=ref.base64url(golden.salt[1:]))
    refuse("base64 with padding", salt=salt + "==")
    refuse("base64 with bits left over", salt=salt[:-1] + chr(ord(salt[-1]) + 1))
    refuse("base64 of the other alphabet", salt=ref.base64url(b"\xff" * 16).replace("_", "/"))
    refuse("base64 with a line end", salt=salt + "\n")

    w = golden.slots[0]["w"]
    slot("a wrapped key of 47 bytes", w=ref.base64url(ref.from_base64url(w)[:-1]))
    slot("a wrapped key of 49 bytes", w=ref.base64url(ref.from_base64url(w) + b"\0"))
    slot("a wrapped key of another bundle", "no_recipient", w=w)
    slot("a recipient with an unknown field", note="")
    slot("a recipient with a field twice", text=lambda h: h.replace(b'"t":', b'"t":"raw","t":'))

    refuse_costs(make)
    twice = make.raw("raw twice")
    twice.raw(make.key)
    make.refuse("a recipient twice", "malformed", twice.seal(b"[]"))
    two = make.raw("raw of two")
    two.raw(make.fixed("bundle other key", 32))
    make.refuse("two keys", "malformed", two.seal(b"[]"))
    public = bundle.public_of(make.private)
    twice = make.raw("x25519 twice")
    twice.x25519(public, make.fixed("bundle ephemeral 6", 32))
    twice.slots.append(twice.slots[1])
    make.refuse("a public key twice", "malformed", twice.seal(b"[]"))
    phrases = make.writer("two passphrases")
    phrases.passphrase(PASSPHRASE, make.fixed("bundle argon2 salt 5", 16), **LEAST)
    phrases.passphrase(PASSPHRASE, make.fixed("bundle argon2 salt 6", 16), **LEAST)
    unlock = {"type": "passphrase", "text": PASSPHRASE}
    make.refuse("two passphrases", "malformed", phrases.seal(b"[]"), unlock=unlock)
    left = make.raw("left out")
    left.x25519(public, make.fixed("bundle ephemeral 7", 32))
    whole = left.seal(b"[]")
    fewer = copy.deepcopy(left)
    fewer.slots.pop()
    header = fewer.header_json()
    length = int.from_bytes(whole[9:13])
    cut = whole[:9] + len(header).to_bytes(4) + header + whole[13 + length :]
    make.refuse("a recipient left out", "tampered", cut)


def refuse_costs(make: Maker) -> None:
    """Makes vectors of passphrase recipients whose Argon2 costs are out of bounds. A reader must
    refuse them before it derives a key."""
    unlock = {"type": "passphrase", "text": PASSPHRASE}
    for name, costs in (
        ("a memory of 19,455 KiB", {"m": 19_455}),
        ("a memory of 262,145 KiB", {"m": 262_145}),
        ("a memory of 4 TiB", {"m": 2**32 - 1}),
        ("one pass", {"it": 1}),
        ("eleven passes", {"it": 11}),
        ("no lanes", {"p": 0}),
        ("nine lanes", {"p": 9}),
        ("as many lanes as a byte cannot say", {"p": 257}),
    ):
        writer = make.writer(f"costs {name}")
        salt = ref.base64url(make.fixed("bundle argon2 salt 7", 16))
        writer.slots.append({"t": "argon2id", "s": salt, **LEAST, "w": ref.base64url(bytes(48))} | costs)
        make.refuse(name, "malformed", writer.seal(b"[]"), unlock=unlock)


def signed_by_strangers(make: Maker) -> None:
    """Makes vectors of headers changed by an attacker who cannot open the bundle. Each has the MAC
    of the original header, and a signature by the attacker."""
    forger = make.fixed("bundle forger", 32)

    def signed_anew(writer: bundle.Writer, **header: object) -> bytes:
        whole = writer.seal(compact(THREE))
        length = int.from_bytes(whole[9:13])
        mac, chunks = whole[13 + length :][:32], whole[109 + length :]
        changed = copy.deepcopy(writer)
        changed.signing = forger
        changed.header |= header
        return changed.file(changed.header_json(), chunks, mac=mac)

    later = {"expires": "2027-01-01T00:00:00Z"}
    expires = make.raw("expires", expires="2026-01-01T00:01:00Z")
    make.refuse("a later end, signed by a stranger", "tampered", signed_anew(expires, **later), now=NOW + 60)
    number = {"seq": HEADER["seq"] + 1}
    make.refuse("a higher number, signed by a stranger", "tampered", signed_anew(make.raw(), **number),
                at_least=HEADER["seq"] + 1)  # fmt: skip
    phrase = make.writer("passphrase", expires="2026-01-01T00:01:00Z")
    phrase.passphrase(PASSPHRASE, make.fixed("bundle argon2 salt", 16), **LEAST)
    unlock = {"type": "passphrase", "text": PASSPHRASE}
    make.refuse("for a passphrase, a later end, signed by a stranger", "tampered",
                signed_anew(phrase, **later), unlock=unlock, now=NOW + 60)  # fmt: skip


def keys(make: Maker) -> list[Vector]:
    """Returns vectors of bundle keys: the bytes and the string of valid keys, and
    invalid strings that a reader must refuse."""

    def accept(name: str, kind: str, bits: bytes, **more: object) -> Vector:
        text = bundle.text_of(PREFIXES[kind], bits)
        return {"name": name, "kind": kind, "valid": True, "text": text, "bits": bits.hex(), **more}

    def refuse(name: str, kind: str, text: str) -> Vector:
        return {"name": name, "kind": kind, "valid": False, "text": text}

    key = bundle.text_of("scbk_", make.key)
    public = bundle.public_of(make.private)
    public_text = bundle.text_of("scbp_", public)
    too_much = "scbk_" + "z" * 43
    return [
        accept("golden key", "key", make.key),
        accept("a key of zeros", "key", bytes(32)),
        accept("the largest key", "key", b"\xff" * 32),
        accept("golden private key", "private", make.private, public=public_text),
        accept("golden public key", "public", public),
        accept("golden signer", "signer", make.writer().signer()),
        refuse("a key with another last digit", "key", key[:-1] + ("0" if key[-1] != "0" else "1")),
        refuse("a key that is cut", "key", key[:-1]),
        refuse("a key with a line end", "key", key + "\n"),
        refuse("a key of more than 256 bits", "key", too_much + ref.checksum(too_much)),
        refuse("a private key for a key", "key", bundle.text_of("scbx_", make.private)),
        refuse("a public key for a private one", "private", public_text),
        refuse("a private key for a public one", "public", bundle.text_of("scbx_", make.private)),
        refuse("a point of low order for a public key", "public", bundle.text_of("scbp_", bytes(32))),
        refuse("a point of low order for a signer", "signer",
               bundle.text_of("scbs_", b"\1" + bytes(31))),
        refuse("nothing", "key", ""),
    ]  # fmt: skip


PREFIXES = {"key": "scbk_", "private": "scbx_", "public": "scbp_", "signer": "scbs_"}


def sections(fixed: Fixed) -> dict[str, list[Vector]]:
    make = Maker(fixed)
    accepted(make)
    damaged(make)
    headers(make)
    made_in_rust(make)
    signed_by_strangers(make)
    return {"vectors": make.vectors, "keys": keys(make)}
