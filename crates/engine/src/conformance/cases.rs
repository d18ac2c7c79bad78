//! The table of behaviours.

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
                once_per_day_is_judged_by_the_entry_and_counts_submissions_only,
            }
            batches {
                each_line_of_a_batch_stands_alone,
                a_batch_is_decided_in_order,
                an_empty_batch_is_answered,
                a_submission_to_an_unknown_board_is_an_error,
                set_scores_overrules_the_rule,
                set_scores_refuses_a_row_from_the_future_and_all_others_with_it,
                set_scores_takes_the_last_row_of_a_player,
                scores_that_are_set_again_are_the_same,
                more_scores_are_set_in_the_season_of_the_first_or_not_at_all,
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
                an_offset_is_paged_to_or_refused,
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
                a_setting_is_immutable_while_a_snapshot_has_scores,
                a_board_may_change_its_schedule_back_and_forth,
                a_deleted_board_is_gone_with_its_seasons,
                a_board_created_anew_inherits_nothing,
                many_boards_do_not_mix,
                boards_are_listed_by_page,
            }
            seasons {
                a_board_begins_with_the_season_of_the_present,
                a_season_rolls_over_at_the_boundary,
                what_is_final_keeps_the_tie_rule_that_it_had,
                an_event_belongs_to_the_season_of_its_own_time,
                an_event_ahead_of_the_boundary_is_in_the_next_season,
                a_late_event_counts_during_the_grace,
                after_the_grace_a_season_is_closed,
                a_season_before_the_first_takes_nothing,
                boundaries_are_in_the_zone_of_the_board,
                every_season_exists_after_a_long_downtime,
                seasons_are_listed_by_year_and_page,
                seasons_are_listed_from_one_that_is_not_there,
                a_board_without_seasons_has_one,
            }
            seasons_closed {
                a_manual_close_ends_a_season_at_once,
                a_season_may_be_closed_twice_at_one_instant,
                a_season_that_is_named_is_closed_once,
                a_season_in_its_grace_may_be_closed_by_name,
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
                an_import_refuses_a_row_from_the_future,
                an_abandoned_import_changes_nothing,
                an_import_that_is_given_up_changes_nothing,
                an_import_left_alone_expires,
                what_a_board_does_not_keep_is_not_imported,
                an_import_that_began_on_another_board_changes_nothing,
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
            servers {
                an_event_id_counts_once_on_all_servers,
                a_player_on_all_servers_loses_nothing,
                a_score_is_in_the_season_that_its_receipt_names,
                a_snapshot_is_of_an_instant_while_scores_come,
                a_key_deleted_on_one_server_stops_working_on_all,
                a_board_deleted_on_one_server_is_gone_on_all,
                of_servers_that_start_together_one_makes_the_key,
                a_later_start_makes_only_a_key_that_is_missing,
                maintenance_may_be_asked_for_by_many_at_once,
            }
            linear {
                every_score_is_one_number_changed_once_by_each_event,
            }
            friends {
                a_list_of_friends_is_what_was_put_last,
                friends_are_ranked_among_each_other,
                friends_are_ranked_in_the_order_of_the_board,
                a_player_without_an_entry_sees_the_friends,
                friendship_is_one_way,
                a_friend_named_twice_is_ranked_once,
                the_past_is_read_with_the_friends_of_today,
                five_thousand_friends_are_ranked,
                friends_on_an_unknown_standing_are_an_error,
            }
            history {
                submissions_are_listed_the_last_accepted_first,
                a_submission_that_changed_nothing_is_in_the_history,
                the_history_is_paged_without_gap_or_duplicate,
                a_full_last_page_has_no_next,
                what_a_receipt_was_given_for_is_in_the_history,
                what_was_not_accepted_is_not_in_the_history,
                a_deleted_board_takes_its_history_along,
                histories_of_players_do_not_mix,
                a_correction_leaves_later_history_right,
                a_mark_that_was_not_given_is_refused,
            }
            player_seasons {
                a_player_has_seasons_newest_first,
                a_season_in_its_grace_is_among_them,
                seasons_of_a_player_are_narrowed_and_paged,
                seasons_that_begin_at_the_same_instant_are_paged_as_well,
                the_best_season_is_by_the_order_of_the_board,
                the_open_season_may_be_the_best,
                imported_scores_are_among_the_seasons,
                a_season_that_one_was_taken_off_does_not_count,
                seasons_of_nobody_are_none,
            }
            streaks {
                a_streak_is_consecutive_seasons_with_success,
                a_season_without_an_entry_breaks_a_streak,
                an_open_season_extends_a_streak_and_does_not_yet_break_it,
                a_goal_is_met_in_the_order_of_the_board,
                a_new_goal_counts_from_the_open_season_on,
                an_imported_season_counts_for_streaks,
                a_gap_between_imported_seasons_breaks_a_streak,
                an_entry_that_is_taken_off_breaks_a_streak,
                a_board_without_a_goal_has_no_streaks,
                a_season_counts_its_successes_and_streaks,
                an_open_season_counts_successes_and_no_streaks,
                a_year_has_a_mean_success_rate,
                a_late_success_counts_for_parts_that_were_closed_meanwhile,
                a_season_that_closes_empty_breaks_the_streaks_of_closed_parts,
            }
            snapshots {
                a_snapshot_is_what_the_board_was,
                a_snapshot_of_the_same_date_replaces_the_earlier,
                snapshots_are_listed_by_page,
                a_snapshot_answers_every_question,
                a_range_of_scores_is_found_on_a_date,
                what_is_past_has_percentiles_and_deciles,
                an_unknown_snapshot_is_an_error,
                the_first_ranks_of_a_snapshot_are_official,
                a_snapshot_outlives_its_season,
                the_date_of_a_snapshot_is_in_the_zone_of_the_board,
                a_snapshot_keeps_its_goal,
                a_deleted_board_takes_its_snapshots_along,
            }
            snapshots_daily {
                a_snapshot_is_taken_at_the_local_time,
                the_time_of_a_snapshot_follows_the_zone,
                what_comes_after_the_instant_is_not_in_the_snapshot,
                a_date_missed_while_stopped_is_made_up,
                a_missed_date_is_of_the_season_of_its_instant,
                a_late_submission_does_not_change_a_snapshot,
                a_schedule_counts_from_when_it_was_given,
                a_snapshot_on_demand_replaces_the_daily_one,
            }
            snapshots_imported {
                an_imported_snapshot_keeps_official_ranks,
                an_imported_snapshot_is_listed_by_its_date,
                an_imported_snapshot_replaces_the_date_whole,
                a_snapshot_with_a_player_twice_changes_nothing,
                a_snapshot_of_the_future_cannot_be_imported,
                a_snapshot_of_the_first_date_can_be_read,
            }
            snapshots_of_players {
                a_player_is_seen_day_by_day,
                days_of_a_player_are_narrowed_by_dates,
                days_of_a_player_are_paged_without_gap_or_duplicate,
            }
            former_names {
                a_renaming_after_a_close_leaves_the_past_alone,
                a_renaming_right_after_a_snapshot_leaves_the_past_alone,
                a_renaming_after_the_clock_has_turned_leaves_the_past_alone,
                every_season_and_snapshot_has_its_own_name,
                an_imported_name_is_of_its_time,
                a_picture_is_of_today,
            }
            retention {
                seasons_past_their_number_are_gone,
                seasons_past_their_time_are_gone,
                what_is_past_its_time_after_a_downtime_is_gone_from_the_first_answer,
                the_best_of_all_time_survives_its_season,
                the_open_season_is_never_too_old,
                snapshots_past_their_time_are_gone,
                what_is_kept_forever_stays,
                a_shorter_time_counts_for_what_is_there,
            }
            erasure {
                nothing_of_an_erased_player_can_be_read,
                others_keep_their_frozen_ranks,
                ranks_of_the_open_season_close_up,
                who_comes_back_starts_anew,
                who_is_erased_during_an_import_stays_away,
                an_event_id_of_an_erased_player_is_free,
                a_profile_and_a_list_alone_can_be_erased,
                a_best_that_outlived_its_season_is_erased,
            }
            model {
                random_operations_agree_with_the_model,
                random_operations_agree_with_the_model_on_another_path,
            }
        }
    };
}
