//! TLS configuration of the listener.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{Error, ServerConfig};

/// Error in the TLS files. The message names the invalid file, but contains none of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadTls {
    /// The certificate file cannot be read, or contains no certificate.
    Certificates(&'static str),
    /// The private key file cannot be read, or contains no private key.
    Key(&'static str),
    /// The certificate and the private key can be read, but do not belong together or cannot be
    /// used.
    Pair,
}

/// Creates a TLS acceptor from a certificate chain (server certificate first) and its private key,
/// both PEM.
///
/// Supports TLS 1.2 and 1.3. ALPN offers only HTTP/1.1.
pub fn acceptor(certificates: &Path, key: &Path) -> Result<TlsAcceptor, BadTls> {
    let chain = chain(certificates)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| BadTls::Key(reason(&error)))?;
    let mut config = config(chain, key).map_err(|_| BadTls::Pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, BadTls> {
    let unreadable = |error| BadTls::Certificates(reason(&error));
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(unreadable)?;
    if chain.is_empty() {
        Err(BadTls::Certificates("contains no matching PEM section"))
    } else {
        Ok(chain)
    }
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, Error> {
    ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
}

fn reason(error: &tokio_rustls::rustls::pki_types::pem::Error) -> &'static str {
    use tokio_rustls::rustls::pki_types::pem::Error;
    match error {
        Error::Io(_) => "cannot be opened",
        Error::NoItemsFound => "contains no matching PEM section",
        _ => "is not PEM",
    }
}

impl fmt::Display for BadTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificates(reason) => write!(f, "the TLS certificate file {reason}"),
            Self::Key(reason) => write!(f, "the TLS key file {reason}"),
            Self::Pair => f.write_str("the TLS certificate and key do not belong together"),
        }
    }
}

impl std::error::Error for BadTls {}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn file(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testdata").join(name)
    }

    fn refusal(certificates: &str, key: &str) -> String {
        let refused = acceptor(&file(certificates), &file(key));
        refused.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn an_error_names_the_wrong_file() {
        let cases = [
            ("certificate.pem", "key.pem", ""),
            ("missing.pem", "key.pem", "the TLS certificate file cannot be opened"),
            ("key.pem", "key.pem", "the TLS certificate file contains no matching PEM section"),
            ("certificate.pem", "missing.pem", "the TLS key file cannot be opened"),
            (
                "certificate.pem",
                "certificate.pem",
                "the TLS key file contains no matching PEM section",
            ),
            (
                "certificate.pem",
                "other_key.pem",
                "the TLS certificate and key do not belong together",
            ),
        ];

        for (certificates, key, expected) in cases {
            assert_eq!(refusal(certificates, key), expected, "{certificates}, {key}");
        }
    }
}
