//! Text output of `tenon db`.

use crate::{
    boot::{CheckLine, CheckRemedy, CheckState, ExaminationReport},
    cli::{
        output::printable,
        table::{Column, Row, render_table},
    },
};

pub fn check_report(report: &ExaminationReport) -> String {
    let columns = [Column::Left("CHECK"), Column::Left("STATE"), Column::Left("FILE"), Column::Left("DETAIL")];
    let rows: Vec<Row> = report.checks.iter().map(row).collect();
    let table = render_table(&columns, &rows);
    if report.intact {
        let is_complete = report.checks.iter().all(|line| line.state == CheckState::Ok);
        let restriction = if is_complete { "" } else { ", but not everything was checked" };
        return format!("{table}\nNo damage was found{restriction}.\n");
    }
    format!("{table}{}", advice(report))
}

/// Returns the next steps. The findings contain those for simulated blockchains.
fn advice(report: &ExaminationReport) -> String {
    let needs = |remedy: CheckRemedy| report.checks.iter().any(|line| line.remedy == Some(remedy));
    let mut text = String::new();
    if needs(CheckRemedy::MasterKey) {
        text.push_str(
            "\nRestore the master key that encrypted the secrets (TENON_MASTER_KEY=NEW,OLD). Restoring a backup does not help.\n",
        );
    }
    let Some(restore) = &report.restore else { return text };
    let step = if needs(CheckRemedy::Restore) {
        "Keep the data folder unchanged, and restore the newest intact backup"
    } else {
        "Remove damaged components. Deploy missing components again, or start Tenon with their files. Only if neither is possible, restore a backup"
    };
    text.push_str(&format!("\n{step}:\n  {}\n", printable(restore)));
    text
}

fn row(line: &CheckLine) -> Row {
    let state = match line.state {
        CheckState::Ok => "ok",
        CheckState::Damaged => "DAMAGED",
        CheckState::Skipped => "skipped",
    };
    let cells = vec![line.check.to_owned(), state.to_owned(), line.subject.clone(), line.detail.clone()];
    Row { cells, notes: line.findings.clone() }
}

pub fn created_database(database: &str, replaced: Option<&str>) -> String {
    let mut text = format!("{}: created an empty database.\n", printable(database));
    if let Some(replaced) = replaced {
        text.push_str(&format!("The previous database was renamed to {}.\n", printable(replaced)));
    }
    text
}

pub fn accepted_database(database: &str, version: u64) -> String {
    format!("{} is accepted at version {version}.\n", printable(database))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the output for damage that needs these remedies.
    fn advice_for(remedies: &[CheckRemedy], restore: Option<&str>) -> String {
        let line = |remedy: &CheckRemedy| CheckLine {
            check: "a check",
            subject: "a file".to_owned(),
            state: CheckState::Damaged,
            detail: String::new(),
            findings: vec!["a finding".to_owned()],
            remedy: Some(*remedy),
        };
        let checks = remedies.iter().map(line).collect();
        let restore = restore.map(str::to_owned);
        check_report(&ExaminationReport { database: "tenon.db".to_owned(), intact: false, checks, restore })
    }

    #[test]
    fn wrong_master_key_does_not_advise_a_restore() {
        let text = advice_for(&[CheckRemedy::MasterKey], None);
        assert!(text.contains("Restore the master key") && !text.contains("tenon restore"), "{text}");
    }

    #[test]
    fn lost_components_advise_a_restore_last() {
        let text = advice_for(&[CheckRemedy::Deploy], Some("tenon restore BACKUP"));
        assert!(text.contains("Deploy missing components again") && !text.contains("newest intact"), "{text}");
        assert!(text.ends_with("restore a backup:\n  tenon restore BACKUP\n"), "{text}");
    }

    #[test]
    fn damaged_database_advises_a_restore_and_names_a_missing_master_key() {
        let all = [CheckRemedy::Restore, CheckRemedy::Deploy, CheckRemedy::MasterKey];
        let text = advice_for(&all, Some("tenon restore BACKUP"));
        assert!(text.contains("restore the newest intact backup:\n  tenon restore BACKUP\n"), "{text}");
        assert!(text.contains("Restore the master key") && !text.contains("Deploy"), "{text}");
    }
}
