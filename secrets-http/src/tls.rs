//! TLS for the listener.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{Error, ServerConfig};

/// Why there is no TLS. Says which file is at fault, and never what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadTls {
    /// The certificates cannot be read, or there are none.
    Certificates(&'static str),
    /// The private key cannot be read.
    Key(&'static str),
    /// Each can be read, but they do not belong together or cannot be used.
    Pair,
}

/// Reads a certificate chain (the server's first) and its private key, both PEM.
///
/// TLS 1.2 and 1.3; HTTP/1.1 is all that is offered.
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
    if chain.is_empty() { Err(BadTls::Certificates("holds none")) } else { Ok(chain) }
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
        Error::NoItemsFound => "holds none",
        _ => "is not PEM",
    }
}

impl fmt::Display for BadTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificates(reason) => write!(f, "the file of TLS certificates {reason}"),
            Self::Key(reason) => write!(f, "the file of the TLS key {reason}"),
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
    fn what_is_wrong_with_the_files_is_said() {
        let cases = [
            ("certificate.pem", "key.pem", ""),
            ("missing.pem", "key.pem", "the file of TLS certificates cannot be opened"),
            ("key.pem", "key.pem", "the file of TLS certificates holds none"),
            ("certificate.pem", "missing.pem", "the file of the TLS key cannot be opened"),
            ("certificate.pem", "certificate.pem", "the file of the TLS key holds none"),
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
