//! A secrets manager as a library: projects, environments with inheritance, versioned secrets
//! encrypted with AES-256-GCM, roles, service tokens, an audit log, and rotation of database
//! credentials, on a store of your choice.
//!
//! ```
//! use std::sync::Arc;
//!
//! use secrets_core::crypto::{Key, Plaintext};
//! use secrets_core::model::{EnvironmentPath, Identity, Origin};
//! use secrets_core::projects::{CreateProject, NewProject};
//! use secrets_core::secrets::{CreateSecret, GetSecret, KeyRef, NewSecret};
//! use secrets_core::store::MemoryStore;
//! use secrets_core::service::Service;
//!
//! # futures_executor::block_on(async {
//! let store = Arc::new(MemoryStore::new());
//! let service = Service::builder(store, &Key::generate()).build().await?;
//! let ada = Identity::new("my-program", "ada", "ada@example.com");
//! let ada = service.sign_in(ada, Origin::default()).await?;
//!
//! let project = NewProject::named("Web API".parse()?);
//! let project = service.perform(&ada, CreateProject { project }).await?;
//! let at = EnvironmentPath::new(project.id, "production");
//! let secret = NewSecret::new("API_KEY".parse()?, Plaintext::new("k-123".to_owned())?);
//! service.perform(&ada, CreateSecret { at: at.clone(), secret }).await?;
//!
//! let secret = service.perform(&ada, GetSecret { at, key: KeyRef::new("API_KEY") }).await?;
//! assert_eq!(secret.value.as_ref().map(Plaintext::reveal), Some("k-123"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Where to begin
//!
//! - [`Service`] authenticates callers and performs their operations; its builder takes a store, a
//!   root key and the [`ports`], which connect the service to external systems.
//! - Every request is an [`Operation`]: a value in the module named after its resource, such as
//!   [`secrets::CreateSecret`] or [`tokens::CreateToken`]. A [`Task`] is one operation, or several
//!   operations with waits between them.
//! - [`store::open`] opens a store by its URL. To add a store for another database, implement
//!   [`store::Store`].
//! - [`Error`] is the error of every operation. Its text is for the caller, its source for the log.
//! - [`workers`] are the background work: sealing the audit log, sending e-mail and webhooks,
//!   rotating credentials, deleting old data. `runtime::Supervisor` runs them on tokio.
//! - [`registry`] performs operations by name, with JSON, for bindings of other languages.
//! - [`bundle`], [`formats`] and [`scanner`] need no service: encrypted files for offline use,
//!   import and export formats, and detection of leaked credentials.
//!
//! # Features
//!
//! None is on by default; without any, the crate compiles for WebAssembly.
//!
//! | feature | adds |
//! |---|---|
//! | `sqlite` | the SQLite store |
//! | `postgres` | the PostgreSQL store |
//! | `runtime` | timers, threads for CPU-bound work, the supervisor of background work and the registry of watches, on tokio |
//! | `rotators` | drivers that rotate credentials of PostgreSQL, MySQL and MariaDB |
//! | `aws` | rotation through a function of AWS Lambda |
//! | `jwt` | verification of the tokens of identity providers |
//! | `openapi` | OpenAPI schemas of inputs and outputs |
//! | `testing` | in-memory databases, fixtures, the conformance suite for stores, and the functions of the fuzz targets |

pub mod access;
pub mod account;
pub mod audit;
pub mod billing;
pub mod bundle;
pub mod crypto;
pub mod device_login;
pub mod egress;
pub mod engine;
pub mod environments;
pub mod eso;
#[doc(hidden)]
pub mod failpoint;
pub mod formats;
pub mod invitations;
#[cfg(feature = "jwt")]
pub mod jwt;
pub mod keys;
pub mod limits;
pub mod members;
pub mod model;
pub mod notices;
pub mod outbox;
pub mod permissions;
pub mod ports;
pub mod projects;
pub mod registry;
pub mod retention;
pub mod rotations;
pub mod rotators;
#[cfg(feature = "runtime")]
pub mod runtime;
pub mod scanner;
pub mod scans;
pub mod secrets;
pub mod service;
pub mod sessions;
pub mod store;
pub mod teams;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tokens;
pub mod users;
pub mod workers;

pub use engine::{Caller, Operation, Options, Ports, Task};
pub use model::{Error, Result};
pub use service::Service;
