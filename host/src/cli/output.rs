//! Text fragments that several commands print.

use serde::Serialize;

use super::{CliError, Outcome};
use crate::admin::wire::{StepTime, TimestampText};

/// Renders a value as one line of JSON.
pub fn json(value: &impl Serialize) -> Result<Outcome, CliError> {
    let text = serde_json::to_string(value).map_err(|error| CliError::Failed(error.to_string()))?;
    Ok(Outcome::success(format!("{text}\n")))
}

/// Shortens a hash to the prefix that distinguishes components. `--json` prints the whole hash.
pub fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// Renders a timestamp. `None` becomes an empty string.
pub fn timestamp(timestamp: Option<TimestampText>) -> String {
    timestamp.map(|timestamp| timestamp.to_string()).unwrap_or_default()
}

/// Renders the total duration of all steps in milliseconds: "12.345".
pub fn milliseconds(steps: &[StepTime]) -> String {
    let all: u64 = steps.iter().map(|step| step.microseconds).sum();
    format!("{}.{:03}", all / 1_000, all % 1_000)
}

/// Renders the duration of each step: "settle 51.0 ms, compile 70.0 ms".
pub fn steps(steps: &[StepTime]) -> String {
    let each =
        steps.iter().map(|step| format!("{} {:.1} ms", printable(&step.step), step.microseconds as f64 / 1_000.0));
    each.collect::<Vec<_>>().join(", ")
}

/// Escapes untrusted text for one line of a terminal.
///
/// Names from plugins, files and callers must not control the terminal, break the line, or change its text direction.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_visible(character) { out.push(character) } else { out.extend(character.escape_default()) }
    }
    out
}

/// Escapes untrusted text that may have several lines.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Returns false for control characters, bidirectional controls, line separators, and characters without width.
pub fn is_visible(character: char) -> bool {
    let hidden = matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !hidden && !character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_bidirectional_controls_are_escaped() {
        assert_eq!(printable("\u{1b}[2Ja\nb\r\u{9b}"), "\\u{1b}[2Ja\\nb\\r\\u{9b}");
        assert_eq!(printable("x\u{202e}y\u{2066}z\u{2028}\u{200b}"), "x\\u{202e}y\\u{2066}z\\u{2028}\\u{200b}");
        assert_eq!(printable("Zürich \"日本\" \\"), "Zürich \"日本\" \\");
        assert_eq!(printable_lines("a\u{7}\nb"), "a\\u{7}\nb");
    }
}
