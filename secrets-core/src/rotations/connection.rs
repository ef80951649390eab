//! How a database is reached, as it is submitted and as it is kept: sealed, in one piece.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::sealing::{Kept, Seals};
use crate::crypto::{Plaintext, Sealed};
use crate::egress::EgressPolicy;
use crate::model::names::is_invisible;
use crate::model::rotations::{ConnectionMethod, Integration, SslMode};
use crate::model::{Code, Error, FieldError, Result, RotationId};
use crate::ports::rotator::{Proxy, Target};
use crate::store::{Reads, RotationRecord};

/// How a database is reached.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Its host name or address, at most 253 characters.
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^[A-Za-z0-9._:\\[\\]-]{1,253}$", example = "db.example.com",)
    )]
    pub host: String,
    /// Its port, 1 to 65535; 5432 or 3306 unless it is said.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_535, example = 5432))]
    pub port: Option<u16>,
    /// The database on it, 1 to 63 bytes that can be seen.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 63, example = "orders"))]
    pub database: String,
    /// Who may make users there, 1 to 63 bytes that can be seen.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 63, example = "rotator"))]
    pub admin_username: String,
    /// Their password.
    #[cfg_attr(feature = "openapi", schema(
        value_type = String, min_length = 1, max_length = 65_536, example = "a-long-password",
    ))]
    pub admin_password: Plaintext,
    /// `verify-full` unless it is said.
    pub ssl_mode: Option<SslMode>,
    /// The authorities that are believed about the server, as PEM of at most 32 KiB; the machine's
    /// own where nothing is given.
    #[cfg_attr(
        feature = "openapi",
        schema(max_length = 32_768, pattern = "-----BEGIN CERTIFICATE-----",)
    )]
    pub ca_certificate: Option<String>,
}

/// A function of AWS Lambda that reaches a database for us.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProxyConnection {
    /// Which function.
    #[cfg_attr(
        feature = "openapi",
        schema(
            pattern = "^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9_$-]{1,128})?$",
            example = "arn:aws:lambda:eu-central-1:123456789012:function:rotate",
        )
    )]
    pub lambda_arn: String,
    /// Its region; the one in `lambda_arn`.
    #[cfg_attr(feature = "openapi", schema(example = "eu-central-1"))]
    pub region: String,
    /// What messages to and from it are signed and encrypted with: 32 to 512 visible ASCII
    /// characters.
    #[cfg_attr(feature = "openapi", schema(
        value_type = String, pattern = "^[!-~]{32,512}$",
        example = "a-random-text-of-32-characters-or-more",
    ))]
    pub shared_secret: Plaintext,
}

const NAME: &str = "must be 1 to 63 characters that can be seen";

/// The longest certificate that is kept.
const CERTIFICATE: usize = 32 * 1024;

/// A connection as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptConnection {
    host: String,
    port: u16,
    database: String,
    admin_username: String,
    #[serde(serialize_with = "Plaintext::serialize_revealed")]
    admin_password: Plaintext,
    ssl_mode: SslMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_certificate: Option<String>,
}

/// A proxy as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptProxy {
    lambda_arn: String,
    region: String,
    #[serde(serialize_with = "Plaintext::serialize_revealed")]
    shared_secret: Plaintext,
}

/// The target that these name, if they may.
pub(super) fn target(
    policy: &EgressPolicy,
    integration: Integration,
    method: ConnectionMethod,
    connection: Connection,
    proxy: Option<ProxyConnection>,
) -> Result<Target> {
    let mut broken = connection.broken_rules();
    match method {
        ConnectionMethod::Direct => broken.extend(connection.unreachable(policy)),
        ConnectionMethod::Proxied if proxy.is_none() => {
            broken.push(rule("proxy", "is required where connection_method is proxied"));
        }
        ConnectionMethod::Proxied => {}
    }
    if method == ConnectionMethod::Direct && proxy.is_some() {
        broken.push(rule("proxy", "must be absent where connection_method is direct"));
    }
    let proxy = proxy.and_then(|proxy| proxy.checked(&mut broken));
    if !broken.is_empty() {
        return Err(Error::Invalid(broken));
    }
    Ok(Target {
        integration,
        port: connection.port.unwrap_or(integration.default_port()),
        ssl_mode: connection.ssl_mode(),
        host: connection.host,
        database: connection.database,
        admin_username: connection.admin_username,
        admin_password: connection.admin_password,
        ca_certificate: connection.ca_certificate,
        proxy,
    })
}

impl Connection {
    fn ssl_mode(&self) -> SslMode {
        self.ssl_mode.unwrap_or(SslMode::VerifyFull)
    }

    /// The rules that it breaks wherever it leads.
    fn broken_rules(&self) -> Vec<FieldError> {
        let is_pem = |text: &String| {
            text.len() <= CERTIFICATE && text.contains("-----BEGIN CERTIFICATE-----")
        };
        let rules = [
            (is_host(&self.host), "connection.host", "must be a host name or an address"),
            (self.port != Some(0), "connection.port", "must be 1 to 65535"),
            (is_name(&self.database), "connection.database", NAME),
            (is_name(&self.admin_username), "connection.admin_username", NAME),
            (
                !self.admin_password.reveal().is_empty(),
                "connection.admin_password",
                "must not be empty",
            ),
            (
                self.ca_certificate.as_ref().is_none_or(is_pem),
                "connection.ca_certificate",
                "must be certificates as PEM, at most 32768 bytes",
            ),
        ];
        let broken = rules.into_iter().filter(|(holds, ..)| !holds);
        broken.map(|(_, field, text)| rule(field, text)).collect()
    }

    /// The rules that it breaks where we dial it ourselves.
    fn unreachable(&self, policy: &EgressPolicy) -> Vec<FieldError> {
        let mut broken = Vec::new();
        if !policy.admits(&self.host) {
            let text = "must be a host name, or an address that may be reached from here";
            broken.push(rule("connection.host", text));
        }
        if !self.ssl_mode().encrypts() && !policy.admits_plaintext(&self.host) {
            let text = "must be verify-full, verify-ca or require; disable is for destinations that the operator names in SECRETS_EGRESS_ALLOW";
            broken.push(rule("connection.ssl_mode", text));
        }
        broken
    }
}

impl ProxyConnection {
    fn checked(self, broken: &mut Vec<FieldError>) -> Option<Proxy> {
        match Proxy::parse(self.lambda_arn, self.region, self.shared_secret) {
            Ok(proxy) => Some(proxy),
            Err(errors) => {
                broken.extend(errors);
                None
            }
        }
    }
}

fn rule(field: &str, text: &'static str) -> FieldError {
    FieldError::new(field, Code::InvalidRequest, text)
}

fn is_host(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

fn is_name(text: &str) -> bool {
    (1..=63).contains(&text.len()) && !text.chars().any(is_invisible)
}

/// Seals how a target is reached, and its proxy where it has one.
pub(super) fn seal(
    seals: &Seals<'_>,
    rotation: RotationId,
    target: &Target,
) -> Result<(Sealed, Option<Sealed>)> {
    let connection = KeptConnection {
        host: target.host.clone(),
        port: target.port,
        database: target.database.clone(),
        admin_username: target.admin_username.clone(),
        admin_password: target.admin_password.clone(),
        ssl_mode: target.ssl_mode,
        ca_certificate: target.ca_certificate.clone(),
    };
    let connection = seals.seal(Kept::Connection(rotation), &written(&connection)?);
    let proxy = match &target.proxy {
        Some(proxy) => {
            let proxy = KeptProxy {
                lambda_arn: proxy.lambda_arn.clone(),
                region: proxy.region.clone(),
                shared_secret: proxy.shared_secret.clone(),
            };
            Some(seals.seal(Kept::Proxy(rotation), &written(&proxy)?))
        }
        None => None,
    };
    Ok((connection, proxy))
}

/// Opens how a rotation's target is reached.
pub(super) async fn open(
    seals: &Seals<'_>,
    reads: &mut dyn Reads,
    rotation: &RotationRecord,
) -> Result<Target> {
    let opened = seals.open(reads, Kept::Connection(rotation.id), &rotation.connection).await?;
    let connection: KeptConnection = read(&opened)?;
    let proxy = match &rotation.proxy {
        Some(sealed) => {
            let opened = seals.open(reads, Kept::Proxy(rotation.id), sealed).await?;
            let KeptProxy { lambda_arn, region, shared_secret } = read(&opened)?;
            Some(Proxy { lambda_arn, region, shared_secret })
        }
        None => None,
    };
    Ok(Target {
        integration: rotation.integration,
        host: connection.host,
        port: connection.port,
        database: connection.database,
        admin_username: connection.admin_username,
        admin_password: connection.admin_password,
        ssl_mode: connection.ssl_mode,
        ca_certificate: connection.ca_certificate,
        proxy,
    })
}

fn written(kept: &impl Serialize) -> Result<Plaintext> {
    // Written into memory that is wiped, and so not through a `String` of serde's own.
    let mut bytes = Zeroizing::new(Vec::with_capacity(4_096));
    serde_json::to_writer(&mut *bytes, kept).map_err(|_| Error::internal("not written"))?;
    let text =
        String::from_utf8(std::mem::take(&mut bytes)).map_err(|_| Error::internal("not text"))?;
    Plaintext::new(text).map_err(|_| Error::invalid("connection", "must be at most 65536 bytes"))
}

fn read<T: for<'de> Deserialize<'de>>(text: &Plaintext) -> Result<T> {
    // What serde says of what it cannot read may repeat it.
    serde_json::from_str(text.reveal()).map_err(|_| Error::internal("not a connection"))
}
