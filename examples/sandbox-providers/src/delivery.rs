//! Coins that the sandbox sends: asked of the faucet, signed by the treasury, sent, and followed until they are final.
//!
//! Invariants: the hash is stored in the commit that sends; another transaction for the same delivery is signed only where it is
//! certain that the one before moved nothing; a refund is never given up.

use ethnum::U256;
use serde::Deserialize;
use tenon_plugin::chains::{Following, Sending, Terms, Wish};
use tenon_plugin::keyring::{ChainTransfer, Signed};
use tenon_plugin::tasks::{FiredTask, Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Level, Stop, json};

use crate::intake::{proceed, read};
use crate::records;
use crate::rules::amount::Units;
use crate::rules::limits::{
    CHAIN_PAUSE_MS, CONFIRMATIONS, DELIVERY_ATTEMPTS_MAX, DELIVERY_PAUSE_MAX_MS, DELIVERY_PAUSE_MS,
    FAUCET_CONFIRMATIONS, FEE_MARGIN, SENDING_DELAYS_MS, TREASURY_INDEX,
};
use crate::rules::order::{Delivery, Order, Stage, Way};
use crate::tasks::{COINS_CAME, COINS_GIVEN, DELIVER, DELIVERY_DONE, DELIVERY_SENT, Place};

/// From here on it goes by itself.
pub fn begin(call: &Call, order: &Order, way: Way) -> Result<(), Stop> {
    let place = Place { order: records::order_key(order.kind, &order.id), way, attempt: 0 };
    schedule(call, &place, call.now())
}

fn schedule(call: &Call, place: &Place, at: u64) -> Result<(), Stop> {
    call.tasks().schedule(DELIVER, &key(place), at, &json::to_text(place)?);
    Ok(())
}

/// At most 128 bytes: the kind and the customer's id, the way and the attempt.
fn key(place: &Place) -> String {
    let way = match place.way {
        Way::Delivery => "d",
        Way::Refund => "r",
    };
    [place.order.as_str(), way, &place.attempt.to_string()].join("/")
}

/// The order, where this attempt is the one that counts and the delivery is at `stages`.
fn load(call: &Call, place: &Place, stages: &[Stage]) -> Result<Option<(Order, Delivery)>, Stop> {
    let Some(order) = records::find_order(call, &place.order)? else { return Ok(None) };
    let delivery = order.way(place.way).cloned();
    let counts = |delivery: &Delivery| delivery.attempt == place.attempt && stages.contains(&delivery.stage);
    Ok(delivery.filter(counts).map(|delivery| (order, delivery)))
}

fn store(call: &Call, mut order: Order, way: Way, delivery: Delivery) -> Result<(), Stop> {
    if let Some(place) = order.way_mut(way) {
        *place = delivery;
    }
    order.updated_at = call.now();
    records::replace_order(call, &order)
}

/// The next step that is possible.
pub fn deliver(call: &Call, task: &FiredTask) -> TaskOutcome {
    let place: Place = read(&task.payload)?;
    let Some((order, delivery)) = load(call, &place, &[Stage::Coin, Stage::Token, Stage::Send])? else {
        return Ok(Verdict::Done);
    };
    let blockchain = &delivery.asset.blockchain;
    let Ok(terms) = call.chains().terms(blockchain)? else { return Ok(later(call)) };
    let has_faucet = call.chains().network(blockchain).is_some_and(|network| network.has_faucet);
    if delivery.stage != Stage::Send && has_faucet {
        wish(call, &place, &delivery, &terms)?;
        return Ok(Verdict::Done);
    }
    let treasury = call.keyring().account(blockchain, TREASURY_INDEX).address;
    let Ok(count) = call.chains().sequence(blockchain, &treasury)? else { return Ok(later(call)) };
    let sequence = records::take_sequence(call, blockchain, count)?;
    match sign(call, &delivery, sequence, &terms) {
        Ok(signed) => send(call, &place, (order, delivery), (signed, sequence))?,
        Err(why) => {
            call.log(Level::Warn, "a delivery cannot be signed", &[("order", &place.order), ("why", &why)]);
            records::note_gap(call, blockchain, sequence)?;
            stumble(call, &place, order, delivery)?;
        }
    }
    Ok(Verdict::Done)
}

fn later(call: &Call) -> Verdict {
    Verdict::Later(call.now().saturating_add(CHAIN_PAUSE_MS))
}

/// What the delivery needs of the coin, or of the token.
fn wish(call: &Call, place: &Place, delivery: &Delivery, terms: &Terms) -> Result<(), Stop> {
    let asset = &delivery.asset;
    let fee = if asset.token.is_some() { &terms.token_fee } else { &terms.coin_fee };
    let fees = Units::of_digits(fee).and_then(|fee| fee.scale(U256::from(FEE_MARGIN), U256::ONE));
    let amount = match (&asset.token, delivery.stage) {
        (Some(_), Stage::Coin) => fees,
        (Some(_), _) => Some(delivery.units),
        (None, _) => fees.and_then(|fees| fees.checked_add(delivery.units)),
    };
    let amount = amount.ok_or_else(|| Stop::fault("a fee that fits no number"))?;
    let part = if delivery.stage == Stage::Coin { "/coin" } else { "/token" };
    call.chains().request_coins(&Wish {
        blockchain: asset.blockchain.clone(),
        address: call.keyring().account(&asset.blockchain, TREASURY_INDEX).address,
        token: asset.token.clone().filter(|_| delivery.stage == Stage::Token),
        amount: amount.to_digits(),
        then: COINS_GIVEN.to_owned(),
        key: [key(place).as_str(), part].concat(),
        context: json::to_text(place)?,
    });
    Ok(())
}

#[derive(Deserialize)]
struct Given {
    hash: String,
}

/// The faucet has sent something, or will not.
pub fn coins_given(call: &Call, task: &FiredTask) -> TaskOutcome {
    let place: Place = read(&task.payload)?;
    let Some((order, delivery)) = load(call, &place, &[Stage::Coin, Stage::Token])? else { return Ok(Verdict::Done) };
    let given = match &task.outcome {
        Some(Outcome::Answered(answer)) if answer.status == 200 => match &answer.content {
            tenon_plugin::Content::Json(text) => read::<Given>(text).ok(),
            _ => None,
        },
        _ => None,
    };
    match given {
        Some(given) => call.chains().follow(&Following {
            blockchain: delivery.asset.blockchain.clone(),
            hash: given.hash,
            confirmations: FAUCET_CONFIRMATIONS,
            then: COINS_CAME.to_owned(),
            key: task.key.clone(),
            context: json::to_text(&place)?,
        }),
        None => stumble(call, &place, order, delivery)?,
    }
    Ok(Verdict::Done)
}

/// As the host tells the end of a transaction.
#[derive(Deserialize)]
struct End {
    context: Place,
    hash: String,
    state: String,
}

/// What the faucet has sent can be spent.
pub fn coins_came(call: &Call, task: &FiredTask) -> TaskOutcome {
    let end: End = read(&task.payload)?;
    let place = end.context;
    let Some((order, mut delivery)) = load(call, &place, &[Stage::Coin, Stage::Token])? else {
        return Ok(Verdict::Done);
    };
    if end.state != "done" {
        stumble(call, &place, order, delivery)?;
        return Ok(Verdict::Done);
    }
    let needs_token = delivery.stage == Stage::Coin && delivery.asset.token.is_some();
    delivery.stage = if needs_token { Stage::Token } else { Stage::Send };
    store(call, order, place.way, delivery)?;
    schedule(call, &place, call.now())?;
    Ok(Verdict::Done)
}

fn sign(call: &Call, delivery: &Delivery, sequence: u64, terms: &Terms) -> Result<Signed, String> {
    let transfer = ChainTransfer {
        recipient: delivery.address.clone(),
        token: delivery.asset.token.clone(),
        amount: delivery.units.to_digits(),
        sequence,
    };
    call.keyring().sign_transfer(&delivery.asset.blockchain, TREASURY_INDEX, &transfer, terms)
}

/// Stored, followed and sent in one commit.
fn send(
    call: &Call,
    place: &Place,
    (order, mut delivery): (Order, Delivery),
    (signed, sequence): (Signed, u64),
) -> Result<(), Stop> {
    delivery.stage = Stage::Sent;
    delivery.sequence = Some(sequence);
    delivery.hash = Some(signed.hash.clone());
    delivery.raw = Some(signed.raw.clone());
    call.chains().follow(&Following {
        blockchain: delivery.asset.blockchain.clone(),
        hash: signed.hash,
        confirmations: CONFIRMATIONS,
        then: DELIVERY_DONE.to_owned(),
        key: key(place),
        context: json::to_text(place)?,
    });
    submit(call, place, &delivery, signed.raw)?;
    store(call, order, place.way, delivery)
}

fn submit(call: &Call, place: &Place, delivery: &Delivery, raw: String) -> Result<(), Stop> {
    call.chains().send(&Sending {
        blockchain: delivery.asset.blockchain.clone(),
        raw,
        then: DELIVERY_SENT.to_owned(),
        key: key(place),
        context: json::to_text(place)?,
        delays: SENDING_DELAYS_MS.to_vec(),
    });
    Ok(())
}

/// A node has it, will never take it, or does not answer.
pub fn sent(call: &Call, task: &FiredTask) -> TaskOutcome {
    let place: Place = read(&task.payload)?;
    let Some((order, delivery)) = load(call, &place, &[Stage::Sent])? else { return Ok(Verdict::Done) };
    match &task.outcome {
        Some(Outcome::Answered(answer)) if answer.status == 200 => {}
        Some(Outcome::Answered(answer)) if answer.status == 422 => {
            let blockchain = delivery.asset.blockchain.clone();
            if let Some(hash) = &delivery.hash {
                call.chains().unfollow(&blockchain, hash);
            }
            if let Some(sequence) = delivery.sequence {
                records::note_gap(call, &blockchain, sequence)?;
            }
            stumble(call, &place, order, delivery)?;
        }
        // It may have gone out: the same bytes again.
        _ => {
            let raw = delivery.raw.clone().ok_or_else(|| Stop::fault("a delivery without its bytes"))?;
            submit(call, &place, &delivery, raw)?;
        }
    }
    Ok(Verdict::Done)
}

/// It is final, or has failed on the blockchain for good.
pub fn done(call: &Call, task: &FiredTask) -> TaskOutcome {
    let end: End = read(&task.payload)?;
    let place = end.context;
    let Some((mut order, delivery)) = load(call, &place, &[Stage::Sent])? else { return Ok(Verdict::Done) };
    if delivery.hash.as_ref() != Some(&end.hash) {
        return Ok(Verdict::Done);
    }
    if end.state == "done" {
        order.arrive(place.way);
        proceed(call, &mut order, crate::rules::order::Next::Nothing)?;
    } else {
        stumble(call, &place, order, delivery)?;
    }
    Ok(Verdict::Done)
}

/// Nothing has moved: another attempt a while later, or the end of it.
fn stumble(call: &Call, place: &Place, mut order: Order, mut delivery: Delivery) -> Result<(), Stop> {
    let attempt = place.attempt.saturating_add(1);
    if attempt >= DELIVERY_ATTEMPTS_MAX && place.way == Way::Delivery {
        let next = order.give_up();
        return proceed(call, &mut order, next);
    }
    delivery.attempt = attempt;
    delivery.stage = if delivery.stage == Stage::Sent { Stage::Send } else { delivery.stage };
    (delivery.hash, delivery.raw, delivery.sequence) = (None, None, None);
    let pause = DELIVERY_PAUSE_MS.saturating_mul(1 << place.attempt.min(16)).min(DELIVERY_PAUSE_MAX_MS);
    store(call, order, place.way, delivery)?;
    schedule(call, &Place { attempt, ..place.clone() }, call.now().saturating_add(pause))
}
