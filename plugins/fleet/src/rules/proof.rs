//! Proofs of delivery: which one an activity needs, and whether one that was captured is it (research/fleet 1.1, 3).
//!
//! What is captured is judged in `capture`, before it is stored.

pub mod capture;

use super::flow::Activity;
use super::order::{ProofMethod, ProofWanted};

/// Of one order.
pub const PROOFS_MAX: usize = 100;

/// What an order, or one of its stops, wants proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    pub wanted: ProofWanted,
    /// `None`: any of them will do.
    pub method: Option<ProofMethod>,
}

impl Demand {
    pub const NONE: Demand = Demand { wanted: ProofWanted::Optional, method: None };

    pub fn by(method: ProofMethod) -> Demand {
        Demand { wanted: ProofWanted::Required, method: Some(method) }
    }

    fn is_required(self) -> bool {
        self.wanted == ProofWanted::Required
    }
}

/// What a proof is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Order,
    /// By the id of the stop.
    Stop(String),
    /// By its id; the stop that it goes to is known to who stores it.
    Entity(String),
}

/// A proof that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    pub id: String,
    pub subject: Subject,
    pub method: ProofMethod,
}

/// A proof without which an activity is not taken. `None`: any method will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need(pub Option<ProofMethod>);

impl Need {
    /// Of an activity of the order, or of one of its stops. An activity may require a proof by itself; a completing one
    /// also does where order or stop want it. The nearest word about the method counts: activity, stop, order.
    pub fn of(activity: &Activity, order: Demand, stop: Option<Demand>) -> Option<Need> {
        let of_stop = stop.unwrap_or(Demand::NONE);
        let wanted = order.is_required() || of_stop.is_required();
        let method = activity.pod_method.or(of_stop.method).or(order.method);
        (activity.require_pod || activity.complete && wanted).then_some(Need(method))
    }

    /// `stop`: the one that is completed; `None`: the order as a whole, which any proof of it or of a stop of it
    /// proves.
    pub fn is_met_by(self, proof: &Captured, stop: Option<&str>) -> bool {
        let fits = match (stop, &proof.subject) {
            (Some(stop), Subject::Stop(proved)) => proved == stop,
            (Some(_), Subject::Order | Subject::Entity(_)) => false,
            (None, _) => true,
        };
        fits && self.0.is_none_or(|method| method == proof.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(activity: &Activity, order: Demand, stop: Option<Demand>, expected: Option<Option<ProofMethod>>) {
        assert_eq!(Need::of(activity, order, stop), expected.map(Need), "{activity:?} {order:?} {stop:?}");
    }

    #[test]
    fn a_completing_activity_needs_what_order_or_stop_want() {
        let on_the_way = Activity::default();
        let completing = Activity { complete: true, ..Activity::default() };
        let signature = Demand::by(ProofMethod::Signature);
        let photo = Demand::by(ProofMethod::Photo);
        need(&on_the_way, signature, None, None);
        need(&completing, Demand::NONE, None, None);
        need(&completing, signature, None, Some(Some(ProofMethod::Signature)));
        need(&completing, Demand::NONE, Some(photo), Some(Some(ProofMethod::Photo)));
        need(&completing, signature, Some(photo), Some(Some(ProofMethod::Photo)));
        need(&completing, signature, Some(Demand::NONE), Some(Some(ProofMethod::Signature)));
        need(&completing, Demand { method: None, ..signature }, None, Some(None));
    }

    #[test]
    fn an_activity_may_ask_for_a_proof_of_its_own() {
        let loading = Activity { require_pod: true, pod_method: Some(ProofMethod::Photo), ..Activity::default() };
        need(&loading, Demand::NONE, None, Some(Some(ProofMethod::Photo)));
        need(&loading, Demand::by(ProofMethod::Scan), None, Some(Some(ProofMethod::Photo)));
        let any = Activity { require_pod: true, ..Activity::default() };
        need(&any, Demand::NONE, None, Some(None));
    }

    #[test]
    fn a_stop_is_proved_by_a_proof_of_that_stop() {
        let of = |subject: Subject| Captured { id: "proof_1".to_owned(), subject, method: ProofMethod::Photo };
        let (order, here) = (of(Subject::Order), of(Subject::Stop("a".to_owned())));
        let parcel = of(Subject::Entity("e".to_owned()));
        let any = Need(None);
        assert!(any.is_met_by(&here, Some("a")) && !any.is_met_by(&here, Some("b")));
        assert!(!any.is_met_by(&order, Some("a")) && !any.is_met_by(&parcel, Some("a")));
        assert!([&order, &here, &parcel].iter().all(|proof| any.is_met_by(proof, None)));
        assert!(Need(Some(ProofMethod::Photo)).is_met_by(&order, None));
        assert!(!Need(Some(ProofMethod::Scan)).is_met_by(&order, None));
    }
}
