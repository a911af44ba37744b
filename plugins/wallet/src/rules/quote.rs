//! Quotes of swaps and of payouts in fiat: given, accepted, used once, or expired (spec/wallet: swap "requires a quote", fiat "an
//! accepted quote").
//!
//! Invariant: a quote pays for at most one transaction, and for none that begins after its time. A repeat by the same
//! transaction is not a second use.

use super::limits::{FIAT_QUOTE_MS, SWAP_QUOTE_MS};
use super::refusal::Refusal;

/// What is kept of it; what it promises, the border keeps beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Everything that was asked for: assets, amounts, currency, bank account. A quote is good for nothing else.
    pub terms: String,
    pub expires_at_ms: u64,
    pub state: QuoteState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuoteState {
    Open,
    Accepted,
    /// `by`: the id of the transaction.
    Used {
        by: String,
    },
}

impl Quote {
    pub fn of_swap(terms: String, now_ms: u64) -> Quote {
        Quote { terms, expires_at_ms: now_ms.saturating_add(SWAP_QUOTE_MS), state: QuoteState::Open }
    }

    pub fn of_payout(terms: String, now_ms: u64) -> Quote {
        Quote { terms, expires_at_ms: now_ms.saturating_add(FIAT_QUOTE_MS), state: QuoteState::Open }
    }

    pub fn has_expired(&self, now_ms: u64) -> bool {
        now_ms >= self.expires_at_ms
    }

    /// The client agrees. Repeats are harmless.
    pub fn accept(self, now_ms: u64) -> Result<Quote, Refusal> {
        match self.state {
            QuoteState::Used { .. } => Err(Refusal::QuoteUsed),
            _ if self.has_expired(now_ms) => Err(Refusal::QuoteExpired),
            _ => Ok(Quote { state: QuoteState::Accepted, ..self }),
        }
    }

    /// A transaction with these terms takes it.
    pub fn take(self, by: &str, terms: &str, now_ms: u64) -> Result<Quote, Refusal> {
        if self.terms != terms {
            return Err(Refusal::QuoteDiffers);
        }
        match &self.state {
            QuoteState::Used { by: user } if user == by => Ok(self),
            QuoteState::Used { .. } => Err(Refusal::QuoteUsed),
            _ if self.has_expired(now_ms) => Err(Refusal::QuoteExpired),
            QuoteState::Open => Err(Refusal::QuoteNotAccepted),
            QuoteState::Accepted => Ok(Quote { state: QuoteState::Used { by: by.to_owned() }, ..self }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW_MS: u64 = 1_000_000;
    const LATE_MS: u64 = NOW_MS + SWAP_QUOTE_MS;

    fn quote() -> Quote {
        Quote::of_swap("5 USDC".into(), NOW_MS)
    }

    #[test]
    fn only_an_accepted_quote_is_taken() {
        assert_eq!(quote().take("t1", "5 USDC", NOW_MS), Err(Refusal::QuoteNotAccepted));
        let accepted = quote().accept(NOW_MS).unwrap();
        assert_eq!(accepted.clone().accept(NOW_MS), Ok(accepted.clone()));
        assert!(accepted.take("t1", "5 USDC", LATE_MS - 1).is_ok());
    }

    #[test]
    fn a_quote_expires() {
        assert_eq!(quote().accept(LATE_MS), Err(Refusal::QuoteExpired));
        let accepted = quote().accept(NOW_MS).unwrap();
        assert_eq!(accepted.take("t1", "5 USDC", LATE_MS), Err(Refusal::QuoteExpired));
        assert!(Quote::of_payout("5 USDC".into(), NOW_MS).accept(LATE_MS).is_ok(), "a person needs longer");
    }

    #[test]
    fn a_quote_is_good_for_its_terms_alone() {
        let accepted = quote().accept(NOW_MS).unwrap();
        assert_eq!(accepted.take("t1", "6 USDC", NOW_MS), Err(Refusal::QuoteDiffers));
    }

    #[test]
    fn a_quote_is_used_once_and_its_user_may_repeat() {
        let used = quote().accept(NOW_MS).unwrap().take("t1", "5 USDC", NOW_MS).unwrap();
        assert_eq!(used.clone().take("t1", "5 USDC", LATE_MS), Ok(used.clone()));
        assert_eq!(used.clone().take("t2", "5 USDC", NOW_MS), Err(Refusal::QuoteUsed));
        assert_eq!(used.accept(NOW_MS), Err(Refusal::QuoteUsed));
    }

    proptest! {
        #[test]
        fn no_order_of_events_lets_two_transactions_use_a_quote(
            steps in prop::collection::vec((0u8..3, 0u64..2 * SWAP_QUOTE_MS), 1..20)
        ) {
            let mut quote = quote();
            let mut users = std::collections::BTreeSet::new();
            for (what, later_ms) in steps {
                let now_ms = NOW_MS + later_ms;
                let next = match what {
                    0 => quote.clone().accept(now_ms),
                    _ => quote.clone().take(&what.to_string(), "5 USDC", now_ms),
                };
                if let Ok(next) = next {
                    if what > 0 {
                        prop_assert!(users.contains(&what) || now_ms < quote.expires_at_ms);
                        users.insert(what);
                    }
                    quote = next;
                }
            }
            prop_assert!(users.len() <= 1);
        }
    }
}
