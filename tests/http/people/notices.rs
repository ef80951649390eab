//! Tests of notices by e-mail, about failing rotations and about tokens that expire soon.

use chrono::{NaiveTime, TimeDelta};
use secrets_core::model::{Clock as _, Role};
use secrets_core::notices::{NoticeMail, announce_expiring_tokens};
use secrets_core::outbox;
use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{
    Answer, App, Build, Kind, MAIL_LINKS, Message, Person, Rotated, on_every_store, paths,
    postgresql,
};
use serde_json::json;

use super::members;

/// Starts a server that sends mail and has no background workers.
async fn server(kind: Kind) -> App {
    Build::on(kind).mail().workers(Vec::new()).start().await
}

/// Sends all notices whose send time has come.
async fn deliver(app: &App) {
    while outbox::deliver_due(app.service.engine(), &NoticeMail).await.unwrap() > 0 {}
}

/// Sends the notices about tokens that expire soon. Returns the messages that this call has sent,
/// sorted by recipient.
async fn announced(app: &App) -> Vec<Message> {
    let before = app.mailer.sent().len();
    announce_expiring_tokens(app.service.engine()).await.unwrap();
    deliver(app).await;
    let mut sent = app.mailer.sent().split_off(before);
    sent.sort_by_key(|message| message.to.clone());
    sent
}

fn recipients(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.to.as_str()).collect()
}

/// Signs in a user and adds the user to the personal team of `owner`, with this role.
async fn join(app: &App, owner: &Person, name: &'static str, role: Role) -> Person {
    let person = app.person(name).await;
    app.join(&owner.team, &person.id, role).await;
    person
}

async fn fail(app: &App, rotation: &Rotated) {
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);
    assert_eq!(rotation.rotate().await["status"], "failed");
}

async fn owners_and_admins_get_mail_about_a_rotation_that_fails(kind: Kind) {
    let app = server(kind).await;
    let main = Rotated::create(&app, "alice").await;
    join(&app, &main.person, "bob", Role::Admin).await;
    join(&app, &main.person, "carol", Role::Member).await;
    main.succeed().await;
    deliver(&app).await;
    assert_eq!(app.mailer.sent(), [], "a success is no notice");

    fail(&app, &main).await;
    deliver(&app).await;

    let mut sent = app.mailer.sent();
    sent.sort_by_key(|message| message.to.clone());
    assert_eq!(recipients(&sent), ["alice@example.com", "bob@example.com"]);
    assert_eq!(sent[0].subject, "The rotation \"main-db\" in shop/staging fails");
    let expected = format!(
        "The rotation \"main-db\" of the environment staging in the project shop failed:\n\n\
         {}\n\n\
         Readers still get the credential of the last successful rotation. The service tries again, \
         for at most 30 days.\n\n\
         All attempts are in the history of the rotation:\n\
         {MAIL_LINKS}/api/v1/projects/shop/environments/staging/rotations/main-db/history\n",
        Fault::AdminRejected.sentence()
    );
    assert_eq!(sent[0].text, expected);
}

async fn a_rotation_is_announced_once_a_day(kind: Kind) {
    let app = server(kind).await;
    let mut main = Rotated::create(&app, "alice").await;
    for _ in 0..3 {
        fail(&app, &main).await;
    }
    deliver(&app).await;
    assert_eq!(app.mailer.sent().len(), 1);

    // The second notice is sent a day after the first notice, and the third notice a day later.
    for (hours, mails) in [(0, 1), (23, 1), (1, 2), (0, 2), (24, 3)] {
        app.wait(TimeDelta::hours(hours));
        main.use_by(&app).await;
        main.succeed().await;
        fail(&app, &main).await;
        deliver(&app).await;
        assert_eq!(app.mailer.sent().len(), mails, "{hours}");
    }
}

/// Checks that a waiting notice is sent even if its attempt has been deleted, as happens after 200
/// further attempts.
async fn a_rotation_is_announced_although_its_attempt_was_deleted(kind: Kind) {
    let app = server(kind).await;
    let main = Rotated::create(&app, "alice").await;
    fail(&app, &main).await;
    let rotation = main.record(&app).await.id;
    let mut tx = app.store.begin().await.unwrap();
    assert_eq!(tx.trim_attempts(rotation, 0, 9).await.unwrap(), 1);
    tx.commit().await.unwrap();

    deliver(&app).await;

    let sent = app.mailer.sent();
    assert_eq!(recipients(&sent), ["alice@example.com"]);
    assert!(sent[0].text.contains(Fault::AdminRejected.sentence()), "{}", sent[0].text);
}

async fn a_rotation_that_works_again_before_the_mail_is_sent_is_not_announced(kind: Kind) {
    let app = server(kind).await;
    let main = Rotated::create(&app, "alice").await;

    fail(&app, &main).await;
    main.succeed().await;
    deliver(&app).await;

    assert_eq!(app.mailer.tried(), 0);
}

async fn owners_and_admins_get_mail_a_week_before_a_token_expires(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    join(&app, &alice, "bob", Role::Admin).await;
    join(&app, &alice, "carol", Role::Member).await;
    let body = json!({ "name": "deploy", "all_projects": true, "expires_in_days": 30 });
    let created = alice.post("/api/v1/tokens", &body).await.is(201).json();
    assert_eq!(announced(&app).await, []);

    app.wait(TimeDelta::days(23) - TimeDelta::seconds(1));
    assert_eq!(announced(&app).await, [], "not before its time");
    app.wait(TimeDelta::seconds(1));
    let sent = announced(&app).await;

    assert_eq!(recipients(&sent), ["alice@example.com", "bob@example.com"]);
    assert_eq!(sent[0].subject, "The service token \"deploy\" expires on 2026-12-21");
    let prefix = created["token_prefix"].as_str().unwrap();
    let expected = format!(
        "The service token \"deploy\" ({prefix}…) of the team \"alice's Team\" at {MAIL_LINKS} \
         expires at 2026-12-21 12:00 UTC. It has never been used.\n\n\
         Programs that use the token are refused from then on. Create a new token, give it to \
         these programs, and then delete the old one.\n"
    );
    assert_eq!(sent[0].text, expected);
    assert_eq!(announced(&app).await, [], "once");
}

async fn a_token_that_lives_for_a_week_is_not_announced(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    for days in [1, 7] {
        alice.token(&json!({ "all_projects": true, "expires_in_days": days })).await;
    }
    alice.token(&json!({ "all_projects": true })).await;

    assert_eq!(announced(&app).await, []);
    app.wait(TimeDelta::hours(23));
    assert_eq!(announced(&app).await, []);
}

async fn a_token_that_is_deleted_before_the_mail_is_sent_is_not_announced(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    let body = json!({ "name": "deploy", "all_projects": true, "expires_in_days": 8 });
    let token = alice.post("/api/v1/tokens", &body).await.is(201).id();
    app.wait(TimeDelta::days(2));
    announce_expiring_tokens(app.service.engine()).await.unwrap();

    app.person("alice").await.delete(&format!("/api/v1/tokens/{token}")).await.is(204);
    deliver(&app).await;

    assert_eq!(app.mailer.tried(), 0);
}

async fn two_nodes_announce_a_token_once(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    for _ in 0..5 {
        alice.token(&json!({ "all_projects": true, "expires_in_days": 8 })).await;
    }
    app.wait(TimeDelta::days(2));

    let engine = app.service.engine();
    let (first, second) =
        tokio::join!(announce_expiring_tokens(engine), announce_expiring_tokens(engine));
    first.unwrap();
    second.unwrap();
    deliver(&app).await;

    assert_eq!(app.mailer.sent().len(), 5);
}

async fn an_address_that_is_refused_does_not_keep_the_mail_from_the_others(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    join(&app, &alice, "bob", Role::Admin).await;
    alice.token(&json!({ "all_projects": true, "expires_in_days": 8 })).await;
    app.wait(TimeDelta::days(2));
    announce_expiring_tokens(app.service.engine()).await.unwrap();
    // Replaces the pending notice with one notice for each recipient.
    outbox::deliver_due(app.service.engine(), &NoticeMail).await.unwrap();
    app.mailer.answer(Answer::Refuses);
    let claimed = outbox::claim_due(app.service.engine(), &NoticeMail, 1).await.unwrap();
    for one in claimed {
        outbox::deliver(app.service.engine(), &NoticeMail, one).await.unwrap();
    }
    app.mailer.answer(Answer::Takes);

    deliver(&app).await;

    assert_eq!((app.mailer.tried(), app.mailer.sent().len()), (2, 1));
}

async fn a_member_who_left_gets_no_mail(kind: Kind) {
    let app = server(kind).await;
    let main = Rotated::create(&app, "alice").await;
    let bob = join(&app, &main.person, "bob", Role::Admin).await;
    fail(&app, &main).await;
    outbox::deliver_due(app.service.engine(), &NoticeMail).await.unwrap();
    main.person.delete(&format!("{}/{}", members(&main.person), bob.id)).await.is(204);

    deliver(&app).await;

    assert_eq!(recipients(&app.mailer.sent()), ["alice@example.com"]);
}

async fn a_notice_that_waits_holds_only_ids(kind: Kind) {
    let app = server(kind).await;
    let main = Rotated::create(&app, "alice").await;

    fail(&app, &main).await;

    let now = app.clock.now();
    let due = app.store.read().await.unwrap().due_deliveries("notice", now, None, 9).await.unwrap();
    let id = main.history().await[0]["id"].clone();
    let payload: serde_json::Value = serde_json::from_str(&due[0].payload).unwrap();
    let rotation = main.record(&app).await.id;
    let ids = json!({ "topic": { "failed_attempt": id }, "rotation": rotation, "to": null });
    assert_eq!(payload, ids);
}

async fn a_rotation_that_is_deleted_before_the_mail_is_sent_is_not_announced(kind: Kind) {
    let app = server(kind).await;
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    fail(&app, &main).await;
    app.database.script("lock", [Script::Fail(Fault::Unreachable); 2]);

    // The database logins of the rotation cannot be disabled, so the rotation is not deleted.
    let refused = main.person.delete(&format!("{}?revoke=true", main.path)).await;
    assert!(refused.status >= 400, "{refused:?}");
    assert_eq!(main.shown().await["status"], "disabled");
    deliver(&app).await;

    assert_eq!(app.mailer.tried(), 0);
}

async fn a_mail_that_fails_is_sent_later(kind: Kind) {
    let app = server(kind).await;
    let main = Rotated::create(&app, "alice").await;
    fail(&app, &main).await;
    app.mailer.answer(Answer::Fails);
    deliver(&app).await;
    app.mailer.answer(Answer::Takes);

    app.wait(TimeDelta::seconds(5));
    deliver(&app).await;

    assert_eq!((app.mailer.tried(), app.mailer.sent().len()), (2, 1));
}

async fn without_a_mail_server_nothing_is_announced_until_there_is_one(kind: Kind) {
    let app = Build::on(kind).workers(Vec::new()).start().await;
    let mut main = Rotated::create(&app, "alice").await;
    main.person.token(&json!({ "all_projects": true, "expires_in_days": 8 })).await;
    app.wait(TimeDelta::days(2));
    main.use_by(&app).await;
    fail(&app, &main).await;
    announce_expiring_tokens(app.service.engine()).await.unwrap();

    assert_eq!(main.record(&app).await.announced_at, None);
    let now = app.clock.now();
    let mut reads = app.store.read().await.unwrap();
    assert_eq!(reads.due_deliveries("notice", now, None, 9).await.unwrap(), []);
    let expiring = reads.expiring_tokens(now, now + TimeDelta::days(7), 9).await.unwrap();
    assert_eq!(expiring.len(), 1, "it is announced once there is a mail server");
}

async fn at_most_twenty_get_a_notice(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    for number in 0..25 {
        let admin = app.person(&format!("admin{number}")).await;
        app.join(&alice.team, &admin.id, Role::Admin).await;
    }
    join(&app, &alice, "zoe", Role::Owner).await;
    alice.token(&json!({ "all_projects": true, "expires_in_days": 8 })).await;
    app.wait(TimeDelta::days(2));

    let sent = announced(&app).await;

    assert_eq!(sent.len(), 20);
    for owner in ["alice@example.com", "zoe@example.com"] {
        assert!(recipients(&sent).contains(&owner), "owners first");
    }
}

async fn a_team_gets_at_most_100_notices_about_tokens_in_a_day(kind: Kind) {
    let app = server(kind).await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let expiring = |days: u32| json!({ "all_projects": true, "expires_in_days": days });
    for _ in 0..103 {
        alice.token(&expiring(8)).await;
    }
    alice.token(&expiring(10)).await;
    bob.token(&expiring(8)).await;
    app.wait(TimeDelta::days(2));

    let sent = announced(&app).await;

    let to = |address: &str| sent.iter().filter(|message| message.to.as_str() == address).count();
    assert_eq!((to("alice@example.com"), to("bob@example.com")), (100, 1));
    app.wait(TimeDelta::hours(1));
    assert_eq!(announced(&app).await, []);
    app.wait(TimeDelta::days(1));
    let next_day = announced(&app).await;
    assert_eq!(recipients(&next_day), ["alice@example.com"], "no skipped token is announced");
}

/// Counts notices about rotations of a team on the current day, as if they had been sent.
async fn count_notices(app: &App, team: &str, number: usize) {
    let day = (app.clock.now() + TimeDelta::days(1)).date_naive();
    let counter = format!("failing-rotations/{team}");
    let mut tx = app.store.begin().await.unwrap();
    for _ in 0..number {
        tx.count_message(&counter, day.and_time(NaiveTime::MIN).and_utc()).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn a_team_gets_at_most_100_notices_about_rotations_in_a_day(kind: Kind) {
    let app = server(kind).await;
    let mut main = Rotated::create(&app, "alice").await;
    let other = Rotated::create(&app, "bob").await;
    let rotations = paths::rotations(&main.project, "staging");
    main.person.post(&rotations, &postgresql("second-db")).await.is(201);
    let second = format!("{rotations}/second-db/rotate");
    count_notices(&app, &main.person.team, 99).await;

    fail(&app, &main).await;
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);
    main.person.post(&second, &json!({})).await.is(200);
    fail(&app, &other).await;
    deliver(&app).await;

    let mut sent = app.mailer.sent();
    sent.sort_by_key(|message| message.to.clone());
    assert_eq!(recipients(&sent), ["alice@example.com", "bob@example.com"]);
    // The second rotation had no notice, so its next failure on another day has one.
    app.wait(TimeDelta::days(1));
    main.use_by(&app).await;
    main.person.post(&second, &json!({})).await.is(200);
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);
    main.person.post(&second, &json!({})).await.is(200);
    deliver(&app).await;
    let sent = app.mailer.sent();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[2].subject, "The rotation \"second-db\" in shop/staging fails");
}

on_every_store![;
    owners_and_admins_get_mail_about_a_rotation_that_fails,
    a_rotation_is_announced_once_a_day,
    a_rotation_is_announced_although_its_attempt_was_deleted,
    a_rotation_that_works_again_before_the_mail_is_sent_is_not_announced,
    owners_and_admins_get_mail_a_week_before_a_token_expires,
    a_token_that_lives_for_a_week_is_not_announced,
    a_token_that_is_deleted_before_the_mail_is_sent_is_not_announced,
    two_nodes_announce_a_token_once,
    an_address_that_is_refused_does_not_keep_the_mail_from_the_others,
    a_member_who_left_gets_no_mail,
    a_notice_that_waits_holds_only_ids,
    a_rotation_that_is_deleted_before_the_mail_is_sent_is_not_announced,
    a_mail_that_fails_is_sent_later,
    without_a_mail_server_nothing_is_announced_until_there_is_one,
    at_most_twenty_get_a_notice,
    a_team_gets_at_most_100_notices_about_tokens_in_a_day,
    a_team_gets_at_most_100_notices_about_rotations_in_a_day,
];
