//! What the host keeps of blockchains for a plugin and tenant: the bodies of records of `host_collections::CHAIN_NOTES`.
//!
//! Plain values. Invariant: a record's id follows from its body, so nothing is watched or followed twice.

use serde::{Deserialize, Serialize};

/// Told apart by `kind`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ChainNote {
    Watch(Watch),
    Following(Following),
    Sighting(Sighting),
}

/// An address of which what arrives is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Watch {
    pub blockchain: String,
    pub address: String,
    /// After so many it is final.
    pub confirmations: u32,
    /// The task that is told.
    pub then: String,
    /// One JSON text.
    pub context: String,
}

/// A transaction of which the end is told.
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
    /// Given to a node again where none has it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Something that arrived, was told, and is not final: with all that its telling needs, since the watch may be gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sighting {
    pub arrival: Arrival,
    /// The height of its block as it was told.
    pub block: u64,
    pub confirmations: u32,
    pub then: String,
    /// One JSON text.
    pub context: String,
}

/// One movement to a watched address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Arrival {
    pub blockchain: String,
    pub address: String,
    pub hash: String,
    /// Within its transaction.
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
    /// Where it stands; the key of the task that is told.
    pub fn place(&self) -> String {
        format!("{}/{}/{}", self.blockchain, self.hash, self.position)
    }
}

impl Sighting {
    pub fn id(&self) -> String {
        format!("sighting:{}", self.arrival.place())
    }
}

impl ChainNote {
    /// From the body of its record.
    pub fn parse(body: &str) -> Result<ChainNote, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// Of its record.
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
