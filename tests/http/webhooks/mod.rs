//! Tests of the endpoints for the webhooks of a rotation, and of the deliveries to webhooks.

mod create;
mod deliver;
mod egress;
mod events;
mod failing;
mod fair;
mod hidden;
mod list;
mod nodes;
mod unreadable;

use secrets_core::outbox;
use std::time::Duration;

use chrono::TimeDelta;
use secrets_core::rotations::webhooks::WebhookDeliveries;
use secrets_tests::{App, Build, Kind, Person, Receiver, paths};
use serde_json::{Value, json};

/// Addresses to which the test servers may send webhooks.
const HERE: &str = "127.0.0.1,127.0.0.2";

const EVENTS: [&str; 3] = ["rotation.started", "rotation.completed", "rotation.failed"];

/// Server with webhooks, the user Alice with a rotation, and a webhook receiver.
struct World {
    app: App,
    alice: Person,
    /// URL path of the webhooks of the rotation.
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

    /// Creates a webhook that sends all events to this URL. Returns the path and the signing secret
    /// of the webhook.
    async fn webhook(&self, url: &str) -> (String, String) {
        let body = json!({ "url": url, "events": EVENTS });
        let made = self.alice.post(&self.webhooks, &body).await.is(201).json();
        let path = format!("{}/{}", self.webhooks, made["id"].as_str().unwrap());
        (path, made["secret"].as_str().unwrap().to_owned())
    }

    /// Creates a webhook that sends all events to the test receiver. Returns the path of the
    /// webhook.
    async fn webhook_here(&self) -> String {
        self.webhook(&self.receiver.url("/")).await.0
    }

    /// Requests a test delivery to a webhook, and returns the ID of the delivery.
    async fn test(&self, webhook: &str) -> String {
        self.alice.post(&format!("{webhook}/test"), &json!({})).await.is(200).id()
    }

    /// Returns the deliveries to a webhook, newest first.
    async fn deliveries(&self, webhook: &str) -> Vec<Value> {
        let reply = self.alice.get(&format!("{webhook}/deliveries")).await.is(200).json();
        reply["deliveries"].as_array().unwrap().clone()
    }

    /// Sends due deliveries until the service has attempted the newest delivery to a webhook this
    /// number of times. Returns this delivery.
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

    /// Returns true if the webhook with this path is enabled.
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

/// Sends all webhook deliveries whose send time has come.
async fn deliver(app: &App) {
    while outbox::deliver_due(app.service.engine(), &WebhookDeliveries).await.unwrap() > 0 {}
}
