//! The states of a transaction and every edge between them (spec/clearing: States and transitions). Both views, the
//! partner's and the platform's, move along these edges and no other.

use State::{Approved, Completed, Failed, Processing, Received, Rejected, TimedOut};

/// States of a transaction (spec/clearing: States and transitions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Received,
    Processing,
    Approved,
    Rejected,
    Completed,
    TimedOut,
    Failed,
}

/// From, to. Conditions stand where the edge is taken.
pub const EDGES: [(State, State); 7] = [
    (Received, Processing),
    (Received, Completed),
    (Processing, Approved),
    (Processing, Rejected),
    (Processing, TimedOut),
    (Processing, Failed),
    (Approved, Completed),
];

impl State {
    pub const ALL: [State; 7] = [Received, Processing, Approved, Rejected, Completed, TimedOut, Failed];

    pub fn name(self) -> &'static str {
        match self {
            Received => "received",
            Processing => "processing",
            Approved => "approved",
            Rejected => "rejected",
            Completed => "completed",
            TimedOut => "timed_out",
            Failed => "failed",
        }
    }

    pub fn of_name(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether an edge leads there.
    pub fn may_become(self, next: State) -> bool {
        EDGES.contains(&(self, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_states_are_those_of_the_specification() {
        let is_terminal = |state: &State| EDGES.iter().all(|(from, _)| from != state);
        let terminal: Vec<&str> = State::ALL.into_iter().filter(is_terminal).map(State::name).collect();
        assert_eq!(terminal, ["rejected", "completed", "timed_out", "failed"]);
    }

    #[test]
    fn every_state_is_reached_from_received() {
        let mut reached = vec![Received];
        for _ in EDGES {
            let next = EDGES.iter().filter(|(from, to)| reached.contains(from) && !reached.contains(to));
            let next: Vec<State> = next.map(|(_, to)| *to).collect();
            reached.extend(next);
        }
        assert!(State::ALL.iter().all(|state| reached.contains(state)));
        assert!(State::ALL.into_iter().all(|state| State::of_name(state.name()) == Some(state)));
    }
}
