//! What an operator, and the world, do to the blockchains meanwhile: gifts to addresses, transactions that fail or are stuck, blocks
//! that are replaced, nodes that are slow or silent.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    chance::Chance,
    scene::{Place, SORTS},
};
use crate::{
    program::Program,
    wallet::{control, give},
    wire::Client,
};

const PAUSE_MS: (u64, u64) = (20, 200);
/// Fewer than any deposit waits for.
const DEPTH_MAX: u64 = 10;
const SLOW_MS_MAX: u64 = 250;
/// How long a node is slow or silent.
const TROUBLE_MS: (u64, u64) = (50, 400);

/// Until told to stop, or until the server is gone. Gives the number of deposits that were made.
pub async fn blow(mut operator: Client, place: Arc<Place>, mut chance: Chance, running: Arc<AtomicBool>) -> u64 {
    let mut gifts = 0;
    while running.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(chance.between(PAUSE_MS))).await;
        let done = match chance.below(100) {
            0..50 => {
                gifts += 1;
                pay(&mut operator, &place, &mut chance).await
            }
            _ => disturb(&mut operator, place.facts.blockchain, &mut chance).await,
        };
        if done.is_err() {
            break;
        }
    }
    gifts
}

/// All of it ends; what is stuck goes on.
pub async fn calm(program: &Program, places: &[Arc<Place>]) -> anyhow::Result<()> {
    let mut operator = program.operator()?;
    for place in places {
        control(&mut operator, place.facts.blockchain, &json!({ "kind": "off" })).await?;
    }
    Ok(())
}

/// Somebody pays to the master wallet or to an address under it.
async fn pay(operator: &mut Client, place: &Place, chance: &mut Chance) -> anyhow::Result<()> {
    let to = chance.one_of(&SORTS).filter(|_| chance.percent(85)).and_then(|sort| place.address(*sort));
    let address = to.map_or(place.wallet.address.as_str(), |address| address.address.as_str());
    let symbol = chance.one_of(place.facts.tokens).map(|(symbol, _)| *symbol);
    let amount = format!("{}{}", 1 + chance.below(20), chance.one_of(&["", ".5"]).copied().unwrap_or_default());
    give(operator, (place.facts.blockchain, address), (symbol, &amount)).await
}

async fn disturb(operator: &mut Client, blockchain: &str, chance: &mut Chance) -> anyhow::Result<()> {
    let (wish, ends) = trouble(chance);
    control(operator, blockchain, &wish).await?;
    if let Some(end) = ends {
        tokio::time::sleep(Duration::from_millis(chance.between(TROUBLE_MS))).await;
        control(operator, blockchain, &end).await?;
    }
    Ok(())
}

/// With what ends it, where it does not end by itself.
fn trouble(chance: &mut Chance) -> (Value, Option<Value>) {
    match chance.below(100) {
        0..20 => (json!({ "kind": "fail", "count": 1 + chance.below(2) }), None),
        20..35 => (json!({ "kind": "stick", "count": 1 + chance.below(3) }), None),
        35..55 => (json!({ "kind": "release" }), None),
        55..80 => {
            let depth = 1 + chance.below(DEPTH_MAX);
            (json!({ "kind": "reorganise", "depth": depth, "drop": chance.percent(25) }), None)
        }
        80..90 => {
            let slow = json!({ "kind": "slow", "ms": 1 + chance.below(SLOW_MS_MAX) });
            (slow, Some(json!({ "kind": "slow", "ms": 0 })))
        }
        _ => {
            let silence = chance.one_of(&["lost", "taken"]).copied();
            let silent = |silence: Option<&str>| json!({ "kind": "silent", "silence": silence });
            (silent(silence), Some(silent(Some("off"))))
        }
    }
}
