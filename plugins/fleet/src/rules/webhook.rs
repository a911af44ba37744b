//! Endpoints of webhooks (research/fleet 1.4 and 6): what an organization may ask for.

use super::invalid::Invalid;

/// Of the bodies that are delivered.
pub const VERSION: &str = "2024-03-12";
/// What an endpoint may listen to.
pub const EVENTS: &[&str] = &[
    // Orders and payloads.
    "order.created",
    "order.ready",
    "order.updated",
    "order.deleted",
    "order.dispatched",
    "order.dispatch_failed",
    "order.started",
    "order.completed",
    "order.canceled",
    "order.failed",
    "order.driver_assigned",
    "order.ping",
    "payload.created",
    "payload.updated",
    "payload.deleted",
    "waypoint.activity",
    "waypoint.completed",
    // Drivers.
    "driver.created",
    "driver.updated",
    "driver.deleted",
    "driver.assigned",
    "driver.location_changed",
    // Tracking numbers, statuses, proofs.
    "tracking_number.created",
    "tracking_number.updated",
    "tracking_number.deleted",
    "tracking_status.created",
    "tracking_status.updated",
    "tracking_status.deleted",
    // Places, contacts, vehicles, entities.
    "place.created",
    "place.updated",
    "place.deleted",
    "contact.created",
    "contact.updated",
    "contact.deleted",
    "vehicle.created",
    "vehicle.updated",
    "vehicle.deleted",
    "vehicle.location_changed",
    "entity.created",
    "entity.updated",
    "entity.deleted",
    "entity.driver_assigned",
    "entity.activity",
    "entity.completed",
    "order_config.created",
    "order_config.updated",
    "order_config.deleted",
];

pub const URL_CHARS_MAX: usize = 2_048;
pub const DESCRIPTION_CHARS_MAX: usize = 500;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    #[default]
    Enabled,
    Disabled,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Enabled => "enabled",
            Status::Disabled => "disabled",
        }
    }

    fn of_name(name: &str) -> Result<Status, Invalid> {
        let found = [Status::Enabled, Status::Disabled].into_iter().find(|status| status.name() == name);
        found.ok_or(Invalid::NotOneOf { field: "status", allowed: "enabled, disabled" })
    }
}

/// Where events go, and which.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    pub url: String,
    pub description: Option<String>,
    /// Empty: all.
    pub events: Vec<String>,
    pub status: Status,
}

/// What a caller wrote. Fields that are absent stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub url: Option<String>,
    /// `Some(None)` clears it.
    pub description: Option<Option<String>>,
    pub events: Option<Vec<String>>,
    pub status: Option<String>,
    pub mode: Option<String>,
    pub version: Option<String>,
}

/// The subscription that was asked for, on top of the one before where there is one. Every fault at once.
pub fn settle(before: Option<Subscription>, asked: Asked, environment: &str) -> Result<Subscription, Vec<Invalid>> {
    let mut wrong = Vec::new();
    let (url, description, events, status) = match before {
        Some(before) => (Some(before.url), before.description, before.events, before.status),
        None => (None, None, Vec::new(), Status::default()),
    };
    let url = asked.url.or(url).filter(|url| !url.trim().is_empty());
    let events = asked.events.map_or(Ok(events), known_events).unwrap_or_else(|fault| refuse(&mut wrong, fault));
    let status = asked.status.map_or(Ok(status), |name| Status::of_name(&name));
    let status = status.unwrap_or_else(|fault| refuse(&mut wrong, fault));
    if asked.version.is_some_and(|version| version != VERSION) {
        wrong.push(Invalid::NotOneOf { field: "version", allowed: VERSION });
    }
    if asked.mode.is_some_and(|mode| mode != environment) {
        wrong.push(Invalid::OtherMode);
    }
    match url {
        Some(url) if wrong.is_empty() => {
            Ok(Subscription { url, description: asked.description.unwrap_or(description), events, status })
        }
        Some(_) => Err(wrong),
        None => {
            wrong.insert(0, Invalid::Required("url"));
            Err(wrong)
        }
    }
}

pub fn too_many_subjects(most: usize) -> Invalid {
    Invalid::TooMany { what: "subjects", most: u32::try_from(most).unwrap_or(u32::MAX) }
}

/// Each once.
pub fn known_events(mut names: Vec<String>) -> Result<Vec<String>, Invalid> {
    names.sort();
    names.dedup();
    if names.iter().all(|name| EVENTS.contains(&name.as_str())) { Ok(names) } else { Err(unknown_event()) }
}

fn unknown_event() -> Invalid {
    let why = ["one of them is none of these: ", &EVENTS.join(", ")].concat();
    Invalid::NotAccepted { field: "events", why }
}

fn refuse<T: Default>(wrong: &mut Vec<Invalid>, fault: Invalid) -> T {
    wrong.push(fault);
    T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn asked(url: &str) -> Asked {
        Asked { url: text(url), ..Asked::default() }
    }

    fn names(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn an_endpoint_listens_to_everything_unless_it_says_otherwise() {
        let all = settle(None, asked("https://a.example.com"), "test").unwrap();
        assert_eq!((all.events.len(), all.status, all.description), (0, Status::Enabled, None));
        let twice = Asked { events: names(&["order.created", "order.created"]), ..asked("https://a.example.com") };
        assert_eq!(settle(None, twice, "test").unwrap().events, ["order.created"]);
    }

    #[test]
    fn what_is_absent_stays() {
        let before = Asked { description: Some(text("a")), events: names(&["order.created"]), ..asked("https://a.b") };
        let before = settle(None, before, "test").unwrap();
        assert_eq!(settle(Some(before.clone()), Asked::default(), "test"), Ok(before.clone()));
        let disabled = Asked { status: text("disabled"), description: Some(None), ..Asked::default() };
        let expected = Subscription { status: Status::Disabled, description: None, ..before.clone() };
        assert_eq!(settle(Some(before), disabled, "test"), Ok(expected));
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let nonsense = Asked {
            url: text(" "),
            events: names(&["order.creatde"]),
            status: text("asleep"),
            mode: text("live"),
            version: text("2020-09-30"),
            ..Asked::default()
        };
        let expected = [
            Invalid::Required("url"),
            unknown_event(),
            Invalid::NotOneOf { field: "status", allowed: "enabled, disabled" },
            Invalid::NotOneOf { field: "version", allowed: "2024-03-12" },
            Invalid::OtherMode,
        ];
        assert_eq!(settle(None, nonsense, "test").unwrap_err(), expected);
    }

    #[test]
    fn the_names_of_the_events_stand_in_the_refusal() {
        let sentence = known_events(vec!["order.creatde".to_owned()]).unwrap_err().sentence().into_owned();
        assert!(EVENTS.iter().all(|name| sentence.contains(name)), "{sentence}");
    }
}
