//! List of the conformance rules for rotations.

/// Adds the rules for rotations and webhooks to the list.
#[doc(hidden)]
#[macro_export]
macro_rules! rotation_conformance {
    ($then:ident $with:ident $($listed:tt)*) => { $crate::store_conformance! { @$then $with
        $($listed)*
        rotations() {
            a_rotation_is_kept_with_all_it_has
            every_kind_of_rotation_survives
            an_unknown_rotation_is_not_found
            rotations_come_by_name
            rotations_are_gone_through_by_their_ids
            a_rotation_name_is_unique_in_its_environment
            a_key_is_written_by_one_rotation
            managed_keys_are_told
            an_update_replaces_what_may_change_of_a_rotation
            a_rotation_that_is_gone_is_stale
            a_rotation_needs_an_environment
            the_rotations_of_a_team_are_counted
            the_place_of_a_rotation_is_told
            a_deleted_project_keeps_its_rotations
            a_project_disables_its_rotations
        }
        attempts() {
            an_attempt_is_kept_with_all_it_has
            every_state_of_an_attempt_survives
            one_attempt_of_a_rotation_is_open
            the_number_of_an_attempt_is_given_once
            concluded_attempts_come_newest_first
            an_update_says_how_far_an_attempt_is
            a_concluded_attempt_never_changes
            a_deleted_rotation_is_gone_with_all_it_had
            an_environment_takes_its_rotations_along
            a_purged_project_has_no_rotations
            a_deleted_team_has_no_rotations
            old_attempts_are_pruned
        }
        rotation_leases() {
            what_is_due_is_work
            the_list_of_work_goes_on_after_a_rotation
            the_rotations_of_a_deleted_project_are_work
            what_is_leased_is_no_work
            a_lease_is_taken_when_the_last_has_ended
            a_rotation_that_is_gone_is_leased_to_nobody
            a_lease_that_is_held_lasts_longer
            a_lease_that_was_lost_holds_nothing
            all_leases_end_at_once
            a_change_leaves_the_lease_alone
        }
        rotation_races(spawn) {
            one_of_many_takes_a_lease
            a_lease_is_not_held_and_lost
            one_of_many_begins_an_attempt
            one_of_many_reserves_a_key
            a_team_is_deleted_beside_work_in_it
        }
        webhooks() {
            a_webhook_is_kept_with_all_it_has
            an_unknown_webhook_is_not_found
            webhooks_come_oldest_first
            a_rotation_that_is_gone_gets_no_webhook
            an_update_says_whether_a_webhook_is_told
            a_deleted_webhook_is_gone_with_its_deliveries
            a_webhook_delivery_is_kept_with_all_it_has
            a_delivery_needs_a_webhook
            webhook_deliveries_come_newest_first
            an_update_says_how_a_delivery_is_doing
            old_webhook_deliveries_are_pruned
        }
    } };
}
