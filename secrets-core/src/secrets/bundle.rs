//! Taking the secrets of an environment along, in a bundle that opens without the service.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize, Serializer};

use super::{Held, ListSecrets, Secret};
use crate::bundle::{
    self, About, BundleKey, BundledSecret, NewRecipient, Recipients, Signer, SigningKey,
};
use crate::crypto::Plaintext;
use crate::engine::Engine;
use crate::engine::{Audit, Caller, Callers, Context, Operation, Read, Task};
use crate::model::object::list;
use crate::model::{Broken, EnvironmentPath, Error, Result, Rule, Time};
use crate::store::Wanted;

/// What a bundle is to be.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "recipients": [{ "type": "passphrase", "passphrase": "correct horse battery staple" }],
    "expires_in_seconds": 604_800,
})))]
#[serde(deny_unknown_fields)]
pub struct NewBundle {
    /// Whom it is for: 1 to 16, of which one raw and one passphrase at most.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 16))]
    #[serde(deserialize_with = "list")]
    pub recipients: Vec<NewRecipient>,
    /// After how many seconds it does not open any more: a minute to a year; never, where nothing
    /// is said.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>, minimum = 60, maximum = 31_536_000))]
    pub expires_in_seconds: Option<Lifetime>,
}

/// How long a bundle opens: 60 to 31,536,000 seconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u32")]
pub struct Lifetime(u32);

/// A bundle's recipients with their keys: what [`NewBundle::prepare`] gives.
#[derive(Debug)]
pub struct PreparedBundle {
    recipients: Recipients,
    key: Option<BundleKey>,
    lifetime: Option<Lifetime>,
}

/// Seals what an environment sees, with its values, for those who are named; hidden ones are left
/// out.
#[derive(Debug)]
pub struct ExportBundle {
    /// Where.
    pub at: EnvironmentPath,
    /// For whom.
    pub bundle: PreparedBundle,
}

/// A bundle, and what its maker should know of it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SealedBundle {
    /// The file, in base64.
    #[cfg_attr(feature = "openapi", schema(value_type = String, content_encoding = "base64"))]
    pub bundle: BundleFile,
    /// The key that opens it, where one was asked for. Nobody can be told it again.
    #[serde(
        serialize_with = "BundleKey::serialize_revealed",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^scbk_[0-9A-Za-z]{49}$"))]
    pub key: Option<BundleKey>,
    /// Who signed it: this installation, each time. Whoever opens bundles should know it.
    pub signer: Signer,
    /// Its number: the microsecond at which it was made.
    pub seq: u64,
    /// When it was made.
    pub created_at: Time,
    /// From when on it does not open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// How many secrets it holds.
    pub secrets: usize,
}

/// The bytes of a bundle; as a value in a document, base64.
pub struct BundleFile(pub Vec<u8>);

impl NewBundle {
    /// Derives the keys. With a passphrase that takes 64 MiB and a good part of a second.
    pub fn prepare(self) -> Result<PreparedBundle> {
        let (recipients, key) = Recipients::prepare(self.recipients)?;
        Ok(PreparedBundle { recipients, key, lifetime: self.expires_in_seconds })
    }
}

/// Derives the keys, and seals: [`ExportBundle`], as a host is asked for it.
#[derive(Debug)]
pub struct TakeBundle {
    /// Where.
    pub at: EnvironmentPath,
    /// What the bundle is to be.
    pub new: NewBundle,
}

impl Task for TakeBundle {
    const NAME: &'static str = <ExportBundle as Operation>::NAME;
    const CALLERS: Callers = <ExportBundle as Operation>::CALLERS;
    const IS_LONG: bool = true;
    type Output = SealedBundle;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<SealedBundle> {
        let Self { at, new } = self;
        // Nobody has us derive keys for what they may not read.
        engine.perform(caller, ListSecrets { at: at.clone(), held: Held::Anything }).await?;
        let bundle = new.prepare()?;
        engine.perform(caller, ExportBundle { at, bundle }).await
    }
}

impl Operation for ExportBundle {
    const NAME: &'static str = "secret.bundle";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Export("secrets.exported");
    type Access = Read;
    type Output = SealedBundle;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<SealedBundle> {
        let view = cx.view(&self.at, Wanted::All).await?;
        let (scope, shown) = cx.all_visible(view).await?;
        cx.detail("format", "bundle");
        let mut secrets = Vec::with_capacity(shown.len());
        for seen in shown {
            secrets.push(bundled(cx.reveal(&scope, seen).await?));
        }

        let created_at = cx.now();
        let PreparedBundle { recipients, key, lifetime } = self.bundle;
        let expires_at =
            lifetime.map(|Lifetime(seconds)| created_at + TimeDelta::seconds(seconds.into()));
        // Later bundles have higher numbers, without a counter that every export would write.
        let seq = u64::try_from(created_at.timestamp_micros()).map_err(Error::internal)?;
        let (project, environment) = (scope.project.id, scope.environment.id);
        let about = About { project, environment, seq, created_at, expires_at };
        let signing = SigningKey::of(cx.keyring().signing());
        let file = bundle::seal(&about, &secrets, &recipients, &signing)?;
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

impl TryFrom<u32> for Lifetime {
    type Error = Broken;

    fn try_from(seconds: u32) -> std::result::Result<Self, Broken> {
        const RULE: Rule = Rule::of("must be 60 to 31536000 seconds");
        (60..=31_536_000).contains(&seconds).then_some(Self(seconds)).ok_or(RULE.broken())
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
