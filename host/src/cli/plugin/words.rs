//! Plugins, swaps and the journal, for people.

use crate::{
    admin::wire::{
        CheckReport, CompileOutcome, CompileReport, CompileSource, JournalLine, PluginState, PluginStatus, SwapReport,
        VersionStatus,
    },
    cli::{
        show,
        table::{Column, Row, render},
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
    render(&columns, &plugins.iter().map(status_row).collect::<Vec<_>>())
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
        let build = show::printable(&serving.build);
        [serving.version.clone(), show::short(&serving.hash), build, generation, in_flight, serving.since.to_string()]
    });
    let kept = plugin.kept.as_ref().map(|hash| format!("kept ({})", show::short(hash)));
    let parked = plugin.parked.as_ref().map(version).or(kept).unwrap_or_default();
    let cells = [plugin.name.clone(), state.to_owned()].into_iter().chain(serving.unwrap_or_default()).chain([parked]);
    Row { cells: cells.collect(), notes: plugin.reasons.clone() }
}

fn version(version: &VersionStatus) -> String {
    format!("{} ({})", show::printable(&version.version), show::short(&version.hash))
}

pub fn swapped(report: &SwapReport) -> String {
    let from = report.from.as_ref().map(|from| format!(", before it {}", version(from))).unwrap_or_default();
    let mut text = format!(
        "{} {} serves as generation {}{from}.\n  {}\n",
        show::printable(&report.plugin),
        version(&report.to),
        report.generation,
        show::steps(&report.steps)
    );
    report.notes.iter().for_each(|note| text.push_str(&format!("  note: {}\n", show::printable(note))));
    text
}

pub fn checked(report: &CheckReport) -> String {
    let (plugin, hash) = (show::printable(&report.plugin), show::short(&report.hash));
    let version = report.version.as_deref().map(|version| format!(" {}", show::printable(version)));
    let verdict = if report.passed { "would be published" } else { "would be refused" };
    let mut text = format!("{plugin}{} ({hash}) {verdict}.\n", version.as_deref().unwrap_or_default());
    report.reasons.iter().for_each(|reason| text.push_str(&format!("  - {}\n", show::printable(reason))));
    report.notes.iter().for_each(|note| text.push_str(&format!("  note: {}\n", show::printable(note))));
    if version.is_none() {
        text.push_str("  note: its version is not known, for it was refused before it could say it\n");
    }
    if !report.steps.is_empty() {
        text.push_str(&format!("  {}\n", show::steps(&report.steps)));
    }
    text
}

pub fn compiled(reports: &[CompileReport]) -> String {
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
        let (hash, taken) = (show::short(&report.hash), show::milliseconds(&report.steps));
        let cells = vec![report.plugin.clone(), source.to_owned(), version, hash, outcome.to_owned(), taken];
        Row { cells, notes: report.reasons.clone() }
    });
    render(&columns, &rows.collect::<Vec<_>>())
}

/// `is_filtered`: lines may exist that the filter leaves out.
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
        let hash = |hash: &Option<String>| hash.as_deref().map(show::short).unwrap_or_default();
        let words = [&line.who, &line.plugin, &line.action, &line.outcome].map(String::clone).into_iter();
        let rest = [hash(&line.from), hash(&line.to), show::milliseconds(&line.steps)];
        Row { cells: [line.at.to_string()].into_iter().chain(words).chain(rest).collect(), notes: line.reasons.clone() }
    });
    render(&columns, &rows.collect::<Vec<_>>())
}
