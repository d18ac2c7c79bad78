use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn ms(text: &str) -> Millis {
    Millis::parse(text).unwrap_or_else(|| panic!("{text} is no instant"))
}

fn board(season: &str, week_starts: &str, zone: &str) -> Board {
    let definition = json!({"season": season, "week_starts": week_starts, "time_zone": zone});
    Board::from_json(&definition.to_string()).unwrap()
}

fn span(id: &str, starts_at: &str, ends_at: &str) -> SeasonSpan {
    SeasonSpan { id: SeasonId::parse(id).unwrap(), starts_at: ms(starts_at), ends_at: ms(ends_at) }
}

/// Each line is a season, a zone, an instant, and the id, start and end of the season that contains it.
fn check(week_starts: &str, cases: &str) {
    let lines =
        cases.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [season, zone, at, id, starts_at, ends_at] = columns.try_into().unwrap();
        let board = board(season, week_starts, zone);
        let expected = span(id, starts_at, ends_at);
        assert_eq!(board.season_at(ms(at)), expected, "{line}");
        assert_eq!(board.season_named(&expected.id), Some(expected), "{line}");
    }
}

#[test]
fn months_days_and_years_start_at_the_zones_midnight() {
    check("monday", "
        monthly | UTC              | 2026-11-15T10:00:00Z     | 2026-11    | 2026-11-01T00:00:00Z | 2026-12-01T00:00:00Z
        monthly | Asia/Seoul       | 2026-11-30T15:00:00Z     | 2026-12    | 2026-11-30T15:00:00Z | 2026-12-31T15:00:00Z
        monthly | Asia/Seoul       | 2026-11-30T14:59:59.999Z | 2026-11    | 2026-10-31T15:00:00Z | 2026-11-30T15:00:00Z
        daily   | Asia/Kathmandu   | 2026-11-15T10:00:00Z     | 2026-11-15 | 2026-11-14T18:15:00Z | 2026-11-15T18:15:00Z
        yearly  | America/New_York | 2027-01-01T04:59:59Z     | 2026       | 2026-01-01T05:00:00Z | 2027-01-01T05:00:00Z
        monthly | UTC              | 1969-12-31T23:59:59.999Z | 1969-12    | 1969-12-01T00:00:00Z | 1970-01-01T00:00:00Z
        monthly | UTC              | 2024-02-29T12:00:00Z     | 2024-02    | 2024-02-01T00:00:00Z | 2024-03-01T00:00:00Z
        ");
}

#[test]
fn a_day_whose_midnight_does_not_exist_starts_at_its_first_instant() {
    check("sunday", "
        daily   | America/Sao_Paulo | 2018-11-04T03:00:00Z     | 2018-11-04 | 2018-11-04T03:00:00Z | 2018-11-05T02:00:00Z
        daily   | America/Sao_Paulo | 2018-11-04T02:59:59.999Z | 2018-11-03 | 2018-11-03T03:00:00Z | 2018-11-04T03:00:00Z
        weekly  | America/Sao_Paulo | 2018-11-05T00:00:00Z     | 2018-11-04 | 2018-11-04T03:00:00Z | 2018-11-11T02:00:00Z
        # A month that begins in a gap.
        monthly | America/Asuncion  | 2017-10-01T04:00:00Z     | 2017-10    | 2017-10-01T04:00:00Z | 2017-11-01T03:00:00Z
        ");
}

#[test]
fn a_day_may_have_23_or_25_hours() {
    check("monday", "
        daily | Europe/Berlin     | 2026-03-29T12:00:00Z | 2026-03-29 | 2026-03-28T23:00:00Z | 2026-03-29T22:00:00Z
        daily | Europe/Berlin     | 2026-10-25T01:30:00Z | 2026-10-25 | 2026-10-24T22:00:00Z | 2026-10-25T23:00:00Z
        # The clock goes back from midnight to 23:00.
        daily | America/Sao_Paulo | 2018-02-18T02:30:00Z | 2018-02-17 | 2018-02-17T02:00:00Z | 2018-02-18T03:00:00Z
        ");
}

#[test]
fn a_clock_set_back_across_midnight_does_not_bring_yesterday_back() {
    // At 00:01 the clock went back to 23:01 of the day before.
    check("monday", "
        daily | America/St_Johns | 2010-11-07T02:30:00Z | 2010-11-07 | 2010-11-07T02:30:00Z | 2010-11-08T03:30:00Z
        daily | America/St_Johns | 2010-11-07T02:45:00Z | 2010-11-07 | 2010-11-07T02:30:00Z | 2010-11-08T03:30:00Z
        ");
    let board = board("daily", "monday", "America/St_Johns");
    assert_eq!(board.local_date(ms("2010-11-07T02:45:00Z")).to_string(), "2010-11-07");
    assert!(board.same_period(
        OncePer::Day,
        ms("2010-11-07T02:30:00Z"),
        ms("2010-11-07T02:45:00Z")
    ));
}

#[test]
fn weeks_have_iso_ids_at_the_edges_of_years() {
    check("monday", "
        weekly | UTC        | 2026-11-15T23:59:59Z | 2026-W46 | 2026-11-09T00:00:00Z | 2026-11-16T00:00:00Z
        weekly | UTC        | 2025-12-29T00:00:00Z | 2026-W01 | 2025-12-29T00:00:00Z | 2026-01-05T00:00:00Z
        weekly | UTC        | 2027-01-03T12:00:00Z | 2026-W53 | 2026-12-28T00:00:00Z | 2027-01-04T00:00:00Z
        weekly | UTC        | 2027-01-04T00:00:00Z | 2027-W01 | 2027-01-04T00:00:00Z | 2027-01-11T00:00:00Z
        weekly | UTC        | 2021-01-01T00:00:00Z | 2020-W53 | 2020-12-28T00:00:00Z | 2021-01-04T00:00:00Z
        weekly | Asia/Seoul | 2026-11-15T15:00:00Z | 2026-W47 | 2026-11-15T15:00:00Z | 2026-11-22T15:00:00Z
        ");
}

#[test]
fn a_week_that_does_not_start_on_monday_is_named_by_its_first_date() {
    check("friday", "
        weekly | UTC | 2014-05-15T23:59:59Z | 2014-05-09 | 2014-05-09T00:00:00Z | 2014-05-16T00:00:00Z
        weekly | UTC | 2014-05-09T00:00:00Z | 2014-05-09 | 2014-05-09T00:00:00Z | 2014-05-16T00:00:00Z
        ");
    for (day, first) in [
        ("tuesday", "2026-11-10"),
        ("wednesday", "2026-11-11"),
        ("thursday", "2026-11-12"),
        ("friday", "2026-11-13"),
        ("saturday", "2026-11-14"),
        ("sunday", "2026-11-15"),
    ] {
        let season = board("weekly", day, "UTC").season_at(ms("2026-11-15T10:00:00Z"));
        assert_eq!(season.id.as_str(), first, "{day}");
        assert_eq!(season.starts_at, ms(&format!("{first}T00:00:00Z")));
    }
}

#[test]
fn a_day_that_the_zone_skips_has_no_season() {
    check("monday", "
        daily  | Pacific/Apia | 2011-12-30T09:59:59.999Z | 2011-12-29 | 2011-12-29T10:00:00Z | 2011-12-30T10:00:00Z
        daily  | Pacific/Apia | 2011-12-30T10:00:00Z     | 2011-12-31 | 2011-12-30T10:00:00Z | 2011-12-31T10:00:00Z
        weekly | Pacific/Apia | 2011-12-30T10:00:00Z     | 2011-W52   | 2011-12-26T10:00:00Z | 2012-01-01T10:00:00Z
        ");
    let daily = board("daily", "monday", "Pacific/Apia");
    assert_eq!(daily.season_named(&SeasonId::parse("2011-12-30").unwrap()), None);
}

#[test]
fn a_cron_season_runs_from_firing_to_firing() {
    check("monday", "
        0 9 * * mon   | Asia/Seoul    | 2026-11-15T10:00:00Z | 2026-11-09T00:00:00Z | 2026-11-09T00:00:00Z | 2026-11-16T00:00:00Z
        0 12 1,15 * * | UTC           | 2026-11-15T12:00:00Z | 2026-11-15T12:00:00Z | 2026-11-15T12:00:00Z | 2026-12-01T12:00:00Z
        0 0 29 2 *    | UTC           | 2100-06-01T00:00:00Z | 2096-02-29T00:00:00Z | 2096-02-29T00:00:00Z | 2104-02-29T00:00:00Z
        # 02:30 does not exist on that day: the season starts when the gap ends, at 03:00.
        30 2 * * *    | Europe/Berlin | 2026-03-29T12:00:00Z | 2026-03-29T01:00:00Z | 2026-03-29T01:00:00Z | 2026-03-30T00:30:00Z
        # 02:30 occurs twice on that day: the season starts the first time.
        30 2 * * *    | Europe/Berlin | 2026-10-25T01:30:00Z | 2026-10-25T00:30:00Z | 2026-10-25T00:30:00Z | 2026-10-26T01:30:00Z
        0 * * * *     | Europe/Berlin | 2026-10-25T01:30:00Z | 2026-10-25T00:00:00Z | 2026-10-25T00:00:00Z | 2026-10-25T02:00:00Z
        # The zone's yearly rule begins here and says that the clock was just set back, which it was not.
        0 * * * *     | America/Nuuk  | 2023-10-29T01:30:00Z | 2023-10-29T01:00:00Z | 2023-10-29T01:00:00Z | 2023-10-29T02:00:00Z
        # All firings of the skipped hour are one.
        */20 * * * *  | Europe/Berlin | 2026-03-29T01:10:00Z | 2026-03-29T01:00:00Z | 2026-03-29T01:00:00Z | 2026-03-29T01:20:00Z
        ");
}

#[test]
fn a_board_that_never_starts_anew_has_one_season() {
    let board = board("never", "monday", "Asia/Seoul");
    for at in [Millis::MIN, Millis(0), Millis::MAX] {
        let season = board.season_at(at);
        assert_eq!(
            (season.id.as_str(), season.starts_at, season.ends_at),
            ("all", Millis::MIN, Millis::MAX)
        );
        assert!(season.contains(at));
    }
}

#[test]
fn the_first_and_the_last_season_reach_to_the_ends_of_time() {
    for zone in ["UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Etc/GMT-2", "America/Sao_Paulo"] {
        for schedule in ["monthly", "weekly", "daily", "yearly", "* * * * *", "0 0 29 2 */7"] {
            for day in ["monday", "sunday"] {
                let board = board(schedule, day, zone);
                for at in [
                    Millis::MIN,
                    Millis(Millis::MIN.0 + 1),
                    Millis(0),
                    Millis(Millis::MAX.0 - 1),
                    Millis::MAX,
                ] {
                    let season = board.season_at(at);
                    assert!(season.contains(at), "{zone} {schedule} {season:?}");
                    assert_eq!(SeasonId::parse(season.id.as_str()).as_ref(), Ok(&season.id));
                    assert_eq!(board.season_named(&season.id), Some(season), "{zone} {schedule}");
                    board.local_date(at);
                    board.same_period(OncePer::Hour, at, Millis(0));
                }
                assert_eq!(board.season_at(Millis::MIN).starts_at, Millis::MIN);
                assert_eq!(board.season_at(Millis::MAX).ends_at, Millis::MAX);
            }
        }
    }
    // Beyond the range of instants too.
    let utc = board("daily", "monday", "UTC");
    assert_eq!(utc.season_at(Millis(i64::MIN)), utc.season_at(Millis::MIN));
    assert_eq!(utc.season_at(Millis(i64::MAX)), utc.season_at(Millis::MAX));
}

#[test]
fn a_season_of_another_schedule_has_no_span() {
    let monthly = board("monthly", "monday", "UTC");
    for id in
        ["2026", "2026-W46", "2026-11-01", "all", "2026-11-01T00:00:00Z", "2026-11.2", "0000-01"]
    {
        assert_eq!(monthly.season_named(&SeasonId::parse(id).unwrap()), None, "{id}");
    }
}

#[test]
fn what_is_left_after_a_manual_close_is_the_next_part() {
    let season = span("2026-11", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");
    let (closed, rest) = season.close_at(ms("2026-11-15T10:00:00Z"));
    assert_eq!(closed, span("2026-11", "2026-11-01T00:00:00Z", "2026-11-15T10:00:00Z"));
    assert_eq!(rest, span("2026-11.2", "2026-11-15T10:00:00Z", "2026-12-01T00:00:00Z"));
    let (closed, rest) = rest.close_at(ms("2026-11-16T10:00:00Z"));
    assert_eq!(closed, span("2026-11.2", "2026-11-15T10:00:00Z", "2026-11-16T10:00:00Z"));
    assert_eq!(rest, span("2026-11.3", "2026-11-16T10:00:00Z", "2026-12-01T00:00:00Z"));
    assert_eq!((closed.id.part(), rest.id.part()), (2, 3));
    assert!(rest.id.shares_season(&season.id) && season.id.shares_season(&rest.id));
    assert!(!rest.id.shares_season(&SeasonId::parse("2026-12.3").unwrap()));
}

#[test]
fn once_per_hour_counts_a_repeated_hour_twice_and_once_per_day_a_long_day_once() {
    let berlin = board("monthly", "monday", "Europe/Berlin");
    let same = |period, a, b| berlin.same_period(period, ms(a), ms(b));
    // 02:10 summer time, 02:50 summer time, 02:10 winter time.
    assert!(same(OncePer::Hour, "2026-10-25T00:10:00Z", "2026-10-25T00:50:00Z"));
    assert!(!same(OncePer::Hour, "2026-10-25T00:10:00Z", "2026-10-25T01:10:00Z"));
    assert!(!same(OncePer::Hour, "2026-10-25T00:10:00Z", "2026-10-26T00:10:00Z"));
    assert!(same(OncePer::Day, "2026-10-24T22:00:00Z", "2026-10-25T22:59:59.999Z"));
    assert!(!same(OncePer::Day, "2026-10-24T21:59:59.999Z", "2026-10-24T22:00:00Z"));
    assert!(!same(OncePer::Day, "2026-10-25T22:59:59.999Z", "2026-10-25T23:00:00Z"));
    // An hour begins at the half hour of UTC where the zone does.
    let kolkata = board("monthly", "monday", "Asia/Kolkata");
    assert!(!kolkata.same_period(
        OncePer::Hour,
        ms("2026-11-15T10:29:59Z"),
        ms("2026-11-15T10:30:00Z")
    ));
}

#[test]
fn a_snapshot_is_due_once_on_each_local_date() {
    let board = |zone: &str, at: &str| {
        let definition = json!({"time_zone": zone, "snapshots": {"at": at}});
        Board::from_json(&definition.to_string()).unwrap()
    };
    for (zone, at, after, due, date) in [
        ("UTC", "00:00", "2026-02-20T23:59:59.999Z", "2026-02-21T00:00:00Z", "2026-02-21"),
        ("UTC", "00:00", "2026-02-21T00:00:00Z", "2026-02-22T00:00:00Z", "2026-02-22"),
        ("Asia/Seoul", "21:30", "2026-02-21T12:29:59Z", "2026-02-21T12:30:00Z", "2026-02-21"),
        ("Asia/Seoul", "00:00", "2026-02-21T12:30:00Z", "2026-02-21T15:00:00Z", "2026-02-22"),
        // In the gap.
        (
            "America/Sao_Paulo",
            "00:30",
            "2018-11-04T00:00:00Z",
            "2018-11-04T03:00:00Z",
            "2018-11-04",
        ),
        ("Europe/Berlin", "02:30", "2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z", "2026-03-29"),
        // Twice: the first, and only the first.
        ("Europe/Berlin", "02:30", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25"),
        ("Europe/Berlin", "02:30", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z", "2026-10-26"),
        // There was no 30 December.
        ("Pacific/Apia", "00:00", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31"),
        ("Pacific/Apia", "09:00", "2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z", "2011-12-31"),
    ] {
        let next = board(zone, at).snapshot_due(ms(after));
        assert_eq!(next, Some((ms(due), LocalDate::parse(date).unwrap())), "{zone} {at} {after}");
    }
    assert_eq!(Board::default().snapshot_due(Millis(0)), None, "without snapshots none is due");
    assert_eq!(board("UTC", "00:00").snapshot_due(Millis::MAX), None);
    assert!(board("UTC", "00:00").snapshot_due(Millis::MIN).is_some());
}

#[test]
fn a_later_local_time_never_begins_earlier_around_any_change_of_any_clock() {
    for name in jiff::tz::db().available() {
        let zone = TimeZone::get(name.as_str()).unwrap();
        let changes = zone.following(to_timestamp(Millis::MIN)).map(|change| change.timestamp());
        // 2040 is after all changes that are listed one by one; later ones follow a yearly rule.
        let end = to_timestamp(ms("2040-01-01T00:00:00Z"));
        for change in changes.take_while(|change| *change < end) {
            let change = Millis::from_timestamp(change);
            let around = |minutes: i64| Millis(change.0 + minutes * 60_000);
            let mut time = clock::local(&zone, around(-1600));
            let mut last = Millis::MIN;
            for _ in 0..110 {
                let begins = clock::first_instant(&zone, time).unwrap();
                assert!(last <= begins, "{} {time}", name.as_str());
                assert!(clock::local(&zone, begins) >= time, "{} {time}", name.as_str());
                assert!(
                    clock::local(&zone, Millis(begins.0 - 1)) < time,
                    "{} {time}",
                    name.as_str()
                );
                last = begins;
                time = time.checked_add(jiff::Span::new().minutes(31)).unwrap();
            }
        }
    }
}

fn any_zone() -> impl Strategy<Value = String> {
    let all: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    let wild = [
        "Pacific/Apia",
        "America/Sao_Paulo",
        "America/St_Johns",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
    ];
    prop_oneof![prop::sample::select(all), prop::sample::select(wild.map(str::to_owned).to_vec())]
}

fn any_schedule() -> impl Strategy<Value = String> {
    let field = |min: u32, max: u32| {
        prop_oneof![
            3 => Just("*".to_owned()),
            2 => (min..=max).prop_map(|value| value.to_string()),
            1 => (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
            1 => (2..20_u32).prop_map(|step| format!("*/{step}")),
            1 => (min..=max, min..=max).prop_map(|(a, b)| format!("{a},{b}")),
        ]
    };
    let cron = (field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
        .prop_map(|(a, b, c, d, e)| format!("{a} {b} {c} {d} {e}"));
    let fires = cron.prop_filter("fires", |cron| Cron::parse(cron).is_ok());
    let named = ["monthly", "weekly", "daily", "yearly", "never"].map(str::to_owned).to_vec();
    prop_oneof![prop::sample::select(named), fires]
}

/// Any instant, and more of those near a change of the clock.
fn any_instant(zone: &str) -> BoxedStrategy<Millis> {
    let zone = TimeZone::get(zone).unwrap();
    let changes: Vec<Millis> = zone
        .following(to_timestamp(ms("1880-01-01T00:00:00Z")))
        .map(|change| Millis::from_timestamp(change.timestamp()))
        .take_while(|change| *change < ms("2040-01-01T00:00:00Z"))
        .collect();
    let whenever = (Millis::MIN.0..=Millis::MAX.0).prop_map(Millis);
    let nowadays = (0..4_102_444_800_000_i64).prop_map(Millis);
    if changes.is_empty() {
        return prop_oneof![whenever, nowadays].boxed();
    }
    let near = (prop::sample::select(changes), -90_000_000..90_000_000_i64)
        .prop_map(|(change, by)| Millis(change.0 + by));
    prop_oneof![1 => whenever, 1 => nowadays, 3 => near].boxed()
}

fn any_board_and_instant() -> impl Strategy<Value = (Board, Millis)> {
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    (any_schedule(), prop::sample::select(days.to_vec()), any_zone())
        .prop_flat_map(|(season, day, zone)| (Just(board(&season, day, &zone)), any_instant(&zone)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn seasons_partition_time((board, at) in any_board_and_instant()) {
        let season = board.season_at(at);
        prop_assert!(season.contains(at));
        prop_assert!(season.starts_at < season.ends_at);
        prop_assert_eq!(&board.season_at(season.starts_at), &season);
        prop_assert_eq!(&board.season_at(Millis(season.ends_at.0 - 1)), &season);
        prop_assert_eq!(board.season_named(&season.id), Some(season.clone()));
        prop_assert_eq!(SeasonId::parse(season.id.as_str()), Ok(season.id.clone()));
        if season.ends_at != Millis::MAX {
            let next = board.season_at(season.ends_at);
            prop_assert_eq!(next.starts_at, season.ends_at);
            prop_assert!(next.id > season.id);
            prop_assert!(next.id > season.id.next_part());
        }
        if season.starts_at != Millis::MIN {
            let previous = board.season_at(Millis(season.starts_at.0 - 1));
            prop_assert_eq!(previous.ends_at, season.starts_at);
            prop_assert!(previous.id < season.id);
        }
    }

    #[test]
    fn snapshots_come_one_after_another_with_ascending_dates((board, at) in any_board_and_instant(), hour in 0..24_u8, minute in 0..60_u8) {
        let definition = json!({"time_zone": board.time_zone(), "snapshots": {"at": format!("{hour:02}:{minute:02}")}});
        let board = Board::from_json(&definition.to_string()).unwrap();
        if let Some((due, date)) = board.snapshot_due(at) {
            prop_assert!(due > at);
            prop_assert_eq!(board.snapshot_due(Millis(due.0 - 1)), Some((due, date)));
            if let Some((next, next_date)) = board.snapshot_due(due) {
                prop_assert!(next > due && next_date > date);
            }
        }
    }
}

#[test]
fn a_season_or_a_date_names_a_stretch_of_time() {
    for (season, zone, text, from, to) in [
        ("monthly", "UTC", "2026-11", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        ("monthly", "UTC", "2026-02-21", "2026-02-21T00:00:00Z", "2026-02-22T00:00:00Z"),
        ("monthly", "Asia/Seoul", "2026-02-21", "2026-02-20T15:00:00Z", "2026-02-21T15:00:00Z"),
        ("weekly", "UTC", "2026-W53", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"),
        ("weekly", "Asia/Seoul", "2026-W01", "2025-12-28T15:00:00Z", "2026-01-04T15:00:00Z"),
        ("weekly", "Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        ("daily", "Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
        ("yearly", "America/New_York", "2026", "2026-01-01T05:00:00Z", "2027-01-01T05:00:00Z"),
        (
            "0 9 * * *",
            "UTC",
            "2026-11-15T09:00:00Z",
            "2026-11-15T09:00:00Z",
            "2026-11-16T09:00:00Z",
        ),
        // A day that the zone skips has no time of its own.
        ("daily", "Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"),
    ] {
        let named = board(season, "monday", zone).instants_named(text);
        assert_eq!(named, Some((ms(from), ms(to))), "{season} {zone} {text}");
    }
    let never = board("never", "monday", "UTC");
    assert_eq!(never.instants_named("all"), Some((Millis::MIN, Millis::MAX)));
    assert_eq!(never.instants_named("9999-12-31").map(|(_, to)| to), Some(Millis::MAX));
}

#[test]
fn what_is_no_season_of_the_board_and_no_date_names_no_time() {
    let monthly = board("monthly", "monday", "UTC");
    for text in ["", "soon", "2026", "2026-W46", "2026-13", "2026-02-30", "2026-11.2", "all"] {
        assert_eq!(monthly.instants_named(text), None, "{text:?}");
    }
}
