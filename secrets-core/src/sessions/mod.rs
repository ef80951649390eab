//! Sessions of users, in command-line clients (`cli_…`) and in browsers (`web_…`).
//!
//! A session is a row with the MAC of its credential. Deleting the row ends the session at the next
//! request, on every node. Sessions end at their expiry time; a browser session also ends after
//! some time without requests. Times of the last use are collected in memory and written
//! periodically, so that requests do not wait for a write.

mod create;
mod list;
mod revoke;
mod sign_out;
mod start;
mod user_agent;

use std::net::IpAddr;

use serde::Serialize;

pub(crate) use create::{NewSession, create};
pub use list::{ListCliSessions, ListSessions};
pub use revoke::{RevokeCliSession, RevokeOtherSessions, RevokeSession, RevokedSessions};
pub use sign_out::SignOut;
pub use start::{BrowserSession, StartBrowserSession};

use crate::engine::SessionLimits;
use crate::model::{DisplayName, SessionId, SessionKind, Time};
use crate::store::SessionRecord;

/// A session, without its credential.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserSession {
    /// Session ID.
    pub id: SessionId,
    /// Kind of client: `cli` or `browser`.
    pub kind: SessionKind,
    /// First characters of the session's credential.
    pub token_prefix: String,
    /// Name that the client reported; for a browser, its product name. Absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<DisplayName>,
    /// Name of the client's machine, as reported by the client; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<DisplayName>,
    /// Operating system, as reported by the client; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<DisplayName>,
    /// IP address of the client that started the session; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub ip_address: Option<IpAddr>,
    /// True for the session that made this request.
    pub current: bool,
    /// Creation time of the session.
    pub created_at: Time,
    /// Time of the last use, with an accuracy of one minute; absent if the session was never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// Expiry time. A browser session ends earlier if it is not used for the idle timeout of the
    /// service, by default 60 minutes.
    pub expires_at: Time,
}

impl UserSession {
    fn new(session: SessionRecord, current: Option<SessionId>) -> Self {
        Self {
            current: current == Some(session.id),
            id: session.id,
            kind: session.kind,
            token_prefix: session.prefix,
            client_name: session.client.name,
            hostname: session.client.hostname,
            os: session.client.os,
            ip_address: session.client.address,
            created_at: session.created_at,
            last_used_at: session.last_used_at,
            expires_at: session.expires_at,
        }
    }
}

/// Returns the time at which a session ends if no more requests are made with it.
pub(crate) fn end_of(session: &SessionRecord, limits: SessionLimits) -> Time {
    match session.kind {
        SessionKind::Cli => session.expires_at,
        SessionKind::Browser => session.expires_at.min(session.last_activity() + limits.idle),
    }
}

/// Returns the resource type that audit entries use for a session of this kind.
pub(crate) fn resource_type(kind: SessionKind) -> &'static str {
    match kind {
        SessionKind::Cli => "cli_session",
        SessionKind::Browser => "browser_session",
    }
}
