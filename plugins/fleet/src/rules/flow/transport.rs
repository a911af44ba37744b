//! The configuration that every organization has (research/fleet 3): key `transport`.

use super::{Activity, CREATED, DISPATCHED, Flow, STARTED};

pub const NAMESPACE: &str = "system:order-config:transport";
pub const VERSION: &str = "0.0.1";

/// Code, status, details, color, what comes next.
type Row = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>);

const ROWS: [Row; 5] = [
    (CREATED, "Order Created", "The order was created.", "#6b7280", Some(DISPATCHED)),
    (DISPATCHED, "Order Dispatched", "The order was handed to a driver.", "#2563eb", Some(STARTED)),
    (STARTED, "Order Started", "The driver has started the order.", "#7c3aed", Some("enroute")),
    ("enroute", "Driver Enroute", "The driver is on the way.", "#d97706", Some("completed")),
    ("completed", "Order Completed", "The order was completed.", "#15803d", None),
];

/// A test checks it as any other is checked.
pub fn transport() -> Flow {
    let activities = ROWS.iter().zip(0..).map(|(row, sequence)| activity(*row, sequence));
    Flow { activities: activities.collect() }
}

fn activity((code, status, details, color, next): Row, sequence: u32) -> Activity {
    Activity {
        key: code.to_owned(),
        code: code.to_owned(),
        status: status.to_owned(),
        details: details.to_owned(),
        color: Some(color.to_owned()),
        sequence,
        next: next.map(str::to_owned).into_iter().collect(),
        complete: next.is_none(),
        ..Activity::default()
    }
}
