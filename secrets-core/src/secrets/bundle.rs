//! Exporting an environment's secrets as an encrypted bundle that can be opened without the
//! service.

use std::fmt;
use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize, Serializer};

use super::Secret;
use super::reading::effective_secrets;
use super::sealing::reveal;
use crate::bundle::{
    self, BundleKey, BundleMetadata, BundledSecret, NewRecipient, Recipients, Signer, SigningKey,
};
use crate::crypto::{Cost, Plaintext};
use crate::engine::{Audit, Caller, Callers, Context, Engine, Operation, Read, Task};
use crate::model::object::list;
use crate::model::whole::Whole;
use crate::model::{EnvironmentPath, Error, Result, Time, ValidationRule, Violation};
use crate::store::Selection;

/// Settings for a new bundle, which is a file with encrypted secrets.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "recipients": [{ "type": "passphrase", "passphrase": "correct horse battery staple" }],
    "expires_in_seconds": 604_800,
})))]
#[serde(deny_unknown_fields)]
pub struct NewBundle {
    /// Recipients that can open the bundle: 1 to 16, of which at most one is a raw encryption key
    /// and at most one a passphrase.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 16))]
    #[serde(deserialize_with = "list")]
    pub recipients: Vec<NewRecipient>,
    /// Lifetime of the bundle in seconds, from a minute to a year. If absent, the bundle never
    /// expires.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 60, maximum = 31_536_000))]
    pub expires_in_seconds: Option<Lifetime>,
}

/// Lifetime of a bundle in seconds: 60 to 31,536,000.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Whole")]
pub struct Lifetime(u32);

/// Permitted lifetimes of a bundle, in seconds.
const LIFETIMES: RangeInclusive<u32> = 60..=31_536_000;

/// Recipients and lifetime of a bundle, after the encryption keys of the recipients were derived.
/// Created by [`NewBundle::prepare`].
#[derive(Debug)]
struct PreparedBundle {
    recipients: Recipients,
    key: Option<BundleKey>,
    lifetime: Option<Lifetime>,
}

/// Exports the effective secrets of an environment, with values, as a bundle encrypted for the
/// given recipients. Hidden secrets are not included.
#[derive(Debug)]
pub struct ExportBundle {
    /// Environment whose secrets are exported.
    pub at: EnvironmentPath,
    /// Settings for the bundle.
    pub bundle: NewBundle,
}

/// First step of [`ExportBundle`]: checks that the caller may read the environment. Done before the
/// encryption keys are derived, because the derivation is expensive.
struct AuthorizeExport {
    at: EnvironmentPath,
}

/// Last step of [`ExportBundle`]: reads the secrets and encrypts them.
struct SealBundle {
    at: EnvironmentPath,
    bundle: PreparedBundle,
}

/// A bundle (a file with encrypted secrets) and its metadata.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SealedBundle {
    /// Bundle file, encoded in base64.
    #[cfg_attr(feature = "openapi", schema(value_type = String, content_encoding = "base64"))]
    pub bundle: BundleFile,
    /// Raw encryption key that opens the bundle; absent if none was requested. Returned only once.
    #[serde(serialize_with = "crate::crypto::revealed", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^scbk_[0-9A-Za-z]{49}$"))]
    pub key: Option<BundleKey>,
    /// Public key of this service instance, which signed the bundle. Programs that open bundles
    /// should check that a bundle was signed with this key.
    pub signer: Signer,
    /// Sequence number of the bundle: its creation time as Unix time in microseconds.
    pub seq: u64,
    /// Creation time of the bundle.
    pub created_at: Time,
    /// Expiry time; absent if the bundle never expires. The bundle cannot be opened at or after
    /// this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// Number of secrets in the bundle.
    pub secrets: usize,
}

/// Contents of a bundle file. Serialized as base64.
pub struct BundleFile(pub Vec<u8>);

impl NewBundle {
    /// Returns the memory, in bytes, that [`prepare`](Self::prepare) takes to derive an encryption
    /// key from the passphrase; 0 without a passphrase. A bundle has at most one passphrase.
    fn memory(&self) -> u64 {
        let derives =
            |recipient: &NewRecipient| matches!(recipient, NewRecipient::Passphrase { .. });
        if self.recipients.iter().any(derives) { Cost::NEW_BYTES } else { 0 }
    }

    /// Derives the encryption keys of the recipients. For a passphrase, this takes 64 MiB of memory
    /// and up to about a second.
    fn prepare(self) -> Result<PreparedBundle> {
        let (recipients, key) = Recipients::prepare(self.recipients)?;
        Ok(PreparedBundle { recipients, key, lifetime: self.expires_in_seconds })
    }
}

impl Task for ExportBundle {
    const NAME: &'static str = <SealBundle as Operation>::NAME;
    const CALLERS: Callers = <SealBundle as Operation>::CALLERS;
    const HAS_LARGE_OUTPUT: bool = true;
    type Output = SealedBundle;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<SealedBundle> {
        let Self { at, bundle } = self;
        engine.perform(caller, AuthorizeExport { at: at.clone() }).await?;
        let memory = bundle.memory();
        let bundle = engine.offload(caller, memory, move || bundle.prepare()).await??;
        engine.perform(caller, SealBundle { at, bundle }).await
    }
}

impl Operation for AuthorizeExport {
    const NAME: &'static str = <SealBundle as Operation>::NAME;
    const CALLERS: Callers = <SealBundle as Operation>::CALLERS;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<()> {
        cx.view(&self.at, Selection::None).await.map(drop)
    }
}

impl Operation for SealBundle {
    const NAME: &'static str = "secret.bundle";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Export("secrets.exported");
    const IS_LONG: bool = true;
    type Access = Read;
    type Output = SealedBundle;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<SealedBundle> {
        let view = cx.view(&self.at, Selection::All).await?;
        let (scope, shown) = effective_secrets(cx, view).await?;
        cx.add_detail("format", "bundle");
        let mut secrets = Vec::with_capacity(shown.len());
        for seen in shown {
            secrets.push(bundled(reveal(cx, &scope, seen).await?));
        }

        let created_at = cx.now();
        let PreparedBundle { recipients, key, lifetime } = self.bundle;
        let expires_at =
            lifetime.map(|Lifetime(seconds)| created_at + TimeDelta::seconds(seconds.into()));
        // The creation time orders bundles without a counter that every export would have to
        // update.
        let seq = u64::try_from(created_at.timestamp_micros()).map_err(Error::internal)?;
        let (project, environment) = (scope.project.id, scope.environment.id);
        let metadata = BundleMetadata { project, environment, seq, created_at, expires_at };
        let signing = SigningKey::of(cx.keyring().signing());
        let file = bundle::seal(&metadata, &secrets, &recipients, &signing)?;
        let (bundle, secrets) = (BundleFile(file), secrets.len());
        Ok(SealedBundle {
            bundle,
            key,
            signer: signing.signer(),
            seq,
            created_at,
            expires_at,
            secrets,
        })
    }
}

fn bundled(secret: Secret) -> BundledSecret {
    BundledSecret {
        key: secret.key,
        value: secret.value.unwrap_or_else(Plaintext::nothing),
        description: secret.description,
        version: secret.version,
        inherited_from: secret.inherited_from,
        updated_at: secret.updated_at,
    }
}

impl TryFrom<Whole> for Lifetime {
    type Error = Violation;

    fn try_from(Whole(seconds): Whole) -> std::result::Result<Self, Violation> {
        const RULE: ValidationRule = ValidationRule::of("must be 60 to 31536000 seconds");
        let seconds = u32::try_from(seconds).ok().filter(|seconds| LIFETIMES.contains(seconds));
        seconds.map(Self).ok_or(RULE.violation())
    }
}

impl Serialize for BundleFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl fmt::Debug for BundleFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BundleFile(…)")
    }
}
