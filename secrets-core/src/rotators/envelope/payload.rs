//! Encrypted payloads of requests and responses, as JSON.
//!
//! ```text
//! request  {"connection":{"integration":…,"host":…,"port":…,"database":…,"ssl_mode":…,
//!           "ca_certificate":…,"admin_username":…,"admin_password":…},
//!           "group":…,"username":…,"password":…,"level":…,"identity":…}
//! response {"identity":…,"sent_in_clear":…,"state":…}
//! ```
//!
//! Fields that a step does not need are absent: `test` has only the connection, `lock` also the
//! user name, and `verify` the user name, the password and the level too. A response may be an
//! empty object. `state` is sent with an error, the other fields with `ok` of `apply`.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{LIMIT, OpenedAnswer};
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Applied, Apply, Fault, Login, ServerCode, Target, TargetError};

/// Payload of a request to the proxy function: the connection, and the fields that the step needs.
#[derive(Serialize)]
pub struct Asked<'a> {
    connection: Connection<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<PermissionLevel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<&'a str>,
}

#[derive(Serialize)]
struct Connection<'a> {
    integration: &'static str,
    host: &'a str,
    port: u16,
    database: &'a str,
    ssl_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_certificate: Option<&'a str>,
    admin_username: &'a str,
    admin_password: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    identity: Option<String>,
    #[serde(default)]
    sent_in_clear: bool,
    state: Option<String>,
}

impl<'a> Asked<'a> {
    /// Creates the payload of a `test` step.
    #[must_use]
    pub fn test(target: &'a Target) -> Self {
        let connection = Connection {
            integration: target.kind.name,
            host: &target.host,
            port: target.port,
            database: &target.database,
            ssl_mode: target.ssl_mode.as_str(),
            ca_certificate: target.ca_certificate.as_deref(),
            admin_username: &target.admin_username,
            admin_password: target.admin_password.reveal(),
        };
        Self {
            connection,
            group: None,
            username: None,
            password: None,
            level: None,
            identity: None,
        }
    }

    /// Creates the payload of an `apply` step.
    #[must_use]
    pub fn apply(target: &'a Target, apply: &'a Apply) -> Self {
        let (group, identity) = (Some(apply.group.as_str()), apply.identity.as_deref());
        Self { group, identity, ..Self::verify(target, &apply.login, apply.level) }
    }

    /// Creates the payload of a `verify` step, in which the function logs in with the new
    /// credential and checks its privileges.
    #[must_use]
    pub fn verify(target: &'a Target, login: &'a Login, level: PermissionLevel) -> Self {
        let password = Some(login.password.reveal());
        Self { password, level: Some(level), ..Self::lock(target, &login.username) }
    }

    /// Creates the payload of a `lock` step.
    #[must_use]
    pub fn lock(target: &'a Target, username: &'a str) -> Self {
        Self { username: Some(username), ..Self::test(target) }
    }

    /// Encodes the payload as JSON; `None` if the JSON is longer than a request may be.
    #[must_use]
    pub fn to_json(&self) -> Option<Zeroizing<Vec<u8>>> {
        // Allocated at full size: a growing buffer would leave copies of the password in memory.
        let mut json = Zeroizing::new(vec![0; LIMIT]);
        let mut rest = json.as_mut_slice();
        serde_json::to_writer(&mut rest, self).ok()?;
        let length = LIMIT - rest.len();
        json.truncate(length);
        Some(json)
    }
}

impl OpenedAnswer {
    /// Converts a decrypted response into a result. Returns [`Fault::Protocol`] for a response with
    /// an unknown outcome or invalid fields.
    pub fn result(&self) -> Result<Applied, TargetError> {
        let answered: Answered =
            serde_json::from_slice(&self.payload).map_err(|_| Fault::Protocol)?;
        let code = answered.state.as_deref().map(ServerCode::parse);
        if self.outcome != "ok" {
            let fault = Fault::ALL.into_iter().find(|fault| fault.code() == self.outcome);
            let fault = fault.filter(|fault| can_be_reported(*fault)).unwrap_or(Fault::Protocol);
            return Err(TargetError { fault, code: code.flatten() });
        }
        let identity = answered.identity;
        if !identity.as_deref().is_none_or(is_identity) || code.is_some() {
            return Err(Fault::Protocol.into());
        }
        Ok(Applied { identity, sent_in_clear: answered.sent_in_clear })
    }
}

/// True if a proxy function can report this error. False for errors about the function itself.
fn can_be_reported(fault: Fault) -> bool {
    !matches!(fault, Fault::ProxyRefused | Fault::ProxyUnavailable | Fault::ProxyUntrusted)
}

/// True if `text` has the form of a server identity: a number or a UUID.
fn is_identity(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}
