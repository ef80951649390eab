//! Tests of encrypted records that were changed in the database, or moved to another row.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrets_core::crypto::{ProjectKeyRecord, Sealed};
use secrets_core::model::{EnvironmentId, ProjectId, SecretId};
use secrets_core::store::{EnvironmentRecord, ProjectRecord, SecretRecord};
use secrets_tests::{App, flipped, paths};
use serde_json::json;

use super::{Victim, assert_internal};

async fn values_that_changed_places_in_an_environment_are_not_given(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;
    let two = victim.app.record(&victim.project, "development", "TWO").await;

    victim.swap(one, two).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
    victim.is_broken(&victim.project, "development", "TWO").await;
    victim.is_whole("staging", "ONE").await;
}

async fn values_that_changed_places_between_environments_are_not_given(app: App) {
    let victim = Victim::of(app).await;
    let near = victim.app.record(&victim.project, "development", "ONE").await;
    let far = victim.app.record(&victim.project, "staging", "ONE").await;

    victim.swap(near, far).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
    victim.is_broken(&victim.project, "staging", "ONE").await;
}

async fn values_that_changed_places_between_projects_are_not_given(app: App) {
    let victim = Victim::of(app).await;
    let other = victim.person.project("api").await;
    victim.person.secret(&other, "development", "ONE", "kvc_other").await;
    let near = victim.app.record(&victim.project, "development", "ONE").await;
    let far = victim.app.record(&other, "development", "ONE").await;

    victim.swap(near, far).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
    victim.is_broken(&other, "development", "ONE").await;
}

async fn a_whole_row_that_was_moved_to_another_environment_is_not_given(app: App) {
    let victim = Victim::of(app).await;
    let two = victim.app.record(&victim.project, "development", "TWO").await;
    let staging =
        victim.app.resolve_environment(&victim.project, "staging").await.chain[0].environment.id;

    victim.app.rewrite(&[SecretRecord { environment: staging, ..two }]).await;

    victim.is_broken(&victim.project, "staging", "TWO").await;
    victim.is_whole("development", "ONE").await;
}

async fn a_value_under_another_key_is_not_given(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;

    victim.app.rewrite(&[SecretRecord { key: "THREE".parse().unwrap(), ..one }]).await;

    victim.is_broken(&victim.project, "development", "THREE").await;
}

async fn a_value_of_another_secret_of_the_same_key_is_not_given(app: App) {
    let victim = Victim::of(app).await;
    let old = victim.app.record(&victim.project, "development", "ONE").await;
    let path = paths::secret(&victim.project, "development", "ONE");
    victim.person.delete(&path).await.is(204);
    victim.person.secret(&victim.project, "development", "ONE", "kvc_again").await;
    let new = victim.app.record(&victim.project, "development", "ONE").await;

    victim.app.rewrite(&[SecretRecord { sealed: old.sealed, ..new }]).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
}

async fn a_value_that_was_cut_is_not_given(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;
    let whole = one.sealed.as_bytes().to_vec();

    for length in [0, 1, 7, 31, 46, 47, whole.len() - 16, whole.len() - 1] {
        let sealed = Sealed::from_bytes(whole[..length].to_vec());
        victim.app.rewrite(&[SecretRecord { sealed, ..one.clone() }]).await;

        victim.is_broken(&victim.project, "development", "ONE").await;
    }
    victim.app.rewrite(&[one]).await;
    victim.is_whole("development", "ONE").await;
}

async fn a_value_of_which_one_bit_changed_is_not_given(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;
    let length = one.sealed.as_bytes().len();

    // Indexes of bytes in the format, the suite, the key version, the nonce, the value and the tag.
    for place in [0, 1, 2, 6, 7, 30, 31, 60, length - 16, length - 1] {
        let sealed = flipped(&one.sealed, place);
        victim.app.rewrite(&[SecretRecord { sealed, ..one.clone() }]).await;

        victim.is_broken(&victim.project, "development", "ONE").await;
    }
}

async fn an_older_value_is_not_given_as_the_newest(app: App) {
    let victim = Victim::of(app).await;
    let path = paths::secret(&victim.project, "development", "ONE");
    victim.person.put(&path, &json!({ "value": "kvc_newer" })).await.is(200);
    let newest = victim.app.record(&victim.project, "development", "ONE").await;
    let mut reads = victim.app.store.read().await.unwrap();
    let older = reads.secret_versions(newest.id, u32::MAX, u32::MAX).await.unwrap().remove(0);
    drop(reads);

    victim.app.rewrite(&[SecretRecord { sealed: older.sealed, ..newest }]).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
}

async fn a_value_of_another_version_is_not_given(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;

    victim.app.rewrite(&[SecretRecord { version: one.version + 1, ..one }]).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
}

async fn a_secret_that_only_its_row_hides_is_a_fault_and_not_an_absence(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;

    victim.app.rewrite(&[SecretRecord { hidden: true, ..one }]).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
}

async fn a_secret_that_only_its_row_shows_is_a_fault_and_not_an_empty_value(app: App) {
    let victim = Victim::of(app).await;
    let path = paths::secret(&victim.project, "development", "ONE");
    victim.person.put(&path, &json!({ "hidden": true })).await.is(200);
    let one = victim.app.record(&victim.project, "development", "ONE").await;

    victim.app.rewrite(&[SecretRecord { hidden: false, ..one }]).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
}

async fn a_broken_value_is_an_error_in_child_environments_too(app: App) {
    let victim = Victim::of(app).await;
    victim.person.environment(&victim.project, "preview", Some("staging")).await;
    let one = victim.app.record(&victim.project, "staging", "ONE").await;

    let sealed = flipped(&one.sealed, 40);
    victim.app.rewrite(&[SecretRecord { sealed, ..one }]).await;

    victim.is_broken(&victim.project, "preview", "ONE").await;
}

async fn descriptions_that_changed_places_are_not_given(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;
    let two = victim.app.record(&victim.project, "development", "TWO").await;

    let [first, second] = [one.description.clone(), two.description.clone()];
    let records =
        [SecretRecord { description: second, ..one }, SecretRecord { description: first, ..two }];
    victim.app.rewrite(&records).await;

    let secrets = paths::secrets(&victim.project, "development");
    for path in ["", "/ONE", "/TWO", "/export"] {
        assert_internal(&victim.person.get(&format!("{secrets}{path}")).await);
    }
    // Responses without descriptions still have the right values.
    let [.., one, all] = victim.values(&victim.project, "development", "ONE").await;
    assert_eq!(one.is(200).json(), json!({ "value": "kvc_development_ONE" }));
    let values = json!({ "ONE": "kvc_development_ONE", "TWO": "kvc_development_TWO" });
    assert_eq!(all.is(200).json(), json!({ "secrets": values }));
}

async fn a_description_does_not_pass_for_a_value(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;

    let sealed = one.description.clone().unwrap();
    victim.app.rewrite(&[SecretRecord { sealed, ..one }]).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
}

async fn the_key_of_another_project_opens_nothing(app: App) {
    let victim = Victim::of(app).await;

    let copy = victim.copy_under_its_own_key().await;

    victim.is_broken(&copy, "development", "ONE").await;
    victim.is_whole("development", "ONE").await;
}

async fn each_failure_is_counted_by_its_reason(app: App) {
    let victim = Victim::of(app).await;
    let one = victim.app.record(&victim.project, "development", "ONE").await;
    let copy = victim.copy_under_its_own_key().await;
    let counts = || BTreeMap::from(victim.app.service.engine().counts().decryption_failures);

    // Indexes of bytes in the format, the key version and the value.
    for (place, project, reason) in [
        (0, &victim.project, "format"),
        (6, &victim.project, "missing_key"),
        (40, &victim.project, "record"),
        (40, &copy, "key"),
    ] {
        let sealed = flipped(&one.sealed, place);
        victim.app.rewrite(&[SecretRecord { sealed, ..one.clone() }]).await;
        let before = counts();
        assert_internal(&victim.person.get(&paths::secret(project, "development", "ONE")).await);

        let after = counts();
        let changed = after.iter().filter(|(name, count)| before[*name] != **count);
        assert_eq!(changed.map(|(name, _)| *name).collect::<Vec<_>>(), [reason]);
    }
}

secrets_tests::on_every_store!(
    values_that_changed_places_in_an_environment_are_not_given,
    values_that_changed_places_between_environments_are_not_given,
    values_that_changed_places_between_projects_are_not_given,
    a_whole_row_that_was_moved_to_another_environment_is_not_given,
    a_value_under_another_key_is_not_given,
    a_value_of_another_secret_of_the_same_key_is_not_given,
    a_value_that_was_cut_is_not_given,
    a_value_of_which_one_bit_changed_is_not_given,
    an_older_value_is_not_given_as_the_newest,
    a_value_of_another_version_is_not_given,
    a_secret_that_only_its_row_hides_is_a_fault_and_not_an_absence,
    a_secret_that_only_its_row_shows_is_a_fault_and_not_an_empty_value,
    a_broken_value_is_an_error_in_child_environments_too,
    descriptions_that_changed_places_are_not_given,
    a_description_does_not_pass_for_a_value,
    the_key_of_another_project_opens_nothing,
    each_failure_is_counted_by_its_reason,
);

impl Victim {
    /// Swaps the encrypted values of two secrets in the store.
    async fn swap(&self, one: SecretRecord, two: SecretRecord) {
        let [first, second] = [one.sealed.clone(), two.sealed.clone()];
        let records =
            [SecretRecord { sealed: second, ..one }, SecretRecord { sealed: first, ..two }];
        self.app.rewrite(&records).await;
    }

    /// Creates another project in the same team, directly in the store, with copies of the first
    /// project's key, its first environment and the secrets in it. Returns the path of the new
    /// project.
    async fn copy_under_its_own_key(&self) -> String {
        let resolved = self.app.resolve_environment(&self.project, "development").await;
        let now = resolved.project.created_at;
        let project = ProjectRecord {
            id: ProjectId::draw(now),
            slug: "copy".parse().unwrap(),
            ..resolved.project
        };
        let key = ProjectKeyRecord { project: project.id, ..resolved.key };
        let from = resolved.chain.into_iter().next().unwrap();
        let environment = EnvironmentRecord {
            id: EnvironmentId::draw(now),
            project: project.id,
            ..from.environment
        };
        let copied = |secret: &Arc<SecretRecord>| SecretRecord {
            id: SecretId::draw(now),
            environment: environment.id,
            ..SecretRecord::clone(secret)
        };
        let secrets: Vec<_> = from.secrets.iter().map(copied).collect();

        let mut tx = self.app.store.begin().await.unwrap();
        tx.insert_project(&project, &key).await.unwrap();
        tx.insert_environment(&environment).await.unwrap();
        tx.insert_secrets(&secrets).await.unwrap();
        tx.commit().await.unwrap();
        format!("/api/v1/projects/{}", project.id)
    }
}
