//! Tests of rotations that fail: the number of retries, the history entry, and the state of the
//! rotation afterwards. In every case, logins with the credential that the secrets contain still
//! succeed.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use secrets_core::model::rotations::Slot;
use secrets_core::model::{Clock as _, RotationId};
use secrets_core::ports::rotator::Fault;
use secrets_core::rotations::slot_user;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Build, Kind, Rotated, on_every_store};
use serde_json::{Value, json};

/// Number of times that the service tries to log in with a new credential, within 60 seconds,
/// before the attempt fails.
pub(super) const LOGINS: usize = 11;

/// Creates a rotation and runs it once successfully.
pub(super) async fn served(app: &App) -> Rotated {
    let main = Rotated::create(app, "alice").await;
    main.succeed().await;
    main
}

/// Returns the number of times that the service has called the function `call` of the fake
/// database, such as `apply`.
pub(super) fn count(app: &App, call: &str) -> usize {
    app.database.calls().into_iter().filter(|known| *known == call).count()
}

/// Returns the passwords, without duplicates, of the last `number` changes sent to the database.
fn last_passwords(app: &App, number: usize) -> BTreeSet<String> {
    app.database.passwords().into_iter().rev().take(number).collect()
}

/// Runs a rotation while the fake database fails as `scripts` say. Asserts that the rotation fails,
/// has this status afterwards, and that readers still get the previous credential, with which
/// logins succeed. Returns the number of changes sent to the database, and the rotation as the API
/// shows it.
pub(super) async fn failing(
    app: &App,
    main: &Rotated,
    scripts: &[Script],
    status: &str,
) -> (usize, Value) {
    let (before, applied_before) = (main.served().await, count(app, "apply"));
    app.database.script("apply", scripts.iter().copied());

    let entry = main.rotate().await;

    assert_eq!(entry["status"], "failed", "{entry}");
    let shown = main.shown().await;
    assert_eq!(shown["status"], status, "{shown}");
    assert_eq!(entry["error_message"], shown["error_message"]);
    let id = secrets_core::model::ids::parse(shown["id"].as_str().unwrap()).unwrap();
    let mut reads = app.store.read().await.unwrap();
    let last = reads.concluded_attempts(RotationId::from(id), 1).await.unwrap().remove(0);
    drop(reads);
    assert!(last.pending.is_none(), "the password of a failed attempt is still stored");
    assert!(last.error_code.is_some(), "{last:?}");
    assert_eq!(main.served().await, before);
    main.works(app).await;
    let tries = count(app, "apply") - applied_before;
    assert_eq!(usize::try_from(last.tries).unwrap(), tries);
    (tries, shown)
}

fn user(shown: &Value, slot: Slot) -> String {
    let id = secrets_core::model::ids::parse(shown["id"].as_str().unwrap()).unwrap();
    slot_user(RotationId::from(id), slot)
}

fn until_next(app: &App, shown: &Value) -> TimeDelta {
    let next: DateTime<Utc> = shown["next_rotation_at"].as_str().unwrap().parse().unwrap();
    next - app.clock.now()
}

async fn a_database_that_cannot_be_reached_is_tried_four_times(app: App) {
    let main = served(&app).await;

    let (tries, shown) =
        failing(&app, &main, &[Script::Fail(Fault::Unreachable); 4], "active").await;

    assert_eq!(tries, 4);
    assert_eq!(last_passwords(&app, 4).len(), 1, "a retry sent another password");
    let message = "cannot reach the database: no answer in time, or the address is not permitted";
    assert_eq!(shown["error_message"], message);
    // The next attempt is in five minutes, with a jitter of a tenth.
    let pause = until_next(&app, &shown);
    assert!((pause - TimeDelta::minutes(5)).abs() <= TimeDelta::seconds(30), "{pause}");
    main.succeed().await;
    assert_eq!(main.shown().await.get("error_message"), None);
}

async fn a_name_that_does_not_resolve_is_tried_once_like_an_address_that_is_not_permitted(
    app: App,
) {
    let main = served(&app).await;

    let (tries, unresolved) =
        failing(&app, &main, &[Script::Fail(Fault::Unresolved)], "active").await;
    let (_, refused) = failing(&app, &main, &[Script::Fail(Fault::NotAllowed)], "error").await;

    assert_eq!(tries, 1);
    assert_eq!(unresolved["error_message"], refused["error_message"]);
    let pause = until_next(&app, &unresolved);
    assert!((pause - TimeDelta::minutes(5)).abs() <= TimeDelta::seconds(30), "{pause}");
}

async fn attempts_are_counted_by_their_results(kind: Kind) {
    // A background worker would count an attempt only after its result is stored.
    let app = Build::on(kind).without_workers().start().await;
    let main = served(&app).await;
    failing(&app, &main, &[Script::Fail(Fault::Unresolved)], "active").await;

    let counts = app.service.engine().counts();

    assert_eq!(counts.rotations, [("success", 1), ("failed", 1), ("rolled_back", 0)]);
}

async fn a_database_that_answers_at_the_fourth_try_is_rotated(app: App) {
    let main = served(&app).await;
    let before = main.served().await;
    app.database.script("apply", [Script::Fail(Fault::Unreachable); 3]);

    main.succeed().await;

    assert_ne!(main.served().await.0, before.0);
    main.works(&app).await;
}

async fn five_failures_in_a_row_are_an_error(app: App) {
    let main = served(&app).await;
    for failure in 1..=4_i32 {
        let (_, shown) =
            failing(&app, &main, &[Script::Fail(Fault::Unreachable); 4], "active").await;
        let pause = until_next(&app, &shown);
        let nominal = TimeDelta::minutes(5) * 2_i32.pow(u32::try_from(failure).unwrap() - 1);
        assert!((pause - nominal).abs() <= nominal / 10, "{failure}: {pause}");
    }

    let (_, shown) = failing(&app, &main, &[Script::Fail(Fault::Unreachable); 4], "error").await;

    assert_eq!(until_next(&app, &shown), TimeDelta::days(1));
}

async fn a_success_resets_the_number_of_failures(app: App) {
    let main = served(&app).await;
    for _ in 0..4 {
        failing(&app, &main, &[Script::Fail(Fault::Unreachable); 4], "active").await;
    }

    main.succeed().await;

    failing(&app, &main, &[Script::Fail(Fault::Unreachable); 4], "active").await;
}

async fn a_failure_that_needs_a_user_is_an_error_at_once(app: App) {
    let main = served(&app).await;
    let faults = [
        Fault::AdminRejected,
        Fault::TlsNotOffered,
        Fault::TlsUntrusted,
        Fault::Identity,
        Fault::Privilege,
        Fault::NoDatabase,
        Fault::NotAllowed,
        Fault::Protocol,
        Fault::Unsupported,
        Fault::ProxyRefused,
        Fault::ProxyUntrusted,
    ];

    for fault in faults {
        let (tries, shown) = failing(&app, &main, &[Script::Fail(fault)], "error").await;

        assert_eq!(tries, 1, "{fault:?}");
        assert_eq!(shown["error_message"], fault.sentence());
        assert_eq!(until_next(&app, &shown), TimeDelta::days(1));
    }
    main.succeed().await;
    assert_eq!(main.shown().await["status"], "active");
}

async fn a_password_that_a_policy_refuses_is_generated_again_twice(app: App) {
    let main = served(&app).await;
    app.database.script("apply", [Script::Fail(Fault::PasswordPolicy); 2]);
    let applied_before = count(&app, "apply");

    main.succeed().await;

    assert_eq!(count(&app, "apply") - applied_before, 3);
    assert_eq!(last_passwords(&app, 3).len(), 3, "a refused password was sent again");
    main.works(&app).await;
    let refusals = [Script::Fail(Fault::PasswordPolicy); 3];
    let (tries, shown) = failing(&app, &main, &refusals, "error").await;
    assert_eq!(tries, 3);
    assert_eq!(shown["error_message"], Fault::PasswordPolicy.sentence());
}

async fn a_lock_that_is_held_is_tried_three_times_at_once(app: App) {
    let main = served(&app).await;
    app.database.script("apply", [Script::Fail(Fault::Busy); 2]);
    main.succeed().await;
    main.works(&app).await;

    let (tries, _) = failing(&app, &main, &[Script::Fail(Fault::Busy); 3], "active").await;

    assert_eq!(tries, 3);
}

async fn a_credential_that_does_not_work_is_disabled_again(app: App) {
    let main = served(&app).await;
    let before = main.served().await;
    let other = user(&main.shown().await, Slot::B);
    app.database.script("verify", [Script::Fail(Fault::ProbeRefused); LOGINS]);

    let entry = main.rotate().await;

    assert_eq!(entry["status"], "rolled_back");
    let message = "the new credential did not work: the rotated user does not have the privileges of permission_level";
    assert_eq!(entry["error_message"], message);
    let shown = main.shown().await;
    assert_eq!([&shown["status"], &shown["error_message"]], ["active", message]);
    assert_eq!(main.served().await, before);
    main.works(&app).await;
    assert!(app.database.is_shut_out(&other), "the new user can still log in");
    let entry = app.entry(&main.person.team, "rotation.rolled_back").await;
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(details["code"], "not_verified");
    assert_eq!(details["triggered_by"], main.person.id.as_str());
    assert_eq!(entry.outcome, "failure");
}

async fn a_rejected_login_with_the_new_credential_is_not_blamed_on_the_administrator(app: App) {
    let main = served(&app).await;
    app.database.script("verify", [Script::Fail(Fault::AdminRejected); LOGINS]);

    let entry = main.rotate().await;

    let message =
        "the new credential did not work: the server rejected the rotated user's password";
    assert_eq!([&entry["status"], &entry["error_message"]], ["rolled_back", message]);
}

async fn a_credential_that_works_after_a_while_is_served(app: App) {
    let main = served(&app).await;
    app.database.script("verify", [Script::Fail(Fault::LoginRejected); LOGINS - 1]);

    main.succeed().await;

    main.works(&app).await;
}

async fn a_failure_is_recorded_with_the_requesting_user(app: App) {
    let main = served(&app).await;
    failing(&app, &main, &[Script::Fail(Fault::AdminRejected)], "error").await;

    let log = format!("/api/v1/audit?outcome=failure&team_id={}", main.person.team);
    let logs = main.person.get(&log).await.is(200).json()["logs"].clone();

    let failed: Vec<_> = logs.as_array().unwrap().iter().collect();
    assert_eq!(failed.len(), 1, "{logs}");
    assert_eq!([&failed[0]["action"], &failed[0]["resource_name"]], ["rotation.failed", "main-db"]);
    assert_eq!([&failed[0]["project_name"], &failed[0]["environment_name"]], ["Shop", "staging"]);
    let metadata = &failed[0]["metadata"];
    assert_eq!(
        [&metadata["trigger_type"], &metadata["triggered_by"]],
        ["manual", main.person.id.as_str()]
    );
}

async fn three_rollbacks_in_a_row_are_an_error(app: App) {
    let main = served(&app).await;
    let mut statuses = Vec::new();

    for _ in 0..3 {
        app.database.script("verify", [Script::Fail(Fault::ProbeRefused); LOGINS]);
        assert_eq!(main.rotate().await["status"], "rolled_back");
        // The status shows that the service has checked the served credential, which still works.
        statuses.push(main.shown().await["status"].clone());
    }

    assert_eq!(statuses, ["active", "active", "error"]);
    main.works(&app).await;
}

async fn a_login_that_cannot_be_disabled_is_an_error_and_retried_later(app: App) {
    let main = served(&app).await;
    let other = user(&main.shown().await, Slot::B);
    app.database.script("verify", [Script::Fail(Fault::ProbeRefused); LOGINS]);
    app.database.script("lock", [Script::Fail(Fault::Unreachable)]);

    let entry = main.rotate().await;

    assert_eq!(entry["status"], "failed");
    let message = entry["error_message"].as_str().unwrap();
    assert!(message.contains(&format!("the user {other} may still have a password")), "{message}");
    assert_eq!(main.shown().await["status"], "error");
    assert!(!app.database.is_shut_out(&other));
    app.wait(TimeDelta::minutes(5) + TimeDelta::seconds(1));
    main.settle(&app).await;
    assert!(app.database.is_shut_out(&other));
    main.works(&app).await;
}

async fn a_server_that_accepts_any_password_is_a_success_with_a_warning(app: App) {
    let main = Rotated::create(&app, "alice").await;
    app.database.trust();

    let entry = main.rotate().await;

    let warning = "the server accepts any password for the rotated user";
    assert_eq!([&entry["status"], &entry["error_message"]], ["success", warning]);
    let shown = main.shown().await;
    assert_eq!([&shown["status"], &shown["error_message"]], ["active", warning]);
}

async fn another_server_is_not_changed_until_the_rotation_is_resumed(app: App) {
    let main = Rotated::create(&app, "alice").await;
    app.database.become_another("first");
    main.succeed().await;
    app.database.become_another("second");
    let entry = main.rotate().await;
    assert_eq!([&entry["status"], &entry["error_message"]], ["failed", Fault::Identity.sentence()]);
    assert_eq!(main.shown().await["status"], "error");

    let body = json!({ "status": "active" });
    let shown = main.person.put(&main.path, &body).await.is(200).json();

    assert_eq!(shown["status"], "active");
    assert_eq!(shown.get("error_message"), None);
    main.succeed().await;
    main.works(&app).await;
}

async fn a_record_that_cannot_be_decrypted_is_an_error(app: App) {
    let main = served(&app).await;
    let mut record = main.record(&app).await;
    record.settings.connection = secrets_tests::flipped(&record.settings.connection, 40);
    let mut tx = app.store.begin().await.unwrap();
    tx.update_rotation(&record).await.unwrap();
    tx.commit().await.unwrap();

    let entry = main.rotate().await;

    let message = "the stored records of this rotation cannot be decrypted";
    assert_eq!([&entry["status"], &entry["error_message"]], ["failed", message]);
    assert_eq!(main.shown().await["status"], "error");
    main.works(&app).await;
    let item = ("rotation record".to_owned(), record.id.uuid().to_string(), 1);
    assert_eq!(app.failing().await, [item]);
}

on_every_store![
    a_database_that_cannot_be_reached_is_tried_four_times,
    a_name_that_does_not_resolve_is_tried_once_like_an_address_that_is_not_permitted,
    a_database_that_answers_at_the_fourth_try_is_rotated,
    five_failures_in_a_row_are_an_error,
    a_success_resets_the_number_of_failures,
    a_failure_that_needs_a_user_is_an_error_at_once,
    a_password_that_a_policy_refuses_is_generated_again_twice,
    a_lock_that_is_held_is_tried_three_times_at_once,
    a_credential_that_does_not_work_is_disabled_again,
    a_rejected_login_with_the_new_credential_is_not_blamed_on_the_administrator,
    a_credential_that_works_after_a_while_is_served,
    a_failure_is_recorded_with_the_requesting_user,
    three_rollbacks_in_a_row_are_an_error,
    a_login_that_cannot_be_disabled_is_an_error_and_retried_later,
    a_server_that_accepts_any_password_is_a_success_with_a_warning,
    another_server_is_not_changed_until_the_rotation_is_resumed,
    a_record_that_cannot_be_decrypted_is_an_error;
    attempts_are_counted_by_their_results,
];
