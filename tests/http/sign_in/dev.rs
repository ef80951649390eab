//! Tests of signing in with the links that the development service (`secrets-http dev`) prints.

use chrono::TimeDelta;
use secrets_tests::{App, Build, Kind, in_memory_and_on_postgres};

use super::{starts_no_session, user};

const HOST: &str = "http://127.0.0.1:8080";

async fn serve(kind: Kind) -> App {
    Build::on(kind).public_url(HOST).dev_links().start().await
}

async fn a_link_signs_in_once(kind: Kind) {
    let app = serve(kind).await;
    let (mut browser, mut other) = (app.browser(), app.browser());
    let link = format!("/sign-in/dev?code={}", app.dev_code("dev"));

    let page = browser.open(&link).await;
    let again = other.open(&link).await;

    assert!(page.is(200).text().contains(r#"<meta http-equiv="refresh" content="0; url=/">"#));
    assert_eq!(user(&app, &browser).await.email, "dev@example.com");
    starts_no_session(again.is(403));
    assert!(again.text().contains("secrets-http dev link"));
}

async fn a_link_and_a_token_are_of_the_same_account(kind: Kind) {
    let app = serve(kind).await;
    let dev = app.person("dev").await;
    let mut browser = app.browser();

    browser.open(&format!("/sign-in/dev?code={}", app.dev_code("dev"))).await.is(200);

    assert_eq!(user(&app, &browser).await.id.to_string(), dev.id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_valid_for_five_minutes() {
    let app = serve(Kind::Memory).await;
    let link = format!("/sign-in/dev?code={}", app.dev_code("dev"));

    app.wait(TimeDelta::minutes(5));

    starts_no_session(app.browser().open(&link).await.is(403));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_valid_at_the_process_that_ran_when_it_was_printed() {
    let app = serve(Kind::Memory).await;
    let link = format!("/sign-in/dev?code={}", app.dev_code("dev"));
    app.wait(TimeDelta::milliseconds(1));
    let restarted = app.restarted().await;

    starts_no_session(restarted.browser().open(&link).await.is(403));
    app.browser().open(&link).await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_code_nothing_is_offered() {
    let app = serve(Kind::Memory).await;
    let other = serve(Kind::Memory).await.dev_code("dev");
    let wrong = format!("{}A", app.dev_code("dev"));

    for query in ["", "?code=", "?code=x", &format!("?code={other}"), &format!("?code={wrong}")] {
        let reply = app.browser().open(&format!("/sign-in/dev{query}")).await;
        starts_no_session(reply.is(403));
        assert!(!reply.text().contains("<form") && !reply.text().contains("href"), "{query}");
    }
    let page = app.browser().open("/sign-in").await;
    assert!(!page.is(403).text().contains("<form") && !page.text().contains("href"));
}

in_memory_and_on_postgres!(; a_link_signs_in_once, a_link_and_a_token_are_of_the_same_account);
