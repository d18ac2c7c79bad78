//! Figures in documents come from files of results: what stands between two marks is replaced by a file.
//!
//! `<!-- bench:http -->` and `<!-- /bench -->` have between them what `bench/results/http.md` says.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

const OPEN: &str = "<!-- bench:";
const CLOSE: &str = "<!-- /bench -->";

/// Replaces what is between the marks of a document; whether anything changed.
pub fn fill(document: &Path, results: &Path) -> Result<bool> {
    let text = std::fs::read_to_string(document)
        .with_context(|| format!("cannot read {}", document.display()))?;
    let read = |name: &str| std::fs::read_to_string(results.join(format!("{name}.md"))).ok();
    let filled = filled(&text, read).with_context(|| document.display().to_string())?;
    if filled == text {
        return Ok(false);
    }
    std::fs::write(document, filled)?;
    Ok(true)
}

/// The text with every part that has a result replaced; others stay as they are.
fn filled(text: &str, read: impl Fn(&str) -> Option<String>) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once(OPEN) {
        let (name, old) = from.split_once(" -->").context("a mark has an end")?;
        let Some((old, after)) = old.split_once(CLOSE) else {
            bail!("{OPEN}{name} --> has no {CLOSE}");
        };
        let new = read(name).map(|new| format!("\n{}\n", new.trim_end()));
        let new = new.as_deref().unwrap_or(old);
        out.extend([before, OPEN, name, " -->", new, CLOSE]);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let text = "a\n<!-- bench:x -->\nold\n<!-- /bench -->\nb\n<!-- bench:y -->\nkept\n<!-- /bench -->\n";
        let read = |name: &str| (name == "x").then(|| "new\n".to_owned());
        let once = filled(text, read).unwrap();
        assert_eq!(once, text.replace("old", "new"));
        assert_eq!(filled(&once, read).unwrap(), once);
    }

    #[test]
    fn a_mark_without_an_end_is_an_error() {
        assert!(filled("<!-- bench:x -->\n", |_| None).is_err());
    }
}
