//! Renewal of an offline copy.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use secrets_core::bundle::Signer;
use serde::Deserialize;
use serde_json::json;

use super::copy::CopyFile;
use crate::failure::{Exit, Failure};
use crate::invocation::Place;
use crate::service::Service;

#[derive(Deserialize)]
struct Sealed {
    bundle: String,
    signer: Signer,
}

/// Requests a bundle from the service, and stores it as the offline copy. `etag` is the ETag of the
/// secrets that were fetched before; the bundle contains the same or newer secrets.
pub(super) async fn renew(
    copy: &CopyFile,
    service: &Service,
    place: &Place,
    max_age: std::time::Duration,
    etag: Option<String>,
) -> Result<(), Failure> {
    let body = json!({
        "recipients": [{ "type": "x25519", "public_key": copy.key().public() }],
        "expires_in_seconds": max_age.as_secs(),
    });
    let Sealed { bundle, signer } =
        service.call(Method::POST, &place.path(&["secrets", "bundle"]), &body).await?;
    let bundle = STANDARD
        .decode(bundle)
        .map_err(|_| Failure::new(Exit::Protocol, "the bundle is not valid base64"))?;
    copy.store(&bundle, signer, etag)
}
