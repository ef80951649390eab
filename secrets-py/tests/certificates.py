"""Certificate authority for tests, and a server certificate that the authority has signed."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# Names in the server's certificate.
NAMES = [x509.DNSName("secrets.test"), x509.IPAddress(ip_address("127.0.0.1"))]


class Authority(NamedTuple):
    """Certificate authority with one server, whose names are ``secrets.test`` and 127.0.0.1."""

    path: Path
    """Path of the authority's certificate."""
    certificate: Path
    """Path of the server's certificate."""
    key: Path
    """Path of the server's private key."""

    def server(self) -> ssl.SSLContext:
        """Returns the TLS context of the server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context

    def trusted(self) -> ssl.SSLContext:
        """Returns the TLS context of a client that trusts the authority."""
        return ssl.create_default_context(cafile=str(self.path))


def create(folder: Path) -> Authority:
    """Creates an authority and a server certificate, and writes their files to a folder."""
    made = Authority(folder / "authority.pem", folder / "server.pem", folder / "server.key")
    own, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    basic = x509.BasicConstraints(ca=True, path_length=0)
    authority = builder("authority", own, own).add_extension(basic, True)
    server = builder("server", key, own).add_extension(x509.SubjectAlternativeName(NAMES), False)
    for path, unsigned in ((made.path, authority), (made.certificate, server)):
        signed = unsigned.sign(own, hashes.SHA256())
        path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    made.key.write_bytes(private)
    return made


def builder(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    """Returns a builder of a certificate that is valid for a day and has the extensions that
    OpenSSL requires. The caller signs the certificate."""
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
         "encipher_only", "decipher_only"), False,
    )  # fmt: skip
    is_authority, now = key is issuer, datetime.now(timezone.utc)
    usage |= {"key_cert_sign": is_authority, "crl_sign": is_authority}
    return (
        x509.CertificateBuilder()
        .subject_name(common_name(name))
        .issuer_name(common_name("authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), False)
        .add_extension(x509.KeyUsage(digital_signature=not is_authority, **usage), True)
    )


def common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
