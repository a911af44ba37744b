//! Every edge of an order, as a table that people read too: what is not in it is forbidden. Made from the
//! configuration; the tests hold it against what the commands do.

use crate::rules::flow::{Activity, CANCELED, CREATED, DISPATCHED, FAILED, Flow, STARTED};

/// How an order is asked to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Create,
    Dispatch,
    Start,
    UpdateActivity,
    /// PUT or PATCH with another `status`.
    ChangeStatus,
    Complete,
    Cancel,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// `None`: the order was not there before.
    pub from: Option<String>,
    pub to: String,
    pub by: Vec<Way>,
    /// Besides the state, for a person; empty: nothing.
    pub needs: &'static str,
}

impl Way {
    pub const ALL: [Way; 7] =
        [Way::Create, Way::Dispatch, Way::Start, Way::UpdateActivity, Way::ChangeStatus, Way::Complete, Way::Cancel];

    pub fn name(self) -> &'static str {
        match self {
            Way::Create => "create",
            Way::Dispatch => "dispatch",
            Way::Start => "start",
            Way::UpdateActivity => "update-activity",
            Way::ChangeStatus => "PUT status",
            Way::Complete => "complete",
            Way::Cancel => "cancel",
        }
    }
}

/// Of an order without a tour. Its stops go the same way from `started` on, by update-activity alone.
pub fn edges(flow: &Flow) -> Vec<Edge> {
    let created = Edge { from: None, to: CREATED.to_owned(), by: vec![Way::Create], needs: "" };
    let open = flow.activities().iter().filter(|activity| !is_end(activity));
    std::iter::once(created).chain(open.flat_map(|activity| edges_from(flow, activity))).collect()
}

fn is_end(activity: &Activity) -> bool {
    activity.complete || activity.code == CANCELED || activity.code == FAILED
}

fn edges_from(flow: &Flow, from: &Activity) -> Vec<Edge> {
    let edge =
        |to: &str, by: &[Way], needs| Edge { from: Some(from.code.clone()), to: to.to_owned(), by: by.to_vec(), needs };
    let named = from.next.iter().filter_map(|code| flow.find(code));
    let mut edges: Vec<Edge> = named
        .filter(|next| next.code != CANCELED && next.code != FAILED)
        .map(|next| edge(&next.code, ways_to(from, next), needs_of(next)))
        .collect();
    let leads = |from: &str, to: &str| flow.find(from).is_some_and(|found| found.next.iter().any(|next| next == to));
    if leads(&from.code, DISPATCHED) && leads(DISPATCHED, STARTED) {
        edges.push(edge(STARTED, &[Way::Start, Way::UpdateActivity], "`skip_dispatch`, and a driver as for `started`"));
    }
    edges.push(edge(CANCELED, &[Way::UpdateActivity, Way::ChangeStatus, Way::Cancel], ""));
    edges.push(edge(FAILED, &[Way::UpdateActivity], "a `reason`"));
    edges
}

fn ways_to(from: &Activity, next: &Activity) -> &'static [Way] {
    match next.code.as_str() {
        DISPATCHED if from.code == CREATED => &[Way::Create, Way::Dispatch, Way::UpdateActivity, Way::ChangeStatus],
        DISPATCHED => &[Way::Dispatch, Way::UpdateActivity, Way::ChangeStatus],
        STARTED => &[Way::Start, Way::UpdateActivity, Way::ChangeStatus],
        _ if next.complete => &[Way::UpdateActivity, Way::ChangeStatus, Way::Complete],
        _ => &[Way::UpdateActivity, Way::ChangeStatus],
    }
}

fn needs_of(next: &Activity) -> &'static str {
    match next.code.as_str() {
        DISPATCHED => "a driver, or an ad-hoc order",
        STARTED => "a driver; an ad-hoc order takes the first who accepts it",
        _ if next.complete => "the proof, where one is required",
        _ if next.require_pod => "a proof",
        _ if !next.logic.is_empty() => "its conditions",
        _ => "",
    }
}

/// The table as a page of the documentation.
pub fn markdown(flow: &Flow) -> String {
    let mut page = String::from("| from | to | by | needs |\n|---|---|---|---|\n");
    for edge in edges(flow) {
        let from = edge.from.map_or_else(|| "(nothing)".to_owned(), |code| format!("`{code}`"));
        let by: Vec<&str> = edge.by.iter().map(|way| way.name()).collect();
        page.push_str(&format!("| {from} | `{}` | {} | {} |\n", edge.to, by.join(", "), edge.needs));
    }
    page.push_str("\nEverything else is refused, and nothing changes.\n");
    page
}
