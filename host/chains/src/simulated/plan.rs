//! The effects of a transaction on the ledger of a simulated network, independent of its family.
//!
//! A plan is plain data: `validation` builds it, `blocks` applies it.

use ethnum::U256;
use serde::{Deserialize, Serialize};

/// Stored with the transaction, even after it is in a block, because a reorganisation may return it to the waiting
/// transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Fee that is burnt whether the transaction succeeds or fails.
    #[serde(with = "digits")]
    pub fee: U256,
    /// Amount of the coin that the sender must have.
    #[serde(with = "digits")]
    pub cost: U256,
    /// The transaction fails by itself: out of gas, or an unknown function.
    pub fails: bool,
    pub effects: Vec<Effect>,
    /// Height of the last block that may include it.
    pub last_height: Option<u64>,
    /// Time of the last block that may include it.
    pub last_time_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Effect {
    Move {
        token: Option<String>,
        recipient: String,
        #[serde(with = "digits")]
        amount: U256,
    },
    /// Creates an amount.
    #[serde(rename = "Give")]
    Mint {
        token: Option<String>,
        recipient: String,
        #[serde(with = "digits")]
        amount: U256,
    },
    /// Opens a token account if it is missing. The sender pays the rent.
    Open { account: String, owner: String, token: String, rent: u64 },
    /// Moves tokens to the owner of a token account.
    MoveToAccount {
        token: String,
        account: String,
        #[serde(with = "digits")]
        amount: U256,
    },
}

impl Plan {
    pub fn is_expired(&self, height: u64, time_ms: u64) -> bool {
        self.last_height.is_some_and(|last| height > last) || self.last_time_ms.is_some_and(|last| time_ms > last)
    }
}

mod digits {
    use ethnum::U256;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(amount: &U256, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(amount)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        U256::from_str_radix(&text, 10).map_err(D::Error::custom)
    }
}
