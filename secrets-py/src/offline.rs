//! Functions that need no service: formats, the scan engine, token checks and webhook verification.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use secrets_core::crypto::{Plaintext, TokenText, WebhookSecret};
use secrets_core::formats::{Form, Format, ObjectName};
use secrets_core::model::{Clock, Error, SecretKey, SystemClock, Time, Violation};
use secrets_core::rotations::webhooks::Delivered;
use secrets_core::scanner::{self, Rules, Sighting};
use tokio::task::block_in_place;

use crate::process::{Outcome, Place, Process};
use crate::{failure, invalid};

/// Maximum length in bytes of an input that the calling thread scans itself. The scan of a longer
/// input can take seconds.
const MAX_INLINE_SCAN: usize = 256 * 1024;

/// Secret keys and values, as a list of Python tuples.
type Pairs = Vec<(String, String)>;

/// Returns true if a string has the syntax and the checksum of a service token. This check detects
/// a mistyped token without a request to the service.
#[pyfunction]
pub(crate) fn is_plausible_token(text: &str) -> bool {
    TokenText::is_plausible(text)
}

/// Parses secrets in a text format such as `dotenv`. Returns their keys and values.
#[pyfunction]
pub(crate) fn parse(py: Python<'_>, text: &str, format: &str) -> PyResult<Pairs> {
    let secrets = py.detach(|| {
        let form: Form = format.parse().map_err(|rule: &str| Error::invalid("format", rule))?;
        form.read(text, "text")
    });
    let secrets = secrets.map_err(|error| failure::refused(py, &error, 0))?;
    let pairs = secrets.iter().map(|(key, value)| (key.to_string(), value.reveal().to_owned()));
    Ok(pairs.collect())
}

/// Formats secrets in a text format such as `dotenv`. `name` is the name of the Kubernetes Secret
/// in the format `k8s`.
#[pyfunction]
pub(crate) fn render(py: Python<'_>, secrets: Pairs, format: &str, name: &str) -> PyResult<String> {
    rendered(secrets, format, name).map_err(|error| failure::refused(py, &error, 0))
}

fn rendered(secrets: Pairs, format: &str, name: &str) -> Result<String, Error> {
    let format: Format = format.parse().map_err(|rule: &str| Error::invalid("format", rule))?;
    let name: ObjectName = name.parse().map_err(|rule| broken(rule, "name"))?;
    let secrets = secrets.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(format.render(&secrets, &name)?.to_string())
}

fn read((index, (key, value)): (usize, (String, String))) -> Result<(SecretKey, Plaintext), Error> {
    let field = |name: &str| format!("secrets[{index}].{name}");
    let key = key.parse().map_err(|rule| broken(rule, &field("key")))?;
    let value = Plaintext::new(value).map_err(|rule| broken(rule, &field("value")))?;
    Ok((key, value))
}

fn broken(rule: Violation, field: &str) -> Error {
    Error::Invalid(vec![rule.at(field)])
}

/// Finds credentials in a string. Returns them redacted to their first and last characters. Signals
/// such as Ctrl-C interrupt the wait for the scan of a long string.
#[pyfunction]
pub(crate) fn scan(py: Python<'_>, text: &str, path: &Bound<'_, PyString>) -> PyResult<Py<PyAny>> {
    // A file name that is not UTF-8 contains lone surrogates.
    let path = path.to_string_lossy();
    if text.len() <= MAX_INLINE_SCAN {
        let found = py.detach(|| sightings(text, &path));
        return to_list(py, found);
    }
    let (text, path) = (text.to_owned(), path.into_owned());
    Process::here()?.run(py, None, Place::Worker, async move {
        let found = block_in_place(|| sightings(&text, &path));
        Box::new(move |py: Python<'_>| to_list(py, found)) as Outcome
    })
}

fn sightings(text: &str, path: &str) -> Vec<Sighting> {
    let found = scanner::scan(text, path, Rules::built_in());
    found.into_iter().map(|one| one.sighting(text)).collect()
}

/// Converts the found credentials to a list of Python dictionaries.
fn to_list(py: Python<'_>, sightings: Vec<Sighting>) -> PyResult<Py<PyAny>> {
    let list = PyList::empty(py);
    for sighting in sightings {
        let one = PyDict::new(py);
        one.set_item("rule_id", sighting.rule_id)?;
        one.set_item("description", sighting.description)?;
        one.set_item("severity", sighting.severity.as_str())?;
        one.set_item("line", sighting.line)?;
        one.set_item("column", sighting.column)?;
        one.set_item("redacted", sighting.redacted)?;
        one.set_item("entropy", sighting.entropy)?;
        list.append(one)?;
    }
    Ok(list.into_any().unbind())
}

/// Verifies a webhook delivery. The signature must have been made with `secret`, the signing secret
/// of the webhook. The timestamp must be within five minutes of `now`, which is in seconds since
/// 1970 and defaults to the current time.
#[pyfunction]
#[pyo3(signature = (*, id, timestamp, signature, body, secret, now))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn verify_webhook(
    py: Python<'_>,
    id: &str,
    timestamp: &str,
    signature: &str,
    body: &[u8],
    secret: String,
    now: Option<i64>,
) -> PyResult<()> {
    let secret = WebhookSecret::new(secret)
        .map_err(|rule| failure::refused(py, &broken(rule, "secret"), 0))?;
    let now = match now {
        Some(seconds) => {
            Time::from_timestamp(seconds, 0).ok_or_else(|| invalid("now: out of range"))?
        }
        None => SystemClock.now(),
    };
    Delivered { id, timestamp, signature, body }
        .check(&secret, now)
        .map_err(|why| failure::made(py, "UnprovenDelivery", (why.kind(), why.to_string())))
}
