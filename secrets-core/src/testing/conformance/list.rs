//! List of all conformance rules.

/// Creates a test for every rule that a store must follow.
///
/// `open` is an async function that returns an empty store, `Arc<dyn Store>`, and a guard that
/// keeps its database alive and is dropped after the test. The tests run on tokio.
///
/// ```text
/// async fn open() -> (Arc<dyn Store>, TempDir) { … }
/// crate::store_conformance!(open);
/// ```
#[macro_export]
macro_rules! store_conformance {
    ($open:ident) => { $crate::store_conformance! { @list tests $open } };
    (@names) => { $crate::store_conformance! { @list names names } };

    (@list $then:ident $with:ident) => { $crate::instance_conformance! { $then $with
        transactions() {
            a_store_answers_its_health_check
            a_transaction_reads_its_own_writes
            uncommitted_changes_are_not_seen
            dropping_a_transaction_undoes_everything
            dropping_a_transaction_brings_back_what_it_deleted
            a_commit_makes_all_changes_visible
            a_reader_sees_what_was_committed_before_each_call
            a_transaction_sees_what_was_committed_before_it
            a_transaction_may_do_nothing
            no_transaction_begins_beside_an_exclusive_one
            a_dropped_transaction_lets_the_next_begin
            a_cancelled_begin_blocks_no_transaction
            a_cancelled_call_leaves_the_store_usable
            a_duplicate_leaves_the_transaction_usable
            a_stale_record_leaves_the_transaction_usable
        }
        races(spawn) {
            concurrent_replacements_make_dense_versions
            one_of_many_replaces_a_version
            concurrent_touches_are_all_counted
            dropped_touches_are_not_counted
            concurrent_inserts_of_different_keys_all_succeed
            one_of_many_inserts_a_secret
            one_of_many_deletes_a_secret
            one_of_many_creates_the_instance
            one_of_many_first_sign_ins_creates_the_user
            one_of_many_gets_a_slug
            a_locked_team_is_counted_exactly
            a_locked_team_size_is_read_exactly
            a_locked_project_is_counted_exactly
            a_touched_environment_is_counted_exactly
            another_transaction_sees_nothing_uncommitted
        }
        read_races(spawn) {
            resolving_never_sees_half_a_commit
            a_reader_is_never_behind_a_commit
            concurrent_expansions_leave_every_entry
        }
        committed_changes() {
            a_reader_sees_every_committed_change
            a_rollback_reports_no_changes
        }
        users() {
            a_person_is_found_by_id
            a_person_is_found_by_issuer_and_subject
            an_issuers_subject_is_unique
            two_issuers_may_use_the_same_subject
            a_subject_is_compared_exactly
            an_email_address_is_not_unique
            all_profile_fields_are_stored
            absent_profile_fields_stay_absent
            a_long_name_in_any_script_survives
            an_update_keeps_the_identity_of_a_user
            an_update_can_clear_profile_fields
            an_update_changes_no_other_user
            a_forgotten_user_leaves_a_row_without_personal_data
            a_forgotten_user_is_not_updated
            a_forgotten_user_cannot_be_locked
        }
        teams() {
            a_team_is_found_by_id
            every_plan_survives
            a_team_slug_is_unique
            a_membership_has_its_role_and_time_of_joining
            a_non_member_finds_a_team_without_a_role
            an_unknown_team_has_no_membership
            memberships_come_oldest_first
            a_person_without_a_team_has_no_memberships
            members_come_by_team_in_the_order_they_joined
            no_teams_have_no_members
            a_member_is_shown_as_the_person_is_now
            a_person_is_in_a_team_once
            a_person_has_a_role_in_each_team
            an_existing_team_can_be_locked
            a_member_can_be_given_another_role
            a_member_can_be_removed
            the_plan_of_a_team_can_be_changed
            the_resources_of_a_team_are_counted
        }
        deleted_teams() {
            a_deleted_team_is_empty_and_its_slug_is_free
            deleting_a_team_deletes_its_deleted_projects_and_old_hashes
        }
        projects() {
            a_project_is_found_by_id_and_by_slug
            an_unknown_project_is_not_found
            a_slug_is_unique_among_projects
            a_deleted_projects_slug_stays_taken
            a_project_and_a_team_may_share_a_slug
            a_member_has_their_role_in_a_project
            a_non_member_has_no_relation_to_a_project
            a_project_is_loaded_with_the_plan_of_its_team
            projects_come_oldest_first
            the_projects_of_several_teams_come_in_one_order
            the_projects_of_a_team_are_counted
            a_project_key_is_found_by_version
            an_update_changes_name_and_description_of_a_project
            an_update_can_clear_a_description
            a_project_that_is_gone_is_stale
            an_existing_project_can_be_locked
            a_deleted_project_is_not_found
        }
        environments() {
            everything_of_an_environment_survives
            a_name_is_unique_within_its_project_in_any_case
            two_projects_may_use_the_same_environment_name
            environments_come_by_position
            an_unknown_project_has_no_environments
            a_token_lists_the_environments_of_its_scope
            a_token_lists_no_environments_of_a_project_beyond_its_scope
            children_are_direct_and_ordered_by_name
            an_environment_of_a_deleted_project_is_stale
            touching_counts_from_the_stored_revision
            touching_changes_nothing_but_the_revision
            environment_names_are_no_patterns
        }
        changes() {
            an_update_replaces_all_fields_of_an_environment
            an_update_can_clear_parent_and_description
            a_name_in_use_is_a_duplicate
            a_previous_name_is_free
            an_environment_that_is_gone_is_not_changed
            a_chain_runs_to_the_furthest_ancestor
            a_deleted_environment_has_no_chain_and_a_cycle_ends
        }
        restoring() {
            a_deleted_project_is_found_to_be_restored
            a_restored_project_has_all_its_data
            restoring_a_project_that_is_not_deleted_is_stale
            projects_to_purge_come_in_the_order_of_their_deletion
            a_purge_keeps_only_the_slug
            a_purge_deletes_few_rows_at_a_time
            a_purge_keeps_other_projects
        }
        resolve_environment() {
            an_unknown_project_shows_nothing
            an_unknown_environment_has_an_empty_chain
            ids_and_names_resolve_to_the_same_environment
            an_environment_is_found_by_its_exact_name
            requesting_no_secrets_returns_none
            requesting_a_key_returns_it_from_each_link
            a_requested_key_is_compared_exactly
            requesting_all_returns_the_secrets_of_each_link_by_key
            requesting_own_secrets_returns_those_of_the_first_link
            resolving_returns_all_fields_of_secrets
            resolving_returns_project_plan_and_key
            resolving_in_a_transaction_sees_its_writes
            resolving_stays_within_the_project
        }
        inheritance_chains() {
            a_chain_comes_nearest_first
            resolving_reaches_one_link_beyond_the_longest_chain
            a_cycle_shows_as_a_repeated_link
            a_cycle_further_up_shows_as_a_repeated_link
        }
        scopes() {
            users_have_every_link_in_scope
            a_non_member_has_no_relation
            a_token_for_everything_has_everything_in_scope
            a_token_for_all_projects_includes_later_ones
            a_token_for_all_environments_includes_later_ones
            a_token_has_a_relation_to_the_projects_in_its_scope
            a_project_outside_the_scope_has_no_environments_in_scope
            a_token_has_the_environments_of_its_scope
            a_token_of_another_team_has_no_relation
            a_deleted_token_has_no_relation
            a_token_outlives_its_projects_with_an_empty_scope
            a_token_outlives_its_environments_without_scope_in_others
            a_deletion_keeps_the_rest_of_a_scope
        }
        secrets() {
            everything_of_a_secret_survives
            absent_fields_of_a_secret_stay_absent
            any_bytes_survive
            secrets_inserted_together_keep_their_columns
            a_key_is_unique_within_its_environment
            two_environments_may_use_the_same_key
            a_key_is_compared_exactly
            secrets_are_listed_by_key
            requesting_no_keys_returns_no_secrets
            a_key_in_use_fails_the_whole_insert
            a_repeated_key_fails_the_whole_insert
            inserting_no_secrets_does_nothing
            a_thousand_secrets_are_inserted_at_once
            an_environments_own_secrets_are_counted
            a_new_description_changes_nothing_else
            a_description_can_be_cleared
            deleting_a_secret_deletes_its_versions
            a_secret_that_is_gone_is_stale
            the_key_of_a_deleted_secret_is_free
        }
        sizes() {
            sizes_follow_every_write
            sizes_follow_no_failed_write
            a_team_stores_the_secrets_of_all_its_projects
            touching_returns_the_sizes
            versions_below_a_number_are_deleted
            versions_of_several_secrets_are_deleted
            versions_of_many_secrets_are_deleted
            sizes_follow_several_replacements
            the_oldest_versions_are_deleted_first
            the_version_before_a_rotation_is_kept
            a_long_history_is_deleted_in_pieces
        }
        versions() {
            the_next_version_replaces_the_current_one
            the_replaced_version_is_kept_as_it_was
            a_first_version_has_replaced_nothing
            versions_come_newest_first
            versions_come_in_pages
            only_an_existing_secret_has_a_history
            each_secret_has_versions_of_its_own
            several_secrets_are_replaced_at_once
            of_several_secrets_all_or_none_are_replaced
            a_version_out_of_turn_is_stale
            a_secret_that_is_gone_cannot_be_replaced
            every_change_survives
            the_highest_version_number_survives
            a_large_replaced_value_survives
        }
        tokens() {
            a_token_is_found_by_hash_and_by_id
            an_unknown_token_is_not_found
            each_flag_of_a_token_is_kept
            a_token_hash_is_unique
            a_token_name_is_not_unique
            a_scope_is_kept_with_its_token
            tokens_come_oldest_first_with_their_scopes
            no_teams_have_no_tokens
            the_tokens_of_a_team_are_counted
            a_deleted_token_is_gone_with_its_scope
            a_deleted_token_can_be_inserted_again
            a_token_that_is_gone_is_stale
            a_scope_contains_each_resource_once
            a_large_scope_survives
            a_rotated_token_is_found_by_both_hashes
            a_rotation_without_grace_leaves_one_hash
            a_token_rotation_replaces_the_current_hash
            a_previous_hash_is_deleted_with_its_token
            a_use_is_stored_once_per_interval
        }
        token_expiry() {
            an_expired_token_is_found
            expiring_tokens_are_listed_until_they_are_announced
        }
        audit() {
            everything_of_an_entry_survives
            absent_fields_of_an_entry_stay_absent
            entries_come_newest_first
            a_limit_leaves_the_newest_entries
            a_team_has_entries_of_its_own
            an_entry_that_is_written_again_is_left_alone
            adding_no_entries_does_nothing
            hundreds_of_entries_are_inserted_at_once
            an_entry_outlives_the_resource_it_describes
            an_entry_refers_to_nothing
            an_entry_is_undone_with_its_transaction
            a_forgotten_actor_loses_name_and_address
            an_actor_is_anonymized_in_batches
            late_entries_of_an_actor_are_anonymized
        }
        audit_batches() {
            entries_of_a_batch_survive
            an_entry_in_two_batches_is_listed_once
            batches_come_in_pages
            an_empty_batch_is_not_stored
            a_rollback_keeps_the_batches
            sealed_entries_are_inserted_once
        }
        audit_chain() {
            a_new_entry_has_no_position
            new_entries_of_a_team_are_counted
            teams_with_chained_entries_are_found_in_order_of_id
            a_position_is_kept
            entries_without_a_team_are_chained_too
            a_chain_with_another_head_is_stale
            an_entry_gets_one_position
            thousands_of_entries_get_positions
            a_chain_loses_its_beginning
            a_chain_that_changed_is_not_pruned
            the_first_young_entry_is_found
            pages_follow_each_other
            a_query_returns_the_matching_entries
            a_query_returns_entries_of_its_team_only
            a_range_ends_at_the_entry_counted
        }
        device_logins() {
            a_login_is_found_by_either_code
            a_code_belongs_to_one_login
            a_login_is_decided_once
            decided_logins_are_deleted_by_user
            ended_logins_are_removed
        }
        sessions() {
            a_session_that_was_used_again_is_not_removed
            a_session_is_found_with_its_person
            a_session_credential_is_unique
            sessions_come_oldest_first
            a_use_of_a_session_is_stored_once_per_interval
            a_session_ends_once
            all_sessions_of_a_person_end
            ended_sessions_are_removed
            idle_browser_sessions_are_removed
        }
        keys() {
            the_latest_request_for_keys_counts
            the_newest_key_is_found_by_its_age
            a_replaced_key_is_listed_until_it_is_retired
            keys_of_a_deleted_project_are_listed_until_it_is_purged
            keys_are_destroyed_only_after_the_restore_period
            a_destroyed_key_is_not_used_again
            a_project_with_destroyed_keys_is_purged_and_not_restored
            encrypted_records_are_found_by_the_version_of_their_key
            all_environments_of_a_deleted_project_are_listed
            an_encrypted_record_is_replaced_as_it_was_read
        }
        invitations() {
            an_invitation_is_found_by_id_hash_team_and_address
            an_unknown_invitation_is_not_found
            an_address_is_invited_to_a_team_once
            an_invitation_hash_is_unique
            invitations_come_oldest_first
            an_invitation_names_team_and_inviter_as_they_are_now
            an_invitation_that_is_sent_again_is_found_by_its_new_hash
            a_concurrently_resent_invitation_is_stale
            a_deleted_invitation_is_gone
            members_and_invitations_are_counted_together
            expired_invitations_are_deleted_in_their_team
        }
        scans() {
            excess_scans_are_pruned
            scans_with_excess_findings_of_a_team_are_pruned
            marks_of_a_team_are_counted
            a_scan_is_stored_with_its_findings
            an_unknown_scan_or_finding_is_not_found
            a_scan_id_is_unique
            scans_come_newest_first
            a_scan_of_a_deleted_project_is_not_found
            status_and_comment_of_a_finding_are_kept
            a_scan_or_finding_that_is_gone_is_stale
            a_deleted_scan_is_gone_with_its_findings
            the_mark_of_a_fingerprint_applies_to_later_scans
            a_mark_can_be_removed
            a_thousand_findings_are_inserted_at_once
            old_scans_are_pruned
        }
        permissions() {
            all_fields_of_a_permission_survive
            a_new_permission_replaces_the_previous_one
            permissions_come_oldest_first
            permissions_of_a_user_are_found_by_project
            a_removed_permission_is_gone
            a_non_member_cannot_have_a_permission
            deleting_an_environment_deletes_its_permissions
            a_returning_member_has_no_old_permissions
            the_default_of_a_project_is_kept
            the_default_of_an_environment_is_kept
            resolving_returns_the_permission
        }
    } };

    (@names names $($module:ident $with:tt { $($rule:ident)* })*) => {
        [$($(concat!(stringify!($module), "::", stringify!($rule))),*),*]
    };
    (@tests $open:ident $($module:ident $with:tt { $($rule:ident)* })*) => {
        $(mod $module {
            $($crate::store_conformance! { @test $open $module $rule $with })*
        })*
    };
    (@test $open:ident $module:ident $rule:ident ()) => {
        #[tokio::test]
        async fn $rule() {
            let (store, _guard) = super::$open().await;
            $crate::testing::conformance::$module::$rule(&*store).await;
        }
    };
    (@test $open:ident $module:ident $rule:ident (spawn)) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $rule() {
            fn spawn(task: $crate::testing::conformance::TestTask) -> $crate::testing::conformance::TestTask {
                let task = tokio::spawn(task);
                Box::pin(async move { task.await.unwrap() })
            }
            let (store, _guard) = super::$open().await;
            $crate::testing::conformance::$module::$rule(store, spawn).await;
        }
    };
}
