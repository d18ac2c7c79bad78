//! What goes wrong around a server: connections that do nothing, disks that fill up, memory that ends.
//!
//! Every test here has a short form, for `make test`, and a long one, for `make test-faults`, which sets the variables that
//! [`times`] reads and prints what each test says it has tried ([`tried`]).

mod connections;
mod disk;
mod memory;
mod seasons;

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::ADMIN;

/// How often something is tried: what a variable of the environment says, else the short form.
pub(crate) fn times(variable: &str, short: usize) -> usize {
    std::env::var(variable).map_or(short, |times| times.parse().unwrap())
}

/// Says what was tried, for the summary of `make test-faults`.
pub(crate) fn tried(what: &str) {
    println!("\ntried: {what}");
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(Duration::from_secs(30)))
        .build()
        .into()
}

/// Calls with the admin key. Status 0 means that there was no answer: the server went away.
fn call(agent: &ureq::Agent, method: &str, url: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(url)
        .header("Authorization", format!("Bearer {ADMIN}"))
        .header("Content-Type", "application/json")
        .body(body)
        .unwrap();
    let Ok(mut answer) = agent.run(request) else { return (0, Value::Null) };
    let Ok(text) = answer.body_mut().read_to_string() else { return (0, Value::Null) };
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

fn get(agent: &ureq::Agent, url: &str) -> (u16, Value) {
    call(agent, "GET", url, &Value::Null)
}

/// Waits until something holds.
#[track_caller]
fn until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < patience, "not within {patience:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A number of `/metrics`.
fn metric(agent: &ureq::Agent, address: &str, name: &str) -> u64 {
    let (_, text) = get(agent, &format!("{address}/metrics"));
    let text = text.as_str().unwrap();
    let line = text.lines().find(|line| line.split(' ').next() == Some(name));
    let value = line.and_then(|line| line.split(' ').nth(1));
    value.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap()
}

/// Memory of a process that is in use, in bytes.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
