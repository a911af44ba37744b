//! What may come next for an order, or for one of its stops (research/fleet 3: next-activity).

use super::flow::{Activity, template};
use super::progress::{Progress, Rules};
use super::proof::Need;
use super::refusal::Refusal;

/// An activity with what is known of this order filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Next<'a> {
    pub activity: &'a Activity,
    pub resolved_status: String,
    pub resolved_details: String,
    /// Without it the activity will be refused.
    pub proof: Option<Need>,
}

/// Empty where the order, or the stop, has come to its end. `stop`: by its id or that of its place; `None`: the current
/// one.
pub fn next_activities<'a>(order: &Progress, rules: Rules<'a>, stop: Option<&str>) -> Result<Vec<Next<'a>>, Refusal> {
    let named = match stop {
        Some(id) => Some(order.find_stop(id, rules.flow).ok_or(Refusal::NotADestination)?),
        None => None,
    };
    if order.ending(rules.flow).is_some() {
        return Ok(Vec::new());
    }
    // Before the start, and without a tour, it is the order that moves.
    let on_tour = order.has_tour() && order.is_started();
    let current = order.current_stop.as_deref().and_then(|id| order.find_stop(id, rules.flow));
    let stop = named.or(current).filter(|_| on_tour);
    let from = stop.map_or(order.status.as_str(), |stop| stop.code());
    let next = rules.flow.after(from, rules.fields);
    Ok(next.into_iter().map(|activity| resolve(activity, order, rules, stop.map(|stop| stop.demand))).collect())
}

fn resolve<'a>(
    activity: &'a Activity,
    order: &Progress,
    rules: Rules<'a>,
    stop: Option<super::proof::Demand>,
) -> Next<'a> {
    Next {
        activity,
        resolved_status: template::resolve(&activity.status, rules.fields),
        resolved_details: template::resolve(&activity.details, rules.fields),
        proof: Need::of(activity, order.demand, stop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::flow::{CREATED, Flow, STARTED, transport};
    use crate::rules::order::ProofMethod;
    use crate::rules::progress::{Stop, StopKind};
    use crate::rules::proof::Demand;

    fn stop(id: &str, activity: Option<&str>) -> Stop {
        Stop {
            id: id.to_owned(),
            place: id.replace("waypoint", "place"),
            kind: StopKind::Waypoint,
            demand: Demand::NONE,
            activity: activity.map(str::to_owned),
            failure: None,
        }
    }

    fn order(status: &str, stops: Vec<Stop>) -> Progress {
        let is_started = ![CREATED, "dispatched"].contains(&status);
        Progress {
            status: status.to_owned(),
            driver: Some("ada".to_owned()),
            adhoc: false,
            demand: Demand::by(ProofMethod::Photo),
            scheduled_at_ms: None,
            dispatched_at_ms: is_started.then_some(1),
            started_at_ms: is_started.then_some(1),
            current_stop: stops.first().map(|stop| stop.id.clone()),
            stops,
            proofs: Vec::new(),
            failure: None,
        }
    }

    fn codes(order: &Progress, stop: Option<&str>) -> Result<Vec<String>, Refusal> {
        let flow = transport();
        let rules = Rules { flow: &flow, fields: &|_| None };
        let next = next_activities(order, rules, stop)?;
        Ok(next.into_iter().map(|next| next.activity.code.clone()).collect())
    }

    #[test]
    fn what_comes_next_is_what_the_configuration_says() {
        let way = [CREATED, "dispatched", STARTED, "enroute", "completed"];
        for pair in way.windows(2) {
            assert_eq!(codes(&order(pair[0], Vec::new()), None).unwrap(), [pair[1]]);
        }
        for end in ["completed", "canceled", "failed"] {
            assert!(codes(&order(end, Vec::new()), None).unwrap().is_empty(), "{end}");
        }
    }

    #[test]
    fn on_a_tour_it_is_asked_for_a_stop() {
        let stops =
            vec![stop("waypoint_1", Some("enroute")), stop("waypoint_2", None), stop("waypoint_3", Some("completed"))];
        let tour = order(STARTED, stops.clone());
        assert_eq!(codes(&tour, None).unwrap(), ["completed"]);
        assert_eq!(codes(&tour, Some("place_1")).unwrap(), ["completed"]);
        assert_eq!(codes(&tour, Some("waypoint_2")).unwrap(), ["enroute"]);
        assert!(codes(&tour, Some("place_3")).unwrap().is_empty());
        assert_eq!(codes(&tour, Some("place_9")), Err(Refusal::NotADestination));
        assert_eq!(codes(&order("dispatched", stops), Some("place_1")).unwrap(), [STARTED]);
    }

    #[test]
    fn texts_are_filled_and_the_completing_one_says_which_proof_it_wants() {
        let mut own = transport().activities().to_vec();
        own[3].status = "{driver.name} is on the way".to_owned();
        own[4].details = "Left with {nobody}.".to_owned();
        let flow = Flow::check(own).unwrap();
        let fields = |field: &str| (field == "driver.name").then(|| "Ada".to_owned());
        let next = |status: &str| {
            let rules = Rules { flow: &flow, fields: &fields };
            let order = order(status, Vec::new());
            let next = next_activities(&order, rules, None).unwrap();
            (next[0].resolved_status.clone(), next[0].resolved_details.clone(), next[0].proof)
        };
        assert_eq!(next(STARTED), ("Ada is on the way".to_owned(), "The driver is on the way.".to_owned(), None));
        let wanted = Some(Need(Some(ProofMethod::Photo)));
        assert_eq!(next("enroute"), ("Order Completed".to_owned(), "Left with .".to_owned(), wanted));
    }
}
