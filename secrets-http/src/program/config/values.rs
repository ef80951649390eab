//! Parsers for the values of settings. An error is the violated rule, as a phrase that is appended
//! to the name of the setting.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use hyper::Uri;
use lettre::message::Mailbox;
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use secrets_core::jwt::VerificationKey;
use secrets_core::model::MemberAccess;
use secrets_core::store::Location;
use tracing_subscriber::EnvFilter;
use zeroize::Zeroizing;

use super::hidden::Hidden;
use crate::adapters;
use crate::program::logs::LogFormat;
use crate::serve::client_address::Networks;
use crate::serve::reply::Envelope;

/// Rule that a value violates, such as "must be on or off".
pub(super) type InvalidValue = &'static str;

pub(super) fn listen(text: &str) -> Result<SocketAddr, InvalidValue> {
    let port = || text.strip_prefix("localhost:")?.parse().ok();
    text.parse()
        .ok()
        .or_else(|| port().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)))
        .ok_or("must be an address and a port, such as 127.0.0.1:8080 or [::]:8080")
}

pub(super) fn database(text: &str) -> Result<Location, InvalidValue> {
    text.parse()
}

/// Parses the URL of a mail server.
pub(super) fn mail_server(text: &str) -> Result<Hidden<Zeroizing<String>>, InvalidValue> {
    AsyncSmtpTransport::<Tokio1Executor>::from_url(text)
        .map_err(|_| "must be smtps://USER:PASSWORD@HOST, or smtp://HOST?tls=required")?;
    Ok(Hidden::new(Zeroizing::new(text.to_owned())))
}

/// Parses the URL of a Redis server.
pub(super) fn redis(text: &str) -> Result<Hidden<redis::Client>, InvalidValue> {
    adapters::redis::client(text).map(Hidden::new)
}

pub(super) fn envelope(text: &str) -> Result<Envelope, InvalidValue> {
    match text {
        "named" => Ok(Envelope::Named),
        "both" => Ok(Envelope::Both),
        _ => Err("must be named or both"),
    }
}

pub(super) fn mailbox(text: &str) -> Result<Mailbox, InvalidValue> {
    text.parse().map_err(|_| "must be an address such as Secrets <secrets@example.com>")
}

/// True if the URL of a database or a mail server contains a password.
pub(super) fn has_password(text: &str) -> bool {
    let authority = text.split_once("://").map_or("", |(_, rest)| rest);
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    user.contains(':') || text.contains("password=")
}

pub(super) fn root_key(text: &str) -> Result<Hidden<Zeroizing<[u8; 32]>>, InvalidValue> {
    let rule =
        "must be 32 bytes in standard base64, 44 characters: `openssl rand -base64 32` makes one";
    let bytes = Zeroizing::new(STANDARD.decode(text.trim()).map_err(|_| rule)?);
    let mut key = Zeroizing::new([0; 32]);
    if bytes.len() != key.len() {
        return Err(rule);
    }
    key.copy_from_slice(&bytes);
    Ok(Hidden::new(key))
}

pub(super) fn shared_secret(text: &str) -> Result<VerificationKey, InvalidValue> {
    VerificationKey::shared(text.as_bytes()).map_err(|_| "must have 32 bytes or more")
}

pub(super) fn member_access(text: &str) -> Result<MemberAccess, InvalidValue> {
    MemberAccess::from_name(text).ok_or(MemberAccess::RULE)
}

pub(super) fn count(text: &str) -> Result<u32, InvalidValue> {
    text.parse().map_err(|_| "must be a whole number, 0 or more")
}

pub(super) fn connections(text: &str) -> Result<u32, InvalidValue> {
    let count = text.parse().ok().filter(|count| (2..=1000).contains(count));
    count.ok_or("must be a whole number, 2 to 1000")
}

pub(super) fn timeout(text: &str) -> Result<Duration, InvalidValue> {
    let seconds = text.parse().ok().filter(|seconds| (1..=60).contains(seconds));
    seconds.map(Duration::from_secs).ok_or("must be a whole number, 1 to 60")
}

pub(super) fn delay(text: &str) -> Result<Duration, InvalidValue> {
    let seconds = text.parse().ok().filter(|seconds| (0..=30).contains(seconds));
    seconds.map(Duration::from_secs).ok_or("must be a whole number, 0 to 30")
}

/// Parses a number of mebibytes, and returns it in bytes.
pub(super) fn mebibytes(text: &str) -> Result<u64, InvalidValue> {
    let count = text.parse().ok().filter(|count| (16..=65_536).contains(count));
    count.map(|count: u64| count * 1024 * 1024).ok_or("must be a whole number, 16 to 65536")
}

/// Parses the maximum lifetime of browser sessions, in hours.
pub(super) fn session_hours(text: &str) -> Result<TimeDelta, InvalidValue> {
    let hours = text.parse().ok().filter(|hours| (1..=720).contains(hours));
    hours.map(TimeDelta::hours).ok_or("must be a whole number, 1 to 720")
}

/// Parses the time after which an unused browser session ends, in minutes.
pub(super) fn session_minutes(text: &str) -> Result<TimeDelta, InvalidValue> {
    let minutes = text.parse().ok().filter(|minutes| (5..=1_440).contains(minutes));
    minutes.map(TimeDelta::minutes).ok_or("must be a whole number, 5 to 1440")
}

/// Parses the maximum number of open event streams of a process.
pub(super) fn watches(text: &str) -> Result<usize, InvalidValue> {
    let count = text.parse().ok().filter(|count| (4..=10_000).contains(count));
    count.ok_or("must be a whole number, 4 to 10000")
}

/// Parses the size of a cache in mebibytes, and returns it in bytes.
pub(super) fn cache(text: &str) -> Result<u64, InvalidValue> {
    let count = text.parse().ok().filter(|count| (0..=65_536).contains(count));
    count.map(|count: u64| count * 1024 * 1024).ok_or("must be a whole number, 0 to 65536")
}

pub(super) fn networks(text: &str) -> Result<Networks, InvalidValue> {
    let rule = "must be networks or addresses separated by commas, such as 10.0.0.0/8,192.0.2.1";
    Networks::parse(text).map_err(|_| rule)
}

pub(super) fn switch(text: &str) -> Result<bool, InvalidValue> {
    match text {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err("must be on or off"),
    }
}

/// Parses an `http` or `https` URL. Refuses credentials in the URL, because they would be logged,
/// and a fragment, because it is never sent.
pub(super) fn url(text: &str) -> Result<Uri, InvalidValue> {
    let rule = "must be an address that begins with https:// or http://";
    let url: Uri = text.parse().map_err(|_| rule)?;
    let has_scheme = matches!(url.scheme_str(), Some("https" | "http"));
    let host = url.authority().ok_or(rule)?;
    if !has_scheme || host.as_str().contains('@') || text.contains('#') {
        Err(rule)
    } else {
        Ok(url)
    }
}

/// True if a host is `localhost` or a loopback address. Accepts an IPv6 address with or without
/// brackets.
pub(super) fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

pub(super) fn not_empty(text: &str) -> Result<String, InvalidValue> {
    if text.is_empty() { Err("must not be empty") } else { Ok(text.to_owned()) }
}

pub(super) fn path(text: &str) -> Result<PathBuf, InvalidValue> {
    not_empty(text).map(PathBuf::from)
}

pub(super) fn log_filter(text: &str) -> Result<String, InvalidValue> {
    let rule = "must be error, warn, info, debug, trace or off, or such as info,sqlx=warn";
    EnvFilter::builder().parse(text).map(|_| text.to_owned()).map_err(|_| rule)
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, InvalidValue> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("must be text or json"),
    }
}

pub(super) fn emails(text: &str) -> Result<Vec<String>, InvalidValue> {
    let emails = text.split(',').map(|part| email(part.trim()));
    let rule = "must be e-mail addresses separated by commas";
    emails.collect::<Result<_, _>>().map_err(|_| rule)
}

/// Checks the basic form of an e-mail address. Does not check that the address exists.
pub(super) fn email(text: &str) -> Result<String, InvalidValue> {
    match text.split_once('@') {
        Some((name, host)) if !name.is_empty() && !host.is_empty() && !text.contains(' ') => {
            Ok(text.to_owned())
        }
        _ => Err("must be an e-mail address"),
    }
}
