use std::collections::BTreeSet;

use super::super::tests::{LETTERS, draw};
use super::super::{Rules, scan};
use super::*;
use crate::crypto::TokenText;

const HEX: &str = "0123456789abcdef";

#[test]
fn every_definition_is_a_rule_with_a_name_of_its_own() {
    let names: BTreeSet<_> = definitions().map(|definition| definition.id).collect();

    assert_eq!(rules().len(), definitions().count());
    assert_eq!(names.len(), definitions().count());
    assert_eq!(Rules::built_in().iter().count(), definitions().count());
    for definition in definitions() {
        assert!(!definition.keywords.is_empty(), "{}", definition.id);
        let has_group = expression(&definition.pattern()).unwrap().captures_len() == 2;
        assert!(has_group, "{} has one group", definition.id);
    }
}

/// Asserts that the rule `id` finds the credential `body` between `before` and `after`. Asserts
/// that nothing is found if one character is missing, or if more word characters follow.
fn holds(id: &str, before: &str, body: &str, after: &str) {
    let found =
        |text: &str| scan(text, "", Rules::built_in()).iter().any(|found| found.rule.id() == id);
    let right = format!("value: {before}{body}{after}");
    let short = format!("value: {before}{}{after}", &body[1..]);
    let longer = format!("value: {before}{body}{after}qQ7");

    assert!(found(&right), "{id}: {right}");
    assert!(!found(&short), "{id} short: {short}");
    assert!(!found(&longer) || longer.contains("://"), "{id} longer: {longer}");
}

#[test]
fn clouds_are_known_by_their_format() {
    holds("aws-access-key-id", "AKIA", &draw("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16), "");
    holds("google-api-key", "AIza", &draw(LETTERS, 35), "");
    holds("google-oauth-client-secret", "GOCSPX-", &draw(LETTERS, 28), "");
    holds("azure-devops-token", "", &draw(LETTERS, 76), &format!("AZDO{}", draw(LETTERS, 4)));
    holds("digitalocean-personal-token", "dop_v1_", &draw(HEX, 64), "");
    holds("databricks-token", "dapi", &draw(HEX, 32), "");
    holds("pulumi-token", "pul-", &draw(HEX, 40), "");
    holds("heroku-api-key", "HRKU-", &draw(LETTERS, 60), "");
}

#[test]
fn code_hosts_and_registries_are_known_by_their_format() {
    for (id, prefix) in [
        ("github-personal-access-token", "ghp_"),
        ("github-oauth-token", "gho_"),
        ("github-user-token", "ghu_"),
        ("github-server-token", "ghs_"),
        ("npm-access-token", "npm_"),
    ] {
        holds(id, prefix, &draw(LETTERS, 36), "");
    }
    holds("gitlab-deploy-token", "gldt-", &draw(LETTERS, 20), "");
    holds("crates-io-token", "cio", &draw(LETTERS, 32), "");
    holds("rubygems-key", "rubygems_", &draw(HEX, 48), "");
    holds("postman-api-key", "PMAK-", &format!("{}-{}", draw(HEX, 24), draw(HEX, 34)), "");
}

#[test]
fn shops_and_payments_are_known_by_their_format() {
    holds("shopify-shared-secret", "shpss_", &draw(HEX, 32), "");
    holds("shopify-access-token", "shpat_", &draw(HEX, 32), "");
    holds("square-application-secret", "sq0csp-", &draw(LETTERS, 43), "");
    holds("razorpay-key", "rzp_live_", &draw(LETTERS, 14), "");
}

#[test]
fn chat_and_mail_are_known_by_their_format() {
    let (id, bot) = (draw("123456789", 12), draw(LETTERS, 24));
    assert_eq!(scan(&format!("xoxb-{id}-{id}-{bot}"), "", Rules::built_in()).len(), 1);
    assert_eq!(scan(&format!("xoxb-{id}-{bot}"), "", Rules::built_in()).len(), 0);
    holds("twilio-api-key", "SK", &draw(HEX, 32), "");
    holds("sendgrid-api-key", "SG.", &format!("{}.{}", draw(LETTERS, 22), draw(LETTERS, 43)), "");
    holds("telegram-bot-token", "987243165:AA", &draw(LETTERS, 33), "");
    holds("mailgun-api-key", "key-", &draw(HEX, 32), "");
}

#[test]
fn models_are_known_by_their_format() {
    holds("hugging-face-token", "hf_", &draw(LETTERS, 34), "");
    holds("replicate-token", "r8_", &draw(LETTERS, 37), "");
    holds("openrouter-api-key", "sk-or-v1-", &draw(HEX, 64), "");
    let legacy = format!("{}T3BlbkFJ{}", draw(LETTERS, 20), draw(LETTERS, 20));
    holds("openai-legacy-key", "sk-", &legacy, "");
}

#[test]
fn other_services_are_known_by_their_format() {
    holds("linear-api-key", "lin_api_", &draw(LETTERS, 40), "");
    holds("notion-token", "ntn_", &draw(LETTERS, 46), "");
    holds("datadog-api-key", "DD_API_KEY=", &draw(HEX, 32), "");
    holds("datadog-app-key", "DD_APP_KEY=", &draw(HEX, 40), "");
    holds("newrelic-user-key", "NRAK-", &draw("0123456789ABCDEFGHIJKLMNOP", 27), "");
}

#[test]
fn a_service_token_of_ours_is_known_by_its_checksum() {
    let token = TokenText::draw().reveal().to_owned();
    let other = format!("{}{}", &token[..52], if token.ends_with('x') { 'y' } else { 'x' });

    let found = |text: &str| scan(text, "", Rules::built_in()).len();

    assert_eq!(found(&token), 1);
    assert_eq!(found(&other), 0);
}

#[test]
fn a_password_in_an_address_is_found_and_a_variable_is_not() {
    let found = |text: &str| scan(text, "", Rules::built_in()).len();

    for password in ["Zq8rT2mK", "p%40ss-9x!"] {
        assert_eq!(found(&format!("postgres://app:{password}@db/main")), 1);
        assert_eq!(found(&format!("https://ci:{password}@host.test/")), 1);
    }
    for password in ["", "$PASSWORD", "${PW}", "<password>", "password", "%s"] {
        assert_eq!(found(&format!("postgres://app:{password}@db/main")), 0, "{password}");
        assert_eq!(found(&format!("https://ci:{password}@host.test/")), 0, "{password}");
    }
}

#[test]
fn a_value_is_judged_by_the_name_it_is_assigned_to() {
    let value = draw(LETTERS, 32);
    let found = |text: &str| scan(text, "", Rules::built_in()).len();

    for name in ["api_key", "client-secret", "accessToken", "DB_PASSWORD", "auth.key"] {
        assert_eq!(found(&format!("{name} = \"{value}\"")), 1, "{name}");
    }
    for name in ["api_key_hash", "tokenUrl", "secret_id", "public_key", "monkey", "build"] {
        assert_eq!(found(&format!("{name} = \"{value}\"")), 0, "{name}");
    }
}
