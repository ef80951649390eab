//! List of the conformance rules.

/// Creates a test for every rule of the store contract.
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

    (@list $then:ident $with:ident) => { $crate::rotation_conformance! { $then $with
        transactions() {
            a_store_answers_when_asked
            a_transaction_reads_its_own_writes
            what_is_not_committed_is_not_seen
            dropping_a_transaction_undoes_everything
            dropping_a_transaction_brings_back_what_it_deleted
            a_commit_makes_everything_seen
            a_reader_sees_what_was_committed_before_each_call
            a_transaction_sees_what_was_committed_before_it
            a_transaction_may_do_nothing
            a_dropped_transaction_lets_the_next_begin
            a_begin_that_is_given_up_blocks_nobody
            a_call_that_is_given_up_harms_nobody
            a_duplicate_leaves_the_transaction_usable
            a_stale_record_leaves_the_transaction_usable
        }
        races(spawn) {
            concurrent_replacements_make_dense_versions
            one_of_many_replaces_a_version
            concurrent_touches_are_all_counted
            dropped_touches_are_not_counted
            concurrent_inserts_of_different_keys_all_succeed
            one_of_many_makes_a_secret
            one_of_many_deletes_a_secret
            one_of_many_founds_the_installation
            one_of_many_first_sign_ins_makes_the_person
            one_of_many_gets_a_slug
            a_held_team_is_counted_exactly
            a_held_team_size_is_read_exactly
            a_held_project_is_counted_exactly
            a_touched_environment_is_counted_exactly
            nothing_outlives_an_environment_deleted_meanwhile
            another_transaction_sees_nothing_uncommitted
        }
        read_races(spawn) {
            a_look_never_sees_half_a_commit
            a_reader_is_never_behind_a_commit
            concurrent_expansions_leave_every_entry
        }
        committed_changes() {
            a_reader_sees_every_committed_change
            a_rollback_changes_nothing_that_was_read
        }
        users() {
            a_person_is_found_by_id
            a_person_is_found_by_issuer_and_subject
            an_issuers_subject_is_unique
            two_issuers_may_use_the_same_subject
            a_subject_is_compared_exactly
            an_email_address_is_not_unique
            everything_told_of_a_person_survives
            what_was_not_told_of_a_person_stays_absent
            a_long_name_in_any_script_survives
            an_update_keeps_who_a_person_is
            an_update_can_take_away_what_was_told
            an_update_leaves_other_people_alone
            a_forgotten_person_leaves_a_row_without_a_trace
            a_forgotten_person_is_not_refreshed
            whoever_is_forgotten_cannot_be_held
        }
        teams() {
            a_team_is_found_by_id
            every_plan_survives
            a_team_slug_is_unique
            a_membership_tells_role_and_time_of_joining
            a_stranger_finds_a_team_without_a_role
            an_unknown_team_has_no_membership
            memberships_come_oldest_first
            a_person_without_a_team_has_no_memberships
            members_come_by_team_in_the_order_they_joined
            members_of_no_team_are_none
            a_member_is_shown_as_the_person_is_now
            a_person_is_in_a_team_once
            a_person_has_a_role_in_each_team
            a_team_that_exists_can_be_held
            a_member_can_be_given_another_role
            a_member_can_be_taken_out
            a_deleted_team_is_empty_and_its_slug_is_free
            a_deleted_team_takes_deleted_projects_and_old_hashes_along
            a_team_is_put_on_another_plan
            what_a_team_has_is_counted
        }
        projects() {
            a_project_is_found_by_id_and_by_slug
            an_unknown_project_is_not_found
            a_slug_is_unique_among_projects
            a_deleted_projects_slug_stays_taken
            a_project_and_a_team_may_share_a_slug
            a_member_stands_with_their_role
            a_stranger_does_not_stand_to_a_project
            a_project_tells_its_teams_plan
            projects_come_oldest_first
            the_projects_of_several_teams_come_in_one_order
            the_projects_of_a_team_are_counted
            a_project_key_is_found_by_version
            an_update_changes_what_a_project_is_called
            an_update_can_take_a_description_away
            a_project_that_is_gone_is_stale
            a_project_that_exists_can_be_held
            a_deleted_project_is_in_no_answer
        }
        environments() {
            everything_of_an_environment_survives
            a_name_is_unique_within_its_project_in_any_case
            two_projects_may_use_the_same_environment_name
            environments_come_by_position
            an_unknown_project_has_no_environments
            a_token_lists_the_environments_of_its_scope
            a_token_lists_no_environments_of_a_project_beyond_its_scope
            heirs_are_direct_and_ordered_by_name
            deleting_an_environment_takes_its_secrets_along
            an_environment_with_heirs_is_not_deleted
            the_name_of_a_deleted_environment_is_free
            an_environment_that_is_gone_is_stale
            an_environment_of_a_deleted_project_is_stale
            touching_counts_from_the_stored_revision
            touching_changes_nothing_but_the_revision
            environment_names_are_no_patterns
            deleting_an_heir_leaves_what_it_inherited
        }
        changes() {
            a_change_replaces_what_an_environment_is
            a_change_can_take_parent_and_description_away
            a_name_that_another_has_is_a_duplicate
            a_name_that_was_given_up_is_free
            an_environment_that_is_gone_is_not_changed
            a_chain_runs_to_the_furthest_ancestor
            what_is_gone_has_no_chain_and_a_circle_ends
        }
        restoring() {
            a_deleted_project_is_found_to_be_restored
            a_restored_project_is_there_with_all_it_held
            what_cannot_be_restored_is_stale
            the_doomed_come_by_their_deletion
            a_purge_leaves_nothing_but_the_slug
            a_purge_leaves_the_living_alone
        }
        resolve_environment() {
            an_unknown_project_shows_nothing
            an_unknown_environment_has_an_empty_chain
            ids_and_names_lead_to_the_same_place
            an_environment_is_found_by_its_exact_name
            wanting_nothing_brings_no_secrets
            wanting_a_key_brings_it_of_each_link
            a_wanted_key_is_compared_exactly
            wanting_all_brings_each_links_secrets_ordered_by_key
            a_look_brings_secrets_whole
            a_look_tells_project_plan_and_key
            a_look_within_a_transaction_sees_its_writes
            a_look_stays_within_its_project
        }
        inheritance_chains() {
            a_chain_comes_nearest_first
            a_look_reaches_one_link_beyond_the_longest_chain
            a_circle_shows_as_a_repeated_link
            a_circle_further_up_shows_as_a_repeated_link
        }
        scopes() {
            people_see_every_link_in_scope
            a_stranger_is_told_as_one
            a_token_for_everything_holds_everything
            a_token_for_all_projects_holds_later_ones
            a_token_for_all_environments_holds_later_ones
            a_token_stands_to_the_projects_of_its_scope
            a_project_beyond_the_scope_has_nothing_in_it
            a_token_holds_the_environments_of_its_scope
            a_token_of_another_team_is_a_stranger
            a_deleted_token_stands_nowhere
            a_token_outlives_its_projects_and_holds_nothing
            a_token_outlives_its_environments_and_holds_none
            a_deletion_leaves_the_rest_of_a_scope
        }
        secrets() {
            everything_of_a_secret_survives
            what_a_secret_lacks_stays_absent
            any_bytes_survive
            a_key_is_unique_within_its_environment
            two_environments_may_use_the_same_key
            a_key_is_compared_exactly
            secrets_come_by_key
            asking_for_nothing_brings_nothing
            a_taken_key_keeps_out_the_whole_insert
            a_key_given_twice_keeps_out_the_whole_insert
            inserting_no_secrets_does_nothing
            a_thousand_secrets_go_at_once
            an_environments_own_secrets_are_counted
            a_new_description_changes_nothing_else
            a_description_can_be_taken_away
            a_deleted_secret_takes_its_versions_along
            a_secret_that_is_gone_is_stale
            the_key_of_a_deleted_secret_is_free
        }
        sizes() {
            sizes_follow_every_write
            sizes_follow_no_failed_write
            a_team_stores_the_secrets_of_all_its_projects
            touching_returns_the_sizes
            versions_below_a_number_are_deleted
            the_oldest_versions_are_deleted_first
            the_version_before_a_rotation_is_kept
            a_long_history_is_deleted_in_pieces
        }
        versions() {
            the_next_version_takes_the_place
            the_replaced_version_is_kept_as_it_was
            a_first_version_has_replaced_nothing
            versions_come_newest_first
            versions_come_in_pages
            each_secret_has_versions_of_its_own
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
            no_team_has_no_tokens
            the_tokens_of_a_team_are_counted
            a_deleted_token_is_gone_with_its_scope
            a_deleted_token_can_be_kept_again
            a_token_that_is_gone_is_stale
            a_scope_holds_everything_once
            a_scope_of_many_things_survives
            a_rotated_token_is_found_by_both_hashes
            a_rotation_without_grace_leaves_one_hash
            a_rotation_replaces_what_is_kept_at_that_moment
            a_previous_hash_goes_with_its_token
            a_use_is_kept_unless_one_stands
        }
        token_expiry() {
            an_expired_token_is_found
            expiring_tokens_are_listed_until_they_are_announced
        }
        audit() {
            everything_of_an_entry_survives
            what_an_entry_lacks_stays_absent
            entries_come_newest_first
            a_limit_leaves_the_newest_entries
            a_team_has_entries_of_its_own
            an_entry_that_is_written_again_is_left_alone
            adding_no_entries_does_nothing
            hundreds_of_entries_go_at_once
            an_entry_outlives_what_it_tells_of
            an_entry_refers_to_nothing
            an_entry_is_undone_with_its_transaction
            a_forgotten_actor_loses_name_and_address
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
            a_new_entry_has_no_place
            a_place_is_kept
            what_concerns_no_team_is_chained_too
            a_chain_that_ends_elsewhere_is_stale
            an_entry_gets_one_place
            thousands_of_entries_get_their_places
            a_chain_loses_its_beginning
            a_chain_that_changed_is_not_pruned
            the_first_young_entry_is_found
            pages_follow_each_other
            what_is_asked_for_comes
            the_team_asked_for_is_meant
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
            a_session_is_found_with_its_person
            a_session_credential_is_unique
            sessions_come_oldest_first
            a_use_of_a_session_is_kept_unless_one_stands
            a_session_ends_once
            all_sessions_of_a_person_end
            what_is_over_is_removed
            idle_browser_sessions_are_removed
        }
        instance() {
            an_empty_store_holds_nothing
            an_installation_is_kept_with_its_keys
            there_is_one_installation
            a_root_key_is_replaced_once
            an_installation_alone_is_no_data
            one_person_is_data
            a_deleted_project_leaves_data
            the_range_goes_from_the_oldest_secret_to_the_newest
            a_sample_is_the_first_secret_from_an_id_on
            a_sample_brings_the_key_of_its_project
        }
        keys() {
            the_latest_request_for_keys_counts
            the_newest_key_is_found_by_its_age
            a_replaced_key_is_listed_until_it_is_retired
            keys_of_a_deleted_project_are_listed_until_it_is_purged
            encrypted_records_are_found_by_the_version_of_their_key
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
            an_invitation_that_was_sent_meanwhile_is_stale
            a_deleted_invitation_is_gone
            members_and_those_who_are_invited_take_places
            expired_invitations_are_deleted_in_their_team
        }
        scans() {
            a_scan_is_kept_with_what_it_found
            an_unknown_scan_or_finding_is_not_found
            a_scan_id_is_unique
            scans_come_newest_first
            a_scan_of_a_deleted_project_is_not_found
            what_is_said_of_a_finding_is_kept
            a_scan_or_finding_that_is_gone_is_stale
            a_deleted_scan_is_gone_with_its_findings
            what_a_team_says_of_a_fingerprint_lasts
            a_mark_can_be_taken_back
            a_thousand_findings_go_at_once
            old_scans_are_pruned
        }
        claims(spawn) {
            one_of_many_claims_a_delivery
        }
        outbox() {
            a_delivery_is_due_from_its_time_on
            the_longest_due_come_first
            each_kind_of_delivery_is_due_by_itself
            a_claimed_delivery_is_not_due
            a_claim_that_was_lost_settles_nothing
            a_delivery_is_postponed_or_deleted
            deliveries_are_hastened
            messages_are_counted_in_their_window
        }
        permissions() {
            everything_said_of_a_person_survives
            what_is_said_again_takes_the_place
            what_is_said_comes_oldest_first
            what_is_said_of_a_person_is_found_by_project
            what_is_taken_back_is_gone
            nothing_is_said_of_a_stranger
            an_environment_takes_what_was_said_along
            who_comes_back_has_no_old_rights
            what_is_said_of_a_project_is_kept
            what_is_said_of_an_environment_is_kept
            a_look_tells_what_was_granted
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
            fn spawn(task: $crate::testing::conformance::Task) -> $crate::testing::conformance::Task {
                let task = tokio::spawn(task);
                Box::pin(async move { task.await.unwrap() })
            }
            let (store, _guard) = super::$open().await;
            $crate::testing::conformance::$module::$rule(store, spawn).await;
        }
    };
}
