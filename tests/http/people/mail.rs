//! Tests of invitations that are sent by mail.

use chrono::TimeDelta;
use secrets_core::invitations::InvitationMail;
use secrets_core::model::Clock as _;
use secrets_core::outbox;
use secrets_core::testing::fixtures;
use secrets_tests::{Answer, App, Build, Kind, MAIL_LINKS, Person, on_every_store, until};
use serde_json::{Value, json};

use super::{accept, invitations, invite, unknown};

/// Starts a server that sends mail, and signs in a user, who has a personal team.
async fn world(kind: Kind) -> (App, Person) {
    let app = Build::on(kind).mail().start().await;
    let alice = app.person("alice").await;
    (app, alice)
}

/// Sends all pending mail whose send time has come.
async fn deliver(app: &App) {
    while outbox::deliver_due(app.service.engine(), &InvitationMail).await.unwrap() > 0 {}
}

/// Returns all mail that is not sent yet, including mail that is scheduled for later.
async fn waiting(app: &App) -> Vec<secrets_core::store::DeliveryRecord> {
    let later = app.clock.now() + TimeDelta::days(365);
    app.store.read().await.unwrap().due_deliveries("invitation", later, None, 100).await.unwrap()
}

/// Sends pending mail until exactly this number of messages has been sent and none is waiting. A
/// background worker of the server may send some of them.
async fn sent(app: &App, number: usize) {
    until(&format!("{number} messages are sent"), async || {
        deliver(app).await;
        app.mailer.sent().len() == number && waiting(app).await.is_empty()
    })
    .await;
}

/// Sends pending mail until this attempt to send the only message has failed, and its result is
/// stored. A background worker of the server may make the attempt.
async fn failed(app: &App, attempt: u32) {
    until(&format!("attempt {attempt} has failed"), async || {
        deliver(app).await;
        let row = &waiting(app).await[0];
        // During an attempt, the row is claimed.
        row.attempts == attempt && row.next_attempt_at != app.clock.now() + CLAIM
    })
    .await;
}

async fn an_invitation_is_mailed_with_the_link_that_accepts_it(kind: Kind) {
    let (app, alice) = world(kind).await;
    let bob = app.person("bob").await;

    invite(&alice, "bob").await;
    sent(&app, 1).await;

    let message = app.mailer.sent().remove(0);
    assert_eq!(message.to, "bob@example.com");
    assert_eq!(message.subject, "Invitation to the team \"alice's Team\"");
    assert_eq!(
        message.text,
        format!(
            "alice (alice@example.com) invites you to the team \"alice's Team\".\n\n\
             To join, follow the instructions on this page before 2026-11-28 12:00 UTC:\n\n\
             {MAIL_LINKS}/invitations/{}\n\n\
             If you did not expect this invitation, ignore it: \
             you join the team only if you accept.\n",
            message.token()
        )
    );
    accept(&bob, &message.token()).await.is(200);
}

async fn where_mail_is_sent_the_inviter_is_given_no_link(kind: Kind) {
    let (_app, alice) = world(kind).await;

    let place = invite(&alice, "bob").await;

    let list = alice.get(&invitations(&alice)).await.is(200).json();
    assert_eq!((place.get("accept_url"), list[0].get("accept_url")), (None, None));
    assert_eq!(list[0]["email"], "bob@example.com");
}

async fn a_pending_mail_contains_no_token_and_no_address(kind: Kind) {
    let (app, alice) = world(kind).await;
    app.mailer.answer(Answer::Fails);

    let place = invite(&alice, "bob").await;

    let row = waiting(&app).await.remove(0);
    let payload: Value = serde_json::from_str(&row.payload).unwrap();
    assert_eq!(row.kind, "invitation");
    assert_eq!(payload, json!({ "invitation": place["id"], "number": 1 }));
}

async fn a_refused_request_leaves_nothing_to_be_sent(kind: Kind) {
    let (app, alice) = world(kind).await;
    let path = super::members(&alice);

    alice.post(&path, &json!({ "email": "alice@example.com" })).await.is(400);
    alice.post(&path, &json!({ "email": "bob" })).await.is(400);

    assert_eq!(waiting(&app).await, []);
}

async fn names_in_mail_are_no_links(kind: Kind) {
    let (app, alice) = world(kind).await;
    let name = "Verify at http://evil.example/login or x@evil.example, St. John: now";
    let team = alice.post("/api/v1/teams", &json!({ "name": name })).await.is(201).json();
    let path = format!("/api/v1/teams/{}/members", team["id"].as_str().unwrap());

    alice.post(&path, &json!({ "email": "bob@example.com" })).await.is(201);
    sent(&app, 1).await;

    let message = app.mailer.sent().remove(0);
    let unlinked = "Verify at http: / / evil. example/ login or x@ evil. example, St. John: now";
    assert_eq!(message.subject, format!("Invitation to the team \"{unlinked}\""));
    assert!(message.text.contains(unlinked) && !message.text.contains("evil.example"));
}

async fn a_user_sends_100_invitations_a_day(kind: Kind) {
    let (app, alice) = world(kind).await;
    let team = alice.post("/api/v1/teams", &json!({ "name": "Second" })).await.is(201).json();
    let second = format!("/api/v1/teams/{}/members", team["id"].as_str().unwrap());
    let email = |number: u32| json!({ "email": format!("person{number}@example.com") });
    for number in 0..99 {
        alice.post(&super::members(&alice), &email(number)).await.is(201);
    }
    let last = alice.post(&second, &email(0)).await.is(201).json();

    for path in [&second, &super::members(&alice)] {
        let refused = alice.post(path, &email(100)).await;
        refused.is(429).code("rate_limited");
        let until_midnight = 86_400 - app.clock.now().timestamp().rem_euclid(86_400);
        assert_eq!(refused.header("retry-after"), Some(until_midnight.to_string().as_str()));
    }
    let id = last["invitation_id"].as_str().unwrap();
    let team = team["id"].as_str().unwrap();
    let resend = format!("/api/v1/teams/{team}/invitations/{id}/resend");
    alice.post(&resend, &json!({})).await.is(429);
    app.person("bob").await.post(&second, &email(100)).await.is(403);
    app.wait(TimeDelta::hours(12));
    alice.post(&second, &email(100)).await.is(201);
    alice.post(&resend, &json!({})).await.is(200);
}

async fn an_address_is_sent_10_invitations_a_day(kind: Kind) {
    let (app, _) = world(kind).await;
    let victim = app.person("victim").await;
    for number in 0..10 {
        let person = app.person(&format!("person{number}")).await;
        assert_eq!(invite(&person, "victim").await.get("accept_url"), None);
    }
    sent(&app, 10).await;
    let late = app.person("late").await;

    let kept = invite(&late, "victim").await;
    let path = format!("{}/{}/resend", invitations(&late), kept["id"].as_str().unwrap());
    late.post(&path, &json!({})).await.is(429).code("rate_limited");

    // No mail is sent, so the inviter gets the link.
    sent(&app, 10).await;
    assert!(kept["accept_url"].as_str().unwrap().contains("/invitations/"));
    let listed = victim.get("/api/v1/invitations").await.is(200).json();
    assert_eq!(listed.as_array().unwrap().len(), 11);
    assert_eq!(invite(&late, "other").await.get("accept_url"), None);
    app.wait(TimeDelta::hours(12));
    late.post(&path, &json!({})).await.is(200);
    sent(&app, 12).await;
}

async fn a_link_that_was_not_mailed_accepts_the_invitation(kind: Kind) {
    let (app, _) = world(kind).await;
    let bob = app.person("bob").await;
    for number in 0..10 {
        invite(&app.person(&format!("person{number}")).await, "bob").await;
    }
    let late = app.person("late").await;

    let place = invite(&late, "bob").await;

    accept(&bob, &super::token(&place)).await.is(200);
}

async fn a_user_sends_an_address_3_invitations_a_day(kind: Kind) {
    let (app, alice) = world(kind).await;
    let mut teams = vec![super::members(&alice)];
    for name in ["Second", "Third", "Fourth"] {
        let team = alice.post("/api/v1/teams", &json!({ "name": name })).await.is(201).json();
        teams.push(format!("/api/v1/teams/{}/members", team["id"].as_str().unwrap()));
    }
    let email = json!({ "email": "bob@example.com" });
    for path in &teams[..3] {
        alice.post(path, &email).await.is(201);
    }

    alice.post(&teams[3], &email).await.is(429).code("rate_limited");

    alice.post(&teams[3], &json!({ "email": "carol@example.com" })).await.is(201);
    let dora = app.person("dora").await;
    assert_eq!(invite(&dora, "bob").await.get("accept_url"), None);
    app.wait(TimeDelta::hours(12));
    alice.post(&teams[3], &email).await.is(201);
}

async fn without_mail_invitations_are_not_limited(app: App) {
    let email = json!({ "email": "friend@example.com" });
    for number in 0..11 {
        let person = app.person(&format!("person{number}")).await;
        let place = person.post(&super::members(&person), &email).await.is(201).json();
        assert!(place["accept_url"].is_string());
    }
}

async fn an_invitation_that_is_sent_again_is_mailed_with_its_new_token(kind: Kind) {
    let (app, alice) = world(kind).await;
    let bob = app.person("bob").await;
    let place = invite(&alice, "bob").await;
    sent(&app, 1).await;

    let path = format!("{}/{}/resend", invitations(&alice), place["id"].as_str().unwrap());
    alice.post(&path, &json!({})).await.is(200);
    sent(&app, 2).await;

    let messages = app.mailer.sent();
    assert_ne!(messages[0].token(), messages[1].token());
    unknown(&accept(&bob, &messages[0].token()).await);
    accept(&bob, &messages[1].token()).await.is(200);
}

async fn a_revoked_invitation_is_not_sent(kind: Kind) {
    let (app, alice) = world(kind).await;
    app.mailer.answer(Answer::Fails);
    let place = invite(&alice, "bob").await;
    failed(&app, 1).await;
    let path = format!("{}/{}", invitations(&alice), place["id"].as_str().unwrap());
    alice.delete(&path).await.is(204);

    app.mailer.answer(Answer::Takes);
    app.wait(TimeDelta::minutes(10));
    sent(&app, 0).await;
}

async fn a_failed_mail_is_retried_with_growing_delays(kind: Kind) {
    let (app, alice) = world(kind).await;
    app.mailer.answer(Answer::Fails);
    invite(&alice, "bob").await;

    for (attempt, pause) in [(1, 5), (2, 60), (3, 300)] {
        failed(&app, attempt).await;
        assert_eq!(app.mailer.tried(), usize::try_from(attempt).unwrap());
        app.wait(TimeDelta::seconds(pause - 1));
        deliver(&app).await;
        assert_eq!(waiting(&app).await[0].attempts, attempt, "not before its time");
        app.wait(TimeDelta::seconds(1));
    }
    app.mailer.answer(Answer::Takes);
    sent(&app, 1).await;
}

/// Time for which a server process reserves (claims) a message, so that no other process sends the
/// message too.
const CLAIM: TimeDelta = TimeDelta::minutes(2);

async fn a_mail_that_always_fails_is_given_up(kind: Kind) {
    let (app, alice) = world(kind).await;
    app.mailer.answer(Answer::Fails);
    invite(&alice, "bob").await;

    for _ in 0..40 {
        deliver(&app).await;
        app.wait(TimeDelta::hours(11));
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }

    assert_eq!(waiting(&app).await, []);
    assert!(app.mailer.tried() <= 8, "{}", app.mailer.tried());
}

async fn a_mail_whose_record_cannot_be_read_is_retried_and_given_up(kind: Kind) {
    let app = Build::on(kind).mail().without_workers().start().await;
    // The payload of this delivery contains no invitation ID.
    let unreadable = fixtures::delivery(app.clock.now());
    let mut tx = app.store.begin().await.unwrap();
    tx.insert_delivery(&unreadable).await.unwrap();
    tx.commit().await.unwrap();

    for (attempts, pause) in (1..).zip([5, 60, 300, 1_800, 7_200, 18_000, 36_000]) {
        deliver(&app).await;
        let row = waiting(&app).await.remove(0);
        let again = app.clock.now() + TimeDelta::seconds(pause);
        assert_eq!((row.attempts, row.next_attempt_at), (attempts, again));
        app.wait(TimeDelta::seconds(pause));
        let listed = ("delivery".to_owned(), unreadable.id.to_string(), u64::from(attempts));
        assert_eq!(app.failing().await, [listed]);
    }
    deliver(&app).await;

    assert_eq!(waiting(&app).await, []);
    assert_eq!(app.failing().await, [("delivery".to_owned(), unreadable.id.to_string(), 8)]);
}

async fn a_permanently_refused_mail_is_not_retried(kind: Kind) {
    let (app, alice) = world(kind).await;
    app.mailer.answer(Answer::Refuses);

    invite(&alice, "bob").await;
    sent(&app, 0).await;

    assert_eq!(app.mailer.tried(), 1);
}

async fn two_nodes_send_nothing_twice(kind: Kind) {
    let (app, alice) = world(kind).await;
    let other = app.restarted().await;

    for number in 0..20 {
        invite(&alice, &format!("guest{number}")).await;
        tokio::join!(deliver(&app), deliver(&other), deliver(&app), deliver(&other));
    }
    sent(&app, 20).await;

    let mut recipients: Vec<_> = app.mailer.sent().into_iter().map(|message| message.to).collect();
    recipients.sort();
    recipients.dedup();
    assert_eq!((recipients.len(), app.mailer.tried()), (20, 20));
}

async fn an_abandoned_claim_ends(kind: Kind) {
    let (app, alice) = world(kind).await;
    app.mailer.answer(Answer::Fails);
    invite(&alice, "bob").await;
    failed(&app, 1).await;
    // Stores the state that a node leaves if it dies during a delivery.
    let row = waiting(&app).await.remove(0);
    let mut tx = app.store.begin().await.unwrap();
    let claimed = secrets_core::store::DeliveryRecord {
        attempts: row.attempts + 1,
        next_attempt_at: app.clock.now() + CLAIM,
        ..row
    };
    tx.claim_delivery(&claimed).await.unwrap();
    tx.commit().await.unwrap();
    app.mailer.answer(Answer::Takes);
    app.wait(CLAIM - TimeDelta::seconds(1));
    deliver(&app).await;
    assert_eq!(app.mailer.sent(), []);

    app.wait(TimeDelta::seconds(1));

    sent(&app, 1).await;
}

on_every_store![without_mail_invitations_are_not_limited;
    an_invitation_is_mailed_with_the_link_that_accepts_it,
    where_mail_is_sent_the_inviter_is_given_no_link,
    a_pending_mail_contains_no_token_and_no_address,
    a_refused_request_leaves_nothing_to_be_sent,
    names_in_mail_are_no_links,
    a_user_sends_100_invitations_a_day,
    an_address_is_sent_10_invitations_a_day,
    a_link_that_was_not_mailed_accepts_the_invitation,
    a_user_sends_an_address_3_invitations_a_day,
    an_invitation_that_is_sent_again_is_mailed_with_its_new_token,
    a_revoked_invitation_is_not_sent,
    a_failed_mail_is_retried_with_growing_delays,
    a_mail_that_always_fails_is_given_up,
    a_mail_whose_record_cannot_be_read_is_retried_and_given_up,
    a_permanently_refused_mail_is_not_retried,
    two_nodes_send_nothing_twice,
    an_abandoned_claim_ends,
];
