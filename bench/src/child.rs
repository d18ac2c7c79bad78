//! Programs that are run to their end, within a time.

use std::{
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

/// Waits for the end of a program; one that takes longer is ended.
pub fn finish(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        sleep(Duration::from_millis(10));
    }
    // Nothing is left to do about a process that is gone already.
    let _ = child.kill();
    let _ = child.wait();
    bail!("a program did not end within {limit:?}")
}

/// What a program prints, which has to be little: it is read when the program has ended.
pub fn output(command: &mut Command, limit: Duration) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("{name} is not on the PATH"))?;
    let status = finish(&mut child, limit).with_context(|| name.clone())?;
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !status.success() {
        bail!("{name} ended with {status}: {text}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_is_returned() {
        let text = output(Command::new("echo").arg("hello"), Duration::from_secs(10)).unwrap();
        assert_eq!(text, "hello\n");
    }

    #[test]
    fn one_that_does_not_end_is_ended() {
        let error = output(Command::new("sleep").arg("60"), Duration::from_millis(50)).unwrap_err();
        assert!(format!("{error:#}").contains("did not end within 50ms"), "{error:#}");
    }
}
