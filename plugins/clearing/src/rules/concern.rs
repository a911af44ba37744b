//! Which payments somebody should look at, and why (research/clearing 7.8): what no rule can settle goes to people.

use super::inbound::{Decision, Inbound};
use super::outbound::Outbound;
use super::state::State;

/// Why somebody should look at a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// Approved, and the scheme's time for the completion is over.
    Overdue,
    /// A message that must be delivered was refused or given up, or has reached nobody so far.
    Undelivered,
    /// The decision was given up: nobody was answered, and what was received lies unapplied.
    Undecided,
    /// A completion that settled was acknowledged before the payment was rejected or given up.
    Contradicted,
}

impl Concern {
    pub const ALL: [Concern; 4] = [Concern::Overdue, Concern::Undelivered, Concern::Undecided, Concern::Contradicted];

    pub fn of_name(name: &str) -> Option<Concern> {
        Concern::ALL.into_iter().find(|concern| concern.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Concern::Overdue => "overdue",
            Concern::Undelivered => "undelivered",
            Concern::Undecided => "undecided",
            Concern::Contradicted => "contradicted",
        }
    }

    pub fn of_inbound(record: &Inbound) -> Vec<Concern> {
        let ended = matches!(record.state, State::Rejected | State::Failed);
        let waits = record.completion.as_ref().is_some_and(|settlement| !settlement.applied);
        // Once a completion was applied, both sides know how it ended: nobody needs the response any more.
        let is_over = record.completion.is_some() && !waits;
        listed(&[
            (record.overdue, Concern::Overdue),
            ((record.response.is_listed() && !is_over) || record.notice.is_listed(), Concern::Undelivered),
            (record.decision == Decision::GivenUp, Concern::Undecided),
            (ended && waits, Concern::Contradicted),
        ])
    }

    pub fn of_outbound(record: &Outbound) -> Vec<Concern> {
        listed(&[(record.overdue, Concern::Overdue), (record.delivery.is_listed(), Concern::Undelivered)])
    }
}

fn listed(concerns: &[(bool, Concern)]) -> Vec<Concern> {
    concerns.iter().filter(|(concerned, _)| *concerned).map(|(_, concern)| *concern).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::currency::ZAR;
    use crate::rules::deadline::Budgets;
    use crate::rules::inbound::{self, Command};
    use crate::rules::invalid::Field;
    use crate::rules::kind::Kind;
    use crate::rules::message::{Completion, Payment, Raw};
    use crate::rules::outbound::{self, route::Route};
    use crate::rules::status::{self, StatusReason};
    use crate::rules::step::Reply;

    const NOW_MS: u64 = 1_778_142_600_000;

    fn payment(kind: Kind) -> Payment {
        let raw = Raw::default()
            .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
            .with(Field::EndToEndIdentification, "E2E-1")
            .with(Field::MessageIdentification, "M-1")
            .with(Field::PaymentScheme, kind.operation().schemes()[0])
            .with(Field::SettlementDate, "2026-05-07")
            .with(Field::DebtorAccountNumber, "62001")
            .with(Field::BankSettlementAmountValue, "1")
            .with(Field::BankSettlementAmountCurrency, "ZAR");
        Payment::read(&raw, kind).unwrap()
    }

    fn completion(status: &str) -> Completion {
        let raw = Raw::default()
            .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
            .with(Field::EndToEndIdentification, "E2E-1")
            .with(Field::SettlementDate, "2026-05-07")
            .with(Field::TransactionStatus, status);
        Completion::read(&raw, ZAR).unwrap()
    }

    fn received(kind: Kind) -> Inbound {
        inbound::receive(payment(kind), Budgets::default(), NOW_MS).unwrap().record
    }

    fn after(record: Inbound, command: Command) -> Inbound {
        inbound::step(record, command, NOW_MS).unwrap().record
    }

    #[test]
    fn what_needs_somebody_is_listed() {
        let given_up = after(received(Kind::DirectDebit), Command::GiveUp);
        assert_eq!(Concern::of_inbound(&given_up), [Concern::Undecided]);
        let reject = Command::Reject(StatusReason::of(status::ACCOUNT_CLOSED));
        let rejected = after(received(Kind::DirectDebit), reject);
        assert_eq!(Concern::of_inbound(&rejected), []);
        let refused = after(rejected, Command::ResponseReply(Reply::Refused));
        assert_eq!(Concern::of_inbound(&refused), [Concern::Undelivered]);
        for end in [Command::Reject(StatusReason::of(status::ACCOUNT_CLOSED)), Command::GiveUp] {
            for (said, contradicts) in [("REJECTED", false), ("APPROVED", true)] {
                let completed = after(received(Kind::Authorisation), Command::Complete(Box::new(completion(said))));
                let ended = Concern::of_inbound(&after(completed, end.clone()));
                assert_eq!(ended.contains(&Concern::Contradicted), contradicts, "{end:?} {said}");
            }
        }
        let sent = outbound::submit(payment(Kind::CreditTransfer), Route::Send(None), NOW_MS).unwrap().record;
        let refused = outbound::step(sent, outbound::Command::RequestReply(Reply::Refused), NOW_MS).unwrap().record;
        assert_eq!(Concern::of_outbound(&refused), [Concern::Undelivered]);
    }
}
