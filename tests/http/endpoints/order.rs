//! Tests that the server refuses malformed requests after it authenticates the caller, and before
//! it looks up any object.

use secrets_tests::{App, Client, Reply};

use super::policy::{POLICY, Rule, Target};
use super::requests::Names;
use super::world::World;

/// Malformed request bodies: not JSON, not an object, and an object whose fields all have the wrong
/// type.
const MALFORMED: [&str; 3] = [
    "{",
    "[]",
    r#"{"name":7,"key":7,"value":7,"secrets":7,"changes":7,"team_id":7,"project_ids":7,"email":7,"role":7,"url":7,"events":7,"include_secrets":7}"#,
];

async fn a_malformed_request_is_reported_after_authentication_and_before_lookups(app: App) {
    let world = World::build(&app).await;
    let before = world.dump(&app).await;

    let mut wrong = Vec::new();
    for rule in POLICY.iter().filter(|rule| takes_input(rule)) {
        for target in [Target::Own, Target::Unknown] {
            let names = Names::lasting(&world, target);
            for principal in &world.principals {
                let expected = rule.refusal_of_kind(principal.caller).unwrap_or(400);
                for reply in malformed(&principal.client(&app), rule, &names).await {
                    if reply.status != expected {
                        let place = super::place(rule, target);
                        wrong.push(format!("{place}, {}: {expected} {reply:?}", principal.name));
                    }
                }
            }
        }
    }

    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(before.changes(&world.dump(&app).await), Vec::<String>::new());
}

// In memory only: the code that decides the order of the checks does not depend on the store.
secrets_tests::on_store!(
    memory,
    Memory,
    [a_malformed_request_is_reported_after_authentication_and_before_lookups],
    []
);

/// Returns true if the request of an endpoint has a body or a required query parameter.
fn takes_input(rule: &Rule) -> bool {
    let none = [
        "/sync",
        "/resend",
        "/accept",
        "/restore",
        "Name}/rotate",
        "Name}/test",
        "Id}/test",
        "/redeliver",
        "/sign-out",
        "/invitations/{token}",
    ];
    let takes_none = none.iter().any(|end| rule.template.ends_with(end));
    matches!(rule.method, "POST" | "PUT" | "PATCH") && !takes_none || is_eso(rule)
}

fn is_eso(rule: &Rule) -> bool {
    rule.template.contains("/eso/")
}

/// Sends several malformed requests to the endpoint of a rule, and returns the replies.
async fn malformed(client: &Client, rule: &Rule, names: &Names) -> Vec<Reply> {
    let method: http::Method = rule.method.parse().unwrap();
    let path = names.path(rule);
    let mut replies = Vec::new();
    if is_eso(rule) {
        let (bare, query) = path.split_once('?').unwrap();
        let (_, rest) = query.split_once('&').unwrap();
        for path in [bare.to_owned(), format!("{bare}?{rest}")] {
            replies.push(client.raw(method.clone(), &path, &[], "").await);
        }
        return replies;
    }
    for body in MALFORMED {
        let headers = [("content-type", "application/json")];
        replies.push(client.raw(method.clone(), &path, &headers, body).await);
    }
    replies
}
