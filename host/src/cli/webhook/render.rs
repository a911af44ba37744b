//! Text output of `tenon webhook`.

use crate::{
    admin::wire::{AttemptStatus, DeliveryStatus, EndpointStatus, ResendReport},
    cli::{
        output,
        table::{Column, Row, render_table},
    },
};

pub fn endpoints(endpoints: &[EndpointStatus]) -> String {
    let columns = [
        Column::Left("PLUGIN"),
        Column::Left("TENANT"),
        Column::Left("ENDPOINT"),
        Column::Left("STATE"),
        Column::Right("PENDING"),
        Column::Right("RETRYING"),
        Column::Right("FAILED"),
        Column::Right("IN FLIGHT"),
        Column::Left("OLDEST WAITING"),
        Column::Left("FAILING SINCE"),
        Column::Left("URL"),
    ];
    render_table(&columns, &endpoints.iter().map(endpoint_row).collect::<Vec<_>>())
}

fn endpoint_row(endpoint: &EndpointStatus) -> Row {
    let live = endpoint.live.as_ref();
    let state = match (endpoint.enabled, live.is_some_and(|live| live.breaker_open)) {
        (false, _) => "disabled",
        (true, true) => "breaker open",
        (true, false) => "enabled",
    };
    let names = [&endpoint.plugin, &endpoint.tenant, &endpoint.id].map(String::clone).into_iter();
    let counts = [endpoint.pending, endpoint.retrying, endpoint.failed].map(|count| count.to_string());
    let in_flight = live.map(|live| live.in_flight.to_string()).unwrap_or_default();
    let times = [endpoint.oldest_waiting_at, endpoint.failing_since].map(output::timestamp);
    let cells = names.chain([state.to_owned()]).chain(counts).chain([in_flight]).chain(times);
    let note = endpoint.disabled.as_ref().map(|disabled| match disabled.at {
        Some(at) => format!("disabled {at}: {}", disabled.reason),
        None => format!("disabled {}", disabled.reason),
    });
    Row { cells: cells.chain([endpoint.url.clone()]).collect(), notes: note.into_iter().collect() }
}

pub fn deliveries(deliveries: &[DeliveryStatus]) -> String {
    let columns = [
        Column::Left("PLUGIN"),
        Column::Left("TENANT"),
        Column::Left("ENDPOINT"),
        Column::Left("EVENT"),
        Column::Left("TYPE"),
        Column::Left("STATE"),
        Column::Right("ATTEMPTS"),
        Column::Left("COMMITTED"),
        Column::Left("NEXT"),
    ];
    let rows = deliveries.iter().map(|delivery| {
        let names = [&delivery.plugin, &delivery.tenant, &delivery.endpoint, &delivery.event, &delivery.event_type];
        let rest = [
            delivery.state.clone(),
            delivery.attempts.to_string(),
            delivery.created_at.to_string(),
            output::timestamp(delivery.next_at),
        ];
        Row { cells: names.into_iter().cloned().chain(rest).collect(), notes: vec![] }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

pub fn attempts(attempts: &[AttemptStatus]) -> String {
    let columns = [
        Column::Right("NUMBER"),
        Column::Left("AT"),
        Column::Right("MS"),
        Column::Left("OUTCOME"),
        Column::Right("STATUS"),
    ];
    let rows = attempts.iter().map(|attempt| {
        let status = attempt.status.map(|status| status.to_string()).unwrap_or_default();
        let cells = [
            attempt.number.to_string(),
            attempt.at.to_string(),
            attempt.duration_ms.to_string(),
            attempt.outcome.clone(),
            status,
        ];
        let response = attempt.answer.lines().map(str::to_owned);
        Row { cells: cells.to_vec(), notes: response.collect() }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

pub fn resend_report(report: &ResendReport) -> String {
    let deliveries = match report.deliveries {
        1 => "1 delivery".to_owned(),
        many => format!("{many} deliveries"),
    };
    let state =
        if report.enabled { "scheduled for another attempt" } else { "sent again once the endpoint is enabled" };
    let ResendReport { plugin, tenant, endpoint, .. } = report;
    output::printable_lines(&format!("{deliveries} to {endpoint} ({plugin}, {tenant}): {state}.\n"))
}
