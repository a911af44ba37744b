//! The tenants' journal, for people.

use super::report::{Compared, Report, ReportedChain};
use crate::{
    admin::wire::{AuditLine, ChainFlaw, FlawSort, Page},
    cli::{
        show,
        table::{Column, Row, render},
    },
};

const NEXT_STEPS: &str = "The journal is NOT what was written. Keep a copy of the data folder as it is, then look for the same lines in a backup: \
    `tenon restore BACKUP --data-dir ELSEWHERE`, and `tenon audit list --data-dir ELSEWHERE`. Whoever can write into the data folder can do this: \
    find out who did.\n";
const BEYOND: &str = "A chain that was cut at its end shows only against an earlier report: keep what --json prints elsewhere, and give it to --against.\n";

pub fn verified(report: &Report, has_earlier: bool) -> String {
    if report.chains.is_empty() {
        return "The journal is empty.\n".to_owned();
    }
    let columns = [
        Column::Left("PLUGIN"),
        Column::Left("TENANT"),
        Column::Right("LINES"),
        Column::Right("FIRST"),
        Column::Right("LAST"),
        Column::Left("HEAD"),
    ];
    let table = render(&columns, &report.chains.iter().map(chain_row).collect::<Vec<_>>());
    let (chains, lines) = (report.chains.len(), report.chains.iter().map(|chain| chain.chain.lines).sum::<u64>());
    let verdict = match (report.sound, has_earlier) {
        (false, _) => NEXT_STEPS.to_owned(),
        (true, true) => format!(
            "{lines} lines in {chains} chains: each follows from the one before, and from what was seen earlier.\n"
        ),
        (true, false) => format!("{lines} lines in {chains} chains: each follows from the one before.\n{BEYOND}"),
    };
    format!("{table}{verdict}")
}

fn chain_row(reported: &ReportedChain) -> Row {
    let chain = &reported.chain;
    let numbers = [chain.lines.to_string(), chain.first.map(|first| first.to_string()).unwrap_or_default()];
    let names = [&chain.plugin, &chain.tenant].map(String::clone);
    let end = [chain.last.to_string(), chain.head.clone()];
    let deleted = (chain.deleted > 0).then(|| format!("retention has deleted the lines up to {}", chain.deleted));
    let compared = match reported.compared {
        Some(Compared::Deleted) => Some("the last line of the earlier report is deleted: not compared".to_owned()),
        Some(Compared::New) => Some("the earlier report does not have it".to_owned()),
        Some(Compared::Same) | None => None,
    };
    let notes = deleted.into_iter().chain(compared).chain(chain.flaw.map(flaw_words)).collect();
    Row { cells: names.into_iter().chain(numbers).chain(end).collect(), notes }
}

fn flaw_words(ChainFlaw { seq, what }: ChainFlaw) -> String {
    let what = match what {
        FlawSort::Changed => "it was changed",
        FlawSort::Missing => "it is missing, though later ones are there",
        FlawSort::Misplaced => "it does not follow from the one before: one of the two was put there",
        FlawSort::CutOff => "it is not there any more, the chain was cut at its end",
        FlawSort::Rewritten => {
            "it has another hash than in the earlier report: it, or a line before it, was written anew"
        }
    };
    format!("NOT SOUND from line {seq} on: {what}")
}

pub fn lines(page: &Page<AuditLine>) -> String {
    let columns = [
        Column::Left("AT"),
        Column::Left("PLUGIN"),
        Column::Left("TENANT"),
        Column::Right("LINE"),
        Column::Left("SUBJECT"),
        Column::Left("OPERATION"),
        Column::Left("REQUEST"),
        Column::Left("DECIDED BY"),
    ];
    let more = page.next.as_ref().map(|next| format!("There may be more: --after {next}\n")).unwrap_or_default();
    let table = render(&columns, &page.entries.iter().map(line_row).collect::<Vec<_>>());
    show::printable_lines(&format!("{table}{more}"))
}

fn line_row(line: &AuditLine) -> Row {
    let decided_by = line.version.as_ref().zip(line.component.as_ref());
    let decided_by = decided_by.map(|(version, component)| format!("{version} ({})", show::short(component)));
    let whose = [line.at.to_string(), line.plugin.clone(), line.tenant.clone(), line.seq.to_string()];
    let what = [&line.subject, &line.operation, &line.request_id].map(String::clone);
    let cells = whose.into_iter().chain(what).chain([decided_by.unwrap_or_default()]).collect();
    Row { cells, notes: vec![line.entry.clone()] }
}
