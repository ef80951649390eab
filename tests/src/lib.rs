//! What the tests of the whole are made of: a server over any store, people and tokens that talk to
//! it over sockets, and their replies.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test stops where it fails")]

mod app;
mod audit;
mod dump;
mod forged;
mod mailer;
mod outage;
pub mod paths;
mod person;
mod receiver;
mod reply;
mod rotation;
mod rotations;
mod spoil;
mod stores;
pub mod targets;
mod watch;
mod wire;

pub use app::{App, Build};
pub use dump::Dump;
pub use mailer::{Answer, MAIL_LINKS, Message, RecordingMailer};
pub use outage::{CAUSE, Failing, Outage};
pub use person::{Client, Person};
pub use receiver::{Receiver, Taken};
pub use reply::Reply;
pub use rotations::{Rotated, connection, lambda, postgresql};
pub use spoil::flipped;
pub use stores::{Held, Kind};
pub use watch::Watch;

/// When every server starts, as it is written in answers.
pub const STARTED: &str = "2026-11-21T12:00:10Z";

/// A value that is looked for everywhere it must not be, once the suite has run.
#[must_use]
pub fn canary(name: &str) -> String {
    format!("kvc_{name}_5f1c2a")
}

/// Something that a scan takes for a GitHub token, and that opens nothing.
#[must_use]
pub fn credential() -> String {
    format!("ghp_{}", "Zq8rT2mKx5Lw".repeat(3))
}

/// Makes of each rule a test for every store. A rule is an async function that takes an [`App`]; one
/// that stands behind a semicolon takes the [`Kind`] and builds the server itself.
#[macro_export]
macro_rules! on_every_store {
    ($($rule:ident),* $(,)? $(; $($built:ident),+ $(,)?)?) => {
        $crate::on_store!(memory, Memory, [$($rule)*], [$($($built)+)?]);
        $crate::on_store!(sqlite, Sqlite, [$($rule)*], [$($($built)+)?]);
        $crate::on_store!(postgres, Postgres, [$($rule)*], [$($($built)+)?]);
    };
}

/// Makes of each rule a test for every store that is an SQL database.
#[macro_export]
macro_rules! on_sql_stores {
    ($($rule:ident),+ $(,)?) => {
        $crate::on_store!(sqlite, Sqlite, [$($rule)+], []);
        $crate::on_store!(postgres, Postgres, [$($rule)+], []);
    };
}

/// One store's tests.
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
