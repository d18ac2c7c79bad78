//! The conformance suite: what every engine must do, one behaviour a function.
//!
//! A function is named as the statement that it checks and uses nothing but the [`Engine`] trait, so that each engine
//! passes the same ones. An engine's test file makes a [`Fixture`] and calls [`conformance_suite!`](crate::conformance_suite),
//! which turns each behaviour into a test of its own.
//!
//! Time is a [`ManualClock`]. Engines open and close seasons in the background, so whoever turns the clock across a boundary
//! waits until the engine has followed ([`World::turn_to`]).

pub mod batches;
pub mod boards;
pub mod duplicates;
pub mod imports;
pub mod keys;
pub mod model;
pub mod paging;
pub mod players;
pub mod reading;
pub mod rules;
pub mod seasons;
pub mod seasons_closed;
pub mod standings;
mod world;

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Engine, ManualClock};

pub use world::World;

/// An engine under test on a store of its own, empty at first.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// The engine as it is open now.
    fn engine(&self) -> Arc<dyn Engine>;

    /// The clock that the engine goes by.
    fn clock(&self) -> Arc<ManualClock>;

    /// Stops the engine and opens it on the same data. Nobody else may hold the engine by then.
    async fn restart(&mut self);
}

/// Makes a `#[tokio::test]` of every behaviour. The argument is an async function from the clock's first reading to a
/// `Box<dyn Fixture>`.
#[macro_export]
macro_rules! conformance_suite {
    ($open:path) => {
        $crate::conformance_cases! { [$crate::conformance_tests] $open }
    };
}

/// Tests of the given cases; for [`conformance_suite!`](crate::conformance_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($open:path; $($module:ident { $($case:ident,)* })*) => {
        $($(
            #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let fixture = $open($crate::conformance::World::start()).await;
                let mut world = $crate::conformance::World::new(fixture);
                $crate::conformance::$module::$case(&mut world).await;
            }
        )*)*
    };
}

/// The table of behaviours, handed to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ([$($then:tt)*] $($argument:tt)*) => {
        $($then)* ! { $($argument)*;
            rules {
                a_sum_adds_points,
                a_best_score_is_kept_until_it_is_beaten,
                a_low_score_is_better_where_the_board_says_so,
                the_latest_score_replaces,
                a_tie_shares_the_rank,
                the_earliest_leads_a_tie_where_the_board_says_so,
                a_tie_at_the_same_instant_is_in_order_of_id_bytes,
                a_sum_was_reached_when_its_last_event_happened,
                points_outside_the_limits_are_rejected,
                an_event_may_be_a_minute_ahead_and_no_more,
                a_sum_out_of_range_changes_nothing,
                a_condition_on_the_last_update_holds_or_fails,
                once_per_day_is_a_calendar_day_of_the_zone,
                once_per_hour_is_a_calendar_hour_of_the_zone,
            }
            batches {
                each_line_of_a_batch_stands_alone,
                a_batch_is_decided_in_order,
                an_empty_batch_is_answered,
                a_submission_to_an_unknown_board_is_an_error,
                set_scores_overrules_the_rule,
                set_scores_refuses_a_row_from_the_future_and_all_others_with_it,
                set_scores_takes_the_last_row_of_a_player,
                a_removed_player_is_gone_and_ranks_close_up,
                a_removed_player_starts_anew,
                removing_someone_without_an_entry_is_an_error,
            }
            duplicates {
                an_event_id_counts_once,
                a_duplicate_answers_the_recorded_score_and_the_current_rank,
                an_event_id_with_other_points_or_player_is_refused,
                a_rejected_submission_uses_up_no_event_id,
                an_event_id_counts_once_within_a_batch,
                an_event_id_counts_once_across_a_restart,
                an_event_id_is_forgotten_after_its_window,
                an_event_id_is_remembered_again_after_its_window,
                an_event_id_belongs_to_its_board,
                a_duplicate_in_a_closed_season_has_its_final_rank,
                a_duplicate_of_a_removed_player_has_no_rank,
                a_duplicate_is_one_whatever_else_has_changed,
            }
            reading {
                an_empty_board_is_read_as_such,
                an_entry_knows_its_rank_percentile_and_update,
                a_window_is_filled_up_at_both_edges,
                a_window_wider_than_the_board_is_the_board,
                given_players_come_in_order_and_the_others_are_missing,
                a_place_is_where_a_score_would_stand,
                a_distribution_adds_up,
                a_distribution_of_equal_scores_is_one_bin,
                what_is_unknown_is_an_error,
            }
            paging {
                pages_by_offset_cover_the_board,
                a_page_after_a_place_goes_on_there,
                a_row_that_does_not_move_appears_once_while_others_move,
                a_page_goes_on_after_a_player_who_left,
                a_range_of_scores_is_found_in_either_order,
                success_is_a_filter,
                filters_and_cursors_combine,
            }
            standings {
                hundreds_of_players_are_in_order_after_every_kind_of_move,
                scores_at_the_ends_of_the_range_are_ranked,
                ids_of_any_script_are_ranked_by_bytes,
                a_restart_changes_nothing,
            }
            boards {
                a_board_is_created_changed_and_listed,
                a_setting_that_decides_the_meaning_of_scores_is_immutable,
                any_setting_may_change_while_no_season_has_scores,
                a_board_may_change_its_schedule_back_and_forth,
                a_deleted_board_is_gone_with_its_seasons,
                a_board_created_anew_inherits_nothing,
                many_boards_do_not_mix,
            }
            seasons {
                a_board_begins_with_the_season_of_the_present,
                a_season_rolls_over_at_the_boundary,
                an_event_belongs_to_the_season_of_its_own_time,
                an_event_ahead_of_the_boundary_is_in_the_next_season,
                a_late_event_counts_during_the_grace,
                after_the_grace_a_season_is_closed,
                a_season_before_the_first_takes_nothing,
                boundaries_are_in_the_zone_of_the_board,
                every_season_exists_after_a_long_downtime,
                seasons_are_listed_by_year_and_page,
                a_board_without_seasons_has_one,
            }
            seasons_closed {
                a_manual_close_ends_a_season_at_once,
                a_season_may_be_closed_twice_at_one_instant,
                a_closed_part_is_followed_by_the_next_season,
                a_closed_season_answers_every_question,
                a_closed_season_keeps_its_goal,
                a_closed_season_keeps_the_names_of_its_time,
                a_player_can_be_taken_off_a_closed_season,
                closed_seasons_survive_a_restart,
            }
            imports {
                an_imported_season_is_ranked,
                an_import_replaces_the_season_whole,
                an_import_with_a_player_twice_changes_nothing,
                an_abandoned_import_changes_nothing,
                an_open_season_cannot_be_imported,
                an_unknown_season_cannot_be_imported,
                an_imported_row_without_a_time_was_reached_within_the_season,
                an_import_survives_a_restart,
            }
            players {
                a_profile_is_what_was_put_last,
                a_player_is_known_by_scores_alone,
                a_player_has_entries_on_current_seasons,
                a_name_is_found_in_any_letter_case,
                a_name_is_found_by_its_beginning_up_to_a_limit,
                a_new_name_replaces_the_old_one,
                a_name_comes_with_a_submission,
                a_rejected_submission_sets_no_name,
                names_are_on_the_rows_of_a_board,
            }
            keys {
                a_key_is_found_by_its_hash,
                a_key_is_replaced_only_on_request,
                a_deleted_key_stops_working,
                keys_survive_a_restart,
                an_engine_that_was_shut_down_answers_so,
            }
            model {
                random_operations_agree_with_the_model,
                random_operations_agree_with_the_model_on_another_path,
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    macro_rules! names {
        ($ignored:ident; $($module:ident { $($case:ident,)* })*) => {
            [$(($crate::conformance::tests::source(stringify!($module)), vec![$(stringify!($case)),*]),)*]
        };
    }

    fn source(module: &str) -> String {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance");
        std::fs::read_to_string(format!("{dir}/{module}.rs"))
            .or_else(|_| std::fs::read_to_string(format!("{dir}/{module}/mod.rs")))
            .unwrap()
    }

    #[test]
    fn every_behaviour_is_in_the_table() {
        for (source, listed) in crate::conformance_cases!([names] ignored) {
            let written = source.lines().filter_map(|line| {
                line.strip_prefix("pub async fn ").and_then(|rest| rest.split('(').next())
            });
            assert_eq!(written.collect::<BTreeSet<_>>(), listed.into_iter().collect());
        }
    }
}
