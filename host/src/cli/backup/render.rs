//! Text output of `tenon backup` and `tenon restore`.

use std::io::Write;

use crate::{
    admin::wire::{BackupReport, RestoreReport},
    cli::output::printable,
};

/// Shows the progress on one terminal line, which the next update overwrites.
pub fn show_progress(step: &str, bytes_done: u64, bytes_total: u64) {
    let bytes = match bytes_total {
        0 => String::new(),
        total => format!(" {} of {} MB", bytes_done >> 20, total >> 20),
    };
    // Standard error may be closed.
    let _ = write!(std::io::stderr(), "\r\u{1b}[K{}{bytes}\r", printable(step));
}

/// Removes the progress line.
pub fn clear_progress() {
    let _ = write!(std::io::stderr(), "\r\u{1b}[K");
}

pub fn backup_report(folder: &str, report: &BackupReport) -> String {
    let mut text = format!("{}: {}.\n", printable(folder), summary(report));
    for finding in &report.findings {
        text.push_str(&format!("  INCONSISTENT: {}\n", printable(finding)));
    }
    if !report.findings.is_empty() {
        text.push_str(
            "The database itself is inconsistent, too: keep this backup and an older one, and check the journal.\n",
        );
    }
    text.push_str("The backup does not contain the master key (keep a separate copy) or simulated blockchains.\n");
    text
}

pub fn restore_report(report: &RestoreReport, has_master_key: bool) -> String {
    let mut text = format!("{}: {}.\n", printable(&report.database), summary(&report.backup));
    if let Some(replaced) = &report.replaced {
        text.push_str(&format!("The previous database was renamed to {}.\n", printable(replaced)));
    }
    if !has_master_key {
        text.push_str(
            "Before the start, provide the master key of the backed-up host: TENON_MASTER_KEY or master.key.\n",
        );
    }
    text
}

fn summary(report: &BackupReport) -> String {
    let BackupReport { bytes, components, journal_lines, ledger_sums, .. } = report;
    let checked = if report.thorough { "pages, indexes" } else { "pages" };
    format!(
        "{bytes} bytes as of {}, the database (schema {}) and {components} components; checked: {checked}, \
         {journal_lines} journal entries, {ledger_sums} ledger balances",
        printable(&report.made_at),
        report.schema
    )
}
