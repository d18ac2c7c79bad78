//! What every store must do: each sentence of the [traits](crate::traits) is a case here.
//!
//! A case takes a store with nothing in it. [`ledger_suite!`](crate::ledger_suite), [`archive_suite!`](crate::archive_suite) and
//! [`standings_suite!`](crate::standings_suite) make a test of each case, given an expression that opens such a store:
//!
//! ```ignore
//! mod ledger { standings_cluster::ledger_suite!(super::open()); }
//! ```
//!
//! Stores are behind [`Cuts`], which lose answers and deliver calls twice whatever the store is.

pub mod archive;
pub mod commit;
pub mod cut;
pub mod fence;
pub mod given;
pub mod history;
pub mod outbox;
pub mod records;
pub mod repair;
pub mod view;

pub use cut::{Cut, Cuts};

/// A test of each of these cases on a store of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! tests_of {
    ($open:expr; $($module:ident: $($case:ident),+;)+) => {
        $($(
            #[tokio::test]
            async fn $case() {
                let store = $crate::suite::Cuts::around($open);
                $crate::suite::$module::$case(&store).await;
            }
        )+)+
    };
}

/// The cases for a [`Ledger`](crate::traits::Ledger).
#[macro_export]
macro_rules! ledger_suite {
    ($open:expr) => {
        $crate::tests_of! { $open;
            records:
                a_change_replaces_records_and_rows_wholly_or_not_at_all,
                what_a_record_says_comes_where_its_version_is_not_known,
                a_change_sent_again_is_done_once,
                a_conflict_is_final,
                of_changes_at_once_one_stands,
                sixteen_changes_are_remembered_and_no_more,
                a_record_that_is_removed_is_absent,
                boards_come_in_pages_in_the_order_of_their_ids,
                rows_come_in_pages_both_ways;
            fence:
                a_fence_rises_and_never_falls,
                a_fence_is_of_one_board_and_one_shard,
                a_commit_is_stored_in_the_epoch_of_the_fence_alone,
                nothing_of_an_older_epoch_lands_after_the_fence,
                a_refused_epoch_stays_refused_when_it_is_sent_again;
            commit:
                a_commit_stores_all_of_it,
                a_commit_that_is_refused_stores_nothing,
                a_version_that_is_not_what_it_was_is_a_conflict,
                an_event_id_is_used_once_in_its_half,
                ids_count_from_the_half_that_is_asked_for,
                the_same_token_again_is_already_stored,
                an_answer_that_was_lost_is_asked_for_again,
                what_was_stored_stays_so_whatever_came_after,
                another_token_at_the_number_is_closed,
                a_refused_number_is_used_again,
                a_tombstone_keeps_its_version,
                of_commits_at_once_on_the_same_facts_one_is_stored,
                an_entry_that_begins_misses_no_erasure;
            outbox:
                records_tell_what_entries_were_and_became,
                records_come_by_stream_in_order,
                streams_come_in_pages_with_what_their_newest_says,
                a_sealed_stream_takes_nothing,
                a_stream_is_sealed_before_it_begins,
                the_newest_record_is_never_cleared,
                a_stream_goes_when_it_is_sealed;
            history:
                entries_come_in_pages_shard_by_shard,
                events_come_from_the_newest_down,
                names_are_found_by_how_they_begin,
                a_player_has_one_name,
                entries_of_a_standing_are_cleared_to_the_last,
                events_of_a_standing_are_cleared_to_the_last,
                items_are_cleared_at_exactly_their_versions,
                of_a_player_what_is_older_is_cleared,
                ids_before_a_half_are_cleared,
                of_a_board_carries_and_ids_are_cleared;
        }
    };
}

/// The cases for an [`Archive`](crate::traits::Archive).
#[macro_export]
macro_rules! archive_suite {
    ($open:expr) => {
        $crate::tests_of! { $open;
            archive:
                answers_are_those_of_a_sorted_list,
                pieces_are_written_in_any_order_and_again,
                one_without_rows_is_empty,
                a_player_is_found_in_many,
                a_gap_keeps_its_place_and_its_score,
                a_write_that_comes_late_fills_no_gap,
                what_is_removed_is_empty;
        }
    };
}

/// The cases for [`Standings`](crate::traits::Standings) that are fed.
#[macro_export]
macro_rules! standings_suite {
    ($open:expr) => {
        $crate::tests_of! { $open;
            view:
                answers_are_those_of_a_sorted_list,
                the_newest_version_stands_in_whatever_order_they_come,
                a_feed_that_was_taken_changes_nothing_again,
                a_gap_changes_nothing_and_says_where_it_begins,
                probes_are_answered_after_the_feeds,
                what_was_never_built_is_not_ready,
                tombstones_are_listed_and_pruned_at_exactly_their_versions,
                what_is_forgotten_is_not_ready;
            repair:
                a_new_generation_answers_once_it_is_current,
                an_older_generation_is_refused,
                a_generation_that_has_less_is_behind,
                what_is_being_built_is_not_what_answers,
                nothing_is_done_on_another_node,
                nothing_is_pruned_while_another_is_built;
        }
    };
}
