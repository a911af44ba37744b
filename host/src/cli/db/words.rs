//! The output of `tenon db` for people.

use crate::{
    boot::{CheckLine, CheckState, ExaminationReport},
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
    let Some(restore) = &report.restore else { return table };
    format!(
        "{table}\nKeep the data folder as it is, and restore the newest backup that is intact:\n  {}\n",
        printable(restore)
    )
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
