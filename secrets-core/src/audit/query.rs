//! Asking the audit log: what is asked, and what it means.

use std::net::IpAddr;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Datelike as _, TimeDelta};
use uuid::Uuid;

use super::AuditFormat;
use crate::model::{AuditId, Error, Result, Time, ids};
use crate::store::{ActionFilter, AuditFilter, AuditOrder, AuditScope};

/// How many entries a page holds where nothing is said, and at most.
const LIMIT: u32 = 50;
const HIGHEST_LIMIT: u32 = 200;

/// How far back a page goes where nothing is said.
const DAYS: i64 = 30;

/// The most actions that are asked for at once.
const ACTIONS: usize = 20;

/// What is asked of the log, as it was written. All of it must hold of an entry.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Any of these actions; `secret.*` stands for all that begin so. At most 20.
    pub action: Vec<String>,
    /// By this user or token: a UUID.
    pub actor_id: Option<String>,
    /// `user`, `service_token`, `system` or `anonymous`.
    pub actor_type: Option<String>,
    /// Of this project: a UUID.
    pub project_id: Option<String>,
    /// Of this environment: a UUID.
    pub environment_id: Option<String>,
    /// About this kind of thing.
    pub resource_type: Option<String>,
    /// About this thing: a UUID.
    pub resource_id: Option<String>,
    /// About the secret of this key.
    pub key: Option<String>,
    /// `success`, `denied` or `failure`.
    pub outcome: Option<String>,
    /// From this address.
    pub ip: Option<String>,
    /// Not before: RFC 3339; 30 days ago where nothing is said.
    pub from: Option<String>,
    /// Before: RFC 3339.
    pub to: Option<String>,
    /// 1 to 200 entries a page; 50.
    pub limit: Option<String>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// `desc` for the newest first, or `asc`.
    pub order: Option<String>,
    /// `json`, `ndjson` or `csv`.
    pub format: Option<String>,
}

impl AuditQuery {
    /// What is wanted of a scope. One entry more than a page holds, to tell whether there is more.
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
            wanted.resource_type = Some("secret".to_owned());
            wanted.resource_name = Some(text(key));
        }
        wanted.outcome = one_of(
            "outcome",
            self.outcome.as_deref(),
            &["success", "denied", "failure"],
            "must be success, denied or failure",
        )?;
        wanted.address = parsed::<IpAddr>("ip", self.ip.as_deref(), "must be an IP address")?;
        wanted.from = time("from", self.from.as_deref())?.or(Some(now - TimeDelta::days(DAYS)));
        wanted.to = time("to", self.to.as_deref())?;
        wanted.behind = self.cursor.as_deref().map(place).transpose()?;
        let order =
            one_of("order", self.order.as_deref(), &["asc", "desc"], "must be asc or desc")?;
        if order.as_deref() == Some("asc") {
            wanted.order = AuditOrder::Oldest;
        }
        Ok(wanted)
    }

    /// How many entries a page holds.
    pub(super) fn page(&self) -> Result<u32> {
        const RULE: &str = "must be a whole number from 1 to 200";
        let limit = parsed("limit", self.limit.as_deref(), RULE)?.unwrap_or(LIMIT);
        if (1..=HIGHEST_LIMIT).contains(&limit) {
            Ok(limit)
        } else {
            Err(Error::invalid("limit", RULE))
        }
    }

    /// How the page is to be written.
    pub(super) fn format(&self) -> Result<AuditFormat> {
        match self.format.as_deref() {
            None | Some("json") => Ok(AuditFormat::Json),
            Some("ndjson") => Ok(AuditFormat::Ndjson),
            Some("csv") => Ok(AuditFormat::Csv),
            Some(_) => Err(Error::invalid("format", "must be json, ndjson or csv")),
        }
    }

    fn actions(&self) -> Result<Vec<ActionFilter>> {
        if self.action.len() > ACTIONS {
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

/// A text to look for. Nothing that is kept holds a NUL, which not every store takes.
fn text(given: &str) -> String {
    given.replace('\0', "\u{fffd}")
}

fn time(field: &'static str, text: Option<&str>) -> Result<Option<Time>> {
    let Some(text) = text else { return Ok(None) };
    let time = DateTime::parse_from_rfc3339(text)
        .map_err(|_| Error::invalid(field, "must be a time such as 2026-11-21T12:00:00Z"))?;
    Ok(Some(time.into()))
}

/// What leads to the entries behind this one. It tells nothing that the entry does not.
pub(super) fn cursor((time, id): (Time, AuditId)) -> String {
    let place = [time.timestamp_micros().to_be_bytes().as_slice(), id.uuid().as_bytes()].concat();
    URL_SAFE_NO_PAD.encode(place)
}

fn place(cursor: &str) -> Result<(Time, AuditId)> {
    let read = || {
        let place: [u8; 24] = URL_SAFE_NO_PAD.decode(cursor).ok()?.try_into().ok()?;
        let (time, id) = place.split_first_chunk::<8>()?;
        let time = DateTime::from_timestamp_micros(i64::from_be_bytes(*time))?;
        // No entry is of a time that a database could not keep.
        if !(0..=9999).contains(&time.year()) {
            return None;
        }
        Some((time, Uuid::from_slice(id).ok()?.into()))
    };
    read().ok_or_else(|| Error::invalid("cursor", "must be the next_cursor of a page"))
}
