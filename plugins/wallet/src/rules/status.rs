//! transaction_status and every edge between its states (spec/wallet: States and transitions). Whatever moves money moves along
//! these edges and no other.

use Status::{Cancelled, Failed, Incomplete, Pending, Processing, Success};

/// transaction_status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Pending,
    Processing,
    Success,
    Failed,
    Incomplete,
    Cancelled,
}

/// From, to.
pub const EDGES: [(Status, Status); 5] = [
    (Pending, Processing),
    (Processing, Success),
    (Processing, Failed),
    (Pending, Cancelled),
    (Processing, Incomplete),
];

impl Status {
    pub const ALL: [Status; 6] = [Pending, Processing, Success, Failed, Incomplete, Cancelled];
    pub const NAMES: [&str; 6] = ["pending", "processing", "success", "failed", "incomplete", "cancelled"];

    pub fn name(self) -> &'static str {
        match self {
            Pending => "pending",
            Processing => "processing",
            Success => "success",
            Failed => "failed",
            Incomplete => "incomplete",
            Cancelled => "cancelled",
        }
    }

    pub fn of_name(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether an edge leads there.
    pub fn may_become(self, next: Status) -> bool {
        EDGES.contains(&(self, next))
    }

    /// No edge leads out of it.
    pub fn is_final(self) -> bool {
        EDGES.iter().all(|(from, _)| *from != self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_waits_or_is_underway_can_move() {
        let moving: Vec<&str> = Status::ALL.into_iter().filter(|status| !status.is_final()).map(Status::name).collect();
        assert_eq!(moving, ["pending", "processing"]);
    }

    #[test]
    fn only_what_has_not_begun_can_be_cancelled() {
        let from: Vec<Status> = Status::ALL.into_iter().filter(|status| status.may_become(Cancelled)).collect();
        assert_eq!(from, [Pending]);
    }

    #[test]
    fn every_state_is_known_by_its_name() {
        assert_eq!(Status::ALL.map(Status::name), Status::NAMES);
        assert!(Status::ALL.into_iter().all(|status| Status::of_name(status.name()) == Some(status)));
        assert_eq!(Status::of_name("PENDING"), None);
    }
}
