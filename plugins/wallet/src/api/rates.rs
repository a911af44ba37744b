//! Rates and sanctions look-up: what other companies say, for everybody with a key.

use tenon_plugin::{Call, Outcome, Route, get};

use super::{envelope, query};
use crate::providers::{self, rates};
use crate::rules::address;
use crate::rules::blockchain::Blockchain;
use crate::show::Text;
use crate::words;

pub const ROUTES: &[Route] = &[
    get("/v1/assets/rates", "read-rates", read).query(&["assets", "currency"]),
    get("/v1/aml/lookup", "look-up-address", look_up).query(&["address", "blockchain"]),
];

/// Symbols of one request: the contract of rates.
const SYMBOLS_MAX: usize = 50;
const SYMBOL_CHARS_MAX: usize = 16;

fn symbols(text: &str) -> Option<Vec<String>> {
    let all: Vec<String> = text.split(',').map(|symbol| symbol.trim().to_owned()).collect();
    let is_one = |symbol: &String| {
        (1..=SYMBOL_CHARS_MAX).contains(&symbol.len()) && symbol.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    ((1..=SYMBOLS_MAX).contains(&all.len()) && all.iter().all(is_one)).then_some(all)
}

/// `{"BTC": {"USD": 60000}}`, as the real product writes it: numbers, as exact as the provider gave them.
fn read(call: &Call) -> Outcome {
    let (assets, currency) = (query::single(call, &["assets"])?, query::single(call, &["currency"])?);
    let Some(assets) = assets.and_then(symbols) else {
        return Err(words::wrong("assets", "symbols", "must be 1 to 50 symbols with commas between them"));
    };
    let currency = match symbols(currency.unwrap_or("USD")) {
        Some(mut one) if one.len() == 1 => one.remove(0),
        _ => return Err(words::wrong("currency", "symbols", "must be one currency")),
    };
    let found = rates::rates(call, &currency, &assets)?;
    let rows = found.iter().filter(|(symbol, _)| assets.contains(symbol)).filter_map(|(symbol, rate)| {
        crate::rules::rate::Rate::parse(rate)?;
        Some(["\"", symbol, "\":{\"", &currency, "\":", rate, "}"].concat())
    });
    let rows: Vec<String> = rows.collect();
    envelope::ok("Rates fetched successfully", &["{", &rows.join(","), "}"].concat())
}

/// Both spellings of the real product.
fn look_up(call: &Call) -> Outcome {
    let (text, slug) = (query::single(call, &["address"])?, query::single(call, &["blockchain"])?);
    let text = text.ok_or_else(|| words::wrong("address", "required", "is required"))?;
    let found = match slug {
        Some(slug) => {
            let must = "must be a supported blockchain";
            let known = Blockchain::of_slug(slug).ok_or_else(|| words::wrong("blockchain", "blockchain", must))?;
            address::read(known, text).ok().map(|address| (known, address))
        }
        None => [Blockchain::Ethereum, Blockchain::Tron, Blockchain::Solana]
            .into_iter()
            .find_map(|known| address::read(known, text).ok().map(|address| (known, address))),
    };
    let must = "must be an address of the blockchain";
    let (blockchain, address) = found.ok_or_else(|| words::wrong("address", "address", must))?;
    let verdict = providers::screen(call, blockchain, &address)?;
    let Some(verdict) = verdict else { return Err(words::unanswered("Addresses are not screened here")) };
    let message = if verdict.is_sanctioned { "Address is sanctioned" } else { "Address is not sanctioned" };
    let text = Text::new()
        .with("address", &address)?
        .with("blockchain", blockchain.slug())?
        .with("is_sanctioned", &verdict.is_sanctioned)?
        .with("isBlackListed", &verdict.is_sanctioned)?
        .with("isBlacklisted", &verdict.is_sanctioned)?
        .with("provider", "screening")?
        .with("version", &verdict.version)?
        .with("status", "success")?
        .with("message", message)?;
    envelope::ok("Address looked up successfully", &text.to_text())
}
