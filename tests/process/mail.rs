//! Tests of invitations that are sent to a real mail server.

use std::fs;
use std::path::Path;
use std::time::Duration;

use secrets_tests::Person;
use serde_json::json;

use crate::mail_server::MailServer;
use crate::program::{Program, Running, folder};
use crate::provider::free_port;

const LINKS: &str = "https://secrets.test/base";

fn serve(name: &str, folder: &Path, port: u16) -> Running {
    Program::serve(name, &folder.join("secrets.db"))
        .with("SECRETS_PUBLIC_URL", LINKS)
        .with("SECRETS_SMTP_URL", &format!("smtp://service:kvc_password@127.0.0.1:{port}"))
        .with("SECRETS_SMTP_FROM", "Secrets <no-reply@secrets.test>")
        .start()
}

async fn invite(alice: &Person, email: &str) {
    let path = format!("/api/v1/teams/{}/members", alice.team);
    let place = alice.post(&path, &json!({ "email": email })).await.is(201).json();
    assert_eq!(place.get("accept_url"), None);
}

/// Decodes the quoted-printable encoding of a mail message (RFC 2045): joins lines, and decodes
/// `=3D`.
fn unfolded(message: &str) -> String {
    message.replace("=\r\n", "").replace("=3D", "=")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invitation_arrives_and_is_accepted_with_its_link() {
    let folder = folder("mail");
    let port = free_port();
    let server = MailServer::start(port, &folder, "0");
    let program = serve("mail", &folder, port);
    let (alice, bob) = (program.person("alice").await, program.person("bob").await);

    invite(&alice, "bob@example.com").await;

    let message = unfolded(&server.wait_for(1).await[0]);
    assert!(message.contains("RCPT TO:<bob@example.com>"), "{message}");
    assert!(message.contains("From: Secrets <no-reply@secrets.test>"), "{message}");
    let (_, rest) = message.split_once(&format!("{LINKS}/invitations/")).unwrap();
    let token = rest.lines().next().unwrap();
    bob.post(&format!("/api/v1/invitations/{token}/accept"), &json!({})).await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enqueued_mail_is_sent_once_after_a_kill() {
    let folder = folder("mail_kill");
    let port = free_port();
    let program = serve("mail_kill", &folder, port);
    let alice = program.person("alice").await;
    for number in 0..5 {
        invite(&alice, &format!("guest{number}@example.com")).await;
    }

    program.kill();
    let server = MailServer::start(port, &folder, "0");
    let program = serve("mail_kill", &folder, port);

    server.wait_for(5).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(server.messages().len(), 5);
    drop(program);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_temporary_refusal_is_retried() {
    is_retried("mail_later", "1", "451").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_waits_until_the_password_of_the_mail_server_is_accepted() {
    is_retried("mail_login", "login", "535").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_that_the_server_does_not_relay_is_retried() {
    is_retried("mail_relay", "relay", "550").await;
}

/// Asserts that a mail arrives although the server refuses it once (`refuse`) with this code.
async fn is_retried(name: &str, refuse: &str, code: &str) {
    let folder = folder(name);
    let port = free_port();
    let server = MailServer::start(port, &folder, refuse);
    let program = serve(name, &folder, port);
    let alice = program.person("alice").await;

    invite(&alice, "bob@example.com").await;

    server.wait_for(1).await;
    let log = fs::read_to_string(crate::program::log_path(name)).unwrap();
    assert!(log.contains(&format!("the mail server answered {code}")), "{log}");
    assert!(!log.contains("bob@example.com"), "no address is in the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permanent_refusal_is_not_retried() {
    let folder = folder("mail_never");
    let port = free_port();
    let server = MailServer::start(port, &folder, "for-good");
    let program = serve("mail_never", &folder, port);
    let alice = program.person("alice").await;

    invite(&alice, "bob@example.com").await;

    let path = crate::program::log_path("mail_never");
    for _ in 0..100 {
        if fs::read_to_string(&path).unwrap().contains("refused for good") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let log = fs::read_to_string(&path).unwrap();
    assert!(log.contains("refused for good"), "{log}");
    assert!(log.contains("the mail server answered 550"), "{log}");
    assert!(!log.contains("bob@example.com"), "no address is in the log");
    assert_eq!(server.messages(), Vec::<String>::new());
}
