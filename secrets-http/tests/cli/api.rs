//! Tests of the command `secrets api`.

use serde_json::json;

use crate::server::Server;

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
