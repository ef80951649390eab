//! Fuzz target of operations, which are called by name with JSON input.

use std::sync::Arc;

use chrono::DateTime;
use serde_json::Value;

use super::assert_no_echo;
use crate::Service;
use crate::crypto::{Key, Plaintext};
use crate::engine::Caller;
use crate::model::{EnvironmentPath, Error, Identity, ManualClock, Origin, Result, document};
use crate::projects::{CreateProject, NewProject};
use crate::registry;
use crate::secrets::{CreateSecret, NewSecret, SubmittedChangeSet, SubmittedImport};
use crate::store::MemoryStore;

/// Names of fields, and values of a fixed set, which errors may repeat.
pub const KNOWN_WORDS: &str = "action actor_id actor_type admin_password admin_username \
    all_projects allowlist allowlists ca_certificate changes client_id client_name condition \
    confirm connection connection_method content cursor database default_role defaults delivery \
    description device_code disabled_rules dry_run entropy environment environment_id \
    environments events expected_version expires_at expires_in_days expires_in_seconds finding \
    findings fingerprint format grace_period_seconds grant_type hidden hostname identity \
    include_secrets inherits_from integration_type invitation ip_allowlist keywords lambda_arn \
    overwrite passphrase password permission_level permissions project project_id project_ids \
    public_key recipients regex_target regexes region resource_id resource_type revoke \
    rotate_immediately rotation rotation_interval_days rule_id scopes secret secret_group \
    secret_mapping secrets session severity shared_secret source ssl_mode status stopwords \
    target_rules team_id user_code user_id username values version webhook \
    anonymous baseline delivered disabled enterprise false_positive inherited_from postgresql \
    next_cursor proxied read_write resolved rolled_back rotation.completed rotation.failed \
    rotation.started scheduled secret.read service service_token unlimited unresolved updated_at \
    verify-ca verify-full";

/// Operation that derives a key from a passphrase, which takes too long here.
const SLOW: &str = "account.export_secrets";

/// Performs the operation that the first line of the input names. The rest of the input is its JSON
/// input. No input causes an internal error, and no error repeats the input.
pub fn operation(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (name, json) = text.split_once('\n').unwrap_or((text, "{}"));
    if let Err(error) = document::read::<SubmittedChangeSet>(json.as_bytes()) {
        check(json, &error);
    }
    if let Err(error) = document::read::<SubmittedImport>(json.as_bytes()) {
        check(json, &error);
    }
    let Ok(input) = serde_json::from_str::<Value>(json) else { return };
    if name == SLOW || json.contains("passphrase") || !registry::NAMES.contains(&name) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = runtime.block_on(async {
        let (service, caller) = service().await.unwrap();
        registry::call(&service, &caller, name, input).await
    });
    if let Err(error) = outcome {
        check(json, &error);
    }
}

/// Creates a service with the records of [`populate`].
async fn service() -> Result<(Service, Caller)> {
    let clock = ManualClock::new(DateTime::from_timestamp(1_767_225_600, 0).unwrap());
    let builder = Service::builder(Arc::new(MemoryStore::new()), &Key::generate());
    let service = builder.clock(Arc::new(clock)).build().await.unwrap();
    let identity = Identity::new("https://issuer.example", "ada", "ada@example.com");
    let caller = populate(&service, identity).await?;
    Ok((service, caller))
}

/// Signs in a user, and creates a project with the slug `web`, whose environment `development` has
/// the secret `API_KEY`.
pub async fn populate(service: &Service, identity: Identity) -> Result<Caller> {
    let caller = service.sign_in(identity, Origin::default()).await?;
    let project = NewProject::named("web".parse().unwrap());
    service.perform(&caller, CreateProject { project }).await?;
    let at = EnvironmentPath::new("web", "development");
    let value = Plaintext::new("kvc_value".to_owned()).unwrap();
    let secret = NewSecret::new("API_KEY".parse().unwrap(), value);
    service.perform(&caller, CreateSecret { at, secret }).await?;
    Ok(caller)
}

fn check(input: &str, error: &Error) {
    assert!(!matches!(error, Error::Internal(_)), "an internal error: {error:?}");
    assert_no_echo(input.as_bytes(), &error.to_string(), KNOWN_WORDS);
    let Error::Invalid(fields) = error else { return };
    for field in fields {
        assert_no_echo(input.as_bytes(), &field.field, KNOWN_WORDS);
        assert_no_echo(input.as_bytes(), &field.message, KNOWN_WORDS);
    }
}
