//! What a transaction does to the books of a simulated network, whichever family it is of.
//!
//! Never reads a transaction and never touches the books: it is what `intake` makes and `blocks` carries out.

use ethnum::U256;
use serde::{Deserialize, Serialize};

/// Kept with the transaction until it stands in a block, and after that in case it comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// What is burnt, whatever comes of it.
    #[serde(with = "digits")]
    pub fee: U256,
    /// What the sender has to have of the coin.
    #[serde(with = "digits")]
    pub cost: U256,
    /// It fails by itself: out of gas, or no such function.
    pub fails: bool,
    pub effects: Vec<Effect>,
    /// The last block that may hold it, and the last time of such a block.
    pub last_height: Option<u64>,
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
    /// Out of nothing, into the first hands.
    Give {
        token: Option<String>,
        recipient: String,
        #[serde(with = "digits")]
        amount: U256,
    },
    /// A token account, if there is none; the sender pays for it.
    Open { account: String, owner: String, token: String, rent: u64 },
    /// To the owner of a token account.
    MoveToAccount {
        token: String,
        account: String,
        #[serde(with = "digits")]
        amount: U256,
    },
}

impl Plan {
    pub fn is_over(&self, height: u64, time_ms: u64) -> bool {
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
