"""Test server with two key services: AWS KMS, as imitated by moto, and a transit secrets engine.

Usage: key_services.py. Prints a JSON object with the URLs of both and the ARN of a KMS key, and ends
when its standard input is closed, so that it ends with the test.

The transit secrets engine is an imitation of the documented HTTP API of Vault (`encrypt`, `decrypt`
and `keys/NAME/rotate` of a mount named `transit`), not a real server. Its token is `kvc_transit`.
`GET /seen` returns the plaintexts of all requests.
"""

import base64
import binascii
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from moto.server import ThreadedMotoServer

PREFIX = "/v1/transit/"


class Refused(Exception):
    """Error response, with its status."""


class Transit(BaseHTTPRequestHandler):
    """Transit secrets engine, whose keys are created by their first use."""

    protocol_version = "HTTP/1.1"
    keys: dict[str, list[AESGCM]] = {}
    seen: list[str] = []

    def do_GET(self):
        self.answer(200, {"seen": self.seen})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            if self.headers.get("X-Vault-Token") != "kvc_transit":
                raise Refused(403, "permission denied")
            if not self.path.startswith(PREFIX):
                raise Refused(404, "no handler for route")
            action, _, name = self.path.removeprefix(PREFIX).partition("/")
            if action == "keys" and name.endswith("/rotate"):
                data = self.rotate(name.removesuffix("/rotate"))
            elif action in ("encrypt", "decrypt"):
                data = getattr(self, action)(name, json.loads(body))
            else:
                raise Refused(404, "unsupported path")
            envelope = {"request_id": "0", "lease_id": "", "renewable": False, "lease_duration": 0,
                        "data": data, "wrap_info": None, "warnings": None, "auth": None}
            self.answer(200, envelope)
        except Refused as refused:
            status, message = refused.args
            self.answer(status, {"errors": [message]})

    def rotate(self, name):
        self.keys[name].append(AESGCM(os.urandom(32)))
        return None

    def encrypt(self, name, body):
        versions = self.keys.setdefault(name, [AESGCM(os.urandom(32))])
        self.seen.append(body["plaintext"])
        nonce = os.urandom(12)
        encrypted = nonce + versions[-1].encrypt(nonce, decoded(body["plaintext"]), decoded(body["associated_data"]))
        version = len(versions)
        return {"ciphertext": f"vault:v{version}:{base64.b64encode(encrypted).decode()}", "key_version": version}

    def decrypt(self, name, body):
        if name not in self.keys:
            raise Refused(400, "encryption key not found")
        prefix, _, text = body["ciphertext"].rpartition(":")
        if not prefix.startswith("vault:v"):
            raise Refused(400, "invalid ciphertext: no prefix")
        encrypted = decoded(text)
        key = self.keys[name][int(prefix.removeprefix("vault:v")) - 1]
        try:
            plain = key.decrypt(encrypted[:12], encrypted[12:], decoded(body["associated_data"]))
        except InvalidTag:
            raise Refused(400, "cipher: message authentication failed") from None
        return {"plaintext": base64.b64encode(plain).decode()}

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def decoded(text):
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Refused(400, "invalid base64") from None


def main():
    transit = ThreadingHTTPServer(("127.0.0.1", 0), Transit)
    threading.Thread(target=transit.serve_forever, daemon=True).start()
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    kms = f"http://{host}:{port}"
    client = boto3.client("kms", region_name="eu-central-1", endpoint_url=kms,
                          aws_access_key_id="tests", aws_secret_access_key="kvc_aws")
    key = client.create_key()["KeyMetadata"]["Arn"]
    address = f"http://127.0.0.1:{transit.server_port}"
    print(json.dumps({"transit": address, "kms": kms, "key": key}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
