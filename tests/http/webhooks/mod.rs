//! `…/rotations/{rotationName}/webhooks`, and what arrives at them.

mod create;
mod deliver;
mod egress;
mod failing;
mod hidden;
mod list;
mod nodes;

use std::time::Duration;

use chrono::TimeDelta;
use secrets_core::outbox::Channel;
use secrets_tests::{App, Build, Kind, Person, Receiver, paths};
use serde_json::{Value, json};

/// Where receivers of tests are.
const HERE: &str = "127.0.0.1,127.0.0.2";

const EVENTS: [&str; 3] = ["rotation.started", "rotation.completed", "rotation.failed"];

/// A server that tells webhooks, somebody with a rotation, and a receiver.
struct World {
    app: App,
    alice: Person,
    /// Where the rotation's webhooks are.
    webhooks: String,
    project: String,
    receiver: Receiver,
}

impl World {
    async fn of(app: App) -> Self {
        let alice = app.person("alice").await;
        let project = alice.project("main").await;
        app.rotation(&alice, &project, "production", "main-db").await;
        let webhooks = paths::webhooks(&project, "production", "main-db");
        Self { app, alice, webhooks, project, receiver: Receiver::start().await }
    }

    async fn on(kind: Kind) -> Self {
        Self::of(Build::on(kind).webhooks(HERE).start().await).await
    }

    /// Makes a webhook, and gives its path and what signs.
    async fn webhook(&self, url: &str) -> (String, String) {
        let body = json!({ "url": url, "events": EVENTS });
        let made = self.alice.post(&self.webhooks, &body).await.is(201).json();
        let path = format!("{}/{}", self.webhooks, made["id"].as_str().unwrap());
        (path, made["secret"].as_str().unwrap().to_owned())
    }

    /// Makes a webhook where the receiver is, and gives its path.
    async fn webhook_here(&self) -> String {
        self.webhook(&self.receiver.url("/")).await.0
    }

    /// Sends a webhook a test, and gives the delivery's id.
    async fn test(&self, webhook: &str) -> String {
        self.alice.post(&format!("{webhook}/test"), &json!({})).await.is(200).id()
    }

    /// What a webhook was told, newest first.
    async fn deliveries(&self, webhook: &str) -> Vec<Value> {
        let reply = self.alice.get(&format!("{webhook}/deliveries")).await.is(200).json();
        reply["deliveries"].as_array().unwrap().clone()
    }

    /// The only thing a webhook was told, once it was tried so often.
    async fn tried(&self, webhook: &str, attempts: u64) -> Value {
        for _ in 0..400 {
            deliver(&self.app).await;
            let delivery = self.deliveries(webhook).await.remove(0);
            if delivery["attempts"] == attempts {
                return delivery;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("not tried {attempts} times: {:?}", self.deliveries(webhook).await);
    }

    /// Whether a webhook is enabled.
    async fn is_enabled(&self, webhook: &str) -> bool {
        let listed = self.alice.get(&self.webhooks).await.is(200).json();
        let webhooks = listed.as_array().unwrap();
        let found = webhooks.iter().find(|one| webhook.ends_with(one["id"].as_str().unwrap()));
        found.unwrap()["enabled"].as_bool().unwrap()
    }

    fn wait(&self, by: TimeDelta) {
        self.app.wait(by);
    }
}

/// Sends what is due now.
async fn deliver(app: &App) {
    while app.service.deliver_due(Channel::Webhooks).await.unwrap() > 0 {}
}
