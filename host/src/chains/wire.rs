//! Queries and commands to a blockchain, encoded as calls to "chain:NAME". They share queues, metrics and retries with
//! all other outgoing calls. The format is internal: no HTTP is involved, and no plugin sees it.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::PREFIX;
use crate::changes::outgoing::{OutgoingCall, OutgoingContent, OutgoingResponse};

/// A read-only request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChainQuery {
    Terms,
    Balance { address: String, token: Option<String> },
    Sequence { address: String },
    Transaction { hash: String },
}

/// A request that moves value. Commands are idempotent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChainCommand {
    Send { raw: String },
    Coins { address: String, token: Option<String>, amount: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsText {
    pub anchor: String,
    pub price: String,
    pub coin_fee: String,
    pub token_fee: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionText {
    pub hash: String,
    pub sender: String,
    /// "waiting", "done" or "failed".
    pub state: String,
    pub block: Option<u64>,
    pub confirmations: u64,
    pub fee: String,
    pub movements: Vec<MovementText>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovementText {
    pub position: u32,
    pub sender: String,
    pub recipient: String,
    pub token: Option<String>,
    pub amount: String,
}

const QUERY_PATH: &str = "/ask";
const COMMAND_PATH: &str = "/do";

impl ChainQuery {
    /// Encodes the query as a call.
    pub fn call(&self, blockchain: &str) -> OutgoingCall {
        call(blockchain, QUERY_PATH, serde_json::to_string(self))
    }
}

impl ChainCommand {
    pub fn call(&self, blockchain: &str) -> OutgoingCall {
        call(blockchain, COMMAND_PATH, serde_json::to_string(self))
    }
}

/// The request in a call to a blockchain.
pub(super) enum ChainRequest {
    Query(ChainQuery),
    Command(ChainCommand),
}

impl ChainRequest {
    /// Decodes a call. Returns `None` if it is not a chain request.
    pub fn read(call: &OutgoingCall) -> Option<ChainRequest> {
        let OutgoingContent::Json(text) = &call.content else { return None };
        match call.path.as_str() {
            QUERY_PATH => serde_json::from_str(text).ok().map(ChainRequest::Query),
            COMMAND_PATH => serde_json::from_str(text).ok().map(ChainRequest::Command),
            _ => None,
        }
    }
}

/// Decodes the body of a response. Returns `None` if it is not of this type.
pub fn read<T: DeserializeOwned>(response: &OutgoingResponse) -> Option<T> {
    match &response.content {
        OutgoingContent::Json(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

pub(super) fn response<T: Serialize>(status: u16, value: &T) -> OutgoingResponse {
    // Serializing plain structs of strings and numbers cannot fail.
    let text = serde_json::to_string(value).unwrap_or_default();
    OutgoingResponse { status, headers: Vec::new(), content: OutgoingContent::Json(text) }
}

fn call(blockchain: &str, path: &str, body: serde_json::Result<String>) -> OutgoingCall {
    OutgoingCall {
        destination: format!("{PREFIX}{blockchain}"),
        method: "POST".to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        content: OutgoingContent::Json(body.unwrap_or_default()),
        timeout_ms: 0,
        hops: 0,
    }
}
