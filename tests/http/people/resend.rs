//! Tests of sending an invitation again.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, Person, Reply, in_memory_and_on_postgres};
use serde_json::{Value, json};

use super::{accept, invitations, invite, token, unknown};

async fn resend(person: &Person, invitation: &Value) -> Reply {
    let id = invitation["id"].as_str().unwrap();
    person.post(&format!("{}/{id}/resend", invitations(person)), &json!({})).await
}

async fn listed(person: &Person) -> Value {
    person.get(&invitations(person)).await.is(200).json()[0].clone()
}

async fn an_invitation_that_is_sent_again_has_a_new_token_and_a_new_week(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let sent = invite(&alice, "bob").await;
    app.wait(TimeDelta::hours(3));

    let reply = resend(&alice, &sent).await;

    assert_eq!((reply.is(200).body.len(), reply.header("content-length")), (0, Some("0")));
    let again = listed(&alice).await;
    assert_eq!(again["id"], sent["id"]);
    assert_eq!(again["created_at"], "2026-11-21T12:00:10Z");
    assert_eq!(again["last_sent_at"], "2026-11-21T15:00:10Z");
    assert_eq!(again["expires_at"], "2026-11-28T15:00:10Z");
    assert_ne!(token(&again), token(&sent));
    unknown(&accept(&bob, &token(&sent)).await);
    accept(&bob, &token(&again)).await.is(200);
}

async fn the_first_resend_is_never_refused_and_the_next_waits_a_minute(app: App) {
    let alice = app.person("alice").await;
    let sent = invite(&alice, "bob").await;
    resend(&alice, &sent).await.is(200);
    let first = token(&listed(&alice).await);
    app.wait(TimeDelta::seconds(18));

    let refused = resend(&alice, &sent).await;

    refused.is(429).code("rate_limited");
    assert_eq!(refused.number("retry-after"), 42);
    assert_eq!(token(&listed(&alice).await), first, "the one that was sent is still good");
    app.wait(TimeDelta::seconds(42));
    resend(&alice, &sent).await.is(200);
    resend(&alice, &sent).await.is(429);
}

async fn each_invitation_has_its_own_resend_interval(app: App) {
    let alice = app.person("alice").await;
    let (bob, carol) = (invite(&alice, "bob").await, invite(&alice, "carol").await);
    resend(&alice, &bob).await.is(200);

    resend(&alice, &carol).await.is(200);
}

async fn only_owners_and_admins_send_again_or_revoke(app: App) {
    let (alice, bob, eve) =
        (app.person("alice").await, app.person("bob").await, app.person("eve").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let sent = invite(&alice, "carol").await;
    let path = format!("{}/{}", invitations(&alice), sent["id"].as_str().unwrap());

    for person in [&bob, &eve] {
        person.post(&format!("{path}/resend"), &json!({})).await.is(403);
        person.delete(&path).await.is(403);
    }

    assert_eq!(token(&listed(&alice).await), token(&sent));
}

async fn an_unknown_invitation_is_not_sent_again(app: App) {
    let alice = app.person("alice").await;

    for id in [super::UNKNOWN, "nonsense"] {
        let path = format!("{}/{id}", invitations(&alice));
        unknown(&alice.post(&format!("{path}/resend"), &json!({})).await);
        unknown(&alice.delete(&path).await);
    }
}

in_memory_and_on_postgres![
    an_invitation_that_is_sent_again_has_a_new_token_and_a_new_week,
    the_first_resend_is_never_refused_and_the_next_waits_a_minute,
    each_invitation_has_its_own_resend_interval,
    only_owners_and_admins_send_again_or_revoke,
    an_unknown_invitation_is_not_sent_again,
];
