//! The command line as people use it: the real binary against a real server on a free port.

mod boards;
mod documents;
mod errors;
mod files;
mod kill;
mod offline;
mod process;
mod scores;

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
    let all = standings(&["--help"]).ok();
    for subcommand in subcommands {
        let first = subcommand.split(' ').next().unwrap();
        assert!(all.contains(&format!("\n  {first} ")), "{first}: {all}");
    }
}
