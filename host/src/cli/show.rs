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
    let each = steps.iter().map(|step| format!("{} {:.1} ms", step.step, step.microseconds as f64 / 1_000.0));
    each.collect::<Vec<_>>().join(", ")
}

/// Texts of others for the terminal: lines stay, other control characters go.
pub fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}
