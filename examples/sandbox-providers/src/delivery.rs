//! Coins that the sandbox sends: asked of the faucet, signed by the treasury, sent, and followed until they are final.
//!
//! Invariants: the hash is stored in the commit that sends; another transaction for the same delivery is signed only where it is
//! certain that the one before moved nothing; a refund is never given up.

use ethnum::U256;
use serde::Deserialize;
use tenon_plugin::chains::{CoinRequest, Following, Sending, Terms};
use tenon_plugin::keyring::{ChainTransfer, Signed};
use tenon_plugin::tasks::{FiredTask, Outcome, TaskOutcome, Verdict};
use tenon_plugin::{Call, Level, Stop, json};

use crate::intake::{proceed, read};
use crate::records;
use crate::rules::amount::Units;
use crate::rules::limits::{
    CHAIN_PAUSE_MS, COIN_GIFT, COINS_MS, CONFIRMATIONS, DELIVERY_ATTEMPTS_MAX, DELIVERY_PAUSE_MAX_MS,
    DELIVERY_PAUSE_MS, FAUCET_CONFIRMATIONS, FEE_MARGIN, SENDING_DELAYS_MS, TOKEN_GIFT, TREASURY_INDEX,
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
    let Some((order, mut delivery)) = load(call, &place, &[Stage::Coin, Stage::Token, Stage::Send])? else {
        return Ok(Verdict::Done);
    };
    let blockchain = delivery.asset.blockchain.clone();
    let Ok(terms) = call.chains().terms(&blockchain)? else { return Ok(later(call)) };
    if let Some(wish) = next_wish(call, &place, &mut delivery, &terms)? {
        call.chains().request_coins(&wish);
        store(call, order, place.way, delivery)?;
        return Ok(Verdict::Done);
    }
    let treasury = call.keyring().account(&blockchain, TREASURY_INDEX).address;
    let Ok(count) = call.chains().sequence(&blockchain, &treasury)? else { return Ok(later(call)) };
    let sequence = records::take_sequence(call, &blockchain, count)?;
    match sign(call, &delivery, sequence, &terms) {
        Ok(signed) => send(call, &place, (order, delivery), (signed, sequence))?,
        Err(why) => {
            call.log(Level::Warn, "a delivery cannot be signed", &[("order", &place.order), ("why", &why)]);
            records::note_gap(call, &blockchain, sequence)?;
            stumble(call, &place, order, delivery)?;
        }
    }
    Ok(Verdict::Done)
}

fn later(call: &Call) -> Verdict {
    Verdict::Later(call.now().saturating_add(CHAIN_PAUSE_MS))
}

/// What is still to be asked of the faucet: the coin first, then the token. `None`: the treasury has what it needs, or has to see
/// to that without a faucet.
fn next_wish(call: &Call, place: &Place, delivery: &mut Delivery, terms: &Terms) -> Result<Option<CoinRequest>, Stop> {
    let network = call.chains().network(&delivery.asset.blockchain).filter(|network| network.has_faucet);
    let Some(network) = network else { return Ok(None) };
    while delivery.stage != Stage::Send {
        let is_coin = delivery.stage == Stage::Coin;
        let (gift, decimals) =
            if is_coin { (COIN_GIFT, network.decimals.into()) } else { (TOKEN_GIFT, delivery.asset.decimals) };
        let needed = needed(delivery, terms).ok_or_else(|| Stop::fault("a fee that fits no number"))?;
        let lacking = needed.checked_sub(delivery.asked).unwrap_or_default();
        if lacking == Units::ZERO {
            let needs_token = is_coin && delivery.asset.token.is_some();
            delivery.stage = if needs_token { Stage::Token } else { Stage::Send };
            delivery.asked = Units::ZERO;
            continue;
        }
        let amount = lacking.min(Units::parse(gift, decimals).unwrap_or(lacking));
        delivery.asked = delivery.asked.checked_add(amount).unwrap_or(needed);
        delivery.gifts = delivery.gifts.saturating_add(1);
        return Ok(Some(CoinRequest {
            blockchain: delivery.asset.blockchain.clone(),
            address: call.keyring().account(&delivery.asset.blockchain, TREASURY_INDEX).address,
            token: delivery.asset.token.clone().filter(|_| !is_coin),
            amount: amount.to_digits(),
            then: COINS_GIVEN.to_owned(),
            key: [key(place).as_str(), "/", &delivery.gifts.to_string()].concat(),
            context: json::to_text(place)?,
        }));
    }
    Ok(None)
}

/// Of the coin, or of the token, in base units.
fn needed(delivery: &Delivery, terms: &Terms) -> Option<Units> {
    let is_token = delivery.asset.token.is_some();
    let fee = if is_token { &terms.token_fee } else { &terms.coin_fee };
    let fees = Units::of_digits(fee)?.scale(U256::from(FEE_MARGIN), U256::ONE)?;
    match delivery.stage {
        Stage::Coin if is_token => Some(fees),
        Stage::Coin => fees.checked_add(delivery.units),
        _ => Some(delivery.units),
    }
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
        Some(given) => {
            call.chains().follow(&Following {
                blockchain: delivery.asset.blockchain.clone(),
                hash: given.hash,
                confirmations: FAUCET_CONFIRMATIONS,
                then: COINS_CAME.to_owned(),
                key: task.key.clone(),
                context: json::to_text(&place)?,
                raw: None,
            });
            // Where they never come, the next step says whether there is enough without them.
            schedule(call, &place, call.now().saturating_add(COINS_MS))?;
        }
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
    let Some((order, delivery)) = load(call, &place, &[Stage::Coin, Stage::Token])? else { return Ok(Verdict::Done) };
    if end.state == "done" {
        schedule(call, &place, call.now())?;
    } else {
        stumble(call, &place, order, delivery)?;
    }
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
    let blockchain = delivery.asset.blockchain.clone();
    call.chains().follow(&Following {
        blockchain: blockchain.clone(),
        hash: signed.hash,
        confirmations: CONFIRMATIONS,
        then: DELIVERY_DONE.to_owned(),
        key: key(place),
        context: json::to_text(place)?,
        // Whatever becomes of the sending: the host gives it to a node again wherever none has it.
        raw: Some(signed.raw.clone()),
    });
    call.chains().send(&Sending {
        blockchain,
        raw: signed.raw,
        then: DELIVERY_SENT.to_owned(),
        key: key(place),
        context: json::to_text(place)?,
        delays: SENDING_DELAYS_MS.to_vec(),
    });
    store(call, order, place.way, delivery)
}

/// A node will never take it. Everything else is told by whoever follows the transaction.
pub fn sent(call: &Call, task: &FiredTask) -> TaskOutcome {
    let place: Place = read(&task.payload)?;
    let Some((order, delivery)) = load(call, &place, &[Stage::Sent])? else { return Ok(Verdict::Done) };
    if matches!(&task.outcome, Some(Outcome::Answered(answer)) if answer.status == 422) {
        if let Some(hash) = &delivery.hash {
            call.chains().unfollow(&delivery.asset.blockchain, hash);
        }
        if let Some(sequence) = delivery.sequence {
            records::note_gap(call, &delivery.asset.blockchain, sequence)?;
        }
        stumble(call, &place, order, delivery)?;
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
        order.delivery = Some(Delivery { hash: None, ..delivery });
        let next = order.give_up();
        return proceed(call, &mut order, next);
    }
    delivery.attempt = attempt;
    // Perhaps it was too poor: it gets all of it once more.
    delivery.stage = Stage::Coin;
    (delivery.hash, delivery.sequence, delivery.asked) = (None, None, Units::ZERO);
    let pause = DELIVERY_PAUSE_MS.saturating_mul(1 << place.attempt.min(16)).min(DELIVERY_PAUSE_MAX_MS);
    store(call, order, place.way, delivery)?;
    schedule(call, &Place { attempt, ..place.clone() }, call.now().saturating_add(pause))
}
