//! On what terms an order is carried out (research/fleet 1.1.1): its configuration, whom it is offered to, when, and
//! how urgent it is.

use crate::rules::change::{Change, Faults};
use crate::rules::invalid::Invalid;
use crate::rules::location::distance::RADIUS_M_MAX;
use crate::rules::refusal::Refusal;
use crate::rules::waypoint::Window;

pub const DEFAULT_PRIORITY: f64 = 50.0;
const PRIORITY: (f64, f64) = (0.0, 100.0);
const DISTANCE_M: (f64, f64) = (1.0, RADIUS_M_MAX);
pub const SKILLS_MAX: usize = 20;
const SKILL_CHARS_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    pub adhoc: bool,
    /// Around the pickup; `None`: the organization's.
    pub adhoc_distance_m: Option<f64>,
    pub window: Window,
    /// Each once, in the order of the alphabet.
    pub required_skills: Vec<String>,
    /// Whole; the higher the sooner.
    pub priority: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub adhoc: Option<bool>,
    pub adhoc_distance_m: Change<f64>,
    pub window_start_ms: Change<u64>,
    pub window_end_ms: Change<u64>,
    pub required_skills: Change<Vec<String>>,
    pub priority: Change<f64>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            adhoc: false,
            adhoc_distance_m: None,
            window: Window::default(),
            required_skills: Vec::new(),
            priority: DEFAULT_PRIORITY,
        }
    }
}

/// What was asked for, on top of the terms before where there are some. Every fault at once.
pub fn settle(before: Option<Terms>, asked: Asked) -> Result<Terms, Vec<Invalid>> {
    let before = before.unwrap_or_default();
    let mut faults = Faults::default();
    let window = Window {
        start_ms: asked.window_start_ms.over(before.window.start_ms),
        end_ms: asked.window_end_ms.over(before.window.end_ms),
    };
    faults.keep(window.check());
    let distance_m = asked.adhoc_distance_m.over(before.adhoc_distance_m);
    let priority = faults.number("orchestrator_priority", asked.priority.over(Some(before.priority)), PRIORITY);
    if priority.is_some_and(|priority| priority.fract() != 0.0) {
        faults.note(Invalid::Not { field: "orchestrator_priority", kind: "a whole number" });
    }
    let terms = Terms {
        adhoc: asked.adhoc.unwrap_or(before.adhoc),
        adhoc_distance_m: faults.number("adhoc_distance", distance_m, DISTANCE_M),
        window,
        required_skills: skills(asked.required_skills.over(Some(before.required_skills)), &mut faults),
        priority: priority.unwrap_or(DEFAULT_PRIORITY),
    };
    faults.finish(terms)
}

fn skills(asked: Option<Vec<String>>, faults: &mut Faults) -> Vec<String> {
    let asked = asked.unwrap_or_default();
    if asked.len() > SKILLS_MAX {
        faults.note(Invalid::Not { field: "required_skills", kind: "a list of at most 20 texts" });
        return Vec::new();
    }
    let field = ("required_skills", SKILL_CHARS_MAX);
    let mut skills: Vec<String> =
        asked.into_iter().filter_map(|skill| faults.line(field, Change::To(skill), None)).collect();
    skills.sort();
    skills.dedup();
    skills
}

/// How an order configuration may be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationNames {
    pub id: String,
    pub key: String,
    pub namespace: String,
}

/// The one that `type` or `order_config` names; of several with a key the first. Without a word of the caller the
/// default.
pub fn find_configuration<'a>(
    known: &'a [ConfigurationNames],
    asked: Option<&str>,
) -> Result<&'a ConfigurationNames, Refusal> {
    let asked = asked.unwrap_or(super::DEFAULT_TYPE);
    let is_named = |one: &&ConfigurationNames| [&one.id, &one.key, &one.namespace].iter().any(|name| *name == asked);
    known.iter().find(is_named).ok_or(Refusal::InvalidConfiguration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_of_middling_urgency_and_for_nobody_in_particular() {
        assert_eq!(settle(None, Asked::default()), Ok(Terms::default()));
        assert_eq!(Terms::default().priority, 50.0);
    }

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        let skills = ["hazmat", " crane ", "hazmat", ""].map(str::to_owned).to_vec();
        let asked = Asked {
            adhoc: Some(true),
            adhoc_distance_m: Change::To(500.0),
            required_skills: Change::To(skills),
            priority: Change::To(90.0),
            ..Asked::default()
        };
        let before = settle(None, asked).unwrap();
        assert_eq!(before.required_skills, ["crane", "hazmat"]);
        assert_eq!(settle(Some(before.clone()), Asked::default()), Ok(before.clone()));
        let cleared = Asked {
            adhoc: Some(false),
            adhoc_distance_m: Change::Cleared,
            required_skills: Change::Cleared,
            priority: Change::Cleared,
            ..Asked::default()
        };
        assert_eq!(settle(Some(before), cleared), Ok(Terms::default()));
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let wrong = Asked {
            adhoc_distance_m: Change::To(0.0),
            window_start_ms: Change::To(2),
            window_end_ms: Change::To(1),
            required_skills: Change::To(vec!["x".to_owned(); SKILLS_MAX + 1]),
            priority: Change::To(1.5),
            ..Asked::default()
        };
        assert_eq!(settle(None, wrong).unwrap_err().len(), 4);
    }

    #[test]
    fn a_configuration_has_three_names() {
        let names = |id: &str, key: &str, namespace: &str| ConfigurationNames {
            id: id.to_owned(),
            key: key.to_owned(),
            namespace: namespace.to_owned(),
        };
        let known = [
            names("order_config_1", "transport", "system:order-config:transport"),
            names("order_config_2", "haulage", "acme:order-config:haulage"),
        ];
        let id = |asked: Option<&str>| find_configuration(&known, asked).map(|found| found.id.as_str());
        assert_eq!(id(None), Ok("order_config_1"));
        for asked in ["haulage", "order_config_2", "acme:order-config:haulage"] {
            assert_eq!(id(Some(asked)), Ok("order_config_2"));
        }
        assert_eq!(id(Some("teleport")), Err(Refusal::InvalidConfiguration));
        assert_eq!(id(Some("")), Err(Refusal::InvalidConfiguration));
    }
}
