//! List of the conformance rules for deliveries, rotations and webhooks.

/// Appends the rules for deliveries, rotations and webhooks to the list of conformance rules.
#[doc(hidden)]
#[macro_export]
macro_rules! rotation_conformance {
    ($then:ident $with:ident $($listed:tt)*) => { $crate::store_conformance! { @$then $with
        $($listed)*
        claims(spawn) {
            one_of_many_claims_a_delivery
        }
        outbox() {
            a_delivery_is_due_once_its_time_has_come
            the_longest_due_come_first
            each_kind_of_delivery_is_listed_separately
            a_claimed_delivery_is_not_due
            a_lost_claim_cannot_settle_a_delivery
            a_delivery_is_postponed_or_deleted
            a_delivery_that_is_added_again_is_one_delivery
            deliveries_can_be_made_due_earlier
            messages_are_counted_in_their_window
        }
        rotations() {
            all_fields_of_a_rotation_survive
            every_kind_of_rotation_survives
            an_unknown_rotation_is_not_found
            rotations_come_by_name
            rotations_are_listed_in_pages_by_id
            a_rotation_name_is_unique_in_its_environment
            a_key_is_reserved_by_one_rotation
            managed_keys_are_listed
            an_update_replaces_the_mutable_fields_of_a_rotation
            a_rotation_that_is_gone_is_stale
            a_rotation_needs_an_environment
            the_rotations_of_a_team_are_counted
        }
        rotations_of_projects() {
            the_project_of_a_rotation_is_found
            a_deleted_project_keeps_its_rotations
            the_rotations_of_a_project_are_counted
            a_project_disables_its_rotations
        }
        attempts() {
            surplus_attempts_are_deleted
            a_trimmed_rotation_has_few_attempts
            all_fields_of_an_attempt_survive
            every_state_of_an_attempt_survives
            one_attempt_of_a_rotation_is_open
            the_number_of_an_attempt_is_given_once
            concluded_attempts_come_newest_first
            an_update_stores_the_progress_of_an_attempt
            a_concluded_attempt_never_changes
            deleting_a_rotation_deletes_its_records
            deleting_an_environment_deletes_its_rotations
            a_purged_project_has_no_rotations
            a_deleted_team_has_no_rotations
            old_attempts_are_pruned
        }
        rotation_leases() {
            due_rotations_are_listed
            the_list_of_due_rotations_continues_after_a_rotation
            the_rotations_of_a_deleted_project_are_due
            a_leased_rotation_is_not_due
            a_lease_is_taken_when_the_last_has_ended
            a_deleted_rotation_cannot_be_leased
            a_held_lease_can_be_renewed
            a_lost_lease_cannot_be_renewed
            all_leases_end_at_once
            an_update_keeps_the_lease
        }
        rotation_races(spawn) {
            one_of_many_takes_a_lease
            a_lease_is_not_held_and_lost
            one_of_many_begins_an_attempt
            one_of_many_reserves_a_key
            a_team_is_deleted_beside_work_in_it
        }
        webhooks() {
            surplus_pending_deliveries_fail
            surplus_webhook_deliveries_are_deleted
            a_trimmed_webhook_has_few_deliveries
            all_fields_of_a_webhook_survive
            an_unknown_webhook_is_not_found
            webhooks_come_oldest_first
            a_rotation_that_is_gone_gets_no_webhook
            an_update_enables_or_disables_a_webhook
            a_deleted_webhook_is_gone_with_its_deliveries
            all_fields_of_a_webhook_delivery_survive
            a_delivery_needs_a_webhook
            webhook_deliveries_come_newest_first
            an_update_stores_the_status_of_a_delivery
            old_webhook_deliveries_are_pruned
        }
    } };
}
