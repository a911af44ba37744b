//! What the reconciliation counts (research/clearing 7.8): totals by day, scheme, currency and direction.
//!
//! Invariant of a row: what was received is the sum of what it became, outstanding included. Credits and debits are never
//! added up together.

use std::collections::BTreeMap;

use super::currency::Currency;
use super::date::Date;
use super::inbound::{Decision, Inbound};
use super::kind::Kind;
use super::message::Payment;
use super::outbound::Outbound;
use super::scheme::Scheme;
use super::state::State;
use super::status::Outcome;

/// Credits and debits are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Credit,
    Debit,
}

/// What makes a row of the reconciliation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// On which the payment was received, in UTC.
    pub day: Date,
    pub scheme: Scheme,
    pub currency: Currency,
    pub direction: Direction,
}

/// What became of a payment, as far as a total is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Something is awaited: a decision, a completion.
    Outstanding,
    /// Approved and final: a direct debit.
    Approved,
    /// Approved, and not settled by the scheme.
    Unsettled,
    Completed,
    /// Received with its money, which is to be returned.
    Returned,
    Rejected,
    TimedOut,
    Failed,
}

impl Standing {
    pub const ALL: [Standing; 8] = [
        Standing::Outstanding,
        Standing::Approved,
        Standing::Unsettled,
        Standing::Completed,
        Standing::Returned,
        Standing::Rejected,
        Standing::TimedOut,
        Standing::Failed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Standing::Outstanding => "outstanding",
            Standing::Approved => "approved",
            Standing::Unsettled => "unsettled",
            Standing::Completed => "completed",
            Standing::Returned => "returned",
            Standing::Rejected => "rejected",
            Standing::TimedOut => "timed_out",
            Standing::Failed => "failed",
        }
    }

    pub fn of_inbound(record: &Inbound) -> Standing {
        match (record.state, &record.decision) {
            (State::Approved, _) if record.completion.is_some() => Standing::Unsettled,
            (_, Decision::Rejected(_)) if record.payment.kind == Kind::CreditTransfer => Standing::Returned,
            (state, _) => Standing::of(state, &record.payment),
        }
    }

    pub fn of_outbound(record: &Outbound) -> Standing {
        let answer = record.response.as_ref().map(|answer| answer.outcome);
        match (record.state, answer) {
            (State::Approved, _) if record.settlement.is_some() => Standing::Unsettled,
            (_, Some(Outcome::Rejected)) if record.payment.kind == Kind::CreditTransfer => Standing::Returned,
            (state, _) => Standing::of(state, &record.payment),
        }
    }

    fn of(state: State, payment: &Payment) -> Standing {
        match state {
            State::Approved if payment.kind == Kind::DirectDebit => Standing::Approved,
            State::Received | State::Processing | State::Approved => Standing::Outstanding,
            State::Completed => Standing::Completed,
            State::Rejected => Standing::Rejected,
            State::TimedOut => Standing::TimedOut,
            State::Failed => Standing::Failed,
        }
    }
}

/// How many payments, and how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub count: u64,
    /// Minor units: more payments than there can be fit.
    pub minor: u128,
}

impl Total {
    fn add(&mut self, minor: u64) {
        self.count = self.count.saturating_add(1);
        self.minor = self.minor.saturating_add(u128::from(minor));
    }
}

/// One line of the reconciliation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub received: Total,
    became: BTreeMap<Standing, Total>,
}

impl Row {
    pub fn became(&self, standing: Standing) -> Total {
        self.became.get(&standing).copied().unwrap_or_default()
    }
}

/// Rows by [`Key`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation(BTreeMap<Key, Row>);

impl Reconciliation {
    /// `received_ms`: when it was first seen on this side.
    pub fn add(&mut self, payment: &Payment, standing: Standing, received_ms: u64) {
        let is_debit = payment.kind == Kind::DirectDebit;
        let key = Key {
            day: Date::of_ms(received_ms),
            scheme: payment.scheme,
            currency: payment.amount.currency(),
            direction: if is_debit { Direction::Debit } else { Direction::Credit },
        };
        let row = self.0.entry(key).or_default();
        row.received.add(payment.amount.minor());
        row.became.entry(standing).or_default().add(payment.amount.minor());
    }

    /// In the order of day, scheme, currency, direction.
    pub fn rows(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::deadline::Budgets;
    use crate::rules::inbound::{self, Command};
    use crate::rules::invalid::Field;
    use crate::rules::message::Raw;
    use crate::rules::status::{self, StatusReason};
    use proptest::prelude::*;

    const NOW_MS: u64 = 1_778_142_600_000;

    fn payment(kind: Kind, value: &str) -> Payment {
        let raw = Raw::default()
            .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
            .with(Field::EndToEndIdentification, "E2E-1")
            .with(Field::MessageIdentification, "M-1")
            .with(Field::PaymentScheme, kind.operation().schemes()[0])
            .with(Field::DebtorAccountNumber, "62001")
            .with(Field::BankSettlementAmountValue, value)
            .with(Field::BankSettlementAmountCurrency, "ZAR");
        Payment::read(&raw, kind).unwrap()
    }

    fn received(kind: Kind) -> Inbound {
        inbound::receive(payment(kind, "1"), Budgets::default(), NOW_MS).unwrap().record
    }

    fn after(record: Inbound, command: Command) -> Inbound {
        inbound::step(record, command, NOW_MS).unwrap().record
    }

    #[test]
    fn a_return_is_no_completion_and_a_debit_is_final() {
        let reject = || Command::Reject(StatusReason::of(status::ACCOUNT_CLOSED));
        let approve = || {
            let account = crate::rules::account::AccountNumber::parse(Field::DebtorAccountNumber, "62001");
            Command::Approve(account.unwrap())
        };
        let transfer = received(Kind::CreditTransfer);
        let debit = received(Kind::DirectDebit);
        let authorisation = received(Kind::Authorisation);
        let table = [
            (transfer.clone(), Standing::Outstanding),
            (after(transfer.clone(), approve()), Standing::Completed),
            (after(transfer.clone(), Command::GiveUp), Standing::Failed),
            (after(transfer, reject()), Standing::Returned),
            (debit.clone(), Standing::Outstanding),
            (after(debit, approve()), Standing::Approved),
            (after(authorisation.clone(), approve()), Standing::Outstanding),
            (after(authorisation.clone(), reject()), Standing::Rejected),
            (after(authorisation, Command::GiveUp), Standing::Failed),
        ];
        for (record, expected) in table {
            assert_eq!(Standing::of_inbound(&record), expected, "{:?}", record.decision);
        }
    }

    proptest! {
        #[test]
        fn what_was_received_is_what_it_became(
            items in proptest::collection::vec((0u64..1_000_000, 0usize..8, 0u64..3), 0..40),
        ) {
            let mut reconciliation = Reconciliation::default();
            for (cents, standing, day) in &items {
                let kind = if cents % 2 == 0 { Kind::CreditTransfer } else { Kind::DirectDebit };
                let payment = payment(kind, &format!("{}.{:02}", cents / 100, cents % 100));
                reconciliation.add(&payment, Standing::ALL[*standing], NOW_MS + day * 86_400_000);
            }
            let mut received = 0;
            for (_, row) in reconciliation.rows() {
                let became = Standing::ALL.map(|standing| row.became(standing));
                prop_assert_eq!(row.received.count, became.iter().map(|total| total.count).sum::<u64>());
                prop_assert_eq!(row.received.minor, became.iter().map(|total| total.minor).sum::<u128>());
                received += row.received.minor;
            }
            prop_assert_eq!(received, items.iter().map(|(cents, _, _)| u128::from(*cents)).sum::<u128>());
        }
    }
}
