//! The service by itself; `examples/tournament/run.sh` shows it with a Standings server.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

/// A running service, without a Standings server behind it.
struct Service {
    child: Child,
    address: String,
    _dir: tempfile::TempDir,
}

impl Service {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let matches = dir.path().join("matches.csv");
        let csv = "match_id,player_a,moves_a,player_b,moves_b\nm-1,mary123,RR,smith,SR\n";
        std::fs::write(&matches, csv).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_game-service"))
            // Nothing listens on port 9 of the loopback address.
            .args(["--listen", "127.0.0.1:0", "--server", "http://127.0.0.1:9", "--key", "none"])
            .arg("--matches")
            .arg(matches)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, address, _dir: dir }
    }

    fn report(&self, body: &str) -> (u16, String) {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
        let request = agent.post(format!("{}/wins", self.address));
        let mut answer = request.header("content-type", "application/json").send(body).unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_foul_is_refused_before_standings_is_asked() {
    let service = Service::start();
    for (report, code) in [
        (r#"{"match_id":"m-1","user_id":"smith"}"#, "not_won"),
        (r#"{"match_id":"m-1","user_id":"eve"}"#, "not_in_match"),
        (r#"{"match_id":"m-2","user_id":"mary123"}"#, "unknown_match"),
    ] {
        assert_eq!(service.report(report), (422, format!(r#"{{"code":"{code}"}}"#)), "{report}");
    }
    let greedy = r#"{"match_id":"m-1","user_id":"mary123","points":1000}"#;
    assert_eq!(service.report(greedy).0, 422, "a client does not set points");
}

#[test]
fn a_win_that_cannot_be_passed_on_is_to_be_reported_again() {
    let won = r#"{"match_id":"m-1","user_id":"mary123"}"#;
    let answer = (503, r#"{"code":"try_again"}"#.to_owned());
    assert_eq!(Service::start().report(won), answer);
}
