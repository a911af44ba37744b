//! What other companies do, at a destination with a contract of its own (docs/wallet/providers.md). Questions only.

use serde::Serialize;
use serde_json::value::RawValue;
use tenon_plugin::effects::OutgoingCall;
use tenon_plugin::json::Object;
use tenon_plugin::{Call, Content, Stop, json};

use crate::rules::blockchain::Blockchain;
use crate::rules::screening::Verdict;
use crate::settings::{self, Screening};
use crate::words;

const UNANSWERED: &str = "The address could not be screened";

/// What the sanctions lists say of an address; `None` where the operator wants no screening.
pub fn screen(call: &Call, blockchain: Blockchain, address: &str) -> Result<Option<Verdict>, Stop> {
    #[derive(Serialize)]
    struct Asked<'a> {
        address: &'a str,
        blockchain: &'a str,
    }
    if settings::screening(call)? == Screening::Off {
        return Ok(None);
    }
    let body = json::to_text(&Asked { address, blockchain: blockchain.slug() })?;
    let asked = OutgoingCall::new(&settings::providers(call)?, "POST", "/sanctions/screen").json(body);
    let key = ["screen/", blockchain.slug(), "/", address].concat();
    let Ok(response) = call.ask_and_wait(&key, &asked)? else { return Err(words::unanswered(UNANSWERED)) };
    let Content::Json(text) = &response.content else { return Err(words::unanswered(UNANSWERED)) };
    let read = || {
        let sound = response.status == 200 && json::nests_within(text, json::DEPTH_MAX);
        let body = sound.then(|| Object::parse(text).ok()).flatten()?;
        let version = body.text("version").ok().flatten().unwrap_or_default();
        Some(Verdict { is_sanctioned: body.boolean("sanctioned").ok().flatten()?, version })
    };
    read().map(Some).ok_or_else(|| words::unanswered(UNANSWERED))
}

/// Refused where it is sanctioned.
pub fn check(call: &Call, blockchain: Blockchain, address: &str) -> Result<Option<Verdict>, Stop> {
    let verdict = screen(call, blockchain, address)?;
    if let Some(verdict) = &verdict {
        verdict.check().map_err(|refusal| words::refused(&refusal))?;
    }
    Ok(verdict)
}

/// As records keep and show it: configurations.aml.
pub fn note(verdict: Option<&Verdict>) -> Result<Option<Box<RawValue>>, Stop> {
    #[derive(Serialize)]
    struct Note<'a> {
        status: &'a str,
        message: &'a str,
        provider: &'a str,
        version: &'a str,
    }
    let Some(verdict) = verdict else { return Ok(None) };
    let message = if verdict.is_sanctioned { "Address is sanctioned" } else { "Address is not sanctioned" };
    let text = json::to_text(&Note { status: "success", message, provider: "sanctions", version: &verdict.version })?;
    RawValue::from_string(text).map(Some).map_err(|error| Stop::fault(error.to_string()))
}
