//! Tests of the commands `secrets list` and `secrets get`.

use serde_json::json;

use crate::server::Server;

const SECRETS: &str = "/projects/web/environments/staging/secrets";

#[test]
fn a_value_is_printed_as_it_is() {
    let server = Server::start();
    let home = server.home().with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging");
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    home.api("POST", SECRETS, &json!({ "key": "KEY", "value": "kvc_a\nb " }));

    assert_eq!(home.ok(&["get", "KEY"]), "kvc_a\nb ");
    assert_eq!(home.ok(&["-o", "name", "list"]), "KEY\n");
    assert!(!home.ok(&["list"]).contains("kvc_"));
    home.run(&["get", "NONE"]).fails(68, "secret not found");
}
