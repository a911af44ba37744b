//! The output of `tenon db` for people.

use crate::{
    boot::{CheckLine, CheckRemedy, CheckState, ExaminationReport},
    cli::{
        show::printable,
        table::{Column, Row, render},
    },
};

pub fn checked(report: &ExaminationReport) -> String {
    let columns = [Column::Left("CHECK"), Column::Left("STATE"), Column::Left("FILE"), Column::Left("DETAIL")];
    let rows: Vec<Row> = report.checks.iter().map(row).collect();
    let table = render(&columns, &rows);
    if report.intact {
        let is_whole = report.checks.iter().all(|line| line.state == CheckState::Ok);
        let limit = if is_whole { "" } else { ", but not everything was checked" };
        return format!("{table}\nNo damage was found{limit}.\n");
    }
    format!("{table}{}", advice(report))
}

/// Returns the next steps. Those for simulated blockchains are among the findings.
fn advice(report: &ExaminationReport) -> String {
    let needs = |remedy: CheckRemedy| report.checks.iter().any(|line| line.remedy == Some(remedy));
    let mut text = String::new();
    if needs(CheckRemedy::MasterKey) {
        text.push_str(
            "\nBring back the master key that sealed the secrets (TENON_MASTER_KEY=NEW,OLD). A restore does not help.\n",
        );
    }
    let Some(restore) = &report.restore else { return text };
    let step = if needs(CheckRemedy::Restore) {
        "Keep the data folder as it is, and restore the newest backup that is intact"
    } else {
        "Remove damaged components. Deploy what is missing again, or start Tenon with its file. Only if neither is possible, restore a backup"
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

pub fn created(database: &str, replaced: Option<&str>) -> String {
    let mut text = format!("{}: an empty database.\n", printable(database));
    if let Some(replaced) = replaced {
        text.push_str(&format!("The database that was there is {} now.\n", printable(replaced)));
    }
    text
}

pub fn accepted(database: &str, version: u64) -> String {
    format!("{} is accepted as it is, at version {version}.\n", printable(database))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output for damage that needs these repairs.
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
        checked(&ExaminationReport { database: "tenon.db".to_owned(), intact: false, checks, restore })
    }

    #[test]
    fn secrets_under_another_master_key_do_not_advise_to_restore() {
        let text = advice_for(&[CheckRemedy::MasterKey], None);
        assert!(text.contains("Bring back the master key") && !text.contains("backup"), "{text}");
    }

    #[test]
    fn lost_components_advise_to_restore_last() {
        let text = advice_for(&[CheckRemedy::Deploy], Some("tenon restore BACKUP"));
        assert!(text.contains("Deploy what is missing again") && !text.contains("newest backup"), "{text}");
        assert!(text.ends_with("restore a backup:\n  tenon restore BACKUP\n"), "{text}");
    }

    #[test]
    fn damaged_database_advises_to_restore_and_names_a_missing_master_key() {
        let all = [CheckRemedy::Restore, CheckRemedy::Deploy, CheckRemedy::MasterKey];
        let text = advice_for(&all, Some("tenon restore BACKUP"));
        assert!(text.contains("restore the newest backup that is intact:\n  tenon restore BACKUP\n"), "{text}");
        assert!(text.contains("Bring back the master key") && !text.contains("Deploy"), "{text}");
    }
}
