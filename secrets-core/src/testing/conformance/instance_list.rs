//! List of the conformance rules for the instance, the manifests of environments, deleted
//! environments and purged projects.

/// Appends the rules for the instance, manifests, deleted environments and purged projects to the
/// list of conformance rules.
#[doc(hidden)]
#[macro_export]
macro_rules! instance_conformance {
    ($then:ident $with:ident $($listed:tt)*) => { $crate::rotation_conformance! { $then $with
        $($listed)*
        deleted_environments() {
            deleting_an_environment_deletes_its_secrets
            an_environment_with_children_is_not_deleted
            the_name_of_a_deleted_environment_is_free
            an_environment_that_is_gone_is_stale
            deleting_a_child_keeps_the_inherited_secrets
            a_deleted_environment_can_be_purged_and_not_restored
            a_deleted_environment_of_a_deleted_team_is_purged
            a_deleted_environment_is_not_purged_during_an_attempt
        }
        purged_projects() {
            a_purged_project_stays_purged
            deleting_a_team_keeps_its_projects_purged
            a_team_stores_the_secrets_of_deleted_projects_until_the_purge
            deleted_projects_are_counted_until_the_purge
        }
        deletion_races(spawn) {
            an_environment_is_deleted_once
            a_concurrently_deleted_environment_keeps_no_records
        }
        manifests() {
            an_environment_has_the_last_manifest
            entries_of_a_manifest_are_the_current_secrets
            environments_are_found_by_id
        }
        instance() {
            an_empty_store_has_no_data
            an_instance_is_stored_with_its_keys
            only_one_instance_can_be_created
            a_root_key_is_replaced_once
            an_epoch_is_replaced_once
            an_instance_key_is_replaced
            an_instance_alone_is_no_data
            one_person_is_data
            a_deleted_project_leaves_data
            the_range_goes_from_the_oldest_secret_to_the_newest
            a_sample_is_the_first_secret_from_an_id_on
            a_sample_includes_the_key_of_its_project
        }
    } };
}
