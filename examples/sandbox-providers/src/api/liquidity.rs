//! /v1/swap/quotes, /v1/swaps: one asset for another, on the same blockchain or another one.

use serde_json::{Map, json};
use tenon_plugin::{Answer, Call, Outcome, Stop, json as text, time};

use super::form::Form;
use crate::intake;
use crate::records::{self, Quote, Terms};
use crate::rules::amount::Units;
use crate::rules::fate::{self, Fate};
use crate::rules::limits::{ADDRESS_CHARS_MAX, SWAP_QUOTE_MS, TEXT_CHARS_MAX};
use crate::rules::offers::{self, Offer, Priority};
use crate::rules::order::{Asset, Delivery, Kind, Order, Status};
use crate::rules::prices::Rate;
use crate::words::{self, No};

/// Whole units of anything, at most: what they are worth fits every number.
const WHOLE_UNITS_MAX: &str = "1000000000";
/// Hundredths of a percent have two decimals.
const PERCENT_DECIMALS: u32 = 2;

fn asset(call: &Call, form: &Form, field: &str, place: &'static str) -> Result<Asset, Stop> {
    let inner = form.inner(field, place)?;
    super::asset(call, &inner.short("blockchain")?, &inner.short("asset")?)
}

pub fn quote(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let (from, to) = (asset(call, &form, "from", "from.")?, asset(call, &form, "to", "to.")?);
    let units = form.amount("amount", from.decimals)?;
    let priority = match form.optional("order", TEXT_CHARS_MAX)? {
        Some(name) => {
            let must = || form.wrong("order", &["must be one of: ", Priority::NAMES].concat());
            Some(Priority::of_name(&name).ok_or_else(must)?)
        }
        None => None,
    };
    if from == to {
        return Err(No::Route.into());
    }
    let rate = Rate::between(&from.symbol, &to.symbol).ok_or(No::Route)?;
    if Units::parse(WHOLE_UNITS_MAX, from.decimals).is_some_and(|most| units > most) {
        return Err(words::too_large(WHOLE_UNITS_MAX));
    }
    let terms = call.chains().terms(&from.blockchain)?.map_err(|_| No::Silent)?;
    let fee = if from.token.is_some() { terms.token_fee } else { terms.coin_fee };
    let fee = Units::of_digits(&fee).ok_or_else(|| Stop::fault("a fee that fits no number"))?;
    let all = offers::offers(units, (from.decimals, to.decimals), rate, fee);
    let offers = offers::sorted(all.ok_or_else(|| words::too_large(WHOLE_UNITS_MAX))?, priority);
    let (id, expires_at) = (call.public_id("quote"), call.now().saturating_add(SWAP_QUOTE_MS));
    let coin_decimals = call.chains().network(&from.blockchain).map_or(0, |network| u32::from(network.decimals));
    let shown: Vec<_> =
        offers.iter().map(|offer| show_offer(&id, offer, (&from, &to), (units, coin_decimals))).collect();
    let answer = json!({ "quote_id": id, "expires_at": time::to_text(expires_at), "offers": shown });
    let terms = Terms::Swap { to, offers };
    records::insert_quote(call, &id, &Quote { asset: from, units, terms, expires_at, taken_by: None })?;
    Ok(Answer::created(text::to_text(&answer)?))
}

fn show_offer(
    quote_id: &str,
    offer: &Offer,
    (from, to): (&Asset, &Asset),
    (units, coin_decimals): (Units, u32),
) -> serde_json::Value {
    let offer_id = [quote_id, ".", &offer.way].concat();
    json!({
        "offer_id": offer_id,
        "amount": super::decimal(to, offer.amount),
        "minimum_amount": super::decimal(to, offer.minimum_amount),
        "rate": offers::rate((units, from.decimals), (offer.amount, to.decimals)),
        "fee": super::decimal(to, offer.fee),
        "network_fee": offer.network_fee.to_decimal(coin_decimals),
        "arrival_seconds": offer.arrival_s,
        "slippage": Units::new(offer.slippage.into()).to_decimal(PERCENT_DECIMALS),
        "is_fixed": offer.is_fixed,
    })
}

pub fn execute(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let (id, offer_id) = (form.id()?, form.short("offer_id")?);
    let minimum = form.optional("minimum_amount", TEXT_CHARS_MAX)?;
    let recipient = form.text("recipient_address", ADDRESS_CHARS_MAX)?;
    let request = text::to_text(&(&offer_id, &minimum, recipient, form.text("refund_address", ADDRESS_CHARS_MAX)?))?;
    if let Some(order) = super::find_repeat(call, Kind::Swap, &id, &request)? {
        return super::repeated(&order);
    }
    let (quote_id, way) = offer_id.split_once('.').ok_or(No::QuoteNotFound)?;
    let Quote { asset, units, terms, .. } = records::take_quote(call, quote_id, &id)?;
    let Terms::Swap { to, offers } = terms else { return Err(No::QuoteNotFound.into()) };
    let offer = offers.into_iter().find(|offer| offer.way == way).ok_or(No::QuoteNotFound)?;
    let recipient_address = form.address(call, "recipient_address", &to.blockchain)?;
    let refund_address = form.address(call, "refund_address", &asset.blockchain)?;
    let least = match minimum {
        Some(_) => form.amount("minimum_amount", to.decimals)?,
        None => offer.minimum_amount,
    };
    if least < offer.minimum_amount || least > offer.amount {
        return Err(form.wrong("minimum_amount", "must be between that of the offer and its amount"));
    }
    let fate = fate::of_amount(&super::decimal(&asset, units));
    let brings = match fate {
        Fate::Refused => return Err(No::QuoteExpired.into()),
        Fate::FallsShort => offers::short_of(offer.amount).unwrap_or(offer.amount),
        _ => offer.amount,
    };
    let shown = json!({
        "offer_id": offer_id,
        "minimum_amount": super::decimal(&to, least),
        "recipient_address": recipient_address,
    });
    let deposit = intake::open(call, Kind::Swap, &id, asset, units)?;
    super::taken(
        call,
        &Order {
            request,
            fate,
            shown: shown.as_object().cloned().unwrap_or_else(Map::new),
            refund_address: Some(refund_address),
            deposit: Some(deposit),
            delivery: Some(Delivery::new(to, recipient_address, brings)),
            ..Order::new(Kind::Swap, id, Status::AwaitingDeposit, call.now())
        },
    )
}

pub fn show(call: &Call) -> Outcome {
    super::read(call, Kind::Swap)
}
