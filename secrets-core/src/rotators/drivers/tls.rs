//! TLS configuration and certificate verification for connections to target databases.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use rustls_platform_verifier::Verifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{
    Resumption, WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::egress::{literal, name};
use crate::model::rotations::SslMode;
use crate::ports::rotator::{Fault, Target, TargetError};

/// Factory of TLS configurations. Contains its own crypto provider, so that the process needs no
/// global one.
pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
    /// Certificate verifier with the platform's trust store, loaded on first use.
    platform: OnceLock<Arc<Verifier>>,
}

impl Tls {
    pub(super) fn new() -> Self {
        Self { provider: Arc::new(aws_lc_rs::default_provider()), platform: OnceLock::new() }
    }

    /// Creates the TLS configuration for a target.
    pub(super) fn config(&self, target: &Target) -> Result<ClientConfig, TargetError> {
        let verifier = self.verifier(target)?;
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|_| Fault::TlsUntrusted)?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        // Every connection must verify the server again.
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    fn verifier(&self, target: &Target) -> Result<Arc<dyn ServerCertVerifier>, TargetError> {
        let own = target.ca_certificate.as_deref().map(authorities).transpose()?;
        let provider = Arc::clone(&self.provider);
        Ok(match (target.ssl_mode, own) {
            (SslMode::VerifyFull, Some(roots)) => {
                let builder = WebPkiServerVerifier::builder_with_provider(roots.into(), provider);
                builder.build().map_err(|_| Fault::TlsUntrusted)?
            }
            (SslMode::VerifyCa, Some(roots)) => Arc::new(AnyName { roots: Some(roots), provider }),
            // Anyone can obtain a certificate from a public authority, so the host name must be
            // checked too. PostgreSQL's own client also refuses `verify-ca` with system roots.
            (SslMode::VerifyFull | SslMode::VerifyCa, None) => self.platform()?,
            _ => Arc::new(AnyName { roots: None, provider }),
        })
    }

    fn platform(&self) -> Result<Arc<Verifier>, TargetError> {
        if let Some(verifier) = self.platform.get() {
            return Ok(Arc::clone(verifier));
        }
        let verifier = Verifier::new(Arc::clone(&self.provider));
        let verifier = Arc::new(verifier.map_err(|_| Fault::TlsUntrusted)?);
        Ok(Arc::clone(self.platform.get_or_init(|| verifier)))
    }
}

fn authorities(pem: &str) -> Result<RootCertStore, TargetError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|_| Fault::TlsUntrusted)?;
        roots.add(certificate).map_err(|_| Fault::TlsUntrusted)?;
    }
    if roots.is_empty() { Err(Fault::TlsUntrusted.into()) } else { Ok(roots) }
}

/// Returns the host name to compare with the server's certificate, in the form that certificates
/// use.
pub(super) fn server_name(host: &str) -> Result<String, TargetError> {
    let host = match literal(host) {
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => address.to_string(),
        // The same normalized form as in the DNS lookup.
        None => name(host).ok_or(Fault::Unreachable)?,
    };
    ServerName::try_from(host.as_str()).map_err(|_| Fault::TlsUntrusted)?;
    Ok(host)
}

/// Converts an error of the TLS handshake to a [`Fault`].
pub(super) fn fault_of(error: &io::Error) -> Fault {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(_) | Error::NoCertificatesPresented) => Fault::TlsUntrusted,
        // No common TLS version or cipher.
        Some(Error::AlertReceived(_) | Error::PeerIncompatible(_)) => Fault::Unsupported,
        Some(_) => Fault::Protocol,
        None => Fault::Unreachable,
    }
}

/// Certificate verifier that ignores the host name. Accepts certificates of the given authorities
/// (`roots`), or any certificate if `roots` is `None`. The server must always prove that it has the
/// certificate's private key.
struct AnyName {
    roots: Option<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let shown = ParsedCertificate::try_from(end_entity)?;
            let known = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&shown, roots, intermediates, now, known)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl fmt::Debug for AnyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyName")
    }
}
