"""Checks every golden vector with the independent implementation in `reference.py` and `bundle.py`,
and the rotation function in `examples/rotation-proxy` with its vectors. Exits with 1 if a vector
does not match.

A valid vector must open to its value and, sealed again with its nonce, give the same bytes.
An invalid vector must be refused for its reason.
"""

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import bundle as bundles
import bundle_vectors
import reference as ref

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "examples" / "rotation-proxy"))

import lambda_function as function  # noqa: E402

Vector = dict[str, Any]


class Disagreement(Exception):
    """Raised if the result of the independent implementation differs from the vector."""


def expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise Disagreement(f"{what} differs")


def data(vector: Vector, field: str) -> bytes:
    return bytes.fromhex(vector[field])


def refusal(vector: Vector, attempt: Callable[[], object]) -> None:
    """Calls `attempt`, which must refuse the vector for the reason in the vector."""
    try:
        attempt()
    except ref.Refused as refused:
        expect("the reason", refused.reason, vector["reason"])
    else:
        raise Disagreement("was not refused")


def xaes(vector: Vector) -> None:
    key, nonce, aad = data(vector, "key"), data(vector, "nonce"), data(vector, "aad")
    ciphertext = data(vector, "ciphertext")
    if not vector["valid"]:
        return refusal(vector, lambda: ref.xaes_decrypt(key, nonce, ciphertext, aad))
    plaintext = data(vector, "plaintext")
    expect("the plaintext", ref.xaes_decrypt(key, nonce, ciphertext, aad), plaintext)
    expect("the ciphertext", ref.xaes_encrypt(key, nonce, plaintext, aad), ciphertext)


def accumulated(vector: Vector) -> None:
    expect("the hash", ref.xaes_accumulated(vector["iterations"]), data(vector, "hash"))


def record(vector: Vector) -> None:
    context = ref.Context(
        purpose=vector["purpose"],
        flags=vector["flags"],
        instance_id=UUID(vector["instance_id"]),
        project_id=UUID(vector["project_id"]),
        environment_id=UUID(vector["environment_id"]),
        object_id=UUID(vector["object_id"]),
        key_name=vector["key_name"],
        version=int(vector["version"]),
    )
    dek, dek_ver, sealed = data(vector, "dek"), vector["dek_ver"], data(vector, "record")
    if not vector["valid"]:
        return refusal(vector, lambda: ref.open_record({dek_ver: dek}, context, sealed))
    value = value_of(vector)
    expect("the value", ref.open_record({dek_ver: dek}, context, sealed), value)
    expect("the record", ref.seal(dek, dek_ver, data(vector, "nonce"), context, value), sealed)


def value_of(vector: Vector) -> bytes:
    """Returns the bytes of the value in a vector, which the vector contains as a
    string, or as a short string and its number of repetitions."""
    value = vector["value"]
    text: str = value if isinstance(value, str) else value["repeat"] * value["times"]
    return text.encode()


def padding(vector: Vector) -> None:
    expect("the length", ref.padded_length(vector["value_length"]), vector["inner_length"])


def project_key(vector: Vector) -> None:
    instance, project = UUID(vector["instance_id"]), UUID(vector["project_id"])
    wrapping = ref.purpose_key(data(vector, "kek"), instance, "dek-wrap")
    wrapped_key(vector, wrapping, ref.project_key_aad(instance, project, vector["dek_ver"]))


def instance_key(vector: Vector) -> None:
    aad = ref.instance_key_aad(UUID(vector["instance_id"]), vector["kek_id"])
    wrapped_key(vector, data(vector, "root"), aad)


def wrapped_key(vector: Vector, wrapping: bytes, aad: bytes) -> None:
    wrapped = data(vector, "wrapped")
    if not vector["valid"]:
        return refusal(vector, lambda: ref.unwrap(wrapping, wrapped, aad))
    key = data(vector, "key")
    expect("the key", ref.unwrap(wrapping, wrapped, aad), key)
    expect("the wrapped key", ref.wrap(wrapping, data(vector, "nonce"), key, aad), wrapped)


def root_id(vector: Vector) -> None:
    expect("the id", ref.rk_id(data(vector, "root")), data(vector, "rk_id"))


def purpose_key(vector: Vector) -> None:
    found = ref.purpose_key(data(vector, "kek"), UUID(vector["instance_id"]), vector["purpose"])
    expect("the key", found, data(vector, "key"))


def token(vector: Vector) -> None:
    text = vector["token"]
    if not vector["valid"]:
        return refusal(vector, lambda: ref.check_token(text))
    ref.check_token(text)
    expect("the token", ref.token(data(vector, "entropy")), text)
    expect("the MAC", ref.token_mac(data(vector, "pepper"), text), data(vector, "mac"))


def proxy_heading(vector: Vector) -> dict[str, str]:
    """Returns the heading fields of the request or response of a rotation function in a
    vector."""
    names = ("ts", "config", "seq", "step", "outcome")
    heading = {name: str(vector[name]) for name in names if name in vector}
    return heading | {"nonce": ref.base64url(data(vector, "nonce"))}


def function_opens(vector: Vector) -> bytes:
    """Opens a request with the code of the published rotation function
    (`examples/rotation-proxy`)."""
    try:
        event, known = json.loads(vector["payload"]), [vector["secret"].encode()]
        _, _, inside = function.open_request(event, known, vector["now"], {})
    except function.Refused as refused:
        raise ref.Refused(str(refused)) from None
    return json.dumps(inside, separators=(",", ":"), ensure_ascii=False).encode()


def proxy_request(vector: Vector) -> None:
    secret, payload = vector["secret"].encode(), vector["payload"]
    if not vector["valid"]:
        refusal(vector, lambda: function_opens(vector))
        return refusal(vector, lambda: ref.open_proxy_request(secret, vector["now"], payload))
    inside, iv = vector["inside"].encode(), data(vector, "iv")
    expect("the inside", ref.open_proxy_request(secret, vector["now"], payload), inside)
    expect("what the function finds", function_opens(vector), inside)
    expect("the request", ref.proxy_request(secret, proxy_heading(vector), iv, inside), payload)


def proxy_answer(vector: Vector) -> None:
    secret, heading, payload = vector["secret"].encode(), proxy_heading(vector), vector["payload"]
    if not vector["valid"]:
        return refusal(vector, lambda: ref.open_proxy_answer(secret, heading, payload))
    inside, iv, outcome = vector["inside"].encode(), data(vector, "iv"), vector["outcome"]
    expect("the inside", ref.open_proxy_answer(secret, heading, payload), (outcome, inside))
    expect("the answer", ref.proxy_answer(secret, heading, iv, inside), payload)
    request = {"nonce": heading["nonce"], "seq": vector["seq"], "step": vector["step"]}
    made = function.seal_answer(request, secret, outcome, json.loads(inside), iv)
    expect("what the function makes", json.dumps(made, separators=(",", ":")), payload)


def webhook(vector: Vector) -> None:
    headers = (vector["id"], vector["timestamp"], vector["signature"])
    body = vector["body"].encode()

    def check() -> None:
        ref.check_webhook(vector["secret"], headers, body, vector["now"])

    if not vector["valid"]:
        return refusal(vector, check)
    check()


def bundle(vector: Vector) -> None:
    data = bundle_vectors.bytes_of(vector, bundle_file()["vectors"])
    unlock, signer = vector["unlock"], vector.get("signer")
    at_least, now = vector.get("at_least", 0), vector["now"]

    def attempt() -> tuple[Vector, list[Vector]]:
        return bundles.open_bundle(data, unlock, signer, at_least, now)

    if not vector["valid"]:
        return refusal(vector | {"reason": vector["error"]}, attempt)
    header, secrets = attempt()
    about = vector["about"]
    expect("what it says", {name: header.get(name) for name in about if name != "signer"},
           {name: about[name] for name in about if name != "signer"})  # fmt: skip
    expect("whether it expires", "expires" in header, "expires" in about)
    signer = bundles.text_of("scbs_", ref.from_base64url(header["signer"]))
    expect("the signer", signer, about["signer"])
    expected = [secret | {"value": long_value(secret["value"])} for secret in vector["secrets"]]
    expect("the secrets", secrets, expected)


@functools.cache
def bundle_file() -> dict[str, list[Vector]]:
    """Reads all sections of the file `bundle.json`, since a bundle can contain parts of other
    vectors."""
    sections: dict[str, list[Vector]] = json.loads((HERE / "bundle.json").read_text())
    return sections


def long_value(value: str | Vector) -> str:
    return value if isinstance(value, str) else value["before"] + value["repeat"] * value["times"]


def bundle_key(vector: Vector) -> None:
    prefix, text = bundle_vectors.PREFIXES[vector["kind"]], vector["text"]
    if not vector["valid"]:
        try:
            bits = bundles.bits_of(prefix, text)
        except ref.Refused:
            return
        # The text form is correct, but the point is invalid.
        return expect("whether it is of low order", bits in (bytes(32), b"\1" + bytes(31)), True)
    bits = data(vector, "bits")
    expect("the bits", bundles.bits_of(prefix, text), bits)
    expect("the text", bundles.text_of(prefix, bits), text)
    if "public" in vector:
        expect("the public key", bundles.text_of("scbp_", bundles.public_of(bits)), vector["public"])


CHECKS: dict[str, dict[str, Callable[[Vector], None]]] = {
    "xaes.json": {"vectors": xaes, "accumulated": accumulated},
    "record.json": {"vectors": record, "padding": padding},
    "wrapped.json": {
        "project_keys": project_key,
        "instance_keys": instance_key,
        "root_ids": root_id,
        "purpose_keys": purpose_key,
    },
    "token.json": {"vectors": token},
    "proxy.json": {"requests": proxy_request, "answers": proxy_answer},
    "webhook.json": {"vectors": webhook},
    "bundle.json": {"vectors": bundle, "keys": bundle_key},
}


def failures(file: str, section: str, vectors: list[Vector]) -> list[str]:
    """Checks the vectors of a section, and returns an error message for each vector
    that does not match. Any exception counts as a mismatch."""
    found = []
    seen = set()
    for vector in vectors:
        name = vector.get("name")
        try:
            if name in seen:
                raise Disagreement("the name is used twice")
            seen.add(name)
            CHECKS[file][section](vector)
        except Exception as error:
            found.append(f"{file}, {section}, {name}: {error!r}")
    return found


def main() -> int:
    passed, failed = 0, []
    for file, checks in CHECKS.items():
        sections = json.loads((HERE / file).read_text())
        # An unread section is not checked, and an empty or missing section checks nothing.
        if sections.keys() != checks.keys() or not all(sections.values()):
            failed.append(f"{file}: its sections are not {', '.join(checks)}")
            continue
        for section, vectors in sections.items():
            wrong = failures(file, section, vectors)
            passed += len(vectors) - len(wrong)
            failed += wrong
    for line in failed:
        print(line)
    print(f"vectors-python: {passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
