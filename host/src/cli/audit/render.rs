//! Text output of `tenon audit`.

use super::report::{Compared, Report, ReportedChain};
use crate::{
    admin::wire::{AuditLine, ChainFlaw, FlawKind, Page},
    cli::{
        output,
        table::{Column, Row, render_table},
    },
};

const NEXT_STEPS: &str = "The journal was modified. Keep an unchanged copy of the data folder, then compare these lines with a backup: \
    `tenon restore BACKUP --data-dir ELSEWHERE`, and `tenon audit list --data-dir ELSEWHERE`. Every user with write access to the data folder \
    can do this: find out who did.\n";
const CUT_HINT: &str = "A chain that was cut at its end is detected only by comparison with an earlier report: keep the output of --json elsewhere, \
    and pass it to --against.\n";

pub fn verification(report: &Report, has_earlier: bool) -> String {
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
    let table = render_table(&columns, &report.chains.iter().map(chain_row).collect::<Vec<_>>());
    let (chains, lines) = (report.chains.len(), report.chains.iter().map(|chain| chain.chain.lines).sum::<u64>());
    let verdict = match (report.is_valid, has_earlier) {
        (false, _) => NEXT_STEPS.to_owned(),
        (true, true) => {
            format!("{lines} lines in {chains} chains: every hash is valid and consistent with the earlier report.\n")
        }
        (true, false) => format!("{lines} lines in {chains} chains: every hash is valid.\n{CUT_HINT}"),
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
        Some(Compared::Deleted) => Some("not compared: the last line of the earlier report is deleted".to_owned()),
        Some(Compared::New) => Some("the earlier report does not contain this chain".to_owned()),
        Some(Compared::Same) | None => None,
    };
    let notes = deleted.into_iter().chain(compared).chain(chain.flaw.map(describe_flaw)).collect();
    Row { cells: names.into_iter().chain(numbers).chain(end).collect(), notes }
}

fn describe_flaw(ChainFlaw { seq, kind }: ChainFlaw) -> String {
    let description = match kind {
        FlawKind::Changed => "it was changed",
        FlawKind::Missing => "it is missing, although later lines exist",
        FlawKind::Misplaced => "it does not follow from the previous line: one of the two was inserted",
        FlawKind::CutOff => "it no longer exists, the chain was cut at its end",
        FlawKind::Rewritten => "its hash differs from the earlier report: this line or a previous line was rewritten",
    };
    format!("INVALID from line {seq} on: {description}")
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
    let table = render_table(&columns, &page.entries.iter().map(line_row).collect::<Vec<_>>());
    output::printable_lines(&format!("{table}{more}"))
}

fn line_row(line: &AuditLine) -> Row {
    let decided_by = line.version.as_ref().zip(line.component.as_ref());
    let decided_by = decided_by.map(|(version, component)| format!("{version} ({})", output::short(component)));
    let position = [line.at.to_string(), line.plugin.clone(), line.tenant.clone(), line.seq.to_string()];
    let content = [&line.subject, &line.operation, &line.request_id].map(String::clone);
    let cells = position.into_iter().chain(content).chain([decided_by.unwrap_or_default()]).collect();
    Row { cells, notes: vec![line.entry.clone()] }
}
