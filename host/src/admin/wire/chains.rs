//! JSON types of blockchain networks. Amounts are decimal whole units: "2.5".

use serde::{Deserialize, Serialize};

/// Selects one of a blockchain's networks. Test tenants use `Test`, live tenants use `Main`.
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
    /// EVM chain id. 0 for other blockchains.
    pub chain_id: u64,
    /// Height of the newest block. `None` if the network does not answer.
    pub height: Option<u64>,
    pub block_time_ms: u32,
    /// The asset in which fees are paid.
    pub coin: AssetStatus,
    pub tokens: Vec<AssetStatus>,
    /// Number of addresses whose incoming transfers are reported to plugins.
    pub watched: u64,
    /// Number of transactions whose result is reported to plugins.
    pub followed: u64,
    /// `None` if the network is not simulated.
    pub faults: Option<FaultStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetStatus {
    pub symbol: String,
    pub decimals: u8,
    /// Contract address. `None` for the coin.
    pub address: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultStatus {
    /// Number of upcoming transactions that fail in their block.
    pub fail_next: u32,
    /// Number of upcoming transactions that wait until they are released.
    pub stick_next: u32,
    pub slow_ms: u64,
    pub silence: Silence,
}

/// State of a network that does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Silence {
    #[default]
    Off,
    /// Submitted transactions are lost.
    Lost,
    /// Submitted transactions are accepted.
    Taken,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceReport {
    pub blockchain: String,
    pub network: NetworkSide,
    pub address: String,
    /// The balance of the coin, then of every token.
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
    /// Height of its block. `None` while it waits.
    pub block: Option<u64>,
    /// Number of blocks from its own block to the newest, inclusive.
    pub confirmations: u64,
    /// Amount of `coin`.
    pub fee: String,
    /// Symbol of the asset in which fees are paid.
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

/// Request to control a simulated network.
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
    /// Creates new funds. `token` is a symbol. `None` selects the coin.
    Give {
        address: String,
        amount: String,
        #[serde(default)]
        token: Option<String>,
    },
    /// Adds blocks immediately.
    Mine {
        blocks: u64,
    },
    /// Replaces the last blocks. `drop` removes their transactions. Without it, their transactions wait again.
    Reorganise {
        depth: u64,
        #[serde(default)]
        drop: bool,
    },
    /// Makes the next transactions fail.
    Fail {
        count: u32,
    },
    /// Makes the next transactions wait until they are released.
    Stick {
        count: u32,
    },
    /// Releases the stuck transactions.
    Release,
    /// Delays every response. 0 removes the delay.
    Slow {
        ms: u64,
    },
    Silent {
        silence: Silence,
    },
    /// Removes all faults and releases the stuck transactions.
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlReport {
    pub blockchain: String,
    pub network: NetworkSide,
    /// Hash of the faucet transaction.
    pub hash: Option<String>,
    /// Height of the newest block after mining.
    pub height: Option<u64>,
    /// Number of transactions that were reorganised or released.
    pub transactions: Option<u64>,
    pub faults: FaultStatus,
}
