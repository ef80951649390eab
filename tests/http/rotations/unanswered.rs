//! Tests of changes of a login without a response of the database, which may have made the change.

use chrono::TimeDelta;
use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, on_every_store};

use super::failures::{LOGINS, count, failing, served};

async fn a_change_without_an_answer_is_repeated_and_served(app: App) {
    let main = served(&app).await;
    app.database.script("apply", [Script::Lose(Fault::Interrupted)]);
    main.succeed().await;
    main.works(&app).await;
    // Here, the database did not receive the change.
    app.database.script("apply", [Script::Fail(Fault::Interrupted)]);
    main.succeed().await;
    main.works(&app).await;
}

async fn a_change_that_never_gets_an_answer_fails_without_effect(app: App) {
    let main = served(&app).await;

    let lost = [Script::Lose(Fault::Interrupted); 3];
    let (tries, _) = failing(&app, &main, &lost, "active").await;

    assert_eq!(tries, 3);
    main.succeed().await;
    main.works(&app).await;
}

async fn a_failure_that_changed_no_login_disables_none_later(app: App) {
    let main = served(&app).await;

    failing(&app, &main, &[Script::Fail(Fault::Unreachable); 4], "active").await;
    assert_eq!(main.record(&app).await.slots.retire_at, None);
    app.database.script("verify", [Script::Fail(Fault::ProbeRefused); LOGINS]);
    assert_eq!(main.rotate().await["status"], "rolled_back");

    assert_eq!(main.record(&app).await.slots.retire_at, None);
}

async fn a_login_that_may_have_changed_is_disabled_later(app: App) {
    let main = served(&app).await;

    // The result of the first try is unknown, and the second try is refused.
    let tries = [Script::Lose(Fault::Interrupted), Script::Fail(Fault::AdminRejected)];
    failing(&app, &main, &tries, "error").await;
    let before = count(&app, "lock");
    assert!(main.record(&app).await.slots.retire_at.is_some());

    app.wait(TimeDelta::minutes(5));
    main.settle(&app).await;

    assert_eq!(count(&app, "lock"), before + 1);
    assert_eq!(main.record(&app).await.slots.retire_at, None);
}

async fn a_change_without_an_answer_keeps_the_grace_period_of_the_previous_credential(app: App) {
    let main = served(&app).await;
    main.succeed().await;
    let retire_at = main.record(&app).await.slots.retire_at;
    assert!(retire_at.is_some());

    failing(&app, &main, &[Script::Lose(Fault::Interrupted); 3], "active").await;

    assert_eq!(main.record(&app).await.slots.retire_at, retire_at);
}

on_every_store![
    a_change_without_an_answer_is_repeated_and_served,
    a_change_that_never_gets_an_answer_fails_without_effect,
    a_failure_that_changed_no_login_disables_none_later,
    a_login_that_may_have_changed_is_disabled_later,
    a_change_without_an_answer_keeps_the_grace_period_of_the_previous_credential,
];
