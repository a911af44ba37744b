//! Text output of `tenon plugin` and `tenon journal`.

use crate::{
    admin::wire::{
        CheckReport, CompileOutcome, CompileReport, CompileSource, JournalLine, PluginState, PluginStatus,
        ProfileReport, SwapReport, VersionStatus,
    },
    cli::{
        output,
        table::{Column, Row, render_table},
    },
};

pub fn status_table(plugins: &[PluginStatus]) -> String {
    let columns = [
        Column::Left("NAME"),
        Column::Left("STATE"),
        Column::Left("VERSION"),
        Column::Left("HASH"),
        Column::Left("BUILD"),
        Column::Right("GENERATION"),
        Column::Right("IN FLIGHT"),
        Column::Left("SINCE"),
        Column::Left("PARKED"),
    ];
    render_table(&columns, &plugins.iter().map(status_row).collect::<Vec<_>>())
}

fn status_row(plugin: &PluginStatus) -> Row {
    let state = match plugin.state {
        PluginState::Serving => "serving",
        PluginState::Draining => "draining",
        PluginState::Preparing => "preparing",
        PluginState::Down => "down",
    };
    let serving = plugin.serving.as_ref().map(|serving| {
        let numbers = [serving.generation, serving.in_flight].map(|number| number.to_string());
        let [generation, in_flight] = numbers;
        let build = output::printable(&serving.build);
        [serving.version.clone(), output::short(&serving.hash), build, generation, in_flight, serving.since.to_string()]
    });
    let kept = plugin.kept.as_ref().map(|hash| format!("kept ({})", output::short(hash)));
    let parked = plugin.parked.as_ref().map(version).or(kept).unwrap_or_default();
    let cells = [plugin.name.clone(), state.to_owned()].into_iter().chain(serving.unwrap_or_default()).chain([parked]);
    Row { cells: cells.collect(), notes: plugin.reasons.clone() }
}

fn version(version: &VersionStatus) -> String {
    format!("{} ({})", output::printable(&version.version), output::short(&version.hash))
}

pub fn swap_report(report: &SwapReport) -> String {
    let from = report.from.as_ref().map(|from| format!(", previously {}", version(from))).unwrap_or_default();
    let mut text = format!(
        "{} {} serves as generation {}{from}.\n  {}\n",
        output::printable(&report.plugin),
        version(&report.to),
        report.generation,
        output::steps(&report.steps)
    );
    report.notes.iter().for_each(|note| text.push_str(&format!("  note: {}\n", output::printable(note))));
    text
}

pub fn check_report(report: &CheckReport) -> String {
    let (plugin, hash) = (output::printable(&report.plugin), output::short(&report.hash));
    let version = report.version.as_deref().map(|version| format!(" {}", output::printable(version)));
    let verdict = if report.passed { "would be published" } else { "would be refused" };
    let mut text = format!("{plugin}{} ({hash}) {verdict}.\n", version.as_deref().unwrap_or_default());
    report.reasons.iter().for_each(|reason| text.push_str(&format!("  - {}\n", output::printable(reason))));
    report.notes.iter().for_each(|note| text.push_str(&format!("  note: {}\n", output::printable(note))));
    if version.is_none() {
        text.push_str("  note: its version is unknown, because it was refused before its manifest was read\n");
    }
    if !report.steps.is_empty() {
        text.push_str(&format!("  {}\n", output::steps(&report.steps)));
    }
    text
}

pub fn compile_reports(reports: &[CompileReport]) -> String {
    let columns = [
        Column::Left("PLUGIN"),
        Column::Left("FROM"),
        Column::Left("VERSION"),
        Column::Left("HASH"),
        Column::Left("OUTCOME"),
        Column::Right("MS"),
    ];
    let rows = reports.iter().map(|report| {
        let source = match report.source {
            CompileSource::File => "file",
            CompileSource::Published => "data folder",
        };
        let outcome = match report.outcome {
            CompileOutcome::Compiled => "compiled",
            CompileOutcome::Cached => "cached",
            CompileOutcome::Refused => "refused",
        };
        let version = report.version.clone().unwrap_or_default();
        let (hash, taken) = (output::short(&report.hash), output::milliseconds(&report.steps));
        let cells = vec![report.plugin.clone(), source.to_owned(), version, hash, outcome.to_owned(), taken];
        Row { cells, notes: report.reasons.clone() }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

/// Renders a table. `is_filtered` means that a filter may have excluded lines.
pub fn journal(lines: &[JournalLine], is_filtered: bool) -> String {
    if lines.is_empty() {
        let text = match is_filtered {
            true => "No line of the operators' journal matches the filter.\n",
            false => "The operators' journal has no lines yet.\n",
        };
        return text.to_owned();
    }
    let columns = [
        Column::Left("AT"),
        Column::Left("WHO"),
        Column::Left("PLUGIN"),
        Column::Left("ACTION"),
        Column::Left("OUTCOME"),
        Column::Left("FROM"),
        Column::Left("TO"),
        Column::Right("MS"),
    ];
    let rows = lines.iter().map(|line| {
        let hash = |hash: &Option<String>| hash.as_deref().map(output::short).unwrap_or_default();
        let names = [&line.operator, &line.plugin, &line.action, &line.outcome].map(String::clone).into_iter();
        let rest = [hash(&line.from), hash(&line.to), output::milliseconds(&line.steps)];
        Row { cells: [line.at.to_string()].into_iter().chain(names).chain(rest).collect(), notes: line.reasons.clone() }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

pub fn profile(report: &ProfileReport, file: &str) -> String {
    let ProfileReport { plugin, version, samples, milliseconds, generation, .. } = report;
    let (plugin, version, file) = (output::printable(plugin), output::printable(version), output::printable(file));
    let seconds = *milliseconds as f64 / 1_000.0;
    let mut text =
        format!("{file}: {samples} samples of {plugin} {version} (generation {generation}) in {seconds:.1} s.\n");
    report.notes.iter().for_each(|note| text.push_str(&format!("  note: {}\n", output::printable(note))));
    if *samples == 0 {
        return text;
    }
    let columns = [Column::Right("SELF"), Column::Right("SELF %"), Column::Right("TOTAL %"), Column::Left("FUNCTION")];
    let rows = report.functions.iter().map(|function| {
        let percent = |count: u64| format!("{:.1}", count as f64 * 100.0 / *samples as f64);
        let (own, total) = (function.self_samples, function.total_samples);
        Row { cells: vec![own.to_string(), percent(own), percent(total), function.name.clone()], notes: Vec::new() }
    });
    text.push_str(&render_table(&columns, &rows.collect::<Vec<_>>()));
    text.push_str(&format!("Open https://profiler.firefox.com and load {file}.\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::wire::{FunctionStatus, ProfileEnd};

    fn report(functions: &[(&str, u64, u64)], notes: &[&str]) -> ProfileReport {
        let functions = functions.iter().map(|(name, self_samples, total_samples)| FunctionStatus {
            name: (*name).to_owned(),
            self_samples: *self_samples,
            total_samples: *total_samples,
        });
        ProfileReport {
            plugin: "notes".to_owned(),
            version: "0.1.0".to_owned(),
            hash: "aa".to_owned(),
            generation: 1,
            milliseconds: 2_000,
            samples: functions.clone().map(|function| function.self_samples).sum(),
            ended: ProfileEnd::Time,
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
            functions: functions.collect(),
            profile: serde_json::value::RawValue::from_string("{}".to_owned()).unwrap(),
        }
    }

    #[test]
    fn profile_lists_functions_with_percentages() {
        let text = profile(&report(&[("notes::parse", 3, 3), ("main\u{1b}", 1, 4)], &[]), "a.json");
        let expected = "a.json: 4 samples of notes 0.1.0 (generation 1) in 2.0 s.\n\
                        SELF  SELF %  TOTAL %  FUNCTION\n   3    75.0     75.0  notes::parse\n   \
                        1    25.0    100.0  main\\u{1b}\nOpen https://profiler.firefox.com and load a.json.\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn profile_without_samples_has_its_note_and_no_table() {
        let text = profile(&report(&[], &["There are no samples."]), "a.json");
        assert_eq!(text, "a.json: 0 samples of notes 0.1.0 (generation 1) in 2.0 s.\n  note: There are no samples.\n");
    }
}
