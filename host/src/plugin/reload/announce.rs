//! A log line for each swap: its result, and the duration of each step.

use super::{SwapReport, Version, journal::SwapAction};

/// Logs a published swap.
pub fn published(report: &SwapReport) {
    let notes = summary(&report.notes);
    if let Some(details) = details(&report.notes) {
        tracing::debug!(plugin = &*report.plugin, "{details}");
    }
    tracing::info!(
        plugin = &*report.plugin,
        generation = report.generation,
        action = report.action.name(),
        "{} {} serves{}: {}{notes}",
        report.plugin,
        short(&report.to),
        report.from.as_ref().map_or(String::new(), |from| format!(", was {}", short(from))),
        steps(&report.steps_ms),
    );
}

/// Returns a single note, or the number of notes. The log contains all notes at level debug. The journal contains none.
fn summary(notes: &[String]) -> String {
    match notes {
        [] => String::new(),
        [note] => format!(" ({note})"),
        notes => format!(" ({} notes: log level debug)", notes.len()),
    }
}

/// Returns all notes, or `None` if there are none.
fn details(notes: &[String]) -> Option<String> {
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Logs a refused swap; `serving` still serves.
pub fn refused(
    plugin: &str,
    action: SwapAction,
    serving: Option<&Version>,
    reasons: &[String],
    steps_ms: &[(String, f64)],
) {
    let taken = if steps_ms.is_empty() { String::new() } else { format!(" (after {})", steps(steps_ms)) };
    tracing::warn!(
        plugin,
        action = action.name(),
        "{plugin}: refused, {}: {}{taken}",
        serving.map_or("no version serves".to_owned(), |version| format!("{} goes on serving", short(version))),
        reasons.join("; ")
    );
}

/// Logs a change that a newer one has overtaken.
pub fn overtaken(plugin: &str, action: SwapAction, hash: &str) {
    tracing::info!(
        plugin,
        action = action.name(),
        "{plugin}: {} was overtaken by a newer change and not published",
        short_hash(hash)
    );
}

pub fn removed(plugin: &str) {
    tracing::info!(
        plugin,
        action = SwapAction::Remove.name(),
        "{plugin} no longer serves: it was removed from plugins.toml"
    );
}

fn short(version: &Version) -> String {
    format!("{} ({})", version.version, short_hash(&version.hash))
}

/// Returns a prefix that distinguishes components.
pub fn short_hash(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn steps(steps_ms: &[(String, f64)]) -> String {
    let each = steps_ms.iter().map(|(step, ms)| format!("{step} {ms:.1} ms"));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_contains_version_hash_and_steps() {
        let version = Version { version: "1.0.0".into(), hash: "0123456789abcdef".into() };
        assert_eq!(short(&version), "1.0.0 (0123456789ab)");
        assert_eq!(steps(&[("settle".into(), 51.04), ("try".into(), 0.26)]), "settle 51.0 ms, try 0.3 ms");
    }

    #[test]
    fn several_notes_are_counted_and_the_line_names_the_log_level() {
        let notes = ["an index is built", "a field is new"].map(String::from);
        assert_eq!(summary(&[]), "");
        assert_eq!(summary(&notes[..1]), " (an index is built)");
        assert_eq!(summary(&notes), " (2 notes: log level debug)");
    }

    #[test]
    fn swap_without_notes_has_no_line_of_details() {
        let notes = ["an index is built", "a field is new"].map(String::from);
        assert_eq!(details(&[]), None);
        assert_eq!(details(&notes).as_deref(), Some("an index is built; a field is new"));
    }
}
