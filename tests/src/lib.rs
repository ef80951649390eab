//! What the tests of the whole are made of: a server over any store, people and tokens that talk to
//! it over sockets, and their replies.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test stops where it fails")]

mod app;
mod person;
mod reply;
mod stores;

pub use app::{App, Build};
pub use person::{Client, Person};
pub use reply::Reply;
pub use stores::Kind;

/// A value that is looked for everywhere it must not be, once the suite has run.
#[must_use]
pub fn canary(name: &str) -> String {
    format!("kvc_{name}_5f1c2a")
}

/// Makes of each rule (an async function that takes an [`App`]) a test for every store.
#[macro_export]
macro_rules! on_every_store {
    ($($rule:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                super::$rule($crate::App::start($crate::Kind::Memory).await).await;
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                super::$rule($crate::App::start($crate::Kind::Sqlite).await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                super::$rule($crate::App::start($crate::Kind::Postgres).await).await;
            })+
        }
    };
}
