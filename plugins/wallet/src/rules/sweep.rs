//! Where the money of a deposit stands on its way to the master wallet (spec/wallet: Auto-sweep). The movement itself is an
//! outgoing transaction that no list shows; this state lies beside the deposit that it belongs to.
//!
//! Invariant: no deposit is in two sweeps at a time, and none is swept twice.

use super::code::Code;
use super::deposit::{Custody, Deposit};
use super::event::Event;
use super::outgoing::{Outgoing, Task};
use super::status::Status;

/// Of a deposit that was credited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sweep {
    /// It stays where it is, or the balance is below the threshold: until somebody asks for it, or more comes.
    #[default]
    Resting,
    /// `by`: the id of the outgoing transaction.
    Underway {
        by: String,
    },
    Swept {
        by: String,
    },
    /// Usually for lack of gas; it may be tried again.
    Failed {
        by: String,
    },
    /// A rule of auto-settlement has its money: `by` moves that.
    Settled {
        by: String,
    },
}

impl Sweep {
    /// Whether a sweep that begins now takes this deposit along.
    pub fn is_free(&self) -> bool {
        matches!(self, Sweep::Resting | Sweep::Failed { .. })
    }

    /// A sweep begins; who is not free stays where it is.
    pub fn begin(&self, by: &str) -> Sweep {
        if self.is_free() { Sweep::Underway { by: by.to_owned() } } else { self.clone() }
    }

    /// A sweep that cannot begin for lack of gas: it has failed, and that is told (spec/wallet: Events). Once: those that have
    /// failed before are still failed.
    pub fn refuse(&self, by: &str, deposit: &Deposit) -> Option<(Sweep, Event)> {
        let event = Event::sweep_failed(&deposit.wallet_id, deposit.holder.address_id(), Code::DepositSweepFailed);
        (*self == Sweep::Resting).then(|| (Sweep::Failed { by: by.to_owned() }, event))
    }

    /// A rule takes the deposit's money, or goes on with what it has taken.
    pub fn settle(&self, by: &str) -> Sweep {
        if self.is_free() || matches!(self, Sweep::Settled { .. }) {
            Sweep::Settled { by: by.to_owned() }
        } else {
            self.clone()
        }
    }

    /// What a rule has begun has come to this: where it has failed, the money is where it was.
    pub fn settled(&self, by: &Outgoing) -> Sweep {
        match self {
            Sweep::Settled { by: known }
                if *known == by.id && matches!(by.status, Status::Failed | Status::Cancelled) =>
            {
                Sweep::Resting
            }
            _ => self.clone(),
        }
    }

    /// The sweep has come to this. One that this deposit is not part of changes nothing, nor does one that goes on.
    pub fn follow(&self, sweep: &Outgoing) -> Sweep {
        let Sweep::Underway { by } = self else { return self.clone() };
        let by = by.clone();
        if by != sweep.id || !matches!(sweep.task, Task::Sweep { .. }) {
            return self.clone();
        }
        match sweep.status {
            Status::Success => Sweep::Swept { by },
            Status::Failed | Status::Cancelled => Sweep::Failed { by },
            // What cannot be decided stays with its sweep: nobody may sweep the same money again.
            Status::Pending | Status::Processing | Status::Incomplete => Sweep::Underway { by },
        }
    }
}

/// Whether a deposit can be swept at all: it is a final one of a stablecoin, at an address under the wallet that
/// somebody here has the key of.
pub fn is_sweepable(deposit: &Deposit) -> bool {
    let is_here = deposit.custody == Custody::Ours && deposit.holder.address_id().is_some();
    is_here && deposit.status == Status::Success && deposit.is_told()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::amount::{Money, Units};
    use crate::rules::asset;
    use crate::rules::blockchain::Blockchain;
    use crate::rules::books::Holder;
    use crate::rules::deposit::samples;
    use crate::rules::outgoing::{Order, accept};

    fn sweep(id: &str, status: Status) -> Outgoing {
        let money = Money::new(asset::find("USDC", Blockchain::Base).unwrap(), Units::new(5));
        let order = Order {
            id: id.into(),
            wallet_id: "w".into(),
            from: Holder::Address("a".into()),
            task: Task::Sweep { money, master: Holder::Wallet("w".into()) },
            gas: None,
        };
        Outgoing { status, ..accept(order).record }
    }

    fn check(state: Sweep, status: Status, expected: Sweep) {
        assert_eq!(state.follow(&sweep("s1", status)), expected, "{state:?} after {status:?}");
    }

    #[test]
    fn a_deposit_follows_its_sweep_to_the_end() {
        let by = || "s1".to_owned();
        check(Sweep::Underway { by: by() }, Status::Processing, Sweep::Underway { by: by() });
        check(Sweep::Underway { by: by() }, Status::Success, Sweep::Swept { by: by() });
        check(Sweep::Underway { by: by() }, Status::Failed, Sweep::Failed { by: by() });
        check(Sweep::Underway { by: by() }, Status::Incomplete, Sweep::Underway { by: by() });
        check(Sweep::Underway { by: "s2".into() }, Status::Success, Sweep::Underway { by: "s2".into() });
        check(Sweep::Resting, Status::Success, Sweep::Resting);
        check(Sweep::Swept { by: by() }, Status::Failed, Sweep::Swept { by: by() });
    }

    #[test]
    fn a_sweep_without_gas_has_failed_and_says_so() {
        let deposit = samples::deposit();
        let (state, event) = Sweep::Resting.refuse("s1", &deposit).unwrap();
        assert_eq!((state, event.name), (Sweep::Failed { by: "s1".into() }, "deposit.swept.failed"));
        assert_eq!(Sweep::Swept { by: "s0".into() }.refuse("s1", &deposit), None);
    }

    #[test]
    fn what_a_rule_has_taken_is_not_swept_unless_it_fails() {
        let settled = Sweep::Resting.settle("s1");
        assert_eq!(settled.begin("s2"), settled);
        assert_eq!(settled.settled(&sweep("s1", Status::Success)), settled);
        assert_eq!(settled.settled(&sweep("s2", Status::Failed)), settled);
        assert_eq!(settled.settled(&sweep("s1", Status::Failed)), Sweep::Resting);
        assert_eq!(settled.settle("s3"), Sweep::Settled { by: "s3".into() });
        let swept = Sweep::Swept { by: "s0".into() };
        assert_eq!(swept.settle("s1"), swept);
    }

    #[test]
    fn only_what_rests_or_has_failed_is_swept_again() {
        let by = || "s1".to_owned();
        assert_eq!(Sweep::Resting.begin("s1"), Sweep::Underway { by: by() });
        assert_eq!(Sweep::Failed { by: "s0".into() }.begin("s1"), Sweep::Underway { by: by() });
        for taken in [Sweep::Underway { by: "s0".into() }, Sweep::Swept { by: "s0".into() }] {
            assert_eq!(taken.begin("s1"), taken);
        }
    }
}
