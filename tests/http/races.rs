//! Tests with 64 concurrent requests. Each test checks the exact outcome.

mod accounts;
mod environments;
mod limits;
mod members;
mod permissions;
mod projects;
mod reads;
mod secrets;
mod tokens;

use std::sync::Arc;

use secrets_tests::{App, Client, Reply};
use tokio::sync::Barrier;

/// Number of concurrent clients.
const CROWD: usize = 64;

/// Concurrent clients, each with its own open connection.
struct Crowd(Vec<Client>);

impl Crowd {
    /// Creates 64 clients with the same credential.
    async fn of(app: &App, credential: &str) -> Self {
        let mut clients = Vec::new();
        for _ in 0..CROWD {
            let client = app.bearer(credential);
            client.get("/health").await.is(200);
            clients.push(client);
        }
        Self(clients)
    }

    /// Calls `act` with the number of each client and the client, and runs the returned futures
    /// concurrently. Returns their results.
    async fn race<F, T>(self, act: impl Fn(usize, Client) -> F) -> Vec<T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let start = Arc::new(Barrier::new(self.0.len()));
        let tasks = self.0.into_iter().enumerate().map(|(number, client)| {
            let (start, act) = (Arc::clone(&start), act(number, client));
            tokio::spawn(async move {
                start.wait().await;
                act.await
            })
        });
        let mut outcomes = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            outcomes.push(task.await.unwrap());
        }
        outcomes
    }
}

/// Counts the replies with this status.
fn count(replies: &[Reply], status: u16) -> usize {
    replies.iter().filter(|reply| reply.status == status).count()
}

/// Asserts that every reply has one of two statuses. `first` and `second` are a status and the
/// expected number of replies with it.
#[track_caller]
fn outcome(replies: &[Reply], first: (u16, usize), second: (u16, usize)) {
    let found = [(first.0, count(replies, first.0)), (second.0, count(replies, second.0))];
    let others: Vec<_> =
        replies.iter().filter(|reply| ![first.0, second.0].contains(&reply.status)).collect();
    assert!(others.is_empty(), "{others:#?}");
    assert_eq!(found, [first, second]);
}
