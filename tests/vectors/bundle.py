"""Independent reader and writer of bundles (SCB1), as described in `bundle/mod.rs`.

Like `reference.py`, it shares no code with the crates.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NoReturn
from uuid import UUID

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

import reference as ref
from reference import Refused

MAGIC = b"SCBUNDLE"
SUITE = "A256GCM-HKDF-SHA256"
HEADER_LIMIT = 16_384
CHUNK = 65_536
TAG = 16
ITEM_LIMIT = 1 << 20
LARGEST = 2**53 - 1
ZERO = bytes(12)
AAD = b"scb1"

Json = dict[str, Any]


# Text form of keys: like tokens, with other prefixes.


def text_of(prefix: str, bits: bytes) -> str:
    body = prefix + ref.base62(int.from_bytes(bits), 43)
    return body + ref.checksum(body)


def bits_of(prefix: str, text: str) -> bytes:
    body, digits = text[:-6], text[-6:]
    if len(text.encode()) != len(prefix) + 49 or not body.startswith(prefix):
        raise Refused("text")
    if any(digit not in ref.BASE62 for digit in body[len(prefix) :] + digits):
        raise Refused("text")
    number = 0
    for digit in body[len(prefix) :]:
        number = number * 62 + ref.BASE62.index(digit)
    if ref.checksum(body) != digits or number >= 2**256:
        raise Refused("text")
    return number.to_bytes(32)


# HPKE (RFC 9180), base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.

KEM_ID = b"KEM" + (0x0020).to_bytes(2)
HPKE_ID = b"HPKE" + (0x0020).to_bytes(2) + (0x0001).to_bytes(2) + (0x0002).to_bytes(2)


def labeled_extract(suite: bytes, salt: bytes, label: str, ikm: bytes) -> bytes:
    message = b"HPKE-v1" + suite + label.encode() + ikm
    return hmac.digest(salt or bytes(32), message, hashlib.sha256)


def labeled_expand(suite: bytes, prk: bytes, label: str, info: bytes, length: int) -> bytes:
    info = length.to_bytes(2) + b"HPKE-v1" + suite + label.encode() + info
    out = block = b""
    while len(out) < length:
        block = hmac.digest(prk, block + info + bytes([len(out) // 32 + 1]), hashlib.sha256)
        out += block
    return out[:length]


def hpke_key(shared: bytes, enc: bytes, public: bytes, info: bytes) -> tuple[bytes, bytes]:
    """Derives the key and the nonce of the first HPKE message (RFC 9180) from a Diffie-Hellman
    secret."""
    prk = labeled_extract(KEM_ID, b"", "eae_prk", shared)
    secret = labeled_expand(KEM_ID, prk, "shared_secret", enc + public, 32)
    psk_id = labeled_extract(HPKE_ID, b"", "psk_id_hash", b"")
    info_hash = labeled_extract(HPKE_ID, b"", "info_hash", info)
    context = b"\0" + psk_id + info_hash
    secret = labeled_extract(HPKE_ID, secret, "secret", b"")
    key = labeled_expand(HPKE_ID, secret, "key", context, 32)
    return key, labeled_expand(HPKE_ID, secret, "base_nonce", context, 12)


def public_of(private: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def exchange(private: bytes, public: bytes) -> bytes:
    key = X25519PrivateKey.from_private_bytes(private)
    try:
        return key.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        # The public key is a point of low order.
        raise Refused("no_recipient") from None


# Keys of one bundle.


def raw_key(key: bytes, salt: bytes) -> bytes:
    return ref.hkdf(key, salt, "scb1/wrap/raw")


def passphrase_key(passphrase: str, slot: Json, salt: bytes) -> bytes:
    derived = Argon2id(
        salt=ref.from_base64url(slot["s"]),
        length=32,
        iterations=slot["it"],
        lanes=slot["p"],
        memory_cost=slot["m"],
    ).derive(passphrase.encode())
    return ref.hkdf(derived, salt, "scb1/wrap/argon2id")


def x25519_info(salt: bytes) -> bytes:
    return b"scb1/wrap/x25519\0" + salt


def wrap(key: bytes, file_key: bytes, nonce: bytes = ZERO) -> str:
    return ref.base64url(AESGCM(key).encrypt(nonce, file_key, AAD))


def header_mac(file_key: bytes, salt: bytes, head: bytes) -> bytes:
    return hmac.digest(ref.hkdf(file_key, salt, "scb1/header"), head, hashlib.sha256)


def signed(head: bytes, chunks: bytes) -> bytes:
    return b"scb1/sig\0" + hashlib.sha256(head).digest() + hashlib.sha256(chunks).digest()


def chunk_nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11) + bytes([is_last])


# Writing of bundles. All random values are arguments, and any value can be wrong on purpose.


@dataclass
class Writer:
    """Writer of a bundle. `slots` are the recipients, in the form of the bundle's header."""

    file_key: bytes
    salt: bytes
    signing: bytes
    header: Json
    slots: list[Json] = field(default_factory=list)

    def raw(self, key: bytes) -> None:
        self.slots.append({"t": "raw", "w": wrap(raw_key(key, self.salt), self.file_key)})

    def passphrase(self, text: str, s: bytes, m: int, it: int, p: int) -> None:
        slot: Json = {"t": "argon2id", "s": ref.base64url(s), "m": m, "it": it, "p": p}
        slot["w"] = wrap(passphrase_key(text, slot, self.salt), self.file_key)
        self.slots.append(slot)

    def x25519(self, public: bytes, ephemeral: bytes) -> None:
        enc = public_of(ephemeral)
        shared = exchange(ephemeral, public)
        key, nonce = hpke_key(shared, enc, public, x25519_info(self.salt))
        w = wrap(key, self.file_key, nonce)
        self.slots.append({"t": "x25519", "enc": ref.base64url(enc), "w": w})

    def signer(self) -> bytes:
        key = Ed25519PrivateKey.from_private_bytes(self.signing)
        return key.public_key().public_bytes_raw()

    def header_json(self) -> bytes:
        """Returns the header as JSON, with the fields and recipients of this writer."""
        whole = {
            "v": 1,
            "suite": SUITE,
            "salt": ref.base64url(self.salt),
            "chunk": CHUNK,
            **self.header,
            "signer": ref.base64url(self.signer()),
            "recipients": self.slots,
        }
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()

    def chunks(self, payload: bytes) -> list[bytes]:
        parts = [payload[at : at + CHUNK] for at in range(0, len(payload), CHUNK)]
        return [
            self.chunk(part, number, number + 1 == len(parts)) for number, part in enumerate(parts)
        ]

    def chunk(self, plain: bytes, number: int, is_last: bool) -> bytes:
        key = ref.hkdf(self.file_key, self.salt, "scb1/payload")
        return AESGCM(key).encrypt(chunk_nonce(number, is_last), plain, b"")

    def file(
        self, header: bytes, chunks: bytes, signing: bytes | None = None, mac: bytes | None = None
    ) -> bytes:
        """Returns a bundle file with this header and these chunks. Adds the MAC of the header and
        the signature."""
        head = MAGIC + b"\1" + len(header).to_bytes(4) + header
        head += mac or header_mac(self.file_key, self.salt, head)
        key = Ed25519PrivateKey.from_private_bytes(signing or self.signing)
        return head + key.sign(signed(head, chunks)) + chunks

    def seal(self, payload: bytes) -> bytes:
        return self.file(self.header_json(), b"".join(self.chunks(payload)))


# Reading of bundles.


def malformed() -> NoReturn:
    raise Refused("malformed")


def unique(pairs: Sequence[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        malformed()
    return found


def no_number(_: str) -> NoReturn:
    malformed()


def parse(text: bytes) -> Any:
    try:
        return json.loads(
            text.decode(), object_pairs_hook=unique, parse_constant=no_number, strict=True
        )
    except (UnicodeDecodeError, json.JSONDecodeError):
        malformed()


def fields(value: Any, needed: set[str], possible: set[str] = frozenset()) -> Json:  # type: ignore[assignment]
    if not isinstance(value, dict) or not needed <= value.keys() <= needed | possible:
        malformed()
    return value


def whole(value: Any, limit: int) -> int:
    if type(value) is not int or not 0 <= value <= limit:
        malformed()
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        malformed()
    return value


def binary(value: Any, length: int) -> bytes:
    try:
        data = ref.from_base64url(text(value))
    except (Refused, ValueError):
        malformed()
    if len(data) != length or ref.base64url(data) != value:
        malformed()
    return data


def identifier(value: Any) -> str:
    try:
        if str(UUID(text(value))) != value:
            malformed()
    except ValueError:
        malformed()
    return value


def moment(value: Any) -> datetime:
    """Parses an RFC 3339 time in UTC. The fraction of the second must have zero, three or six
    digits, and not more than necessary."""
    match = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z", text(value))
    fraction = match[1] if match else None
    if not match or (fraction and fraction.endswith("000")):
        malformed()
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        malformed()
    if found.year < 1970:
        malformed()
    return found


def known(header: Json) -> None:
    """Refuses a header with an unknown version, suite, chunk size or recipient type.
    The reason is `unsupported`, and these fields are checked before all others."""
    if not isinstance(header, dict):
        malformed()
    version, suite, chunk = header.get("v"), header.get("suite"), header.get("chunk")
    slots = header.get("recipients")
    if type(version) is not int or version < 0 or type(chunk) is not int or chunk < 0:
        malformed()
    if not isinstance(suite, str) or not isinstance(slots, list):
        malformed()
    if any(not isinstance(slot, dict) or not isinstance(slot.get("t"), str) for slot in slots):
        malformed()
    types = {slot["t"] for slot in slots}
    if (version, suite, chunk) != (1, SUITE, CHUNK) or types - {"raw", "argon2id", "x25519"}:
        raise Refused("unsupported")


def check_slots(slots: list[Json]) -> None:
    if not 1 <= len(slots) <= 16:
        malformed()
    for slot in slots:
        match slot["t"]:
            case "raw":
                fields(slot, {"t", "w"})
            case "argon2id":
                fields(slot, {"t", "s", "m", "it", "p", "w"})
                binary(slot["s"], 16)
                bounds = ((slot["m"], 19_456, 262_144), (slot["it"], 2, 10), (slot["p"], 1, 8))
                if any(type(n) is not int or not low <= n <= high for n, low, high in bounds):
                    malformed()
            case "x25519":
                fields(slot, {"t", "enc", "w"})
                binary(slot["enc"], 32)
        binary(slot["w"], 48)
    names = [slot.get("enc", slot["t"]) for slot in slots]
    if len(set(names)) != len(names):
        malformed()


def read_header(header_json: bytes) -> Json:
    header = parse(header_json)
    known(header)
    needed = {"v", "suite", "salt", "chunk", "seq", "created", "project", "environment", "signer"}
    fields(header, needed | {"recipients"}, {"expires"})
    binary(header["salt"], 16)
    binary(header["signer"], 32)
    whole(header["seq"], LARGEST)
    moment(header["created"])
    if "expires" in header:
        moment(header["expires"])
    identifier(header["project"])
    identifier(header["environment"])
    check_slots(header["recipients"])
    return header


def file_key_of(header: Json, unlock: Json) -> bytes:
    kinds = {"key": "raw", "passphrase": "argon2id", "private": "x25519"}
    salt = binary(header["salt"], 16)
    for slot in header["recipients"]:
        if slot["t"] != kinds[unlock["type"]]:
            continue
        nonce = ZERO
        if slot["t"] == "raw":
            key = raw_key(bits_of("scbk_", unlock["text"]), salt)
        elif slot["t"] == "argon2id":
            key = passphrase_key(unlock["text"], slot, salt)
        else:
            private, enc = bits_of("scbx_", unlock["text"]), binary(slot["enc"], 32)
            try:
                shared = exchange(private, enc)
            except Refused:
                continue
            key, nonce = hpke_key(shared, enc, public_of(private), x25519_info(salt))
        try:
            return AESGCM(key).decrypt(nonce, binary(slot["w"], 48), AAD)
        except InvalidTag:
            continue
    raise Refused("no_recipient")


def open_chunks(file_key: bytes, salt: bytes, chunks: bytes) -> bytes:
    cipher = AESGCM(ref.hkdf(file_key, salt, "scb1/payload"))
    size, plain = CHUNK + TAG, b""
    parts = [chunks[at : at + size] for at in range(0, len(chunks), size)]
    if not parts or len(parts[-1]) <= TAG:
        raise Refused("tampered")
    for number, part in enumerate(parts):
        try:
            plain += cipher.decrypt(chunk_nonce(number, number + 1 == len(parts)), part, b"")
        except InvalidTag:
            raise Refused("tampered") from None
    return plain


def read_secret(value: Any) -> Json:
    needed = {"key", "value", "version", "updated_at"}
    secret = fields(value, needed, {"description", "inherited_from"})
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,254}", text(secret["key"])):
        malformed()
    if secret["key"] in ("export", "bulk"):
        malformed()
    for name in ("value", "description"):
        if name in secret and (
            "\0" in text(secret[name]) or len(secret[name].encode()) > 65_536
        ):
            malformed()
    if "inherited_from" in secret:
        name = text(secret["inherited_from"])
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
            malformed()
    whole(secret["version"], 2**32 - 1)
    moment(secret["updated_at"])
    return secret


def read_payload(payload: bytes) -> list[Json]:
    if not payload.endswith(b"]"):
        malformed()
    values = parse(payload)
    if not isinstance(values, list):
        malformed()
    secrets = [read_secret(value) for value in values]
    keys = [secret["key"] for secret in secrets]
    if keys != sorted(set(keys)):
        malformed()
    return secrets


def open_bundle(
    data: bytes, unlock: Json, signer: str | None, at_least: int, now: int
) -> tuple[Json, list[Json]]:
    """Opens a bundle with a key, private key or passphrase, and verifies it. Returns its header and
    its secrets."""
    if len(data) < 13 or not data.startswith(MAGIC):
        malformed()
    if data[8] != 1:
        raise Refused("unsupported")
    length = int.from_bytes(data[9:13])
    if length > HEADER_LIMIT or len(data) < 13 + length:
        malformed()
    header = read_header(data[13 : 13 + length])
    mac, signature = data[13 + length :][:32], data[45 + length :][:64]
    if len(signature) < 64:
        malformed()
    chunks = data[109 + length :]
    salt, by = binary(header["salt"], 16), binary(header["signer"], 32)

    file_key = file_key_of(header, unlock)
    if not hmac.compare_digest(header_mac(file_key, salt, data[: 13 + length]), mac):
        raise Refused("tampered")
    if signer is None and unlock["type"] == "private":
        raise Refused("untrusted")
    if signer is not None and bits_of("scbs_", signer) != by:
        raise Refused("untrusted")
    try:
        message = signed(data[: 45 + length], chunks)
        Ed25519PublicKey.from_public_bytes(by).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise Refused("tampered") from None
    if "expires" in header and moment(header["expires"]) <= datetime.fromtimestamp(now, UTC):
        raise Refused("expired")
    if header["seq"] < at_least:
        raise Refused("stale")
    return header, read_payload(open_chunks(file_key, salt, chunks))
