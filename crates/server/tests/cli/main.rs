//! The command line as people use it: the real binary against a real server on a free port.

mod boards;
mod documents;
mod errors;
mod examples;
mod faults;
mod files;
mod kill;
mod linear;
mod offline;
mod players;
mod process;
mod scores;
mod seasons;
mod snapshots;

use process::standings;

#[test]
fn the_help_of_every_subcommand_has_an_example() {
    let subcommands = [
        "serve",
        "key list",
        "key create",
        "key delete",
        "board list",
        "board create",
        "board show",
        "board delete",
        "season list",
        "season close",
        "snapshot list",
        "snapshot take",
        "player show",
        "player history",
        "player seasons",
        "player snapshots",
        "player friends",
        "player set-friends",
        "player erase",
        "top",
        "rank",
        "submit",
        "import",
        "export",
        "backup",
        "restore",
        "check",
        "rebuild",
    ];
    for subcommand in subcommands {
        let words: Vec<_> = subcommand.split(' ').chain(["--help"]).collect();
        let help = standings(&words).ok();
        assert!(help.contains("Example"), "{subcommand}");
        assert!(help.contains(&format!("\n  standings {subcommand}")), "{subcommand}: {help}");
    }
    for (command, words) in [
        ("import", "Rows are `user_id,score[,at,user_name]`"),
        ("export", "Rows are `user_id,score,at,user_name`, best first"),
        ("snapshot", "A snapshot is read with `--snapshot`"),
    ] {
        assert!(standings(&[command, "--help"]).ok().contains(words), "{command}");
    }
    let all = standings(&["--help"]).ok();
    for subcommand in subcommands {
        let first = subcommand.split(' ').next().unwrap();
        assert!(all.contains(&format!("\n  {first} ")), "{first}: {all}");
    }
}
