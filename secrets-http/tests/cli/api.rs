//! Tests of the command `secrets api`.

use serde_json::json;

use crate::home::Home;
use crate::server::Server;
use crate::service::Scripted;

#[test]
fn a_request_is_sent_with_the_credential() {
    let server = Server::start();
    let home = server.home();

    let project = home.api("POST", "/projects", &json!({ "name": "Web API" }));

    assert_eq!(project["slug"], "web-api");
    let printed = home.ok(&["api", "get", "/api/v1/projects/web-api"]);
    assert!(printed.contains("Web API"));
    let named = home.ok(&["api", "POST", "projects", "-f", "name=Mailer"]);
    assert!(named.contains("mailer"));
}

#[test]
fn an_error_of_the_service_is_the_exit_code() {
    let server = Server::start();
    let home = server.home();

    home.run(&["api", "GET", "/projects/none"]).fails(68, "not found");

    let ended = home.run(&["-o", "json", "api", "GET", "/projects/none"]);
    let error: serde_json::Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(error["code"], "not_found");
}

#[test]
fn a_path_is_percent_encoded_once() {
    let service = Scripted::start(|_, _| (200, "{}".to_owned()));
    let home = service.home();

    home.ok(&["api", "GET", "/a%3Ab/c%20d%2Fe?from=1%3A2&x%20y=100%25"]);
    home.ok(&["api", "GET", "/api/v1/a:b/c d%2fe?from=1:2&x y=100%25"]);

    let request = "GET /api/v1/a:b/c%20d%2Fe?from=1%3A2&x+y=100%25";
    assert_eq!(service.requests(), [request, request]);
    for path in ["/a%", "/a%3", "/a%zz", "/a?b=%ff"] {
        home.run(&["api", "GET", path]).fails(64, "not percent-encoded correctly");
    }
}

#[test]
fn a_refused_field_is_not_repeated() {
    let ended = Home::new().run(&["api", "POST", "/projects", "-f", "kvc_1"]);

    assert!(!ended.fails(64, "must have the form KEY=VALUE").stderr.contains("kvc"), "{ended:?}");
}
