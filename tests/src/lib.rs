//! Shared code of the integration tests: a server with any kind of store, clients that send it HTTP
//! requests as users or service tokens, and their replies.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a panic fails the test")]

mod app;
mod audit;
mod browser;
mod counted;
mod database_proxy;
mod dump;
mod forged;
mod identity_provider;
mod lambda_endpoint;
mod mailer;
mod outage;
pub mod paths;
mod person;
mod python_server;
mod receiver;
mod reply;
mod rotation;
mod rotations;
mod serving;
mod sign_in;
mod spoil;
mod stores;
pub mod targets;
mod until;
mod watch;
mod wire;

pub use app::{App, Build};
pub use browser::Browser;
pub use counted::Counted;
pub use database_proxy::DatabaseProxy;
pub use dump::Dump;
pub use identity_provider::{CLIENT, IdentityProvider, TokenAnswer};
pub use lambda_endpoint::{LambdaEndpoint, SHARED_SECRET};
pub use mailer::{Answer, MAIL_LINKS, Message, RecordingMailer};
pub use outage::{CAUSE, Failing, Outage};
pub use person::{Client, Person};
pub use python_server::PythonServer;
pub use receiver::{Receiver, Taken};
pub use reply::Reply;
pub use rotations::{Rotated, connection, lambda, lambda_function, postgresql};
pub use spoil::flipped;
pub use stores::{Kind, OpenedStore};
pub use until::until;
pub use watch::{Event, Watch};

/// Time on the clock of every test server at its start, in the format of responses.
pub const STARTED: &str = "2026-11-21T12:00:10Z";

/// Returns a secret value that contains `name` and must never be stored or logged in plain text.
/// After the tests, the test runner searches files and logs for such values.
#[must_use]
pub fn canary(name: &str) -> String {
    format!("kvc_{name}_5f1c2a")
}

/// Returns a fake GitHub token, which a scan reports as a credential.
#[must_use]
pub fn credential() -> String {
    format!("ghp_{}", "Zq8rT2mKx5Lw".repeat(3))
}

/// Generates a test for each async function in the list and each kind of store. The functions
/// before the semicolon take an [`App`], a running server. The functions after the semicolon take
/// the [`Kind`] of store and start the server themselves.
#[macro_export]
macro_rules! on_every_store {
    ($($rule:ident),* $(,)? $(; $($built:ident),+ $(,)?)?) => {
        $crate::on_store!(memory, Memory, [$($rule)*], [$($($built)+)?]);
        $crate::on_store!(sqlite, Sqlite, [$($rule)*], [$($($built)+)?]);
        $crate::on_store!(postgres, Postgres, [$($rule)*], [$($($built)+)?]);
    };
}

/// Generates a test in memory for each async function in the list, as [`on_every_store`] does.
/// Suitable for rules that are decided without the store, such as those about headers, bodies,
/// paths, formats, and limits that each node counts by itself.
#[macro_export]
macro_rules! in_memory {
    ($($rule:ident),* $(,)? $(; $($built:ident),+ $(,)?)?) => {
        $crate::on_store!(in_memory, Memory, [$($rule)*], [$($($built)+)?]);
    };
}

/// Generates a test in memory and one on PostgreSQL for each async function in the list, as
/// [`on_every_store`] does. Suitable for rules about requests and stored data. SQLite is covered by
/// the conformance suite of the stores, and by the tests of rules that depend on transactions, on
/// limits counted in the store, on background work or on caches.
#[macro_export]
macro_rules! in_memory_and_on_postgres {
    ($($rule:ident),* $(,)? $(; $($built:ident),+ $(,)?)?) => {
        $crate::on_store!(memory, Memory, [$($rule)*], [$($($built)+)?]);
        $crate::on_store!(postgres, Postgres, [$($rule)*], [$($($built)+)?]);
    };
}

/// Generates a test for each async function in the list and each kind of SQL store, as
/// [`on_every_store`] does.
#[macro_export]
macro_rules! on_sql_stores {
    ($($rule:ident),* $(; $($built:ident),+)? $(,)?) => {
        $crate::on_store!(sqlite, Sqlite, [$($rule)*], [$($($built)+)?]);
        $crate::on_store!(postgres, Postgres, [$($rule)*], [$($($built)+)?]);
    };
}

/// Generates the tests of [`on_every_store`] for one kind of store.
#[doc(hidden)]
#[macro_export]
macro_rules! on_store {
    ($name:ident, $kind:ident, [$($rule:ident)*], [$($built:ident)*]) => {
        mod $name {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                super::$rule($crate::App::start($crate::Kind::$kind).await).await;
            })*
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $built() {
                super::$built($crate::Kind::$kind).await;
            })*
        }
    };
}
