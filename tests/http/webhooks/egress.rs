//! Tests of forbidden webhook addresses: the service must not send a packet to such an address.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use secrets_core::egress::Resolver;
use secrets_tests::{Build, Kind, Receiver, in_memory};
use serde_json::json;

use super::{EVENTS, World};

/// Host name resolver that returns a prepared list of addresses for each lookup; it repeats the
/// last list for all later lookups.
#[derive(Clone)]
struct Script(Arc<Mutex<VecDeque<Vec<IpAddr>>>>, Arc<Mutex<usize>>);

impl Script {
    fn of(answers: &[&[&str]]) -> Self {
        let list = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Self(Arc::new(Mutex::new(answers.iter().map(list).collect())), Arc::default())
    }

    fn asked(&self) -> usize {
        *self.1.lock().unwrap()
    }
}

#[async_trait]
impl Resolver for Script {
    async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        *self.1.lock().unwrap() += 1;
        let mut answers = self.0.lock().unwrap();
        if answers.len() > 1 {
            return Ok(answers.pop_front().unwrap());
        }
        Ok(answers.front().cloned().unwrap_or_default())
    }
}

/// Starts a server that resolves host names with this resolver, and may send webhooks only to
/// 127.0.0.2.
async fn world(kind: Kind, script: &Script) -> World {
    World::of(Build::on(kind).webhooks_by("127.0.0.2", script.clone()).start().await).await
}

async fn a_name_with_an_internal_address_is_not_dialled(kind: Kind) {
    let script = Script::of(&[&["127.0.0.1"]]);
    let world = world(kind, &script).await;
    let url = format!("https://hooks.example.com:{}/", world.receiver.address.port());
    let (webhook, _) = world.webhook(&url).await;
    world.test(&webhook).await;

    let delivery = world.tried(&webhook, 1).await;

    assert_eq!(
        (&delivery["status"], &delivery["response_status"]),
        (&json!("pending"), &json!(null))
    );
    assert_eq!((script.asked(), world.receiver.connections()), (1, 0));
}

async fn a_name_with_one_internal_address_is_not_dialled(kind: Kind) {
    let script = Script::of(&[&["127.0.0.2", "127.0.0.1"]]);
    let world = world(kind, &script).await;
    let port = world.receiver.address.port();
    let outside = Receiver::start_on([127, 0, 0, 2].into(), port).await;
    let (webhook, _) = world.webhook(&format!("https://hooks.example.com:{port}/")).await;
    world.test(&webhook).await;

    world.tried(&webhook, 1).await;

    assert_eq!((outside.connections(), world.receiver.connections()), (0, 0));
}

async fn a_name_that_changes_to_an_internal_address_is_not_dialled(kind: Kind) {
    let script = Script::of(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let world = world(kind, &script).await;
    let port = world.receiver.address.port();
    let outside = Receiver::start_on([127, 0, 0, 2].into(), port).await;
    let (webhook, _) = world.webhook(&format!("https://hooks.example.com:{port}/")).await;
    world.test(&webhook).await;

    world.tried(&webhook, 1).await;
    assert_eq!((script.asked(), outside.connections()), (1, 1), "what was judged is dialled");
    world.wait(chrono::TimeDelta::seconds(10));
    world.tried(&webhook, 2).await;

    assert_eq!((script.asked(), outside.connections()), (2, 1));
    assert_eq!(world.receiver.connections(), 0);
}

async fn a_redirect_to_an_internal_address_is_not_followed(kind: Kind) {
    let world = World::of(Build::on(kind).webhooks("127.0.0.2").start().await).await;
    let outside = Receiver::start_on([127, 0, 0, 2].into(), 0).await;
    for status in [301, 302, 303, 307, 308] {
        outside.answer(status, &[("location", &world.receiver.url("/"))]);
        let (webhook, _) = world.webhook(&outside.url("/")).await;
        world.test(&webhook).await;
        world.tried(&webhook, 1).await;
    }

    assert_eq!((outside.taken().len(), world.receiver.connections()), (5, 0));
}

async fn an_address_that_is_no_longer_allowed_is_not_dialled(kind: Kind) {
    let World { app, alice, webhooks, project, receiver } =
        World::of(Build::on(kind).webhooks("127.0.0.1").start().await).await;
    let body = json!({ "url": receiver.url("/"), "events": EVENTS });
    let webhook = alice.post(&webhooks, &body).await.is(201).id();
    let webhook = format!("{webhooks}/{webhook}");

    let app = app.stricter("127.0.0.2").await;
    let alice = app.person("alice").await;
    let world = World { app, alice, webhooks, project, receiver };
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    assert_eq!(world.receiver.connections(), 0);
}

async fn every_spelling_of_a_loopback_address_is_refused_and_not_dialled(kind: Kind) {
    let world = World::of(Build::on(kind).webhooks("127.0.0.2").start().await).await;
    let port = world.receiver.address.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0x7f000001",
        "0177.0.0.01",
        "127.0.0.1.",
        "0.0.0.0",
        "0",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "169.254.169.254",
        "100.100.100.200",
        "100.64.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "%31%32%37.0.0.1",
    ];

    for host in hosts {
        let body = json!({ "url": format!("https://{host}:{port}/"), "events": EVENTS });
        world.alice.post(&world.webhooks, &body).await.is(400).names("url");
    }
    assert_eq!(world.receiver.connections(), 0);
}

in_memory![;
    a_name_with_an_internal_address_is_not_dialled,
    a_name_with_one_internal_address_is_not_dialled,
    a_name_that_changes_to_an_internal_address_is_not_dialled,
    a_redirect_to_an_internal_address_is_not_followed,
    an_address_that_is_no_longer_allowed_is_not_dialled,
    every_spelling_of_a_loopback_address_is_refused_and_not_dialled,
];
