//! Small pieces of text that several commands print.

use serde::Serialize;

use super::{CliError, Outcome};
use crate::admin::wire::{Moment, StepTime};

/// One line of JSON for programs.
pub fn json(value: &impl Serialize) -> Result<Outcome, CliError> {
    let text = serde_json::to_string(value).map_err(|error| CliError::Failed(error.to_string()))?;
    Ok(Outcome::good(format!("{text}\n")))
}

/// As much of a hash as tells two components apart; `--json` gives all of it.
pub fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

pub fn moment(moment: Option<Moment>) -> String {
    moment.map(|moment| moment.to_string()).unwrap_or_default()
}

/// "12.345", of all steps together.
pub fn milliseconds(steps: &[StepTime]) -> String {
    let all: u64 = steps.iter().map(|step| step.microseconds).sum();
    format!("{}.{:03}", all / 1_000, all % 1_000)
}

/// "settle 51 ms, compile 70 ms".
pub fn steps(steps: &[StepTime]) -> String {
    let each =
        steps.iter().map(|step| format!("{} {:.1} ms", printable(&step.step), step.microseconds as f64 / 1_000.0));
    each.collect::<Vec<_>>().join(", ")
}

/// A text of others for one line of a terminal. What a plugin, a file or a caller called itself must neither command the
/// terminal nor break the line nor turn it around: such characters are written out.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_visible(character) { out.push(character) } else { out.extend(character.escape_default()) }
    }
    out
}

/// The same for a text with lines of its own.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Controls; marks of direction and their isolates; separators of lines; what has no width.
pub fn is_visible(character: char) -> bool {
    let hidden = matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !hidden && !character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_command_break_or_turn_a_line_is_written_out() {
        assert_eq!(printable("\u{1b}[2Ja\nb\r\u{9b}"), "\\u{1b}[2Ja\\nb\\r\\u{9b}");
        assert_eq!(printable("x\u{202e}y\u{2066}z\u{2028}\u{200b}"), "x\\u{202e}y\\u{2066}z\\u{2028}\\u{200b}");
        assert_eq!(printable("Zürich \"日本\" \\"), "Zürich \"日本\" \\");
        assert_eq!(printable_lines("a\u{7}\nb"), "a\\u{7}\nb");
    }
}
