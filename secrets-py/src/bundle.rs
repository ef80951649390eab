//! Functions that open bundles (encrypted exports of an environment) without a service.

use std::fs::File;
use std::io::{BufReader, Cursor, Error as IoError, Read, Result as IoResult, Seek, SeekFrom};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Mutex;

use chrono::SecondsFormat;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use secrets_core::bundle::{
    BundleError, BundleKey, BundledSecret, Opened, Opener, PublicKey, RecipientKey, Signer, Unlock,
};
use secrets_core::crypto::Passphrase;
use secrets_core::model::{Clock, Error, SystemClock, Time, Violation};

use crate::{failure, invalid};

/// Seekable source of the bytes of a bundle.
trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// Python file object, opened in binary mode, from which a bundle is read.
struct PythonFile(Py<PyAny>);

/// Verified bundle, as a Python iterator that decrypts each secret when it is read.
#[pyclass(frozen, module = "secrets_service._native")]
pub(crate) struct Bundle {
    opened: Mutex<Option<Opened<Box<dyn Source>>>>,
    #[pyo3(get)]
    project: String,
    #[pyo3(get)]
    environment: String,
    #[pyo3(get)]
    seq: u64,
    /// Creation time as a string (RFC 3339).
    #[pyo3(get)]
    created_at: String,
    /// Expiry time as a string (RFC 3339).
    #[pyo3(get)]
    expires_at: Option<String>,
    #[pyo3(get)]
    signer: String,
}

/// Secret as a Python tuple: secret key, value, description, version, name of the environment from
/// which it is inherited, and time of the last change.
type SecretTuple = (String, String, Option<String>, u32, Option<String>, String);

#[pymethods]
impl Bundle {
    /// Opens a bundle from bytes, a path or a seekable binary file. `unlock` is the kind of the
    /// credential (`passphrase`, `key` or `private_key`) and the credential itself. `now` is in
    /// microseconds since 1970 and defaults to the current time.
    #[staticmethod]
    #[pyo3(signature = (source, *, unlock, signer, at_least, now))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn open(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        unlock: (String, String),
        signer: Option<&str>,
        at_least: u64,
        now: Option<i64>,
    ) -> PyResult<Self> {
        let now = match now {
            Some(micros) => {
                Time::from_timestamp_micros(micros).ok_or_else(|| invalid("now: out of range"))?
            }
            None => SystemClock.now(),
        };
        let signer = signer.map(|text| read(py, "signer", text)).transpose()?;
        let opener = Opener { unlock: unlocked(py, unlock)?, signer, at_least, now };
        let source = source_of(source)?;
        // Release the interpreter: deriving a key from a passphrase and reading the whole bundle
        // can take seconds.
        let bundle = py.detach(|| opener.open(source)).map_err(|why| refused(py, why))?;
        let metadata = bundle.metadata();
        Ok(Self {
            project: metadata.project.to_string(),
            environment: metadata.environment.to_string(),
            seq: metadata.seq,
            created_at: text_of(metadata.created_at),
            expires_at: metadata.expires_at.map(text_of),
            signer: bundle.signer().to_string(),
            opened: Mutex::new(Some(bundle)),
        })
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<SecretTuple>> {
        // A Python file object releases the interpreter while it reads, so another thread can call
        // this function. Waiting for the lock with the interpreter held would deadlock.
        let mut opened = self.opened.try_lock().map_err(|_| in_use())?;
        match opened.as_mut().and_then(Iterator::next) {
            Some(Ok(secret)) => Ok(Some(to_tuple(&secret))),
            Some(Err(why)) => Err(refused(py, why)),
            None => Ok(None),
        }
    }

    /// Closes the file or other source of the bundle.
    fn close(&self) -> PyResult<()> {
        drop(self.opened.try_lock().map_err(|_| in_use())?.take());
        Ok(())
    }
}

/// Generates a key pair for bundles, and returns the private key and the public key. The private
/// key opens bundles that are encrypted for the public key.
#[pyfunction]
pub(crate) fn new_key_pair() -> (String, String) {
    let private = RecipientKey::generate();
    (private.reveal().to_string(), private.public().to_string())
}

/// Returns the public key (`scbp_…`) of a private key (`scbx_…`) for bundles.
#[pyfunction]
pub(crate) fn public_key(py: Python<'_>, private_key: &str) -> PyResult<String> {
    let private: RecipientKey = read(py, "private_key", private_key)?;
    Ok(private.public().to_string())
}

/// Returns the kind of a bundle key: `key`, `private_key`, `public_key` or `signer`; `None` if the
/// string is not a bundle key.
#[pyfunction]
pub(crate) fn bundle_key_kind(text: &str) -> Option<&'static str> {
    if text.parse::<BundleKey>().is_ok() {
        return Some("key");
    }
    if text.parse::<RecipientKey>().is_ok() {
        return Some("private_key");
    }
    if text.parse::<PublicKey>().is_ok() {
        return Some("public_key");
    }
    text.parse::<Signer>().is_ok().then_some("signer")
}

fn unlocked(py: Python<'_>, (kind, text): (String, String)) -> PyResult<Unlock> {
    Ok(match kind.as_str() {
        "key" => Unlock::Key(read(py, "key", &text)?),
        "private_key" => Unlock::Private(read(py, "private_key", &text)?),
        _ => Unlock::Passphrase(
            Passphrase::new(text).map_err(|rule| broken(py, rule, "passphrase"))?,
        ),
    })
}

fn read<T: FromStr<Err = Violation>>(py: Python<'_>, field: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|rule| broken(py, rule, field))
}

fn broken(py: Python<'_>, rule: Violation, field: &str) -> PyErr {
    failure::refused(py, &Error::Invalid(vec![rule.at(field)]), 0)
}

fn source_of(given: &Bound<'_, PyAny>) -> PyResult<Box<dyn Source>> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(Box::new(Cursor::new(PyBackedBytes::from(bytes.clone()))));
    }
    if given.hasattr("read")? {
        return Ok(Box::new(BufReader::new(PythonFile(given.clone().unbind()))));
    }
    let path: PathBuf = given.extract()?;
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

fn to_tuple(secret: &BundledSecret) -> SecretTuple {
    (
        secret.key.to_string(),
        secret.value.reveal().to_owned(),
        secret.description.as_ref().map(|text| text.reveal().to_owned()),
        secret.version,
        secret.inherited_from.as_ref().map(ToString::to_string),
        text_of(secret.updated_at),
    )
}

fn text_of(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn refused(py: Python<'_>, why: BundleError) -> PyErr {
    match why {
        BundleError::Unreadable(cause) => cause.into(),
        why => failure::made(py, "of_bundle", (why.kind(), why.to_string())),
    }
}

impl Read for PythonFile {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        Python::attach(|py| {
            let read = self.0.call_method1(py, "read", (buffer.len(),)).map_err(IoError::from)?;
            let bytes = read.bind(py).cast::<PyBytes>().map_err(|_| text_file())?.as_bytes();
            let part = buffer.get_mut(..bytes.len()).ok_or_else(too_much)?;
            part.copy_from_slice(bytes);
            Ok(bytes.len())
        })
    }
}

impl Seek for PythonFile {
    fn seek(&mut self, to: SeekFrom) -> IoResult<u64> {
        let (offset, whence) = match to {
            SeekFrom::Start(offset) => (i64::try_from(offset).map_err(|_| too_much())?, 0),
            SeekFrom::Current(offset) => (offset, 1),
            SeekFrom::End(offset) => (offset, 2),
        };
        Python::attach(|py| {
            let place = self.0.call_method1(py, "seek", (offset, whence)).map_err(IoError::from)?;
            place.extract::<u64>(py).map_err(IoError::from)
        })
    }
}

fn in_use() -> PyErr {
    PyRuntimeError::new_err("the bundle is being read by another thread")
}

fn text_file() -> IoError {
    IoError::other("the file must be opened in binary mode")
}

fn too_much() -> IoError {
    IoError::other("the file returned more bytes than requested")
}
