use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn board(definition: &Value) -> Result<Board, InvalidBoard> {
    Board::from_json(&definition.to_string())
}

#[test]
fn absent_fields_have_their_defaults() {
    let expected = json!({
        "title": "", "rule": "sum", "order": "desc", "ties": "share", "season": "monthly", "week_starts": "monday",
        "time_zone": "UTC", "grace": "5 minutes", "keep": "24 months", "goal": null, "once_per": null,
        "min_points": null, "max_points": null, "snapshots": null, "partitions": {"by": "hash", "count": 1},
    });
    let empty = board(&json!({})).unwrap();
    assert_eq!(serde_json::to_value(&empty).unwrap(), expected);
    assert_eq!(empty, Board::default());
    assert_eq!(board(&expected).unwrap(), empty, "null is absent");
    assert_eq!(empty.grace(), Millis(300_000));

    let partly = board(&json!({"snapshots": {}, "partitions": {"by": "hash"}})).unwrap();
    let partly = serde_json::to_value(&partly).unwrap();
    assert_eq!(
        partly["snapshots"],
        json!({"every": "day", "at": "00:00", "official": 100, "keep": "90 days"})
    );
    assert_eq!(partly["partitions"], json!({"by": "hash", "count": 1}));
}

#[test]
fn a_full_definition_comes_back_as_it_was_given() {
    let full = json!({
        "title": "라운드", "rule": "best", "order": "asc", "ties": "earliest", "season": "0 9 * * mon",
        "week_starts": "friday", "time_zone": "Asia/Seoul", "grace": "31 days", "keep": "8 seasons", "goal": 1,
        "once_per": "day", "min_points": -5, "max_points": 5,
        "snapshots": {"every": "day", "at": "21:30", "official": 1000, "keep": "forever"},
        "partitions": {"by": "score", "bounds": [-1, 0, 200]},
    });
    assert_eq!(serde_json::to_value(board(&full).unwrap()).unwrap(), full);
}

#[test]
fn texts_are_normalised() {
    let board = board(&json!({
        "grace": "1  minutes", "keep": "1 months", "season": " 0 9  * * MON", "time_zone": "asia/seoul"
    }))
    .unwrap();
    let json = serde_json::to_value(&board).unwrap();
    assert_eq!(json["grace"], "1 minute");
    assert_eq!(json["keep"], "1 month");
    assert_eq!(json["season"], "0 9 * * MON");
    assert_eq!(board.time_zone(), "Asia/Seoul");
}

#[test]
fn a_typo_never_passes_silently() {
    for bad in [
        json!({"titel": "x"}),
        json!({"rule": "sums"}),
        json!({"rule": null}),
        json!({"order": "down"}),
        json!({"goal": 1.5}),
        json!({"goal": 9_007_199_254_740_992_i64}),
        json!({"week_starts": "Monday"}),
        json!({"once_per": "week"}),
        json!({"snapshots": {"every": "hour"}}),
        json!({"snapshots": {"time": "00:00"}}),
        json!({"partitions": {}}),
        json!({"partitions": {"by": "name"}}),
        json!({"partitions": {"by": "hash", "count": 1, "bounds": [1]}}),
        json!({"partitions": {"by": "score", "bounds": [1], "count": 2}}),
        json!({"partitions": {"by": "score"}}),
        json!({"partitions": ["hash", 1]}),
        json!({"snapshots": []}),
        json!([]),
    ] {
        assert!(matches!(board(&bad), Err(InvalidBoard::Json(_))), "{bad}: {:?}", board(&bad));
    }
}

#[test]
fn each_broken_rule_has_its_own_answer() {
    let many: Vec<i64> = (0..1024).collect();
    for (bad, error) in [
        (json!({"title": "x".repeat(257)}), InvalidBoard::Title),
        (json!({"season": "fortnightly"}), InvalidBoard::Season),
        (json!({"season": "0 0 * *"}), InvalidBoard::Season),
        (json!({"season": "0 0 30 2 *"}), InvalidBoard::SeasonNeverStarts),
        (json!({"time_zone": "Mars/Olympus"}), InvalidBoard::TimeZone("Mars/Olympus".into())),
        (json!({"time_zone": "Etc/Unknown"}), InvalidBoard::TimeZone("Etc/Unknown".into())),
        (json!({"time_zone": "+09:00"}), InvalidBoard::TimeZone("+09:00".into())),
        (json!({"time_zone": ""}), InvalidBoard::TimeZone(String::new())),
        (json!({"grace": "32 days"}), InvalidBoard::Grace),
        (json!({"grace": "1 month"}), InvalidBoard::Grace),
        (json!({"grace": "soon"}), InvalidBoard::Grace),
        (json!({"keep": "0 seasons"}), InvalidBoard::Keep),
        (json!({"min_points": 2, "max_points": 1}), InvalidBoard::Points),
        (json!({"snapshots": {"at": "24:00"}}), InvalidBoard::SnapshotsAt),
        (json!({"snapshots": {"at": "9:00"}}), InvalidBoard::SnapshotsAt),
        (json!({"snapshots": {"at": "09:00:00"}}), InvalidBoard::SnapshotsAt),
        (json!({"snapshots": {"official": 0}}), InvalidBoard::SnapshotsOfficial),
        (json!({"snapshots": {"official": 1001}}), InvalidBoard::SnapshotsOfficial),
        (json!({"snapshots": {"keep": "8 seasons"}}), InvalidBoard::SnapshotsKeep),
        (json!({"partitions": {"by": "hash", "count": 0}}), InvalidBoard::PartitionsCount),
        (json!({"partitions": {"by": "hash", "count": 1025}}), InvalidBoard::PartitionsCount),
        (json!({"partitions": {"by": "hash", "count": 70000}}), InvalidBoard::PartitionsCount),
        (json!({"partitions": {"by": "score", "bounds": []}}), InvalidBoard::PartitionsBounds),
        (json!({"partitions": {"by": "score", "bounds": [1, 1]}}), InvalidBoard::PartitionsBounds),
        (json!({"partitions": {"by": "score", "bounds": many}}), InvalidBoard::PartitionsBounds),
    ] {
        assert_eq!(board(&bad), Err(error), "{bad}");
    }
}

#[test]
fn a_message_tells_what_to_write_instead() {
    assert_eq!(
        board(&json!({"grace": "x"})).unwrap_err().to_string(),
        r#"grace must be a span such as "5 minutes", at most "31 days""#
    );
    let typo = board(&json!({"titel": ""})).unwrap_err().to_string();
    assert!(typo.contains("unknown field `titel`, expected one of `title`, `rule`"), "{typo}");
}

#[test]
fn once_there_are_scores_what_they_mean_stays() {
    let old = board(&json!({})).unwrap();
    for (field, change) in [
        ("order", json!({"order": "asc"})),
        ("rule", json!({"rule": "best"})),
        ("season", json!({"season": "weekly"})),
        ("week_starts", json!({"week_starts": "sunday"})),
        ("time_zone", json!({"time_zone": "Etc/UTC"})),
        ("partitions", json!({"partitions": {"by": "hash", "count": 2}})),
    ] {
        let new = board(&change).unwrap();
        assert_eq!(old.change(&new, true), Err(ImmutableSetting { field }));
        assert_eq!(old.change(&new, false), Ok(()));
    }
    let rest = json!({
        "title": "x", "ties": "earliest", "grace": "0 seconds", "keep": "forever", "goal": 1, "once_per": "hour",
        "min_points": 1, "max_points": 2, "snapshots": {},
    });
    assert_eq!(old.change(&board(&rest).unwrap(), true), Ok(()));
}

#[test]
fn a_board_survives_a_format_without_field_names() {
    let board =
        board(&json!({"goal": 5, "partitions": {"by": "score", "bounds": [1, 2]}})).unwrap();
    let bytes = postcard::to_stdvec(&board).unwrap();
    assert_eq!(postcard::from_bytes::<Board>(&bytes).unwrap(), board);
}

fn any_board() -> impl Strategy<Value = Value> {
    let name = |names: &'static [&'static str]| prop::sample::select(names);
    let span =
        (1..100_u32, name(&["second", "minutes", "hour", "days", "weeks", "months", "year"]))
            .prop_map(|(count, unit)| format!("{count} {unit}"));
    let snapshots = (0..24_u8, 0..60_u8, 1..=1000_u32, span.clone()).prop_map(|(h, m, official, keep)| {
        json!({"at": format!("{h:02}:{m:02}"), "official": official, "keep": keep})
    });
    let partitions = prop_oneof![
        (1..=1024_u16).prop_map(|count| json!({"by": "hash", "count": count})),
        prop::collection::btree_set(-1000..1000_i64, 1..50)
            .prop_map(|bounds| json!({"by": "score", "bounds": bounds})),
    ];
    (
        (any::<String>(), name(&["sum", "best", "latest"]), name(&["desc", "asc"]), name(&["share", "earliest"])),
        (
            name(&["monthly", "weekly", "daily", "yearly", "never", "*/7 3-5 1,15 * fri"]),
            name(&["monday", "wednesday", "sunday"]),
            name(&["UTC", "Asia/Seoul", "America/Sao_Paulo", "Pacific/Apia"]),
        ),
        (0..=2_678_400_u32, prop_oneof![Just("forever".to_owned()), Just("3 seasons".to_owned()), span]),
        (any::<Option<i32>>(), prop::option::of(name(&["day", "hour"])), any::<Option<i16>>(), any::<Option<u16>>()),
        (prop::option::of(snapshots), partitions),
    )
        .prop_map(|(a, b, c, d, e)| {
            let title: String = a.0.chars().take(60).collect();
            json!({
                "title": title, "rule": a.1, "order": a.2, "ties": a.3, "season": b.0, "week_starts": b.1,
                "time_zone": b.2, "grace": format!("{} seconds", c.0), "keep": c.1, "goal": d.0, "once_per": d.1,
                "min_points": d.2.map(|min| i32::from(min) - 40_000), "max_points": d.3, "snapshots": e.0,
                "partitions": e.1,
            })
        })
}

proptest! {
    #[test]
    fn any_board_is_the_same_after_writing_and_reading(definition in any_board()) {
        let board = board(&definition).unwrap();
        prop_assert_eq!(&Board::from_json(&board.to_json()).unwrap(), &board);
        prop_assert_eq!(&serde_json::from_str::<Board>(&board.to_json()).unwrap(), &board);
        prop_assert_eq!(Board::from_json(&board.to_json()).unwrap().to_json(), board.to_json());
    }

    #[test]
    fn no_text_makes_reading_a_definition_panic(season in ".{0,20}", grace in ".{0,20}", zone in ".{0,20}") {
        let _ = board(&json!({"season": season, "grace": grace, "keep": grace}));
        let _ = board(&json!({"time_zone": zone, "snapshots": {"at": season, "keep": grace}}));
    }
}
