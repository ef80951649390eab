//! Services and those who use them.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use pyo3::prelude::*;
use secrets_core::engine::Caller;
use secrets_core::model::{Clock, Error, Identity, Origin, SystemClock};
use secrets_core::crypto::Key;
use secrets_core::egress::EgressPolicy;
use secrets_core::users::SyncUser;
use secrets_core::registry;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::open::Database;
use crate::process::{Outcome, Process};
use crate::{failure, invalid, open, record, upkeep};

/// As what we name ourselves in the log of a team.
const AGENT: &str = concat!("secrets_service/", env!("CARGO_PKG_VERSION"));

/// How long closing waits for operations that are under way.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// How many calls that take long go on at once: one that derives a key takes 64 MiB.
static SEATS: Semaphore = Semaphore::const_new(2);

/// A service in this process.
#[pyclass(frozen, module = "secrets_service._native")]
pub(crate) struct Service {
    process: &'static Process,
    door: Arc<Door>,
}

/// Somebody who uses a service.
#[pyclass(frozen, module = "secrets_service._native")]
pub(crate) struct Session {
    process: &'static Process,
    door: Arc<Door>,
    who: Arc<Who>,
}

/// The service while it is open.
struct Door(Mutex<Option<Arc<secrets_core::service::Service>>>);

/// What is authenticated anew with each call, as in a request.
enum Who {
    Person(Box<Identity>),
    Machine(Zeroizing<String>, Option<IpAddr>),
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
        let database = Database::at(url).map_err(invalid)?;
        let root = match (root_key, &database) {
            (Some(bytes), _) => record::key_of("root_key", bytes)?,
            // Nothing remains that somebody could want to open.
            (None, Database::Memory) => Key::generate(),
            (None, _) => return Err(invalid("root_key: must be given, and be 32 bytes")),
        };
        let egress = EgressPolicy::parse(allow_egress)
            .map_err(|error| invalid(&format!("allow_egress: {error}")))?;
        let process = Process::here()?;
        process.run(py, done, async move {
            let opened = open::open(database, root, egress).await;
            if let Ok(service) = &opened {
                process.spawn(upkeep::look_after(Arc::downgrade(service)));
            }
            Box::new(move |py: Python<'_>| {
                let service = opened.map_err(|error| failure::not_started(py, &error))?;
                let door = Arc::new(Door(Mutex::new(Some(service))));
                Ok(Py::new(py, Self { process, door })?.into_any())
            }) as Outcome
        })
    }

    #[pyo3(signature = (*, issuer, subject, email, email_verified, name, done = None))]
    #[expect(clippy::too_many_arguments, reason = "in Python they are named")]
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
        let who = Arc::new(Who::Person(Box::new(identity)));
        let (process, door, service) = (self.process, Arc::clone(&self.door), self.door.service()?);
        process.run(py, done, async move {
            let signed_in = match who.caller(&service).await {
                Ok(caller) => service.perform(&caller, SyncUser).await,
                Err(error) => Err(error),
            };
            drop(service);
            Box::new(move |py: Python<'_>| {
                signed_in.map_err(|error| refused(py, &error))?;
                Ok(Py::new(py, Session { process, door, who })?.into_any())
            }) as Outcome
        })
    }

    #[pyo3(signature = (token, *, address))]
    fn as_token(&self, token: String, address: Option<&str>) -> PyResult<Session> {
        let address = address.map(str::parse).transpose();
        let address = address.map_err(|_| invalid("address: must be an IP address"))?;
        self.door.service()?;
        let who = Arc::new(Who::Machine(Zeroizing::new(token), address));
        Ok(Session { process: self.process, door: Arc::clone(&self.door), who })
    }

    /// Lets nobody in any more, and waits for those who are inside.
    #[pyo3(signature = (*, done = None))]
    fn close(&self, py: Python<'_>, done: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        self.process.still()?;
        let Some(service) = self.door.shut() else {
            return self.process.run(py, done, async { nothing() });
        };
        self.process.run(py, done, async move {
            upkeep::tidy(&service).await;
            let left = Arc::downgrade(&service);
            drop(service);
            drop(tokio::time::timeout(PATIENCE, gone(left)).await);
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
        input: &str,
        done: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        // Who was forked is told so, whatever else is wrong.
        self.process.still()?;
        // What Python writes and JSON does not hold: half a character, or too deep a nest.
        let input = serde_json::from_str(input)
            .map_err(|_| refused(py, &Error::invalid("body", "must be a JSON document")))?;
        let (service, who) = (self.door.service()?, Arc::clone(&self.who));
        self.process.run(py, done, async move {
            let is_long = registry::is_long(&name);
            let call = async move {
                let caller = who.caller(&service).await?;
                registry::call(&service, &caller, &name, input).await
            };
            let called = if is_long { aside(call).await } else { call.await };
            let called = called.map(|output| Zeroizing::new(output.to_string()));
            Box::new(move |py: Python<'_>| {
                let text = called.map_err(|error| refused(py, &error))?;
                Ok(text.as_str().into_pyobject(py)?.into_any().unbind())
            }) as Outcome
        })
    }
}

impl Who {
    async fn caller(&self, service: &secrets_core::service::Service) -> Result<Caller, Error> {
        let origin = Origin { agent: Some(AGENT.to_owned()), ..Origin::default() };
        match self {
            Self::Person(identity) => service.identify(Identity::clone(identity), origin).await,
            Self::Machine(token, address) => {
                service.authenticate(token, Origin { address: *address, ..origin }).await
            }
        }
    }
}

impl Door {
    fn service(&self) -> PyResult<Arc<secrets_core::service::Service>> {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        service.ok_or_else(|| invalid("the service is closed"))
    }

    fn shut(&self) -> Option<Arc<secrets_core::service::Service>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs a call where no other waits for its thread.
async fn aside(
    call: impl Future<Output = Result<Value, Error>> + Send + 'static,
) -> Result<Value, Error> {
    let seat = SEATS.acquire().await.map_err(Error::internal)?;
    let runtime = Handle::current();
    let called = tokio::task::spawn_blocking(move || {
        let _seat = seat;
        runtime.block_on(call)
    });
    called.await.map_err(Error::internal)?
}

/// Waits until nobody has it.
async fn gone(service: Weak<secrets_core::service::Service>) {
    while service.strong_count() > 0 {
        tokio::time::sleep(LOOK).await;
    }
}

fn nothing() -> Outcome {
    Box::new(|py: Python<'_>| Ok(py.None()))
}

fn refused(py: Python<'_>, error: &Error) -> PyErr {
    failure::refused(py, error, SystemClock.now().timestamp())
}
