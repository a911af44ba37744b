//! JSON about networks of blockchains. Amounts are whole units in decimal: "2.5".

use serde::{Deserialize, Serialize};

/// Which of a blockchain's networks: tenants of the test environment see the one, live tenants the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum NetworkSide {
    #[default]
    Test,
    Main,
}

impl NetworkSide {
    pub fn name(self) -> &'static str {
        match self {
            NetworkSide::Test => "test",
            NetworkSide::Main => "main",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkStatus {
    pub blockchain: String,
    pub network: NetworkSide,
    /// "simulated-test", …
    pub name: String,
    /// Of EVM transactions; 0 elsewhere.
    pub chain_id: u64,
    /// Of the newest block; null where the network does not answer.
    pub height: Option<u64>,
    pub block_time_ms: u32,
    /// What fees are paid in.
    pub coin: AssetStatus,
    pub tokens: Vec<AssetStatus>,
    /// Addresses of which plugins are told what arrives.
    pub watched: u64,
    /// Transactions of which plugins are told the end.
    pub followed: u64,
    /// Of a simulated network.
    pub faults: Option<FaultStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetStatus {
    pub symbol: String,
    pub decimals: u8,
    /// Of the contract; null for the coin.
    pub address: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultStatus {
    /// So many of the next transactions fail in their block.
    pub fail_next: u32,
    /// So many of the next transactions wait until they are released.
    pub stick_next: u32,
    pub slow_ms: u64,
    pub silence: Silence,
}

/// A network that does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Silence {
    #[default]
    Off,
    /// What is submitted is lost.
    Lost,
    /// What is submitted is taken all the same.
    Taken,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceReport {
    pub blockchain: String,
    pub network: NetworkSide,
    pub address: String,
    /// The coin first, then every token.
    pub balances: Vec<Balance>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    pub symbol: String,
    pub amount: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionStatus {
    pub blockchain: String,
    pub network: NetworkSide,
    pub hash: String,
    pub sender: String,
    /// "waiting", "done", "failed".
    pub state: String,
    /// Null while it waits.
    pub block: Option<u64>,
    /// Its own block counts.
    pub confirmations: u64,
    /// Of the coin.
    pub fee: String,
    /// What fees are paid in.
    pub coin: String,
    pub movements: Vec<MovementStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovementStatus {
    pub sender: String,
    pub recipient: String,
    pub symbol: String,
    pub amount: String,
}

/// What an operator does to a simulated network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkControl {
    pub blockchain: String,
    #[serde(default)]
    pub network: NetworkSide,
    pub control: Control,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Control {
    /// Out of nothing. `token`: its symbol; without it the coin.
    Give {
        address: String,
        amount: String,
        #[serde(default)]
        token: Option<String>,
    },
    /// So many blocks at once.
    Mine {
        blocks: u64,
    },
    /// Others in place of the last blocks; `drop`: what stood in them is gone instead of waiting again.
    Reorganise {
        depth: u64,
        #[serde(default)]
        drop: bool,
    },
    /// So many of the next transactions fail.
    Fail {
        count: u32,
    },
    /// So many of the next transactions are stuck.
    Stick {
        count: u32,
    },
    /// What is stuck goes on.
    Release,
    /// Every answer takes so long; 0: no more.
    Slow {
        ms: u64,
    },
    Silent {
        silence: Silence,
    },
    /// All of that ends; what is stuck is released.
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlReport {
    pub blockchain: String,
    pub network: NetworkSide,
    /// Of the transaction that gives.
    pub hash: Option<String>,
    /// Of the newest block after mining.
    pub height: Option<u64>,
    /// How many were reorganised or released.
    pub transactions: Option<u64>,
    pub faults: FaultStatus,
}
