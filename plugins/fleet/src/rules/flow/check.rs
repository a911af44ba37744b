//! What is wrong with an order configuration. Owns the sentences that its author reads.

use std::collections::BTreeSet;

use super::{
    ACTIVITIES_MAX, Activity, CANCELED, CODE_CHARS_MAX, CREATED, DETAILS_CHARS_MAX, DISPATCHED, FAILED, STARTED,
    TITLE_CHARS_MAX, find, logic,
};
use crate::rules::invalid::Invalid;
use crate::rules::text::{check_line, check_lines};

/// The shape of the graph is looked at only where its parts are right: one mistake gives one sentence.
pub fn faults(activities: &[Activity]) -> Vec<Invalid> {
    if activities.len() > ACTIVITIES_MAX {
        return vec![fault(format!("it has more than {ACTIVITIES_MAX} activities"))];
    }
    // Every other sentence names activities by their codes.
    let no_codes = activities.iter().map(|one| one.code.as_str()).filter(|code| !is_code(code));
    let mut faults: Vec<Invalid> = no_codes.map(no_code).collect();
    if faults.is_empty() {
        faults = activities.iter().flat_map(of_activity).collect();
        faults.extend(of_names(activities));
    }
    if faults.is_empty() {
        faults.extend(of_shape(activities));
    }
    faults
}

fn fault(why: String) -> Invalid {
    Invalid::NotAccepted { field: "flow", why }
}

/// A text that may be anything, as far as a person wants to read it and as nobody is misled by it.
pub fn quoted(text: &str) -> String {
    let plain: String = text.chars().take(CODE_CHARS_MAX).flat_map(char::escape_default).collect();
    ["\"", &plain, "\""].concat()
}

fn no_code(code: &str) -> Invalid {
    fault(format!("{} is no code of lower-case letters, digits and underscores", quoted(code)))
}

fn of_activity(activity: &Activity) -> Vec<Invalid> {
    let code = &activity.code;
    let mut faults = Vec::new();
    let texts = [
        check_line("key", &activity.key, CODE_CHARS_MAX),
        check_line("status", &activity.status, TITLE_CHARS_MAX),
        check_lines("details", &activity.details, DETAILS_CHARS_MAX),
    ];
    faults.extend(texts.into_iter().filter_map(Result::err));
    if activity.key.is_empty() || activity.status.is_empty() {
        faults.push(fault(format!("the activity {code} needs a key and a status")));
    }
    if activity.color.as_deref().is_some_and(|color| !is_color(color)) {
        faults.push(fault(format!("the color of the activity {code} is not like #1a2b3c")));
    }
    let logics = activity.logic.iter().map(logic::Logic::check).filter_map(Result::err);
    faults.extend(logics.map(|why| fault(format!("in the logic of the activity {code}, {why}"))));
    if activity.logic.len() > logic::CONDITIONS_MAX {
        faults.push(fault(format!("the activity {code} has more than {} logics", logic::CONDITIONS_MAX)));
    }
    let is_end = activity.complete || is_reserved_end(code);
    if is_end && !activity.next.is_empty() {
        faults.push(fault(format!("the activity {code} is an end and leads on")));
    }
    if is_reserved_end(code) && activity.complete {
        faults.push(fault(format!("the activity {code} cannot complete an order")));
    }
    faults
}

fn of_names(activities: &[Activity]) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for activity in activities {
        if !seen.insert(activity.code.as_str()) {
            faults.push(fault(format!("the code {} is there twice", activity.code)));
        }
    }
    for code in [CREATED, DISPATCHED, STARTED] {
        if find(activities, code).is_none() {
            faults.push(fault(format!("it has no activity {code}")));
        }
    }
    for activity in activities {
        let mut named = BTreeSet::new();
        for next in &activity.next {
            if find(activities, next).is_none() {
                faults.push(fault(format!(
                    "the activity {} leads to {}, which is unknown",
                    activity.code,
                    quoted(next)
                )));
            } else if !named.insert(next) {
                faults.push(fault(format!("the activity {} leads to {next} twice", activity.code)));
            }
        }
    }
    faults
}

fn of_shape(activities: &[Activity]) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let reached = reach(activities, &[CREATED], None);
    let completing: Vec<&str> = activities.iter().filter(|one| one.complete).map(|one| one.code.as_str()).collect();
    for Activity { code, next, .. } in activities {
        if next.iter().any(|next| next == CREATED) {
            faults.push(fault(format!("the activity {code} leads back to {CREATED}")));
        }
        if !reached.contains(code.as_str()) && !is_reserved_end(code) {
            faults.push(fault(format!("no way leads to the activity {code}")));
        }
        let from_here = reach(activities, &[code], None);
        if !is_reserved_end(code) && !completing.iter().any(|complete| from_here.contains(complete)) {
            faults.push(fault(format!("no way leads from the activity {code} to one that completes")));
        }
    }
    for (gate, beyond) in [(DISPATCHED, &[STARTED][..]), (STARTED, completing.as_slice())] {
        let around = reach(activities, &[CREATED], Some(gate));
        for code in beyond.iter().filter(|code| around.contains(**code)) {
            faults.push(fault(format!("a way to the activity {code} goes around {gate}")));
        }
        let next = find(activities, gate).map(|activity| activity.next.as_slice()).unwrap_or_default();
        let next: Vec<&str> = next.iter().map(String::as_str).collect();
        if reach(activities, &next, None).contains(gate) {
            faults.push(fault(format!("a way leads back to the activity {gate}")));
        }
    }
    faults
}

/// The codes that can be reached, those where it begins included, without passing through `closed`.
fn reach<'a>(activities: &'a [Activity], begin: &[&'a str], closed: Option<&str>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = begin.to_vec();
    while let Some(code) = waiting.pop() {
        if Some(code) != closed && reached.insert(code) {
            let next = find(activities, code).map(|activity| activity.next.as_slice()).unwrap_or_default();
            waiting.extend(next.iter().map(String::as_str));
        }
    }
    reached
}

fn is_reserved_end(code: &str) -> bool {
    code == CANCELED || code == FAILED
}

fn is_code(code: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=CODE_CHARS_MAX).contains(&code.len()) && code.bytes().all(known)
}

fn is_color(color: &str) -> bool {
    let digits = color.strip_prefix('#').unwrap_or_default();
    digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
