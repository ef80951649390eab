"""Independent implementation of the formats: keys, records and tokens as described in
`secrets-core/src/crypto/`, and messages to rotation functions as described in
`secrets-core/src/rotators/envelope.rs`.

It shares no code with the Rust crates, so that a mistake in one of the two implementations is
noticed. It is neither fast nor does it wipe keys from memory. Needs Python 3.11 and the package
`cryptography`.
"""

import base64
import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
NONCE_BYTES = 24
TAG_BYTES = 16
HEADER_BYTES = 31
LENGTH_BYTES = 4


class Refused(Exception):
    """Raised for input that a reader must refuse. `reason` is the name of the reason, as in the
    vectors."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# XAES-256-GCM (c2sp.org/XAES-256-GCM).


def xaes_derive(key: bytes, nonce: bytes) -> tuple[bytes, bytes]:
    """Derives the AES-256-GCM key and nonce from a key and a 24-byte nonce.

    This is the counter KDF of NIST SP 800-108r1 over AES-CMAC with label "X". Its messages are
    one full block each, so CMAC is one block encryption under the subkey K1.
    """
    if len(key) != KEY_BYTES or len(nonce) != NONCE_BYTES:
        raise ValueError("the key is 32 bytes and the nonce 24")
    aes = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    subkey = int.from_bytes(aes.update(bytes(16))) << 1
    if subkey >> 128:
        # Reduces modulo the polynomial of GF(2^128) and clears the bit shifted out.
        subkey ^= (1 << 128) | 0b10000111
    derived = b""
    for counter in (1, 2):
        message = bytes([0, counter]) + b"X\0" + nonce[:12]
        derived += aes.update((int.from_bytes(message) ^ subkey).to_bytes(16))
    return derived, nonce[12:]


def xaes_encrypt(key: bytes, nonce: bytes, plaintext: bytes, aad: bytes) -> bytes:
    """Returns the ciphertext followed by its tag."""
    derived, short_nonce = xaes_derive(key, nonce)
    return AESGCM(derived).encrypt(short_nonce, plaintext, aad)


def xaes_decrypt(key: bytes, nonce: bytes, ciphertext: bytes, aad: bytes) -> bytes:
    """Decrypts a ciphertext followed by its tag."""
    if len(ciphertext) < TAG_BYTES:
        raise Refused("length")
    derived, short_nonce = xaes_derive(key, nonce)
    try:
        return AESGCM(derived).decrypt(short_nonce, ciphertext, aad)
    except InvalidTag:
        raise Refused("tag") from None


def xaes_accumulated(iterations: int) -> bytes:
    """Returns the result of the accumulated test in the XAES specification: a hash over many
    ciphertexts.

    The inputs are read one after the other from SHAKE-128 of the empty input; the ciphertexts go
    into a second SHAKE-128.
    """
    longest = KEY_BYTES + NONCE_BYTES + 2 * (1 + 255)
    stream = memoryview(hashlib.shake_128().digest(iterations * longest))
    offset = 0

    def take(length: int) -> bytes:
        nonlocal offset
        offset += length
        return bytes(stream[offset - length : offset])

    ciphertexts = hashlib.shake_128()
    for _ in range(iterations):
        key = take(KEY_BYTES)
        nonce = take(NONCE_BYTES)
        plaintext = take(take(1)[0])
        aad = take(take(1)[0])
        ciphertexts.update(xaes_encrypt(key, nonce, plaintext, aad))
    return ciphertexts.digest(32)


# Records, format version 1.


@dataclass(frozen=True)
class Context:
    """Context of a record, which is authenticated but not stored in the record."""

    purpose: int
    flags: int
    instance_id: UUID
    project_id: UUID
    environment_id: UUID
    object_id: UUID
    key_name: str
    version: int

    def encode(self) -> bytes:
        """Encodes the context as bytes. Each field has a fixed width or a length prefix, so that
        the encoding is unambiguous."""
        name = self.key_name.encode()
        return (
            b"SCv1\0"
            + bytes([self.purpose, self.flags])
            + self.instance_id.bytes
            + self.project_id.bytes
            + self.environment_id.bytes
            + self.object_id.bytes
            + len(name).to_bytes(2)
            + name
            + self.version.to_bytes(8)
        )


def header(dek_ver: int, nonce: bytes) -> bytes:
    """Returns the header of a record: the 31 bytes before the ciphertext, which end with the
    nonce."""
    return b"S\x01\x01" + dek_ver.to_bytes(4) + nonce


def padded_length(value_length: int) -> int:
    """Returns the length of the inner plaintext of a value: the length field, the value, and zeros
    as padding.

    Up to 1 KiB, the length is rounded up to a multiple of 64. Above, it is rounded up as the
    padding scheme Padmé does: only as many leading bits as the exponent of the length needs may be
    other than zero, so the padding adds at most 12 percent.
    """
    length = value_length + LENGTH_BYTES
    if length <= 1024:
        return -(-length // 64) * 64
    exponent = length.bit_length() - 1
    dropped_bits = exponent - exponent.bit_length()
    granule = 1 << dropped_bits
    return -(-length // granule) * granule


def pad(value: bytes) -> bytes:
    """Returns the inner plaintext of a value: the length, the value and the padding."""
    return (len(value).to_bytes(LENGTH_BYTES) + value).ljust(padded_length(len(value)), b"\0")


def unpad(inner: bytes) -> bytes:
    """Returns the value of an inner plaintext, which must be exactly the output of `pad`.

    The authentication tag was right, so only a writer with a bug can produce another padding.
    Refusing it makes sure that such a writer is noticed, for example one that reveals the length of
    values or hides data in the padding.
    """
    length = int.from_bytes(inner[:LENGTH_BYTES])
    value = inner[LENGTH_BYTES : LENGTH_BYTES + length]
    if pad(value) != inner:
        raise Refused("inner")
    return value


def encrypt_record(dek: bytes, head: bytes, context: Context, inner: bytes) -> bytes:
    """Encrypts a record with this header and inner plaintext. Both may be invalid, because some
    vectors need invalid records."""
    aad = head[:7] + context.encode()
    return head + xaes_encrypt(dek, head[7:], inner, aad)


def seal(dek: bytes, dek_ver: int, nonce: bytes, context: Context, value: bytes) -> bytes:
    """Encrypts a value as a record. The nonce is an argument only so that vectors can be
    reproduced."""
    return encrypt_record(dek, header(dek_ver, nonce), context, pad(value))


def open_record(deks: Mapping[int, bytes], context: Context, record: bytes) -> bytes:
    """Opens a record. `deks` are the available project keys by version."""
    if len(record) < HEADER_BYTES + TAG_BYTES:
        raise Refused("length")
    if record[:3] != b"S\x01\x01":
        raise Refused("header")
    dek = deks.get(int.from_bytes(record[3:7]))
    if dek is None:
        raise Refused("key")
    aad = record[:7] + context.encode()
    return unpad(xaes_decrypt(dek, record[7:HEADER_BYTES], record[HEADER_BYTES:], aad))


# Keys.


def hkdf(secret: bytes, salt: bytes | None, info: str) -> bytes:
    """Derives 32 bytes with HKDF-SHA256 (RFC 5869)."""
    return HKDF(SHA256(), 32, salt, info.encode()).derive(secret)


def purpose_key(kek: bytes, instance_id: UUID, purpose: str) -> bytes:
    """Derives the key for a purpose, such as `dek-wrap`, from an instance key."""
    return hkdf(kek, instance_id.bytes, f"secrets-core/v1/{purpose}")


def rk_id(root: bytes) -> bytes:
    """Returns the identifier of a root key, which reveals nothing about the key."""
    return hkdf(root, None, "secrets-core/v1/root-id")[:8]


def project_key_aad(instance_id: UUID, project_id: UUID, dek_ver: int) -> bytes:
    """Returns the additional authenticated data of a wrapped project key. The key cannot be
    unwrapped with other data."""
    return b"SCv1\0dek" + instance_id.bytes + project_id.bytes + dek_ver.to_bytes(4)


def instance_key_aad(instance_id: UUID, kek_id: int) -> bytes:
    """Returns the additional authenticated data of a wrapped instance key. The key cannot be
    unwrapped with other data."""
    return b"SCv1\0kek" + instance_id.bytes + kek_id.to_bytes(4)


def wrap(wrapping_key: bytes, nonce: bytes, key: bytes, aad: bytes) -> bytes:
    """Wraps a key. The nonce is an argument only so that vectors can be reproduced."""
    return nonce + xaes_encrypt(wrapping_key, nonce, key, aad)


def unwrap(wrapping_key: bytes, wrapped: bytes, aad: bytes) -> bytes:
    """Unwraps a key. A wrapped key always has 72 bytes."""
    if len(wrapped) != NONCE_BYTES + KEY_BYTES + TAG_BYTES:
        raise Refused("length")
    return xaes_decrypt(wrapping_key, wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], aad)


# Service tokens.

# The digits are in ASCII order, so that tokens of equal length sort like their numbers.
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOKEN_PREFIX = "env_"
BODY_DIGITS = 43
CHECKSUM_DIGITS = 6
TOKEN_LENGTH = len(TOKEN_PREFIX) + BODY_DIGITS + CHECKSUM_DIGITS


def base62(number: int, digits: int) -> str:
    """Encodes a number in base 62, most significant digit first, with leading zeros."""
    text = ""
    for _ in range(digits):
        number, digit = divmod(number, 62)
        text = BASE62[digit] + text
    return text


def checksum(text: str) -> str:
    """Returns the last six digits of a token: the CRC-32 (as in zlib) of all characters before
    them."""
    return base62(zlib.crc32(text.encode()), CHECKSUM_DIGITS)


def token(entropy: bytes) -> str:
    """Encodes 32 random bytes, read as one big-endian number, as a token."""
    text = TOKEN_PREFIX + base62(int.from_bytes(entropy), BODY_DIGITS)
    return text + checksum(text)


def check_token(text: str) -> None:
    """Raises `Refused` for a string that cannot be a token of this service.

    The random number in the token is not decoded, because the service finds a token by its MAC.
    """
    if not text.startswith(TOKEN_PREFIX):
        raise Refused("prefix")
    if len(text.encode()) != TOKEN_LENGTH:
        raise Refused("length")
    if any(char not in BASE62 for char in text[len(TOKEN_PREFIX) :]):
        raise Refused("alphabet")
    if checksum(text[:-CHECKSUM_DIGITS]) != text[-CHECKSUM_DIGITS:]:
        raise Refused("checksum")


def token_mac(pepper: bytes, text: str) -> bytes:
    """Returns the MAC of a token, which the service stores instead of the token."""
    return hmac.digest(pepper, b"secrets-core/v1/token\0" + text.encode(), "sha256")


# Requests to a rotation function in a target's network, and its responses, version 1.

# Maximum difference of the two clocks, in seconds.
PROXY_WINDOW = 300
PROXY_LIMIT = 16 * 1024
REQUEST_FIELDS = ["v", "kid", "ts", "nonce", "config", "seq", "step", "ct", "sig"]
ANSWER_FIELDS = ["v", "nonce", "seq", "step", "outcome", "ct", "sig"]
NUMBERS = {"v", "ts", "seq"}


def base64url(data: bytes) -> str:
    """Encodes bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def from_base64url(text: str) -> bytes:
    """Decodes a string, which must be exactly the output of `base64url`."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64url(data) != text:
        raise Refused("encoding")
    return data


def proxy_signature(secret: bytes, kind: str, nonce: str, *fields: str) -> str:
    """Returns the signature of a message to or from a rotation function. `kind` is the
    time of a request, or the string `answer` for a response."""
    rest = hashlib.sha256(".".join(fields).encode()).hexdigest()
    key = hkdf(secret, None, "lambda/mac")
    return hmac.digest(key, f"v1.{kind}.{nonce}.{rest}".encode(), "sha256").hex()


def proxy_request(secret: bytes, heading: Mapping[str, str], iv: bytes, inside: bytes) -> str:
    """Encrypts and signs a request to a rotation function. `heading` has the fields
    `ts`, `nonce`, `config`, `seq` and `step`, as strings. Random values are arguments
    only so that vectors can be reproduced."""
    ts, nonce, config, seq, step = (
        heading[name] for name in ("ts", "nonce", "config", "seq", "step")
    )
    kid = hkdf(secret, None, "lambda/kid")[:8].hex()
    key = hkdf(secret, from_base64url(nonce), "lambda/enc")
    bound = ".".join(["v1", kid, ts, nonce, config, seq, step])
    ct = base64url(iv + AESGCM(key).encrypt(iv, inside, bound.encode()))
    sig = proxy_signature(secret, ts, nonce, kid, config, seq, step, ct)
    return as_json(REQUEST_FIELDS, ["1", kid, ts, nonce, config, seq, step, ct, sig])


def open_proxy_request(secret: bytes, now: int, payload: str) -> bytes:
    """Opens a request to a rotation function. The signature must be valid, and the time recent."""
    fields = from_json(REQUEST_FIELDS, payload)
    kid, ts, nonce, config, seq, step, ct, sig = (fields[name] for name in REQUEST_FIELDS[1:])
    if kid != hkdf(secret, None, "lambda/kid")[:8].hex():
        raise Refused("key")
    if sig != proxy_signature(secret, ts, nonce, kid, config, seq, step, ct):
        raise Refused("signature")
    if abs(now - int(ts)) > PROXY_WINDOW:
        raise Refused("time")
    key = hkdf(secret, from_base64url(nonce), "lambda/enc")
    return opened(key, ".".join(["v1", kid, ts, nonce, config, seq, step]), ct)


def proxy_answer(secret: bytes, heading: Mapping[str, str], iv: bytes, inside: bytes) -> str:
    """Encrypts and signs a response of a rotation function. `heading` has the fields
    `nonce`, `seq`, `step` and `outcome`."""
    nonce, seq, step, outcome = (heading[name] for name in ("nonce", "seq", "step", "outcome"))
    key = hkdf(secret, from_base64url(nonce), "lambda/enc/answer")
    bound = ".".join(["v1", "answer", nonce, seq, step, outcome])
    ct = base64url(iv + AESGCM(key).encrypt(iv, inside, bound.encode()))
    sig = proxy_signature(secret, "answer", nonce, seq, step, outcome, ct)
    return as_json(ANSWER_FIELDS, ["1", nonce, seq, step, outcome, ct, sig])


def open_proxy_answer(secret: bytes, heading: Mapping[str, str], payload: str) -> tuple[str, bytes]:
    """Opens the response to the request with these heading fields. Returns the outcome
    and the content of the response."""
    fields = from_json(ANSWER_FIELDS, payload)
    nonce, seq, step, outcome, ct, sig = (fields[name] for name in ANSWER_FIELDS[1:])
    if sig != proxy_signature(secret, "answer", nonce, seq, step, outcome, ct):
        raise Refused("signature")
    if any(fields[name] != heading[name] for name in ("nonce", "seq", "step")):
        raise Refused("another")
    key = hkdf(secret, from_base64url(nonce), "lambda/enc/answer")
    return outcome, opened(key, ".".join(["v1", "answer", nonce, seq, step, outcome]), ct)


def opened(key: bytes, bound: str, ct: str) -> bytes:
    """Decrypts the field `ct` of a message: a nonce of 12 bytes, the ciphertext and its
    tag. `bound` is the data that the tag authenticates too."""
    sealed = from_base64url(ct)
    try:
        return AESGCM(key).decrypt(sealed[:12], sealed[12:], bound.encode())
    except (InvalidTag, ValueError):
        raise Refused("inside") from None


def as_json(names: Sequence[str], values: Sequence[str]) -> str:
    """Encodes a JSON object with these fields in this order, without spaces."""
    fields = {
        name: int(value) if name in NUMBERS else value
        for name, value in zip(names, values, strict=True)
    }
    return json.dumps(fields, separators=(",", ":"))


def from_json(names: Sequence[str], payload: str) -> dict[str, str]:
    """Parses a JSON object, which must have exactly the fields `names`. Returns the
    fields as strings."""
    fields = json.loads(payload)
    kinds = {name: int if name in NUMBERS else str for name in names}
    if len(payload) > PROXY_LIMIT or fields.keys() != kinds.keys() or fields["v"] != 1:
        raise Refused("fields")
    if any(type(fields[name]) is not kind for name, kind in kinds.items()):
        raise Refused("fields")
    return {name: str(value) for name, value in fields.items()}


# Webhook deliveries: Standard Webhooks.


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def webhook_key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise Refused("invalid") from None
    if not secret.startswith("whsec_") or not 24 <= len(key) <= 64:
        raise Refused("invalid")
    return key


def webhook_signature(secret: str, id: str, timestamp: str, body: bytes) -> str:
    signed = f"{id}.{timestamp}.".encode() + body
    return "v1," + base64_text(hmac.digest(webhook_key(secret), signed, "sha256"))


def check_webhook(
    secret: str, headers: tuple[str, str, str], body: bytes, now: int
) -> None:
    """Refuses a webhook delivery whose signature was not made with the secret, or whose timestamp
    is too old."""
    id, timestamp, signature = headers
    webhook_key(secret)
    try:
        seconds = int(timestamp)
    except ValueError:
        raise Refused("malformed") from None
    is_canonical = str(seconds) == timestamp and abs(seconds) < 2**63
    if not is_canonical or not id or "." in id or not signature:
        raise Refused("malformed")
    expected = webhook_signature(secret, id, timestamp, body)
    if not any(hmac.compare_digest(one, expected) for one in signature.split(" ")):
        raise Refused("tampered")
    if abs(now - seconds) > 300:
        raise Refused("stale")
