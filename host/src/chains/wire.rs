//! Questions and errands to a blockchain as calls to "chain:NAME", so that they wait, are counted and are tried again like
//! every other outgoing call; and what comes back. The host's own words: nothing of it is HTTP, and no plugin sees it.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::PREFIX;
use crate::changes::outgoing::{OutgoingAnswer, OutgoingCall, OutgoingContent};

/// Reads only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    Terms,
    Balance { address: String, token: Option<String> },
    Sequence { address: String },
    Transaction { hash: String },
}

/// Moves something; asked again, nothing moves twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Errand {
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

const ASK: &str = "/ask";
const DO: &str = "/do";

impl Question {
    /// One of them is asked once in a call, whatever the question's key.
    pub fn call(&self, blockchain: &str) -> OutgoingCall {
        call(blockchain, ASK, serde_json::to_string(self))
    }
}

impl Errand {
    pub fn call(&self, blockchain: &str) -> OutgoingCall {
        call(blockchain, DO, serde_json::to_string(self))
    }
}

/// What a call asks for. `None`: it is none of ours.
pub(super) enum Wanted {
    Ask(Question),
    Do(Errand),
}

impl Wanted {
    pub fn read(call: &OutgoingCall) -> Option<Wanted> {
        let OutgoingContent::Json(text) = &call.content else { return None };
        match call.path.as_str() {
            ASK => serde_json::from_str(text).ok().map(Wanted::Ask),
            DO => serde_json::from_str(text).ok().map(Wanted::Do),
            _ => None,
        }
    }
}

/// `None`: the answer is not of this kind.
pub fn read<T: DeserializeOwned>(answer: &OutgoingAnswer) -> Option<T> {
    match &answer.content {
        OutgoingContent::Json(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

pub(super) fn answer<T: Serialize>(status: u16, value: &T) -> OutgoingAnswer {
    // Plain structs of texts and numbers: writing them cannot fail.
    let text = serde_json::to_string(value).unwrap_or_default();
    OutgoingAnswer { status, headers: Vec::new(), content: OutgoingContent::Json(text) }
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
