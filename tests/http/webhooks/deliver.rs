//! Tests of webhook deliveries that succeed.

use secrets_core::retention;
use secrets_tests::{Build, Kind, Receiver, on_every_store, paths};
use serde_json::json;
use standardwebhooks::Webhook;

use super::{HERE, World, deliver};

async fn a_delivery_is_signed_as_the_standard_requires(kind: Kind) {
    let world = World::on(kind).await;
    let (webhook, secret) = world.webhook(&world.receiver.url("/hooks?token=kvc_path")).await;

    let id = world.test(&webhook).await;

    let taken = world.receiver.wait_for(1).await.remove(0);
    assert_eq!(taken.line, "POST /hooks?token=kvc_path");
    assert_eq!(taken.header("content-type"), "application/json");
    assert!(taken.header("user-agent").starts_with("secrets/"));
    assert_eq!(taken.header("webhook-id"), format!("msg_{id}"));
    assert_eq!(taken.header("host"), world.receiver.address.to_string());
    let seconds: i64 = taken.header("webhook-timestamp").parse().unwrap();
    let now = secrets_core::model::Clock::now(world.app.clock.as_ref());
    assert_eq!(seconds, now.timestamp());
    let verifier = Webhook::new(&secret).unwrap();
    let expected = verifier.sign(&format!("msg_{id}"), seconds, taken.body.as_bytes()).unwrap();
    assert_eq!(taken.header("webhook-signature"), expected);
}

async fn a_test_event_names_its_rotation(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;

    let id = world.test(&webhook).await;

    let message = world.receiver.wait_for(1).await[0].json();
    let project = world.alice.get(&world.project).await.json();
    let environment = paths::environment(&world.project, "production");
    let environment = world.alice.get(&environment).await.id();
    let rotation = &world.alice.get(&world.webhooks).await.json()[0]["rotation_config_id"];
    let expected = json!({
        "type": "webhook.test",
        "id": format!("msg_{id}"),
        "timestamp": secrets_tests::STARTED,
        "data": {
            "rotation_id": rotation,
            "rotation_name": "main-db",
            "integration_type": "postgresql",
            "team_id": world.alice.team,
            "project_id": project["project"]["id"].as_str().or(project["id"].as_str()),
            "project_slug": "main",
            "environment_id": environment,
            "environment_name": "production",
        },
    });
    assert_eq!(message, expected);
}

async fn an_accepted_delivery_is_marked_and_not_sent_again(kind: Kind) {
    // A background worker would count a delivery only after it is marked.
    let world = World::of(Build::on(kind).webhooks(HERE).without_workers().start().await).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(204, &[]);

    world.test(&webhook).await;

    let delivery = world.tried(&webhook, 1).await;
    assert_eq!(
        (&delivery["status"], &delivery["event"]),
        (&json!("delivered"), &json!("webhook.test"))
    );
    let counts = world.app.service.engine().counts();
    assert_eq!(counts.deliveries, [("done", 1), ("retried", 0), ("given_up", 0)]);
    assert_eq!(delivery["response_status"], 204);
    assert_eq!(delivery["next_attempt_at"], json!(null));
    world.wait(chrono::TimeDelta::days(2));
    deliver(&world.app).await;
    assert_eq!(world.receiver.taken().len(), 1);
}

async fn a_delivery_can_be_sent_again_with_the_same_id(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    let id = world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    let path = format!("{webhook}/deliveries/{id}/redeliver");
    let again = world.alice.post(&path, &json!({})).await.is(200).json();

    assert_eq!((&again["id"], &again["status"]), (&json!(id), &json!("pending")));
    let taken = world.receiver.wait_for(2).await;
    assert_eq!(taken[0].header("webhook-id"), taken[1].header("webhook-id"));
    assert_eq!(taken[0].body, taken[1].body);
    world.app.entry(&world.alice.team, "webhook.redelivered").await;
}

async fn a_pending_delivery_is_not_sent_a_second_time(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(500, &[]);
    let id = world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    let path = format!("{webhook}/deliveries/{id}/redeliver");
    world.alice.post(&path, &json!({})).await.is(400).says("this delivery is still pending");
    let unknown = format!("{webhook}/deliveries/0191d0a0-0000-7000-8000-000000000000/redeliver");
    world.alice.post(&unknown, &json!({})).await.is(404).says("delivery not found");
}

async fn a_webhook_is_tested_five_times_a_minute_at_most(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    for _ in 0..5 {
        world.test(&webhook).await;
    }

    let path = format!("{webhook}/test");
    world.alice.post(&path, &json!({})).await.is(429);

    world.wait(chrono::TimeDelta::seconds(60));
    world.alice.post(&path, &json!({})).await.is(200);
}

async fn repeated_deliveries_count_as_tests(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    let id = world.test(&webhook).await;
    let path = format!("{webhook}/deliveries/{id}/redeliver");
    for _ in 0..4 {
        world.tried(&webhook, 1).await;
        world.alice.post(&path, &json!({})).await.is(200);
    }
    world.tried(&webhook, 1).await;

    world.alice.post(&path, &json!({})).await.is(429);
    world.alice.post(&format!("{webhook}/test"), &json!({})).await.is(429);

    world.wait(chrono::TimeDelta::seconds(60));
    world.alice.post(&path, &json!({})).await.is(200);
}

async fn deliveries_of_a_deleted_webhook_are_not_sent(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(500, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    world.alice.delete(&webhook).await.is(204);

    world.wait(chrono::TimeDelta::hours(1));
    deliver(&world.app).await;
    assert_eq!(world.receiver.taken().len(), 1);
}

async fn deliveries_of_a_deleted_project_are_not_sent(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(500, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    world.alice.delete(&world.project).await.is(204);

    world.wait(chrono::TimeDelta::hours(1));
    deliver(&world.app).await;
    assert_eq!(world.receiver.taken().len(), 1);
}

async fn deliveries_are_deleted_after_30_days(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    world.wait(chrono::TimeDelta::days(29));
    retention::delete_old(world.app.service.engine()).await.unwrap();
    let later = world.app.person("alice").await;
    let listed = later.get(&format!("{webhook}/deliveries")).await.is(200).json();
    assert_eq!(listed["deliveries"].as_array().unwrap().len(), 1);

    world.wait(chrono::TimeDelta::days(2));
    retention::delete_old(world.app.service.engine()).await.unwrap();
    let later = world.app.person("alice").await;
    let listed = later.get(&format!("{webhook}/deliveries")).await.is(200).json();
    assert_eq!(listed, json!({ "deliveries": [] }));
}

async fn each_webhook_gets_its_own_delivery(kind: Kind) {
    let world = World::on(kind).await;
    let other = Receiver::start().await;
    let first = world.webhook_here().await;
    let (second, _) = world.webhook(&other.url("/")).await;

    world.test(&first).await;
    world.test(&second).await;

    world.receiver.wait_for(1).await;
    other.wait_for(1).await;
    assert_eq!((world.receiver.taken().len(), other.taken().len()), (1, 1));
}

on_every_store![;
    a_delivery_is_signed_as_the_standard_requires,
    a_test_event_names_its_rotation,
    an_accepted_delivery_is_marked_and_not_sent_again,
    a_delivery_can_be_sent_again_with_the_same_id,
    a_pending_delivery_is_not_sent_a_second_time,
    a_webhook_is_tested_five_times_a_minute_at_most,
    repeated_deliveries_count_as_tests,
    deliveries_of_a_deleted_webhook_are_not_sent,
    deliveries_of_a_deleted_project_are_not_sent,
    deliveries_are_deleted_after_30_days,
    each_webhook_gets_its_own_delivery,
];
