//! Embedded services and sessions.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use pyo3::prelude::*;
use secrets_core::crypto::Key;
use secrets_core::egress::EgressPolicy;
use secrets_core::engine::{Caller, Engine};
use secrets_core::model::{Clock, Error, Identity, Origin, SystemClock};
use secrets_core::store::Location;
use secrets_core::{registry, workers};
use tokio::time::timeout;
use zeroize::Zeroizing;

use crate::open::Opened;
use crate::process::{Outcome, Place, Process};
use crate::{failure, invalid, open, record, values};

/// User agent in the audit log for calls of embedded sessions.
const AGENT: &str = concat!("secrets_service/", env!("CARGO_PKG_VERSION"));

/// Maximum time of each step of `close`: writing the data that is still in memory, waiting for
/// operations that are still running, and closing the store.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which `close` checks whether operations are still running.
const CLOSE_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Embedded service, as a Python object.
#[pyclass(frozen, module = "secrets_service._native")]
pub(crate) struct Service {
    process: &'static Process,
    slot: Arc<Slot>,
}

/// Session of a user or a service token with an embedded service, as a Python object.
#[pyclass(frozen, module = "secrets_service._native")]
pub(crate) struct Session {
    process: &'static Process,
    slot: Arc<Slot>,
    credential: Arc<Credential>,
}

/// Holder of the open service, which its sessions share; `None` once the service is closed.
struct Slot(Mutex<Option<Opened>>);

/// Credential of a session. Every call authenticates the credential again, as the HTTP server does
/// for every request.
enum Credential {
    User(Box<Identity>),
    Token(Zeroizing<String>, Option<IpAddr>),
}

#[pymethods]
impl Service {
    #[staticmethod]
    #[pyo3(signature = (url, *, root_key, allow_egress, done = None))]
    fn open(
        py: Python<'_>,
        url: &str,
        root_key: Option<&[u8]>,
        allow_egress: &str,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let location: Location = url.parse().map_err(|rule| invalid(&format!("url: {rule}")))?;
        let root = match (root_key, &location) {
            (Some(bytes), _) => record::key_of("root_key", bytes)?,
            // Data in memory ends with the process, so a random key is enough.
            (None, Location::Memory) => Key::generate(),
            (None, _) => return Err(invalid("root_key: must be given, and be 32 bytes")),
        };
        let egress = EgressPolicy::parse(allow_egress)
            .map_err(|error| invalid(&format!("allow_egress: {error}")))?;
        let process = Process::here()?;
        process.run(py, done, Place::Worker, async move {
            let opened = open::open(location, root, egress).await;
            if let Ok(Opened { service, background, .. }) = &opened {
                let (supervisor, engine) = (background.0.clone(), Arc::clone(service.engine()));
                process.spawn(async move { supervisor.run(engine).await });
            }
            Box::new(move |py: Python<'_>| {
                let opened = opened.map_err(|error| failure::not_started(py, &error))?;
                let slot = Arc::new(Slot(Mutex::new(Some(opened))));
                Ok(Py::new(py, Self { process, slot })?.into_any())
            }) as Outcome
        })
    }

    #[pyo3(signature = (*, issuer, subject, email, email_verified, name, done = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn sign_in(
        &self,
        py: Python<'_>,
        issuer: &str,
        subject: &str,
        email: &str,
        email_verified: bool,
        name: Option<String>,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let identity = Identity { email_verified, name, ..Identity::new(issuer, subject, email) };
        let credential = Arc::new(Credential::User(Box::new(identity.clone())));
        let (process, slot, service) = (self.process, Arc::clone(&self.slot), self.slot.service()?);
        process.run(py, done, Place::Worker, async move {
            let signed_in = service.sign_in(identity, origin(None)).await;
            drop(service);
            Box::new(move |py: Python<'_>| {
                signed_in.map_err(|error| refused(py, &error))?;
                Ok(Py::new(py, Session { process, slot, credential })?.into_any())
            }) as Outcome
        })
    }

    #[pyo3(signature = (token, *, address))]
    fn as_token(&self, token: String, address: Option<&str>) -> PyResult<Session> {
        let address = address.map(str::parse).transpose();
        let address = address.map_err(|_| invalid("address: must be an IP address"))?;
        self.slot.service()?;
        let credential = Arc::new(Credential::Token(Zeroizing::new(token), address));
        Ok(Session { process: self.process, slot: Arc::clone(&self.slot), credential })
    }

    /// Closes the service: new calls fail, and running calls have 5 seconds to end.
    #[pyo3(signature = (*, done = None))]
    fn close(&self, py: Python<'_>, done: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        self.process.still()?;
        let Some(Opened { service, store, background }) = self.slot.take() else {
            return self.process.run(py, done, Place::Worker, async { nothing() });
        };
        self.process.run(py, done, Place::Worker, async move {
            drop(background);
            // Errors are ignored: audit entries stay in the store, last-used times are lost.
            drop(timeout(CLOSE_TIMEOUT, workers::flush(service.engine())).await);
            let left = Arc::downgrade(service.engine());
            drop(service);
            drop(timeout(CLOSE_TIMEOUT, wait_until_unused(left)).await);
            drop(timeout(CLOSE_TIMEOUT, store.close()).await);
            nothing()
        })
    }
}

#[pymethods]
impl Session {
    #[pyo3(signature = (name, input, *, done = None))]
    fn call(
        &self,
        py: Python<'_>,
        name: String,
        input: &Bound<'_, PyAny>,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        // Checked before the input is converted, so that a forked process gets this error first.
        self.process.still()?;
        let input = values::from_python(input)?;
        let (service, credential) = (self.slot.service()?, Arc::clone(&self.credential));
        let place = if registry::is_long(&name) { Place::Worker } else { Place::Caller };
        self.process.run(py, done, place, async move {
            let called = match credential.caller(&service).await {
                Ok(caller) => registry::call(&service, &caller, &name, input).await,
                Err(error) => Err(error),
            };
            drop(service);
            Box::new(move |py: Python<'_>| {
                let output = called.map_err(|error| refused(py, &error))?;
                values::into_python(py, output).map(Bound::unbind)
            }) as Outcome
        })
    }
}

impl Credential {
    async fn caller(&self, service: &secrets_core::Service) -> Result<Caller, Error> {
        match self {
            Self::User(identity) => service.identify(Identity::clone(identity), origin(None)).await,
            Self::Token(token, address) => service.authenticate(token, origin(*address)).await,
        }
    }
}

fn origin(address: Option<IpAddr>) -> Origin {
    Origin { address, agent: Some(AGENT.into()), ..Origin::default() }
}

impl Slot {
    fn service(&self) -> PyResult<Arc<secrets_core::Service>> {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let service = slot.as_ref().map(|opened| Arc::clone(&opened.service));
        service.ok_or_else(|| invalid("the service is closed"))
    }

    fn take(&self) -> Option<Opened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Waits until no running call holds a reference to the service.
async fn wait_until_unused(engine: Weak<Engine>) {
    while engine.strong_count() > 0 {
        tokio::time::sleep(CLOSE_POLL_INTERVAL).await;
    }
}

fn nothing() -> Outcome {
    Box::new(|py: Python<'_>| Ok(py.None()))
}

fn refused(py: Python<'_>, error: &Error) -> PyErr {
    failure::refused(py, error, SystemClock.now().timestamp())
}
