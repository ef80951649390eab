//! Connection settings of databases: validation of submitted settings, and their encryption for
//! storage.

use serde::{Deserialize, Serialize};

use super::sealing::{SealedField, Sealer};
use crate::crypto::{Plaintext, Sealed, to_json_text};
use crate::egress::EgressPolicy;
use crate::engine::Ports;
use crate::model::names::is_invisible;
use crate::model::rotations::{ConnectionMethod, DatabaseKind, Integration, SslMode};
use crate::model::{Code, Error, FieldError, Result, RotationId, whole};
use crate::ports::rotator::{Proxy, Target};
use crate::store::{Reads, RotationRecord};

/// Connection settings of a database whose credentials are rotated.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Host name or IP address of the database server, at most 253 characters.
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^[A-Za-z0-9._:\\[\\]-]{1,253}$", example = "db.example.com",)
    )]
    pub host: String,
    /// Port of the database server, 1 to 65535. Defaults to the usual port of this kind of
    /// database, such as 5432 for PostgreSQL.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_535, example = 5432))]
    #[serde(default, deserialize_with = "whole::optional")]
    pub port: Option<u16>,
    /// Name of the database, 1 to 63 bytes of visible characters.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 63, example = "orders"))]
    pub database: String,
    /// User name of a database administrator who may create users: 1 to 63 bytes of visible
    /// characters.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 63, example = "rotator"))]
    pub admin_username: String,
    /// Password of the database administrator.
    #[cfg_attr(feature = "openapi", schema(
        value_type = String, min_length = 1, max_length = 65_536, example = "a-long-password",
    ))]
    pub admin_password: Plaintext,
    /// TLS mode of the connection. Defaults to `verify-full`.
    pub ssl_mode: Option<SslMode>,
    /// Certificates of the trusted authorities as PEM, at most 32 KiB. Defaults to the trust store
    /// of the machine.
    #[cfg_attr(
        feature = "openapi",
        schema(max_length = 32_768, pattern = "-----BEGIN CERTIFICATE-----",)
    )]
    pub ca_certificate: Option<String>,
}

/// An AWS Lambda function that connects to the database on behalf of the service.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProxyConnection {
    /// ARN of the AWS Lambda function.
    #[cfg_attr(
        feature = "openapi",
        schema(
            pattern = "^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9_$-]{1,128})?$",
            example = "arn:aws:lambda:eu-central-1:123456789012:function:rotate",
        )
    )]
    pub lambda_arn: String,
    /// AWS region of the Lambda function; must be the same as in `lambda_arn`.
    #[cfg_attr(feature = "openapi", schema(example = "eu-central-1"))]
    pub region: String,
    /// Secret used to sign and encrypt messages to and from the function: 32 to 512 visible ASCII
    /// characters.
    #[cfg_attr(feature = "openapi", schema(
        value_type = String, pattern = "^[!-~]{32,512}$",
        example = "a-random-text-of-32-characters-or-more",
    ))]
    pub shared_secret: Plaintext,
}

const INVALID_NAME: &str = "must be 1 to 63 bytes of visible characters";

/// Maximum length of the PEM text with trusted certificates, in bytes.
const MAX_CERTIFICATE_BYTES: usize = 32 * 1024;

/// Connection settings in the form in which they are encrypted and stored.
#[derive(Serialize, Deserialize)]
struct StoredConnection {
    host: String,
    port: u16,
    database: String,
    admin_username: String,
    #[serde(serialize_with = "crate::crypto::revealed")]
    admin_password: Plaintext,
    ssl_mode: SslMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_certificate: Option<String>,
}

/// Settings of a proxy function in the form in which they are encrypted and stored.
#[derive(Serialize, Deserialize)]
struct StoredProxy {
    lambda_arn: String,
    region: String,
    #[serde(serialize_with = "crate::crypto::revealed")]
    shared_secret: Plaintext,
}

/// Returns the kind of database that a request names. Fails with the list of possible names if the
/// kind is not built in and the service has no driver for it.
pub(super) fn requested_kind(ports: &Ports, name: &Integration) -> Result<DatabaseKind> {
    ports.database_kind(name).map_err(|_| {
        let names: Vec<_> = ports.database_kinds().iter().map(|kind| kind.name).collect();
        let text = format!("must be one of: {}", names.join(", "));
        Error::Invalid(vec![FieldError::new("integration_type", Code::InvalidRequest, text)])
    })
}

/// Validates the connection settings of a request and builds the target database from them.
pub(super) fn target(
    policy: &EgressPolicy,
    kind: DatabaseKind,
    method: ConnectionMethod,
    connection: Connection,
    proxy: Option<ProxyConnection>,
) -> Result<Target> {
    let mut violations = connection.violations();
    match method {
        ConnectionMethod::Direct => violations.extend(connection.egress_violations(policy)),
        ConnectionMethod::Proxied if proxy.is_none() => {
            violations.push(violation("proxy", "is required if connection_method is proxied"));
        }
        ConnectionMethod::Proxied => {}
    }
    if method == ConnectionMethod::Direct && proxy.is_some() {
        violations.push(violation("proxy", "must be absent if connection_method is direct"));
    }
    let proxy = proxy.and_then(|proxy| proxy.into_proxy(&mut violations));
    if !violations.is_empty() {
        return Err(Error::Invalid(violations));
    }
    Ok(Target {
        kind,
        port: connection.port.unwrap_or(kind.default_port),
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

    /// Returns the violations of the rules that apply to both connection methods.
    fn violations(&self) -> Vec<FieldError> {
        let is_pem = |text: &String| {
            text.len() <= MAX_CERTIFICATE_BYTES && text.contains("-----BEGIN CERTIFICATE-----")
        };
        let rules = [
            (is_host(&self.host), "connection.host", "must be a host name or an address"),
            (self.port != Some(0), "connection.port", "must be 1 to 65535"),
            (is_name(&self.database), "connection.database", INVALID_NAME),
            (is_name(&self.admin_username), "connection.admin_username", INVALID_NAME),
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
        let violations = rules.into_iter().filter(|(holds, ..)| !holds);
        violations.map(|(_, field, text)| violation(field, text)).collect()
    }

    /// Returns the violations of the egress policy. The policy applies to connections that this
    /// service itself makes, and not to those that a proxy function makes.
    fn egress_violations(&self, policy: &EgressPolicy) -> Vec<FieldError> {
        let mut violations = Vec::new();
        if !policy.admits(&self.host) {
            let text = "must be a host name, or an address that the egress policy allows";
            violations.push(violation("connection.host", text));
        }
        if !self.ssl_mode().encrypts() && !policy.admits_plaintext(&self.host) {
            let text = "must be verify-full, verify-ca or require; disable is only allowed for destinations that the egress policy lists";
            violations.push(violation("connection.ssl_mode", text));
        }
        violations
    }
}

impl ProxyConnection {
    fn into_proxy(self, violations: &mut Vec<FieldError>) -> Option<Proxy> {
        match Proxy::parse(self.lambda_arn, self.region, self.shared_secret) {
            Ok(proxy) => Some(proxy),
            Err(errors) => {
                violations.extend(errors);
                None
            }
        }
    }
}

fn violation(field: &str, text: &'static str) -> FieldError {
    FieldError::new(field, Code::InvalidRequest, text)
}

fn is_host(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

fn is_name(text: &str) -> bool {
    (1..=63).contains(&text.len()) && !text.chars().any(is_invisible)
}

/// Encrypts the connection settings of a target, and the settings of its proxy function, if any.
pub(super) fn seal(
    sealer: &Sealer<'_>,
    rotation: RotationId,
    target: &Target,
) -> Result<(Sealed, Option<Sealed>)> {
    let connection = StoredConnection {
        host: target.host.clone(),
        port: target.port,
        database: target.database.clone(),
        admin_username: target.admin_username.clone(),
        admin_password: target.admin_password.clone(),
        ssl_mode: target.ssl_mode,
        ca_certificate: target.ca_certificate.clone(),
    };
    let connection = sealer.seal(SealedField::Connection(rotation), &to_json(&connection)?);
    let proxy = match &target.proxy {
        Some(proxy) => {
            let proxy = StoredProxy {
                lambda_arn: proxy.lambda_arn.clone(),
                region: proxy.region.clone(),
                shared_secret: proxy.shared_secret.clone(),
            };
            Some(sealer.seal(SealedField::Proxy(rotation), &to_json(&proxy)?))
        }
        None => None,
    };
    Ok((connection, proxy))
}

/// Loads and decrypts the connection settings of a rotation's target database.
pub(super) async fn open(
    ports: &Ports,
    sealer: &Sealer<'_>,
    reads: &mut dyn Reads,
    rotation: &RotationRecord,
) -> Result<Target> {
    let opened = sealer
        .open(reads, SealedField::Connection(rotation.id), &rotation.settings.connection)
        .await?;
    let connection: StoredConnection = from_json(&opened)?;
    let proxy = match &rotation.settings.proxy {
        Some(proxy) => {
            let opened = sealer.open(reads, SealedField::Proxy(rotation.id), proxy).await?;
            let StoredProxy { lambda_arn, region, shared_secret } = from_json(&opened)?;
            Some(Proxy { lambda_arn, region, shared_secret })
        }
        None => None,
    };
    Ok(Target {
        kind: ports.database_kind(&rotation.settings.integration)?,
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

fn to_json(kept: &impl Serialize) -> Result<Plaintext> {
    let text = to_json_text(kept);
    let text = text.map_err(|_| Error::internal("connection cannot be serialized"))?;
    Plaintext::new(text).map_err(|_| Error::invalid("connection", "must be at most 65536 bytes"))
}

fn from_json<T: for<'de> Deserialize<'de>>(text: &Plaintext) -> Result<T> {
    // Do not include serde's error: it may quote the text.
    serde_json::from_str(text.reveal())
        .map_err(|_| Error::internal("stored connection cannot be parsed"))
}
