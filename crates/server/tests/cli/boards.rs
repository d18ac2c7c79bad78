//! `key` and `board`.

use crate::process::Server;

#[test]
fn a_key_is_made_listed_used_and_deleted() {
    let server = Server::start();
    let key = server.run(&["key", "create", "game-eu", "--role", "game"]).ok();
    let key = key.trim();
    assert!(key.len() >= 16 && !key.contains(char::is_whitespace), "{key}");
    let list = server.run(&["key", "list"]).ok();
    assert!(list.starts_with("NAME     ROLE   CREATED\n"), "{list}");
    assert!(list.contains("\ngame-eu  game   20"), "{list}");
    // --key goes before the environment.
    server.run(&["submit", "alice", "3", "--key", key]).ok();
    let refused = server.run(&["key", "list", "--key", key]).fails(1);
    assert!(refused.contains("(forbidden)"), "{refused}");
    assert_eq!(server.run(&["key", "delete", "game-eu"]).ok(), "game-eu is deleted\n");
    let unknown = server.run(&["submit", "alice", "3", "--key", key]).fails(1);
    assert!(unknown.contains("(unauthorized)"), "{unknown}");
    let gone = server.run(&["key", "delete", "game-eu"]).fails(1);
    assert!(gone.contains("(unknown_key)"), "{gone}");
    assert_eq!(server.json(&["key", "list"])["data"].as_array().unwrap().len(), 1);
}

#[test]
fn a_board_is_created_from_flags() {
    let server = Server::start();
    let flags = "board create laps --title Laps --rule best --order asc --ties earliest --season weekly \
                 --week-starts sunday --time-zone Asia/Seoul --keep forever --goal -5 --once-per day \
                 --min-points 1 --max-points 9";
    let mut args: Vec<_> = flags.split(' ').filter(|word| !word.is_empty()).collect();
    args.extend(["--grace", "10 minutes"]);
    let created = server.run(&args).ok();
    assert!(created.starts_with("board laps is created\nSETTING"), "{created}");
    let board = server.json(&["board", "show", "laps"]);
    for (setting, value) in [
        ("title", "Laps"),
        ("rule", "best"),
        ("order", "asc"),
        ("ties", "earliest"),
        ("season", "weekly"),
        ("week_starts", "sunday"),
        ("time_zone", "Asia/Seoul"),
        ("grace", "10 minutes"),
        ("keep", "forever"),
        ("once_per", "day"),
    ] {
        assert_eq!(board[setting], value, "{setting}");
    }
    for (setting, value) in [("goal", -5), ("min_points", 1), ("max_points", 9), ("players", 0)] {
        assert_eq!(board[setting], value, "{setting}");
    }
    let shown = server.run(&["board", "show", "laps"]).ok();
    assert!(shown.contains("\ntime_zone       Asia/Seoul\n"), "{shown}");
    let list = server.run(&["board", "list"]).ok();
    assert!(list.starts_with("BOARD  TITLE  RULE  ORDER  SEASONS  CURRENT"), "{list}");
    assert!(list.contains("\nlaps   Laps   best  asc    weekly   20"), "{list}");
    assert!(list.contains("\nmain          sum   desc   monthly  20"), "{list}");
}

#[test]
fn a_board_is_created_from_a_file_and_never_changed_by_accident() {
    let server = Server::start();
    let file = server.file("b.json", r#"{"season":"never","goal":7}"#);
    server.run(&["board", "create", "b", "--file", &file]).ok();
    assert_eq!(server.json(&["board", "show", "b"])["goal"], 7);
    let exists = server.run(&["board", "create", "b", "--goal", "8"]).fails(1);
    assert!(exists.contains("--replace"), "{exists}");
    assert_eq!(server.json(&["board", "show", "b"])["goal"], 7);
    let changed =
        server.run(&["board", "create", "b", "--season", "never", "--goal", "8", "--replace"]);
    assert!(changed.ok().starts_with("board b is changed\n"));
    assert_eq!(server.json(&["board", "show", "b"])["goal"], 8);
    server.run(&["board", "create", "c", "--file", &file, "--goal", "8"]).fails(2);
}

#[test]
fn a_file_that_is_no_definition_is_named() {
    let server = Server::start();
    let create = |file: &str| server.run(&["board", "create", "x", "--file", file]).fails(1);
    for (content, why) in [
        ("a,1\n", "expected value"),
        ("[]", "expected an object"),
        (r#"{"rule":"most"}"#, "rule: unknown variant `most`"),
    ] {
        let file = server.file("some.csv", content);
        let words = create(&file);
        assert!(words.contains(&file) && words.contains(why), "{words}");
    }
    server.run(&["board", "show", "x"]).fails(1);
}

#[test]
fn a_board_is_deleted_only_when_that_is_meant() {
    let server = Server::start();
    server.run(&["board", "create", "b"]).ok();
    let asked = server.run(&["board", "delete", "b"]).fails(2);
    assert!(asked.contains("--yes"), "{asked}");
    server.run(&["board", "show", "b"]).ok();
    assert_eq!(server.run(&["board", "delete", "b", "--yes"]).ok(), "board b is deleted\n");
    let gone = server.run(&["board", "show", "b"]).fails(1);
    assert!(gone.contains("(unknown_board)"), "{gone}");
}
