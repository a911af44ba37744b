//! State of blockchains that the host keeps for a plugin and tenant: the bodies of records of
//! `host_collections::CHAIN_NOTES`.
//!
//! Plain values. Invariant: the id of a record follows from its body, so nothing is watched or followed twice.

use serde::{Deserialize, Serialize};

/// The body of a record. Its member `kind` selects the variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ChainNote {
    Watch(Watch),
    Following(Following),
    Sighting(Sighting),
}

/// A watched address: a task receives each transfer to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Watch {
    pub blockchain: String,
    pub address: String,
    /// Confirmations after which a transfer is final.
    pub confirmations: u32,
    /// Task that receives the transfers.
    pub then: String,
    /// One JSON text.
    pub context: String,
}

/// A followed transaction: a task receives its final state.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Following {
    pub blockchain: String,
    pub hash: String,
    pub confirmations: u32,
    pub then: String,
    pub key: String,
    /// One JSON text.
    pub context: String,
    /// Signed transaction, submitted again if no node has it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// A transfer that was reported and is not final yet. Contains everything that a later report needs, because the watch
/// may be gone by then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sighting {
    pub arrival: Arrival,
    /// Height of its block when it was reported.
    pub block: u64,
    pub confirmations: u32,
    pub then: String,
    /// One JSON text.
    pub context: String,
}

/// A transfer to a watched address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Arrival {
    pub blockchain: String,
    pub address: String,
    pub hash: String,
    /// Position within its transaction.
    pub position: u32,
    pub sender: String,
    pub token: Option<String>,
    /// Base units in decimal digits.
    pub amount: String,
}

impl Watch {
    pub fn id(blockchain: &str, address: &str) -> String {
        format!("watch:{blockchain}/{address}")
    }
}

impl Following {
    pub fn id(blockchain: &str, hash: &str) -> String {
        format!("follow:{blockchain}/{hash}")
    }
}

impl Arrival {
    /// Returns "blockchain/hash/position", the key of the task that receives it.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.blockchain, self.hash, self.position)
    }
}

impl Sighting {
    pub fn id(&self) -> String {
        format!("sighting:{}", self.arrival.key())
    }
}

impl ChainNote {
    /// Parses the body of a record.
    pub fn parse(body: &str) -> Result<ChainNote, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// Returns the id of its record.
    pub fn id(&self) -> String {
        match self {
            ChainNote::Watch(watch) => Watch::id(&watch.blockchain, &watch.address),
            ChainNote::Following(following) => Following::id(&following.blockchain, &following.hash),
            ChainNote::Sighting(sighting) => sighting.id(),
        }
    }

    pub fn blockchain(&self) -> &str {
        match self {
            ChainNote::Watch(watch) => &watch.blockchain,
            ChainNote::Following(following) => &following.blockchain,
            ChainNote::Sighting(sighting) => &sighting.arrival.blockchain,
        }
    }
}
