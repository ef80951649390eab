//! The behavioural cases (see README.md in this folder), run directly through the operation
//! registry and over HTTP.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod case;
mod host;
mod http;
mod matching;

use secrets_tests::Kind;
use serde_json::{Map, Value};

use crate::case::{Case, Variables, all, filled, object_filled};
use crate::host::{Host, Registry, Who};
use crate::http::Http;

/// Minimum number of cases that must have been read, so that the test fails if a file is missing.
const LEAST: usize = 300;

async fn run(host: &dyn Host) {
    let cases = all();
    let mut wrong = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        if let Err(why) = judge(host, case, at + 1).await {
            wrong.push(format!("{}: {why}", case.name));
        }
    }

    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() >= LEAST, "only {} cases", cases.len());
}

async fn judge(host: &dyn Host, case: &Case, number: usize) -> Result<(), String> {
    let mut variables = case.variables.clone();
    variables.insert("n".to_owned(), number.into());
    for name in &case.people {
        sign_in(host, name, number, &mut variables).await;
    }
    for (at, step) in case.steps.iter().enumerate() {
        let input = object_filled(&step.with, &variables);
        let who = filled(&Value::String(step.who.clone()), &variables);
        let who = who.as_str().unwrap();
        let email = format!("{who}-{number}@example.com");
        let who = if who.starts_with("env_") { Who::Token(who) } else { Who::Person(&email) };
        let why = |why: String| format!("step {} ({}): {why}", at + 1, step.call);
        match (host.call(who, &step.call, input).await, &step.fails) {
            (Err(failure), Some(expected)) => {
                matching::other_failure(expected, &failure).map_or(Ok(()), Err).map_err(why)?;
            }
            (Err(failure), None) => return Err(why(format!("{failure:?}"))),
            (Ok(_), Some(_)) => return Err(why("it succeeded".to_owned())),
            (Ok(output), None) => {
                if let Some(expected) = &step.gives {
                    let expected = filled(expected, &variables);
                    matching::mismatch(&expected, &output, "").map_or(Ok(()), Err).map_err(why)?;
                }
                for (name, place) in &step.keep {
                    let kept = matching::at(&output, place);
                    let kept = kept.ok_or_else(|| why(format!("nothing is at {place}")))?;
                    variables.insert(name.clone(), kept.clone());
                }
            }
        }
    }
    Ok(())
}

async fn sign_in(host: &dyn Host, name: &str, number: usize, variables: &mut Variables) {
    let email = format!("{name}-{number}@example.com");
    let user = host.call(Who::Person(&email), "user.sync", Map::new()).await.unwrap();
    variables.insert(name.to_owned(), user["id"].clone());
    variables.insert(format!("{name}.team"), user["teams"][0]["team_id"].clone());
    variables.insert(format!("{name}.email"), email.into());
}

#[tokio::test]
async fn the_cases_hold_for_the_registry_over_memory() {
    run(&Registry::start(Kind::Memory).await).await;
}

#[tokio::test]
async fn the_cases_hold_for_the_registry_over_sqlite() {
    run(&Registry::start(Kind::Sqlite).await).await;
}

#[tokio::test]
async fn the_cases_hold_over_http() {
    run(&Http::start().await).await;
}
