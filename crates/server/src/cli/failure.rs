//! Why a command did not do what was asked, and the exit code.

use std::{fmt, io, process::ExitCode, time::Duration};

/// The result of a command or of a step of it.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was called in a way that cannot work.
    Usage(String),
    /// The server refused, and said why.
    Problem(Problem),
    /// Anything else, in words for the person at the terminal.
    Other(String),
    /// The reader of the output has closed it, as `head` does.
    BrokenPipe,
}

/// What the server says when it refuses.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    /// Stable, one per rule that was broken.
    pub(crate) code: String,
    /// What to do about it.
    pub(crate) detail: String,
    /// When to try again, where that can help.
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    /// A failure in words.
    pub(crate) fn other(words: impl fmt::Display) -> Self {
        Self::Other(words.to_string())
    }

    /// A failure to write to standard output.
    pub(crate) fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Other(format!("cannot write the output: {error}")),
        }
    }

    /// A failure with a file: what was tried, and why it did not work.
    pub(crate) fn file(
        tried: &str,
        path: impl AsRef<std::path::Path>,
        error: impl fmt::Display,
    ) -> Self {
        Self::Other(format!("cannot {tried} {}: {error}", path.as_ref().display()))
    }

    /// The same failure with words after its own.
    pub(crate) fn and(self, words: &str) -> Self {
        match self {
            Self::Problem(problem) => {
                Self::Problem(Problem { detail: format!("{}; {words}", problem.detail), ..problem })
            }
            Self::Other(own) => Self::Other(format!("{own}; {words}")),
            other => other,
        }
    }

    /// The same refusal with what it is about before its words.
    pub(crate) fn within(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Problem(problem) => {
                Self::Problem(Problem { detail: format!("{place}: {}", problem.detail), ..problem })
            }
            other => other,
        }
    }

    /// Whether the server answered with this code.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        matches!(self, Self::Problem(problem) if problem.code == code)
    }

    /// Writes it to standard error. Returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::BrokenPipe => return ExitCode::SUCCESS,
            Self::Usage(words) | Self::Other(words) => eprintln!("error: {words}"),
            // The server's words are about HTTP.
            Self::Problem(problem) if problem.code == "unauthorized" => {
                eprintln!(
                    "error: no valid key; give one with --key or STANDINGS_KEY (unauthorized)"
                );
            }
            Self::Problem(problem) => eprintln!("error: {} ({})", problem.detail, problem.code),
        }
        // The codes of clap, which reports most usage errors itself.
        ExitCode::from(if matches!(self, Self::Usage(_)) { 2 } else { 1 })
    }
}
