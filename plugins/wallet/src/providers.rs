//! What other companies do, at destinations with contracts of their own (docs/wallet/providers.md). Questions only.

pub mod accounts;
pub mod client;
pub mod gateway;
pub mod liquidity;
pub mod orders;
pub mod payout;
pub mod rates;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::effects::OutgoingCall;
use tenon_plugin::{Call, Content, Stop, json};

use crate::rules::blockchain::Blockchain;
use crate::rules::screening::Verdict;
use crate::settings::{self, Screening};
use crate::words;

/// The destination that knows the sanctions lists.
const SCREENING: &str = "screening";
const UNANSWERED: &str = "The address could not be screened";

#[derive(Deserialize)]
struct Screened {
    is_sanctioned: bool,
    lists: Vec<List>,
}

#[derive(Deserialize)]
struct List {
    list: String,
    version: String,
}

/// What the sanctions lists say of an address, and which versions of them; `None` where the operator wants no screening. Where no list
/// was looked at, nothing was decided.
pub fn screen(call: &Call, blockchain: Blockchain, address: &str) -> Result<Option<Verdict>, Stop> {
    if settings::screening(call)? == Screening::Off {
        return Ok(None);
    }
    let path = ["/v1/screening?blockchain=", blockchain.slug(), "&address=", address].concat();
    let key = ["screen/", blockchain.slug(), "/", address].concat();
    let asked = call.ask_and_wait(&key, &OutgoingCall::new(SCREENING, "GET", &path))?;
    let response = asked.map_err(|_| words::unanswered(UNANSWERED))?;
    let screened = match &response.content {
        Content::Json(text) if response.status == 200 && json::nests_within(text, json::DEPTH_MAX) => {
            serde_json::from_str::<Screened>(text).ok().filter(|screened| !screened.lists.is_empty())
        }
        _ => None,
    };
    let Screened { is_sanctioned, lists } = screened.ok_or_else(|| words::unanswered(UNANSWERED))?;
    let versions: Vec<String> = lists.iter().map(|list| [&list.list, " ", &list.version].concat()).collect();
    Ok(Some(Verdict { is_sanctioned, version: versions.join(", ") }))
}

/// Refused where it is sanctioned; `field` is where it stands.
pub fn check(
    call: &Call,
    field: &'static str,
    (blockchain, address): (Blockchain, &str),
) -> Result<Option<Verdict>, Stop> {
    let verdict = screen(call, blockchain, address)?;
    if let Some(verdict) = &verdict {
        verdict.check(field).map_err(|refusal| words::refused(&refusal))?;
    }
    Ok(verdict)
}

#[derive(Serialize)]
struct Note<'a> {
    status: &'a str,
    message: &'a str,
    provider: &'a str,
    version: &'a str,
}

/// As records keep and show it: configurations.aml.
pub fn note(verdict: Option<&Verdict>) -> Result<Option<Box<RawValue>>, Stop> {
    let Some(verdict) = verdict else { return Ok(None) };
    let message = if verdict.is_sanctioned { "Address is sanctioned" } else { "Address is not sanctioned" };
    raw(&Note { status: "success", message, provider: SCREENING, version: &verdict.version }).map(Some)
}

/// Until the lists have been asked; nothing where the operator wants no screening.
pub fn awaited(call: &Call) -> Result<Option<Box<RawValue>>, Stop> {
    if settings::screening(call)? == Screening::Off {
        return Ok(None);
    }
    raw(&Note { status: "pending", message: "Address is being screened", provider: SCREENING, version: "" }).map(Some)
}

fn raw(note: &Note) -> Result<Box<RawValue>, Stop> {
    RawValue::from_string(json::to_text(note)?).map_err(|error| Stop::fault(error.to_string()))
}
