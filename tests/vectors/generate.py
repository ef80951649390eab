"""Generates the files of golden vectors (example data with known results) from fixed inputs.
Running the program again changes nothing.

Vectors are append-only: the program refuses to write if an existing vector would change or be removed.
"""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import bundle_vectors
import reference as ref

Vector = dict[str, Any]

HERE = Path(__file__).parent
NIL = str(UUID(int=0))


def uuid(tail: str) -> str:
    return f"00000000-0000-4000-8000-{tail:0>12}"


def fixed(name: str, length: int) -> bytes:
    """Returns pseudorandom bytes, which are always the same for the same name."""
    return hashlib.shake_128(b"secrets-core vectors: " + name.encode()).digest(length)


def flipped(data: bytes, index: int, mask: int = 1) -> bytes:
    """Returns a copy of the data, with the bits in `mask` flipped in the byte at this index."""
    changed = bytearray(data)
    changed[index] ^= mask
    return bytes(changed)


def expand(value: str | Vector) -> bytes:
    """Returns the bytes of a value, which a vector file contains as a string, or as a
    short string and its number of repetitions."""
    text: str = value if isinstance(value, str) else value["repeat"] * value["times"]
    return text.encode()


def repeat(times: int) -> Vector:
    return {"repeat": "x", "times": times}


def xaes() -> dict[str, list[Vector]]:
    """Returns vectors of XAES-256-GCM: those of its specification, and ciphertexts that a reader
    must refuse."""
    nonce = b"ABCDEFGHIJKLMNOPQRSTUVWX"
    text = b"XAES-256-GCM"
    first = bytes.fromhex("ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271")
    second = bytes.fromhex("986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d")
    aad = b"c2sp.org/XAES-256-GCM"

    def accept(name: str, key: int, aad: bytes, ciphertext: bytes) -> Vector:
        return {
            "name": name,
            "valid": True,
            "key": (bytes([key]) * 32).hex(),
            "nonce": nonce.hex(),
            "aad": aad.hex(),
            "plaintext": text.hex(),
            "ciphertext": ciphertext.hex(),
        }

    def refuse(
        name: str, ciphertext: bytes, key: int = 3, nonce: bytes = nonce, aad: bytes = aad
    ) -> Vector:
        return {
            "name": name,
            "valid": False,
            "reason": "length" if len(ciphertext) < ref.TAG_BYTES else "tag",
            "key": (bytes([key]) * 32).hex(),
            "nonce": nonce.hex(),
            "aad": aad.hex(),
            "ciphertext": ciphertext.hex(),
        }

    return {
        "vectors": [
            accept("C2SP, first: the top bit of L is 0", 1, b"", first),
            accept("C2SP, second: the top bit of L is 1", 3, aad, second),
            refuse("another key", second, key=1),
            refuse("no additional data", second, aad=b""),
            refuse("a bit of the nonce's first half", second, nonce=flipped(nonce, 0)),
            refuse("a bit of the nonce's second half", second, nonce=flipped(nonce, 23)),
            refuse("a bit of the ciphertext", flipped(second, 0)),
            refuse("a bit of the tag", flipped(second, -1)),
            refuse("one byte short", second[:-1]),
            refuse("only fifteen bytes", second[:15]),
            refuse("nothing", b""),
        ],
        "accumulated": [
            {
                "name": "C2SP, accumulated, 10,000 iterations",
                "iterations": 10_000,
                "hash": "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939",
            }
        ],
    }


# Record of the published example, from which every mutation below starts.
DEK = bytes(range(32))
DEK_VER = 3
GOLDEN_NONCE = bytes(range(0xA0, 0xB8))
CONTEXT: Vector = {
    "purpose": 1,
    "flags": 0,
    "instance_id": uuid("1"),
    "project_id": uuid("aa"),
    "environment_id": uuid("bb"),
    "object_id": uuid("cc"),
    "key_name": "DATABASE_URL",
    # The version is a string, because JavaScript numbers are exact only up to 2^53.
    "version": "7",
}
GOLDEN = bytes.fromhex(
    "53010100000003a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7ccac5ae9dfb89d6e8174e5710a1fe160e44d"
    "fb48a5523b6d2ee74ae4f907d87efd3590a75218274a47048895bf0da5d2b468d5cd2ea6f773834ea9a5ca8b9a8b0c4470"
    "510ca2675e905240a4b2e63784"
)
GOLDEN_HIDDEN = bytes.fromhex(
    "53010100000003a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7ccac5af4afd7ee1ae60680023030ce01943d"
    "c13b9631495e5aa72e86d677aa11993590a75218274a47048895bf0da5d2b468d5cd2ea6f773834ea9a5ca8b9a8b19db66"
    "b5f2cd263f53f70498c2a417a2"
)
GOLDEN_VALUE = "postgres://app:s3cr3t@db/prod"


def context_of(fields: Vector) -> ref.Context:
    return ref.Context(
        purpose=fields["purpose"],
        flags=fields["flags"],
        instance_id=UUID(fields["instance_id"]),
        project_id=UUID(fields["project_id"]),
        environment_id=UUID(fields["environment_id"]),
        object_id=UUID(fields["object_id"]),
        key_name=fields["key_name"],
        version=int(fields["version"]),
    )


def accepted_record(
    name: str,
    value: str | Vector,
    *,
    dek: bytes = DEK,
    dek_ver: int = DEK_VER,
    nonce: bytes | None = None,
    **changes: object,
) -> Vector:
    """Returns a vector with a record that opens. Its context is the golden context with these
    changes."""
    context = CONTEXT | changes
    nonce = nonce or fixed(name, ref.NONCE_BYTES)
    record = ref.seal(dek, dek_ver, nonce, context_of(context), expand(value))
    return {
        "name": name,
        "valid": True,
        "dek": dek.hex(),
        "dek_ver": dek_ver,
        **context,
        "nonce": nonce.hex(),
        "value": value,
        "record": record.hex(),
    }


def refused_record(
    name: str,
    reason: str,
    record: bytes = GOLDEN,
    *,
    dek: bytes = DEK,
    dek_ver: int = DEK_VER,
    **changes: object,
) -> Vector:
    """Returns a vector with a record that must be refused for this reason. By default, it is the
    golden record; `changes` make its context wrong."""
    return {
        "name": name,
        "valid": False,
        "reason": reason,
        "dek": dek.hex(),
        "dek_ver": dek_ver,
        **CONTEXT,
        **changes,
        "record": record.hex(),
    }


def accepted_records() -> list[Vector]:
    """Returns vectors with records that open: values with lengths on both sides of each padding
    boundary, and contexts of every kind."""
    golden = accepted_record("golden value", GOLDEN_VALUE, nonce=GOLDEN_NONCE)
    # One nonce for two records, which is acceptable only in a test.
    hidden = accepted_record("golden hidden", "", nonce=GOLDEN_NONCE, flags=1, version="8")
    # The published bytes must not change, even if the reference implementation changes.
    assert golden["record"] == GOLDEN.hex() and hidden["record"] == GOLDEN_HIDDEN.hex()

    whole: Vector = {"environment_id": NIL, "key_name": ""}
    nameless: Vector = {"key_name": "", "version": "1"}
    return [
        golden,
        hidden,
        accepted_record("empty value, not hidden", ""),
        accepted_record("1 byte", "x"),
        accepted_record("60 bytes fill the first bucket", repeat(60)),
        accepted_record("61 bytes need the second bucket", repeat(61)),
        accepted_record("124 bytes fill the second bucket", repeat(124)),
        accepted_record("1,020 bytes fill the last bucket of the 64-byte steps", repeat(1020)),
        accepted_record("1,021 bytes are the first that Padme rounds", repeat(1021)),
        accepted_record("2,044 bytes make a power of two", repeat(2044)),
        accepted_record("2,045 bytes are one more than a power of two", repeat(2045)),
        accepted_record("5,000 bytes", repeat(5000)),
        accepted_record("65,536 bytes, the longest value", repeat(65536)),
        accepted_record("non-ASCII value", "kvc_ pässwörd ключ 鍵 🔑"),
        accepted_record("decomposed letters are kept as they are", "kvc_ a\u0308 \u1e9b\u0323"),
        accepted_record("line ends and tabs are kept as they are", "kvc_\r\n\tone\n\ntwo\n"),
        accepted_record("zero bytes at the end of a value are not padding", "kvc_\0\0\0"),
        accepted_record("JSON as a value", '{"kvc_":["\\"",null,1e400]}'),
        accepted_record("key name with dots", "kvc_dots", key_name="app.db.url"),
        accepted_record("key name with dashes", "kvc_dashes", key_name="app-db-url"),
        accepted_record("key name of one character", "kvc_one", key_name="_"),
        accepted_record("key name of 255 characters", "kvc_long", key_name="K" * 255),
        accepted_record("hidden, first version", "", flags=1, version="1"),
        accepted_record("purpose 1, a value", "kvc_value", version="1"),
        accepted_record("purpose 2, a description", "kvc_what it is for", purpose=2, version="0"),
        accepted_record(
            "purpose 3, a rotation's admin password", "kvc_admin", purpose=3, **nameless
        ),
        accepted_record("purpose 4, a proxy's shared secret", "kvc_shared", purpose=4, **nameless),
        accepted_record(
            "purpose 5, a webhook's signing secret", "kvc_whsec", purpose=5, **nameless
        ),
        accepted_record("purpose 6, a pending credential", "kvc_pending", purpose=6, **nameless),
        accepted_record("purpose 7, personal data", "kvc_p@example.com", purpose=7, **whole),
        accepted_record("purpose 8, a scan finding", "kvc_found", purpose=8, **whole),
        accepted_record("version 2^53 + 1", "kvc_version", version=str(2**53 + 1)),
        accepted_record("version 2^63 - 1", "kvc_version", version=str(2**63 - 1)),
        accepted_record("version 2^64 - 1", "kvc_version", version=str(2**64 - 1)),
        accepted_record(
            "first key version, another key", "kvc_key", dek=fixed("dek", 32), dek_ver=1
        ),
        accepted_record("last key version", "kvc_key", dek=fixed("dek", 32), dek_ver=2**32 - 1),
        accepted_record("ids with every byte different", "kvc_ids", **ids()),
    ]


def ids() -> Vector:
    """Returns four IDs that consist of 64 different bytes, so that a reader that swaps bytes of a
    context fails."""
    data = bytes(range(1, 65))
    names = ("instance_id", "project_id", "environment_id", "object_id")
    return {name: str(UUID(bytes=data[i * 16 : i * 16 + 16])) for i, name in enumerate(names)}


def moved_records() -> list[Vector]:
    """Returns vectors with the unchanged golden record in contexts to which it does not belong."""
    project, environment = CONTEXT["project_id"], CONTEXT["environment_id"]
    return [
        refused_record("another instance", "tag", instance_id=uuid("2")),
        refused_record("another project", "tag", project_id=uuid("ab")),
        refused_record("another environment", "tag", environment_id=uuid("bc")),
        refused_record("no environment", "tag", environment_id=NIL),
        refused_record("another object", "tag", object_id=uuid("cd")),
        refused_record(
            "project and environment swapped", "tag", project_id=environment, environment_id=project
        ),
        refused_record("another key name", "tag", key_name="DATABASE_URI"),
        refused_record("a key name in another case", "tag", key_name="database_url"),
        refused_record("a shorter key name", "tag", key_name="DATABASE_UR"),
        refused_record("a longer key name", "tag", key_name="DATABASE_URL_"),
        refused_record("no key name", "tag", key_name=""),
        refused_record("an older record under the next version", "tag", version="8"),
        refused_record("under the version before", "tag", version="6"),
        refused_record("a version that agrees in its low 32 bits", "tag", version=str(2**32 + 7)),
        refused_record("a value read as hidden", "tag", flags=1),
        refused_record("a hidden record read as a value", "tag", GOLDEN_HIDDEN, version="8"),
        *(
            refused_record(f"a value read as purpose {purpose}", "tag", purpose=purpose)
            for purpose in range(2, 9)
        ),
    ]


def damaged_records() -> list[Vector]:
    """Returns vectors with copies of the golden record that have bytes changed, cut off or
    added."""
    head, tag = GOLDEN[: ref.HEADER_BYTES], GOLDEN[-ref.TAG_BYTES :]
    dek_ver_2 = GOLDEN[:3] + (2).to_bytes(4) + GOLDEN[7:]
    return [
        refused_record("magic byte changed", "header", flipped(GOLDEN, 0)),
        refused_record("format version 0", "header", flipped(GOLDEN, 1)),
        refused_record("format version 2", "header", flipped(GOLDEN, 1, 3)),
        refused_record("suite 0", "header", flipped(GOLDEN, 2)),
        refused_record("suite 2", "header", flipped(GOLDEN, 2, 3)),
        refused_record("a key version that is not held", "key", dek_ver_2),
        refused_record("top byte of the key version changed", "key", flipped(GOLDEN, 3)),
        refused_record("the key, held under another version", "tag", dek_ver_2, dek_ver=2),
        refused_record("first byte of the nonce", "tag", flipped(GOLDEN, 7)),
        refused_record("last byte of the nonce's first half", "tag", flipped(GOLDEN, 18)),
        refused_record("first byte of the nonce's second half", "tag", flipped(GOLDEN, 19)),
        refused_record("last byte of the nonce", "tag", flipped(GOLDEN, 30)),
        refused_record("first byte of the ciphertext", "tag", flipped(GOLDEN, 31)),
        refused_record("last byte of the ciphertext", "tag", flipped(GOLDEN, -17)),
        refused_record("first byte of the tag", "tag", flipped(GOLDEN, -16)),
        refused_record("last bit of the tag", "tag", flipped(GOLDEN, -1)),
        refused_record("first bit of the tag", "tag", flipped(GOLDEN, -16, 0x80)),
        refused_record("a tag of zeros", "tag", GOLDEN[:-16] + bytes(16)),
        refused_record("the other golden record's tag", "tag", GOLDEN[:-16] + GOLDEN_HIDDEN[-16:]),
        refused_record("nothing", "length", b""),
        refused_record("one byte", "length", GOLDEN[:1]),
        refused_record("a header one byte short", "length", GOLDEN[:30]),
        refused_record("the header alone", "length", head),
        refused_record("a header and fifteen bytes", "length", GOLDEN[:46]),
        refused_record("a header and a tag", "tag", head + tag),
        refused_record("no tag", "tag", GOLDEN[:-16]),
        refused_record("one byte short", "tag", GOLDEN[:-1]),
        refused_record("first byte missing", "header", GOLDEN[1:]),
        refused_record("one byte too many", "tag", GOLDEN + b"\0"),
        refused_record("one byte in front", "header", b"\0" + GOLDEN),
        refused_record("twice", "tag", GOLDEN + GOLDEN),
        refused_record("another project key", "tag", dek=fixed("dek", 32)),
        refused_record("a project key of zeros", "tag", dek=bytes(32)),
        refused_record("a bit of the project key", "tag", dek=flipped(DEK, 31)),
    ]


def faulty_records() -> list[Vector]:
    """Returns vectors with records whose authentication tag is correct, so that only an explicit
    check of their contents refuses them.

    Each is encrypted with the right key for the golden context, as by a writer with a bug.
    """

    def with_header(name: str, start: bytes) -> Vector:
        head = start + ref.header(DEK_VER, fixed(name, ref.NONCE_BYTES))[3:]
        record = ref.encrypt_record(DEK, head, context_of(CONTEXT), ref.pad(b"kvc_value"))
        return refused_record(name, "header", record)

    def with_inner(name: str, length: int, rest: bytes) -> Vector:
        return raw_inner(name, length.to_bytes(ref.LENGTH_BYTES) + rest)

    def raw_inner(name: str, inner: bytes) -> Vector:
        head = ref.header(DEK_VER, fixed(name, ref.NONCE_BYTES))
        record = ref.encrypt_record(DEK, head, context_of(CONTEXT), inner)
        return refused_record(name, "inner", record)

    value = b"kvc_value"
    zeros = bytes(60 - len(value))
    return [
        with_header("right tag, another magic byte", b"T\x01\x01"),
        with_header("right tag, format version 2", b"S\x02\x01"),
        with_header("right tag, suite 2", b"S\x01\x02"),
        with_inner("length one more than there is", 61, b"x" * 60),
        with_inner("length of the next bucket", 124, b"x" * 60),
        with_inner("length 2^31", 2**31, value + zeros),
        # These two lengths wrap around to a small number in 32 bits, as in wasm.
        with_inner("length 2^32 - 4", 2**32 - 4, value + zeros),
        with_inner("length 2^32 - 1", 2**32 - 1, value + zeros),
        with_inner("first byte of the padding not zero", len(value), value + b"\1" + zeros[1:]),
        with_inner("last byte of the padding not zero", len(value), value + zeros[1:] + b"\1"),
        with_inner("padding as in PKCS #7", len(value), value + bytes([len(zeros)]) * len(zeros)),
        with_inner("not padded", len(value), value),
        with_inner("one byte short of its bucket", len(value), value + zeros[1:]),
        with_inner("one byte more than its bucket", len(value), value + zeros + b"\0"),
        with_inner("a bucket too large", len(value), value + zeros + bytes(64)),
        with_inner("a full bucket and one more", 60, b"x" * 60 + bytes(64)),
        with_inner("an empty value in two buckets", 0, bytes(124)),
        with_inner("rounded in 64-byte steps beyond 1 KiB", 2100, b"x" * 2100 + bytes(8)),
        with_inner("rounded to a power of two", 1021, b"x" * 1021 + bytes(2048 - 1025)),
        raw_inner("no inner plaintext", b""),
        raw_inner("half a length field", b"\0\0"),
        raw_inner("a length field alone", b"\0\0\0\0"),
    ]


def record() -> dict[str, list[Vector]]:
    lengths = (
        *(0, 1, 59, 60, 61, 124, 125, 1019, 1020, 1021, 1084, 1085, 2043, 2044, 2045, 4092, 4093),
        *(5000, 8188, 8189, 16380, 16381, 32764, 32765, 65531, 65532, 65533, 65535, 65536),
    )
    return {
        "vectors": [
            *accepted_records(),
            *moved_records(),
            *damaged_records(),
            *faulty_records(),
        ],
        "padding": [
            {
                "name": f"{length:,} bytes",
                "value_length": length,
                "inner_length": ref.padded_length(length),
            }
            for length in lengths
        ],
    }


ROOT = fixed("root", 32)
KEK = fixed("kek", 32)
INSTANCE = uuid("1")


def project_keys() -> list[Vector]:
    """Returns vectors of wrapped (encrypted) project keys. They include keys of the instance
    itself, which are wrapped with an empty project ID."""
    wrapping = ref.purpose_key(KEK, UUID(INSTANCE), "dek-wrap")
    place: Vector = {"instance_id": INSTANCE, "project_id": uuid("aa"), "dek_ver": 3}

    def aad(fields: Vector) -> bytes:
        instance, project = UUID(fields["instance_id"]), UUID(fields["project_id"])
        return ref.project_key_aad(instance, project, fields["dek_ver"])

    def accept(name: str, key: bytes, **changes: object) -> Vector:
        fields = place | changes
        nonce = fixed(name, ref.NONCE_BYTES)
        return {
            "name": name,
            "valid": True,
            "kek": KEK.hex(),
            **fields,
            "nonce": nonce.hex(),
            "key": key.hex(),
            "wrapped": ref.wrap(wrapping, nonce, key, aad(fields)).hex(),
        }

    def refuse(
        name: str, reason: str, wrapped: bytes, kek: bytes = KEK, **changes: object
    ) -> Vector:
        return {
            "name": name,
            "valid": False,
            "reason": reason,
            "kek": kek.hex(),
            **place,
            **changes,
            "wrapped": wrapped.hex(),
        }

    def faulty(name: str, reason: str, key: bytes, wrapping: bytes, aad: bytes) -> Vector:
        """Returns a vector with an invalid key that is wrapped (encrypted) with a correct tag, as
        by a writer with a bug."""
        return refuse(name, reason, ref.wrap(wrapping, fixed(name, ref.NONCE_BYTES), key, aad))

    good = accept("project key", DEK)
    wrapped = bytes.fromhex(good["wrapped"])
    here = aad(place)
    kek_aad = ref.instance_key_aad(UUID(INSTANCE), place["dek_ver"])
    canary = ref.purpose_key(KEK, UUID(INSTANCE), "canary")
    return [
        good,
        accept("first version", fixed("dek", 32), dek_ver=1),
        accept("last version", fixed("dek", 32), dek_ver=2**32 - 1),
        accept("key of the instance itself, project id nil", bytes([0x11]) * 32, project_id=NIL),
        accept("key of zeros", bytes(32)),
        refuse("another instance key", "tag", wrapped, kek=fixed("another kek", 32)),
        refuse("another instance", "tag", wrapped, instance_id=uuid("2")),
        refuse("another project", "tag", wrapped, project_id=uuid("ab")),
        refuse("no project", "tag", wrapped, project_id=NIL),
        refuse("another version", "tag", wrapped, dek_ver=4),
        *(refuse(name, reason, data) for name, reason, data in damaged_keys(wrapped)),
        faulty("wrapped under the instance key itself", "tag", DEK, KEK, here),
        faulty("wrapped under the key of another purpose", "tag", DEK, canary, here),
        faulty("bound as an instance key", "tag", DEK, wrapping, kek_aad),
        faulty("bound to nothing", "tag", DEK, wrapping, b""),
        faulty("right tag, 31 bytes", "length", DEK[:31], wrapping, here),
        faulty("right tag, 33 bytes", "length", DEK + b"\0", wrapping, here),
        faulty("right tag, no bytes", "length", b"", wrapping, here),
    ]


def instance_keys() -> list[Vector]:
    """Returns vectors of instance keys, which are wrapped (encrypted) with the root key."""
    place: Vector = {"instance_id": INSTANCE, "kek_id": 1}

    def aad(fields: Vector) -> bytes:
        return ref.instance_key_aad(UUID(fields["instance_id"]), fields["kek_id"])

    def accept(name: str, **changes: object) -> Vector:
        fields = place | changes
        nonce = fixed(f"instance: {name}", ref.NONCE_BYTES)
        return {
            "name": name,
            "valid": True,
            "root": ROOT.hex(),
            **fields,
            "nonce": nonce.hex(),
            "key": KEK.hex(),
            "wrapped": ref.wrap(ROOT, nonce, KEK, aad(fields)).hex(),
        }

    def refuse(
        name: str, reason: str, wrapped: bytes, root: bytes = ROOT, **changes: object
    ) -> Vector:
        return {
            "name": name,
            "valid": False,
            "reason": reason,
            "root": root.hex(),
            **place,
            **changes,
            "wrapped": wrapped.hex(),
        }

    def faulty(name: str, reason: str, key: bytes, aad: bytes) -> Vector:
        """Returns a vector with an invalid key that is wrapped (encrypted) with a correct tag, as
        by a writer with a bug."""
        nonce = fixed(f"instance: {name}", ref.NONCE_BYTES)
        return refuse(name, reason, ref.wrap(ROOT, nonce, key, aad))

    good = accept("instance key")
    wrapped = bytes.fromhex(good["wrapped"])
    dek_aad = ref.project_key_aad(UUID(INSTANCE), UUID(int=0), place["kek_id"])
    return [
        good,
        accept("next id", kek_id=2),
        accept("last id", kek_id=2**32 - 1),
        refuse("another root key", "tag", wrapped, root=fixed("another root", 32)),
        refuse("another instance", "tag", wrapped, instance_id=uuid("2")),
        refuse("another id", "tag", wrapped, kek_id=2),
        *(refuse(name, reason, data) for name, reason, data in damaged_keys(wrapped)),
        faulty("bound as a project key", "tag", KEK, dek_aad),
        faulty("bound to nothing", "tag", KEK, b""),
        faulty("right tag, 31 bytes", "length", KEK[:31], aad(place)),
        faulty("right tag, 33 bytes", "length", KEK + b"\0", aad(place)),
    ]


def damaged_keys(wrapped: bytes) -> list[tuple[str, str, bytes]]:
    """Returns damaged copies of a wrapped key: for each, a name of the damage, the reason why a
    reader must refuse it, and the bytes."""
    return [
        ("first byte of the nonce", "tag", flipped(wrapped, 0)),
        ("last byte of the nonce", "tag", flipped(wrapped, 23)),
        ("first byte of the ciphertext", "tag", flipped(wrapped, 24)),
        ("last byte of the ciphertext", "tag", flipped(wrapped, 55)),
        ("first byte of the tag", "tag", flipped(wrapped, 56)),
        ("last byte of the tag", "tag", flipped(wrapped, 71)),
        ("nothing", "length", b""),
        ("a nonce one byte short", "length", wrapped[:23]),
        ("the nonce alone", "length", wrapped[:24]),
        ("a nonce and a tag", "length", wrapped[:24] + wrapped[-16:]),
        ("no tag", "length", wrapped[:-16]),
        ("one byte short", "length", wrapped[:-1]),
        ("one byte too many", "length", wrapped + b"\0"),
    ]


def wrapped() -> dict[str, list[Vector]]:
    roots = {
        "the root key of this file": ROOT,
        "zeros": bytes(32),
        "00 to 1f": bytes(range(32)),
    }
    # Purposes whose keys are derived. The token pepper and the audit, manifest and signing keys are
    # random.
    purposes = [(name, KEK, INSTANCE, name) for name in ("dek-wrap", "canary")] + [
        ("dek-wrap of another instance", KEK, uuid("2"), "dek-wrap")
    ]
    return {
        "project_keys": project_keys(),
        "instance_keys": instance_keys(),
        "root_ids": [
            {"name": name, "root": root.hex(), "rk_id": ref.rk_id(root).hex()}
            for name, root in roots.items()
        ],
        "purpose_keys": [
            {
                "name": name,
                "kek": kek.hex(),
                "instance_id": instance,
                "purpose": purpose,
                "key": ref.purpose_key(kek, UUID(instance), purpose).hex(),
            }
            for name, kek, instance, purpose in purposes
        ],
    }


GOLDEN_TOKEN = "env_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno2VMQpv"
GOLDEN_MAC = "69bcad731926af266f9b79ed8cbba3e0aa470dc9a98281ea3bd0d8ebd3d3fa26"


def token() -> dict[str, list[Vector]]:
    def accept(name: str, entropy: bytes, pepper: bytes = bytes([0x11]) * 32) -> Vector:
        text = ref.token(entropy)
        return {
            "name": name,
            "valid": True,
            "entropy": entropy.hex(),
            "pepper": pepper.hex(),
            "token": text,
            "mac": ref.token_mac(pepper, text).hex(),
        }

    def refuse(name: str, reason: str, text: str) -> Vector:
        return {"name": name, "valid": False, "reason": reason, "token": text}

    def swapped(text: str, index: int) -> str:
        return text[:index] + text[index + 1] + text[index] + text[index + 2 :]

    golden = accept("golden token", bytes(range(1, 33)))
    assert golden["token"] == GOLDEN_TOKEN and golden["mac"] == GOLDEN_MAC

    text, body, digits = GOLDEN_TOKEN, GOLDEN_TOKEN[:-6], GOLDEN_TOKEN[-6:]
    crc = 0
    for digit in digits:
        crc = crc * 62 + ref.BASE62.index(digit)
    return {
        "vectors": [
            golden,
            accept("zeros", bytes(32)),
            accept("the number 1", bytes(31) + b"\1"),
            accept("the number 62", bytes(31) + b"\x3e"),
            accept("the largest number", b"\xff" * 32),
            accept("the top bit alone", b"\x80" + bytes(31)),
            accept("another entropy", fixed("entropy", 32)),
            accept("another pepper", bytes(range(1, 33)), fixed("pepper", 32)),
            refuse("last digit changed", "checksum", text[:-1] + "w"),
            refuse("first digit of the checksum changed", "checksum", body + "0" + digits[1:]),
            refuse("first digit of the body changed", "checksum", "env_1" + text[5:]),
            refuse("last digit of the body changed", "checksum", body[:-1] + "p" + digits),
            refuse("two neighbours swapped", "checksum", swapped(text, 5)),
            refuse("a letter in the other case", "checksum", text.replace("E", "e", 1)),
            refuse(
                "checksum of the body without its prefix", "checksum", body + ref.checksum(body[4:])
            ),
            # The checksum equals the right value modulo 2^32: a reader that decodes the checksum
            # must not wrap around.
            refuse("checksum and 2^32", "checksum", body + ref.base62(crc + 2**32, 6)),
            refuse("checksum of zeros", "checksum", body + "000000"),
            refuse("checksum before the body", "checksum", "env_" + digits + body[4:]),
            refuse("one digit short", "length", text[:-1]),
            refuse("one digit too many", "length", text + "0"),
            refuse("no checksum", "length", body),
            refuse("the prefix alone", "length", "env_"),
            refuse("a line end after it", "length", text + "\n"),
            refuse("a space in front", "prefix", " " + text),
            refuse("nothing", "prefix", ""),
            refuse("another prefix", "prefix", "ent_" + text[4:]),
            refuse("the prefix in capitals", "prefix", "ENV_" + text[4:]),
            refuse("a dash for the underscore", "prefix", "env-" + text[4:]),
            *(
                refuse(f"{name} in the body, checksum right", "alphabet", foreign)
                for name, foreign in (
                    ("a dash", with_checksum("env_-" + body[5:])),
                    ("an underscore", with_checksum("env__" + body[5:])),
                    ("a plus sign", with_checksum("env_+" + body[5:])),
                    ("a space", with_checksum("env_ " + body[5:])),
                    ("a zero byte", with_checksum("env_\0" + body[5:])),
                )
            ),
            refuse("a dash in the checksum", "alphabet", text[:-1] + "-"),
            # The text has 53 bytes; one letter of two bytes spans the beginning of the checksum.
            refuse("a letter of two bytes", "alphabet", body[:-1] + "\u00e9" + digits[1:]),
            # The text has 53 letters, but 54 bytes: a reader that counts letters would accept the
            # length.
            refuse("53 letters, 54 bytes", "length", body[:-1] + "\u00e9" + digits),
            refuse("a wide digit", "length", "env_\uff10" + text[5:]),
        ]
    }


def with_checksum(text: str) -> str:
    return text + ref.checksum(text)


PROXY_SECRET = "kvc_shared_0123456789abcdefghijklmnop"
NOW = 1_795_219_200


def proxy_heading(**other: str) -> dict[str, str]:
    return {
        "ts": str(NOW),
        "nonce": ref.base64url(fixed("proxy nonce", 16)),
        "config": uuid("dd"),
        "seq": "3",
        "step": "apply",
    } | other


def with_field(payload: str, name: str, value: object) -> str:
    """Returns a JSON object with one field changed, or removed if `value` is None."""
    fields = json.loads(payload) | {name: value}
    return json.dumps({k: v for k, v in fields.items() if v is not None}, separators=(",", ":"))


def proxy_requests() -> list[Vector]:
    def vector(name: str, payload: str, heading: dict[str, str], **more: object) -> Vector:
        nonce = ref.from_base64url(heading["nonce"]).hex()
        sent = {**heading, "nonce": nonce, "ts": int(heading["ts"]), "seq": int(heading["seq"])}
        return {"name": name, "secret": PROXY_SECRET, "now": NOW, **sent, **more, "payload": payload}

    def accept(name: str, inside: str, **other: str) -> Vector:
        heading, iv = proxy_heading(**other), fixed(f"proxy {name}", 12)
        payload = ref.proxy_request(PROXY_SECRET.encode(), heading, iv, inside.encode())
        return vector(name, payload, heading, valid=True, iv=iv.hex(), inside=inside)

    def refuse(name: str, reason: str, payload: str, now: int = NOW) -> Vector:
        return vector(name, payload, proxy_heading(), valid=False, reason=reason) | {"now": now}

    inside = '{"connection":{"host":"db.internal"},"username":"kv_a"}'
    golden = accept("golden request", inside)
    payload = golden["payload"]
    nil = {"config": NIL, "seq": "0"}
    stale = ref.proxy_request(
        PROXY_SECRET.encode(), proxy_heading(ts=str(NOW - 301)), bytes(12), inside.encode()
    )
    other = ref.proxy_request(b"kvc_another_secret", proxy_heading(), bytes(12), inside.encode())
    fields = json.loads(payload)
    ct = ref.base64url(flipped(ref.from_base64url(fields["ct"]), 12))
    heading = proxy_heading()
    resigned = ref.proxy_signature(
        PROXY_SECRET.encode(), heading["ts"], heading["nonce"],
        fields["kid"], heading["config"], heading["seq"], heading["step"], ct,
    )  # fmt: skip
    return [
        golden,
        accept("a test, of no rotation", '{"connection":{}}', step="test", **nil),
        accept("a login, of no rotation", "{}", step="verify", **nil),
        accept("a lock", "{}", step="lock", seq="1"),
        accept("the largest attempt", "{}", seq=str(2**63 - 1)),
        accept("letters beyond ASCII", '{"connection":{"database":"b\u00fccher"}}'),
        *(
            refuse(f"another {name}", reason, with_field(payload, name, value))
            for name, reason, value in (
                ("v", "fields", 2),
                ("kid", "key", "0" * 16),
                ("ts", "signature", NOW + 1),
                ("nonce", "signature", ref.base64url(bytes(16))),
                ("config", "signature", uuid("de")),
                ("seq", "signature", 4),
                ("step", "signature", "lock"),
                ("ct", "signature", ct),
                ("sig", "signature", "0" * 64),
            )
        ),
        refuse("a signature in capitals", "signature", with_field(payload, "sig", fields["sig"].upper())),
        refuse("no signature", "fields", with_field(payload, "sig", None)),
        refuse("a field too many", "fields", with_field(payload, "note", "")),
        refuse("a number as text", "fields", with_field(payload, "seq", "3")),
        refuse("a truth for a number", "fields", with_field(payload, "v", True)),
        refuse("301 seconds old", "time", stale),
        refuse("301 seconds early", "time", payload, NOW - 301),
        refuse("by another secret", "key", other),
        refuse("changed inside and signed again", "inside",
               with_field(with_field(payload, "ct", ct), "sig", resigned)),
    ]  # fmt: skip


def proxy_answers() -> list[Vector]:
    asked = proxy_heading()
    asked = {name: asked[name] for name in ("nonce", "seq", "step")}
    nonce = ref.from_base64url(asked["nonce"]).hex()

    def vector(name: str, **more: object) -> Vector:
        sent = {"nonce": nonce, "seq": int(asked["seq"]), "step": asked["step"]}
        return {"name": name, "secret": PROXY_SECRET, **sent, **more}

    def accept(name: str, outcome: str, inside: str) -> Vector:
        iv = fixed(f"proxy {name}", 12)
        heading = asked | {"outcome": outcome}
        payload = ref.proxy_answer(PROXY_SECRET.encode(), heading, iv, inside.encode())
        return vector(name, valid=True, iv=iv.hex(), outcome=outcome, inside=inside, payload=payload)

    def refuse(name: str, reason: str, payload: str) -> Vector:
        return vector(name, valid=False, reason=reason, payload=payload)

    def elsewhere(secret: str = PROXY_SECRET, **other: str) -> str:
        heading = asked | {"outcome": "ok"} | other
        return ref.proxy_answer(secret.encode(), heading, bytes(12), b"{}")

    golden = accept("golden answer", "ok", '{"identity":"7301234567890123456"}')
    payload = golden["payload"]
    fields = json.loads(payload)
    request = ref.proxy_request(PROXY_SECRET.encode(), proxy_heading(), bytes(12), b"{}")
    # The content is encrypted with the key for requests, and signed as a response.
    ct = json.loads(request)["ct"]
    sig = ref.proxy_signature(
        PROXY_SECRET.encode(), "answer", asked["nonce"], asked["seq"], asked["step"], "ok", ct
    )
    reflected = with_field(with_field(payload, "ct", ct), "sig", sig)
    return [
        golden,
        accept("nothing more to say", "ok", "{}"),
        accept("a fault with its state", "privilege_missing", '{"state":"42501"}'),
        *(
            refuse(f"another {name}", reason, with_field(payload, name, value))
            for name, reason, value in (
                ("v", "fields", 2),
                ("nonce", "signature", ref.base64url(bytes(16))),
                ("seq", "signature", 4),
                ("step", "signature", "lock"),
                ("outcome", "signature", "busy"),
                ("ct", "signature", ct),
                ("sig", "signature", "0" * 64),
            )
        ),
        refuse("a signature in capitals", "signature", with_field(payload, "sig", fields["sig"].upper())),
        refuse("no signature", "fields", with_field(payload, "sig", None)),
        refuse("a field too many", "fields", with_field(payload, "note", "")),
        refuse("to another request", "another", elsewhere(nonce=ref.base64url(bytes(16)))),
        refuse("of another attempt", "another", elsewhere(seq="2")),
        refuse("to another step", "another", elsewhere(step="verify")),
        refuse("by another secret", "signature", elsewhere("kvc_another_secret")),
        refuse("the request itself", "fields", request),
        refuse("the request's inside", "inside", reflected),
    ]


def proxy() -> dict[str, list[Vector]]:
    return {"requests": proxy_requests(), "answers": proxy_answers()}


WEBHOOK_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
WEBHOOK_BODY = (
    '{"type":"rotation.completed","timestamp":"2026-01-01T00:00:00Z",'
    '"data":{"rotation":"db-main","history_version":4}}'
)
SENT = 1767225600


def delivery(name: str, refusal: str | None = None, **other: object) -> Vector:
    """Returns a vector with a webhook delivery, by default with a correct signature.
    `other` replaces fields of the vector."""
    fields = {
        "secret": WEBHOOK_SECRET,
        "id": "msg_0000000000000000000000001",
        "timestamp": str(SENT),
        "body": WEBHOOK_BODY,
        "now": SENT,
    } | other
    fields.setdefault("signature", webhook_signature(**fields))
    verdict = {"valid": True} if refusal is None else {"valid": False, "reason": refusal}
    return {"name": name} | verdict | fields


def webhook_signature(secret: str, id: str, timestamp: str, body: str, **_: object) -> str:
    try:
        return ref.webhook_signature(secret, id, timestamp, body.encode())
    except ref.Refused:
        return "v1,"


def webhook() -> dict[str, list[Vector]]:
    golden = delivery("published")
    signature = str(golden["signature"])
    if signature != "v1,vQjJJ+8rhTMCeZl2/RyO9wkIEsOSbe5nSW8KL8oobhw=":
        raise AssertionError("the reference signs otherwise than was published")
    long = "whsec_" + ref.base64_text(bytes(range(64)))
    last = chr(ord(signature[3]) ^ 1)
    accepted = [
        golden,
        delivery("a secret of 32 bytes", secret="whsec_" + ref.base64_text(bytes(range(32)))),
        delivery("a secret of 64 bytes", secret=long),
        delivery("an empty body", body=""),
        delivery("a body beyond ASCII", body='{"name":"schlüssel 日本 😀"}'),
        delivery("a body of several lines", body="{\r\n}\n"),
        delivery("five minutes ago", now=SENT + 300),
        delivery("in five minutes", now=SENT - 300),
        delivery("the second signature", signature=f"v1,{ref.base64_text(bytes(32))} {signature}"),
        delivery("beside another version", signature=f"v1a,AAAA {signature}"),
    ]
    refused = [
        delivery("more than five minutes ago", "stale", now=SENT + 301),
        delivery("in more than five minutes", "stale", now=SENT - 301),
        delivery("another id", "tampered", id="msg_2", signature=signature),
        delivery("another time", "tampered", timestamp=str(SENT + 1), signature=signature),
        delivery("another body", "tampered", body=WEBHOOK_BODY + " ", signature=signature),
        delivery("another secret", "tampered", secret=long, signature=signature),
        delivery("another signature", "tampered", signature=f"v1,{last}{signature[4:]}"),
        delivery("a signature without a version", "tampered", signature=signature[3:]),
        delivery("a signature of another version", "tampered", signature="v2" + signature[2:]),
        delivery("a signature cut short", "tampered", signature=signature[:-4]),
        delivery("a signature without padding", "tampered", signature=signature[:-1]),
        delivery("an empty signature", "tampered", signature="v1,"),
        delivery("signatures with commas between", "tampered", signature=f"{signature},{signature}"),
        delivery("of another time, and too old", "tampered", now=SENT + 301, signature="v1,AAAA"),
        delivery("no signature", "malformed", signature=""),
        delivery("no id", "malformed", id=""),
        delivery("an id with a dot", "malformed", id="msg.1"),
        delivery("no time", "malformed", timestamp=""),
        delivery("a time that is no number", "malformed", timestamp="now"),
        delivery("a time with a sign", "malformed", timestamp=f"+{SENT}"),
        delivery("a time with a zero before", "malformed", timestamp=f"0{SENT}"),
        delivery("a time with a fraction", "malformed", timestamp=f"{SENT}.0"),
        delivery("a time with space", "malformed", timestamp=f" {SENT}"),
        delivery("a time beyond all", "malformed", timestamp="9" * 20),
        delivery("no secret", "invalid", secret=""),
        delivery("a secret without its prefix", "invalid", secret=WEBHOOK_SECRET[6:]),
        delivery("a secret of 23 bytes", "invalid", secret="whsec_" + ref.base64_text(bytes(23))),
        delivery("a secret of 65 bytes", "invalid", secret="whsec_" + ref.base64_text(bytes(65))),
        delivery("a secret that is no base64", "invalid", secret=WEBHOOK_SECRET[:-1] + "!"),
    ]
    return {"vectors": accepted + refused}


def kept(old: dict[str, list[Vector]], new: dict[str, list[Vector]]) -> bool:
    """Returns True if the new contents of a file contain every existing vector unchanged."""
    return all(vector in new.get(section, []) for section in old for vector in old[section])


FILES: dict[str, Callable[[], dict[str, list[Vector]]]] = {
    "xaes.json": xaes,
    "record.json": record,
    "wrapped.json": wrapped,
    "token.json": token,
    "proxy.json": proxy,
    "webhook.json": webhook,
    "bundle.json": lambda: bundle_vectors.sections(fixed),
}


def main() -> int:
    for name, make in FILES.items():
        path = HERE / name
        content = make()
        if path.exists() and not kept(json.loads(path.read_text()), content):
            print(f"{name}: a vector would change or be removed; vectors are append-only", file=sys.stderr)
            return 1
        path.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
