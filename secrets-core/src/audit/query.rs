//! Queries on the audit log: parsing and validation of their parameters.

use std::net::IpAddr;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Datelike as _, TimeDelta};
use uuid::Uuid;

use super::AuditFormat;
use crate::model::{AuditId, Error, Result, Time, ids};
use crate::store::{ActionFilter, AuditFilter, AuditOrder, AuditScope};

/// Number of audit entries per page if the request states none.
const DEFAULT_LIMIT: u32 = 50;
/// Maximum number of audit entries per page.
const MAX_LIMIT: u32 = 200;

/// Default number of days before now that a query covers.
const DEFAULT_DAYS: i64 = 30;

/// Maximum number of action filters in one query.
const MAX_ACTIONS: usize = 20;

/// Unparsed parameters of an audit log query. An entry must match all given filters.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Actions, at most 20; an entry matches any of them. `secret.*` matches all actions with this
    /// prefix.
    pub action: Vec<String>,
    /// ID of the user or service token that performed the action: a UUID.
    pub actor_id: Option<String>,
    /// Type of the actor: `user`, `service_token`, `system` or `anonymous`.
    pub actor_type: Option<String>,
    /// ID (UUID) of the project in which the action took place.
    pub project_id: Option<String>,
    /// ID (UUID) of the environment in which the action took place.
    pub environment_id: Option<String>,
    /// Type of the affected object, such as `secret`.
    pub resource_type: Option<String>,
    /// ID of the affected object: a UUID.
    pub resource_id: Option<String>,
    /// Secret key, for entries about the secrets with this key. The resource type must be `secret`
    /// or absent.
    pub key: Option<String>,
    /// Outcome: `success`, `denied` or `failure`.
    pub outcome: Option<String>,
    /// IP address of the client.
    pub ip: Option<String>,
    /// Start time, inclusive, in RFC 3339 format. Defaults to 30 days ago.
    pub from: Option<String>,
    /// End time, exclusive, in RFC 3339 format.
    pub to: Option<String>,
    /// Maximum number of entries per page: 1 to 200, 50 by default.
    pub limit: Option<String>,
    /// Cursor: the `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Order: `desc` (newest first, the default) or `asc`.
    pub order: Option<String>,
    /// Output format: `json` (the default), `ndjson` or `csv`.
    pub format: Option<String>,
}

impl AuditQuery {
    /// Builds the filter for the store from these parameters. Its limit is one entry more than a
    /// page holds, to find out if there is another page.
    pub(super) fn filter(&self, scope: AuditScope, now: Time) -> Result<AuditFilter> {
        let limit = self.page()?;
        let mut wanted = AuditFilter::newest(scope, limit + 1);
        wanted.actions = self.actions()?;
        wanted.actor = id("actor_id", self.actor_id.as_deref())?;
        wanted.actor_type = one_of(
            "actor_type",
            self.actor_type.as_deref(),
            &["user", "service_token", "system", "anonymous"],
            "must be user, service_token, system or anonymous",
        )?;
        wanted.project = id("project_id", self.project_id.as_deref())?;
        wanted.environment = id("environment_id", self.environment_id.as_deref())?;
        wanted.resource_type = self.resource_type.as_deref().map(text);
        wanted.resource = id("resource_id", self.resource_id.as_deref())?;
        if let Some(key) = &self.key {
            if wanted.resource_type.get_or_insert_with(|| "secret".to_owned()) != "secret" {
                return Err(Error::invalid("resource_type", "must be secret if key is given"));
            }
            wanted.resource_name = Some(text(key));
        }
        wanted.outcome = one_of(
            "outcome",
            self.outcome.as_deref(),
            &["success", "denied", "failure"],
            "must be success, denied or failure",
        )?;
        wanted.address = parsed::<IpAddr>("ip", self.ip.as_deref(), "must be an IP address")?;
        wanted.from =
            time("from", self.from.as_deref())?.or(Some(now - TimeDelta::days(DEFAULT_DAYS)));
        wanted.to = time("to", self.to.as_deref())?;
        wanted.behind = self.cursor.as_deref().map(parse_cursor).transpose()?;
        wanted.order = self.order()?;
        Ok(wanted)
    }

    /// Returns the requested sort order of the audit entries, by default the newest first. Fails if
    /// the parameter is not valid.
    pub(super) fn order(&self) -> Result<AuditOrder> {
        match self.order.as_deref() {
            None | Some("desc") => Ok(AuditOrder::Newest),
            Some("asc") => Ok(AuditOrder::Oldest),
            Some(_) => Err(Error::invalid("order", "must be asc or desc")),
        }
    }

    /// Returns the requested maximum number of audit entries per page, by default 50. Fails if the
    /// parameter is not valid.
    pub(super) fn page(&self) -> Result<u32> {
        const RULE: &str = "must be a whole number from 1 to 200";
        let limit = parsed("limit", self.limit.as_deref(), RULE)?.unwrap_or(DEFAULT_LIMIT);
        if (1..=MAX_LIMIT).contains(&limit) {
            Ok(limit)
        } else {
            Err(Error::invalid("limit", RULE))
        }
    }

    /// Returns the requested output format of the page, by default JSON. Fails if the parameter is
    /// not valid.
    pub(super) fn format(&self) -> Result<AuditFormat> {
        match self.format.as_deref() {
            None | Some("json") => Ok(AuditFormat::Json),
            Some("ndjson") => Ok(AuditFormat::Ndjson),
            Some("csv") => Ok(AuditFormat::Csv),
            Some(_) => Err(Error::invalid("format", "must be json, ndjson or csv")),
        }
    }

    fn actions(&self) -> Result<Vec<ActionFilter>> {
        if self.action.len() > MAX_ACTIONS {
            return Err(Error::invalid("action", "must be given at most 20 times"));
        }
        self.action.iter().map(|action| action_filter(action)).collect()
    }
}

fn action_filter(action: &str) -> Result<ActionFilter> {
    let start = action.strip_suffix('*');
    let name = start.unwrap_or(action);
    let is_name = name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_'));
    if !is_name || name.is_empty() || start.is_some_and(|start| !start.ends_with('.')) {
        return Err(Error::invalid("action", "must be an action such as secret.read, or secret.*"));
    }
    Ok(match start {
        Some(start) => ActionFilter::Prefix(start.to_owned()),
        None => ActionFilter::Exactly(action.to_owned()),
    })
}

fn id<T: From<Uuid>>(field: &'static str, text: Option<&str>) -> Result<Option<T>> {
    let Some(text) = text else { return Ok(None) };
    let id = ids::parse(text).ok_or_else(|| Error::invalid(field, "must be a UUID"))?;
    Ok(Some(id.into()))
}

fn parsed<T: FromStr>(
    field: &'static str,
    text: Option<&str>,
    rule: &'static str,
) -> Result<Option<T>> {
    text.map(|text| text.parse().map_err(|_| Error::invalid(field, rule))).transpose()
}

fn one_of(
    field: &'static str,
    text: Option<&str>,
    known: &[&str],
    rule: &'static str,
) -> Result<Option<String>> {
    match text {
        Some(text) if !known.contains(&text) => Err(Error::invalid(field, rule)),
        text => Ok(text.map(str::to_owned)),
    }
}

/// Replaces NUL characters in a string to search for. Stored strings contain no NUL characters, and
/// some stores cannot handle them.
fn text(given: &str) -> String {
    given.replace('\0', "\u{fffd}")
}

fn time(field: &'static str, text: Option<&str>) -> Result<Option<Time>> {
    let Some(text) = text else { return Ok(None) };
    let time = DateTime::parse_from_rfc3339(text)
        .map_err(|_| Error::invalid(field, "must be a time such as 2026-11-21T12:00:00Z"))?;
    Ok(Some(time.into()))
}

/// Encodes the cursor of the page after the entry with this time and ID.
pub(super) fn cursor((time, id): (Time, AuditId)) -> String {
    let place = [time.timestamp_micros().to_be_bytes().as_slice(), id.uuid().as_bytes()].concat();
    URL_SAFE_NO_PAD.encode(place)
}

fn parse_cursor(cursor: &str) -> Result<(Time, AuditId)> {
    let read = || {
        let place: [u8; 24] = URL_SAFE_NO_PAD.decode(cursor).ok()?.try_into().ok()?;
        let (time, id) = place.split_first_chunk::<8>()?;
        let time = DateTime::from_timestamp_micros(i64::from_be_bytes(*time))?;
        // Reject times outside the range that databases can store; no entry has such a time.
        if !(0..=9999).contains(&time.year()) {
            return None;
        }
        Some((time, Uuid::from_slice(id).ok()?.into()))
    };
    read().ok_or_else(|| Error::invalid("cursor", "must be the next_cursor of a page"))
}
