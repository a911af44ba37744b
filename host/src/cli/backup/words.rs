//! Backups for people.

use std::io::Write;

use crate::{
    admin::wire::{BackupReport, RestoreReport},
    cli::show::printable,
};

/// One line on the terminal that is written over by the next.
pub fn say(step: &str, bytes_done: u64, bytes_total: u64) {
    let far = match bytes_total {
        0 => String::new(),
        total => format!(" {} of {} MB", bytes_done >> 20, total >> 20),
    };
    // Nobody may be looking.
    let _ = write!(std::io::stderr(), "\r\u{1b}[K{}{far}\r", printable(step));
}

/// Takes that line away again.
pub fn say_no_more() {
    let _ = write!(std::io::stderr(), "\r\u{1b}[K");
}

pub fn written(folder: &str, report: &BackupReport) -> String {
    let mut text = format!("{}: {}.\n", printable(folder), held(report));
    for finding in &report.findings {
        text.push_str(&format!("  NOT SOUND: {}\n", printable(finding)));
    }
    if !report.findings.is_empty() {
        text.push_str(
            "The database itself has that, too: keep this backup and an older one, and look at the journal.\n",
        );
    }
    text.push_str("The master key is not in it: keep a copy of that apart. Nor are simulated blockchains.\n");
    text
}

pub fn restored(report: &RestoreReport, has_master_key: bool) -> String {
    let mut text = format!("{}: {}.\n", printable(&report.database), held(&report.backup));
    if let Some(replaced) = &report.replaced {
        text.push_str(&format!("The database that was there is {} now.\n", printable(replaced)));
    }
    if !has_master_key {
        text.push_str(
            "Bring the master key that it was written under before you start: TENON_MASTER_KEY or master.key.\n",
        );
    }
    text
}

fn held(report: &BackupReport) -> String {
    let BackupReport { bytes, components, journal_lines, ledger_sums, .. } = report;
    let checked = if report.thorough { "pages, indexes" } else { "pages" };
    format!(
        "{bytes} bytes as of {}, the database (schema {}) and {components} components; checked: {checked}, \
         {journal_lines} journal entries, {ledger_sums} ledger balances",
        printable(&report.made_at),
        report.schema
    )
}
