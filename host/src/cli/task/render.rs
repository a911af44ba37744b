//! Text output of `tenon task` and `tenon effect`.

use crate::{
    admin::wire::{TaskKind, TaskReport, TaskStatus},
    cli::{
        output,
        table::{Column, Row, render_table},
    },
};

pub fn tasks(kind: TaskKind, tasks: &[TaskStatus]) -> String {
    let mut columns = vec![
        Column::Left("PLUGIN"),
        Column::Left("TENANT"),
        Column::Left("ID"),
        Column::Left("STATE"),
        Column::Left("DUE"),
        Column::Right("FAULTS"),
    ];
    if kind == TaskKind::Effect {
        columns.extend([Column::Left("CALL"), Column::Right("ATTEMPTS"), Column::Left("OUTCOME")]);
    }
    render_table(&columns, &tasks.iter().map(row).collect::<Vec<_>>())
}

fn row(task: &TaskStatus) -> Row {
    let names = [&task.plugin, &task.tenant, &task.id, &task.state].map(String::clone).into_iter();
    let mut cells: Vec<String> = names.chain([output::timestamp(task.due_at), task.faults.to_string()]).collect();
    if let Some(call) = &task.call {
        let outcome = call.outcome.clone().or_else(|| call.failure.as_ref().map(|failure| format!("last: {failure}")));
        cells.push(format!("{} {} {}", call.destination, call.method, call.path));
        cells.extend([call.attempts.to_string(), outcome.unwrap_or_default()]);
    }
    Row { cells, notes: task.fault.iter().cloned().collect() }
}

pub fn action_report(report: &TaskReport, action: &str) -> String {
    let TaskReport { plugin, tenant, id } = report;
    let result = match action {
        "drop" => "dropped",
        _ => "due now",
    };
    output::printable_lines(&format!("{id} ({plugin}, {tenant}): {result}.\n"))
}
