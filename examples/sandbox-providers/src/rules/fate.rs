//! What becomes of a request, told by what it says: accounts and amounts that go wrong on purpose (docs/wallet/providers.md has
//! the same tables for people).

use serde::{Deserialize, Serialize};

/// What happens once the coins are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    #[default]
    Succeeds,
    /// Coins go back.
    Fails,
    /// Nothing more is ever heard of it.
    Stalls,
    /// It is not taken at all, though it was quoted.
    Refused,
    /// A swap brings a tenth less than it should.
    FallsShort,
}

/// What a bank says of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// With what becomes of payouts to it.
    Open(Fate),
    Unknown,
    /// Verified, but a payout to it is refused.
    Blocked,
    /// The bank does not answer.
    Silent,
}

/// By the decimals of the amount that is paid in, as briefly as it can be written.
pub fn of_amount(amount: &str) -> Fate {
    match amount.split_once('.').map(|(_, fraction)| fraction) {
        Some("13") => Fate::Fails,
        Some("14") => Fate::Stalls,
        Some("15") => Fate::Refused,
        Some("16") => Fate::FallsShort,
        _ => Fate::Succeeds,
    }
}

/// By the last four characters of the account.
pub fn of_account(account_identifier: &str) -> Standing {
    let start = account_identifier.len().saturating_sub(4);
    match account_identifier.get(start..) {
        Some("0000") => Standing::Unknown,
        Some("0001") => Standing::Open(Fate::Fails),
        Some("0002") => Standing::Open(Fate::Stalls),
        Some("0003") => Standing::Blocked,
        Some("0004") => Standing::Silent,
        _ => Standing::Open(Fate::Succeeds),
    }
}

impl Fate {
    /// The account's fate, where it has one, goes before that of the amount.
    pub fn or(self, other: Fate) -> Fate {
        if self == Fate::Succeeds { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decimals_of_an_amount_decide() {
        let table = [
            ("100", Fate::Succeeds),
            ("100.13", Fate::Fails),
            ("0.14", Fate::Stalls),
            ("7.15", Fate::Refused),
            ("7.16", Fate::FallsShort),
            ("7.131", Fate::Succeeds),
            ("13", Fate::Succeeds),
        ];
        for (amount, fate) in table {
            assert_eq!(of_amount(amount), fate, "{amount}");
        }
    }

    #[test]
    fn the_end_of_an_account_decides() {
        let table = [
            ("0123456789", Standing::Open(Fate::Succeeds)),
            ("0123450000", Standing::Unknown),
            ("0001", Standing::Open(Fate::Fails)),
            ("0123450002", Standing::Open(Fate::Stalls)),
            ("0123450003", Standing::Blocked),
            ("0123450004", Standing::Silent),
            ("1", Standing::Open(Fate::Succeeds)),
        ];
        for (account, standing) in table {
            assert_eq!(of_account(account), standing, "{account}");
        }
    }
}
