//! What becomes of a deposit, as tables; and that no order of sightings credits it twice.

use super::*;
use crate::rules::amount::Units;
use crate::rules::asset;
use proptest::prelude::*;

fn deposit(blockchain: Blockchain, symbol: &str, confirmations: u32) -> Deposit {
    let money = Money::new(asset::find(symbol, blockchain).unwrap(), Units::new(100));
    let sighting = Sighting { blockchain, transaction_hash: "0x1".into(), position: 0, money, confirmations };
    Deposit {
        id: "d".into(),
        wallet_id: "w".into(),
        holder: Holder::Address("a".into()),
        custody: Custody::Ours,
        sighting,
        metadata: Some("{\"n\":1}".into()),
        status: Status::Pending,
    }
}

fn seen() -> Deposit {
    detect(deposit(Blockchain::Base, "USDC", 1)).unwrap().record
}

fn told(step: &Step<Deposit>) -> Vec<&'static str> {
    step.events.iter().map(|event| event.name).collect()
}

fn posted(step: &Step<Deposit>) -> Vec<String> {
    let written = |posting: &crate::rules::books::Posting| {
        [posting.reason.name(), " ", &posting.debit.name(), " ", &posting.credit.name()].concat()
    };
    step.postings.iter().map(written).collect()
}

#[test]
fn a_deposit_waits_until_it_is_final() {
    let step_seen = detect(deposit(Blockchain::Base, "USDC", 1)).unwrap();
    assert_eq!(step_seen.record.status, Status::Processing);
    assert_eq!(told(&step_seen), ["deposit.processing"]);
    assert_eq!(posted(&step_seen), ["detect external/base pending/address/a"]);
    let early = step(step_seen.record, Command::Confirm { confirmations: 11 }).unwrap();
    assert_eq!((early.record.status, early.events.len()), (Status::Processing, 0));
    let last = step(early.record, Command::Confirm { confirmations: 12 }).unwrap();
    assert_eq!(last.record.status, Status::Success);
    assert_eq!(told(&last), ["deposit.success"]);
    assert_eq!(posted(&last), ["credit pending/address/a available/address/a"]);
}

#[test]
fn where_a_block_is_final_both_are_told_at_once() {
    let step = detect(deposit(Blockchain::Avalanche, "USDC", 1)).unwrap();
    assert_eq!(told(&step), ["deposit.processing", "deposit.success"]);
    assert_eq!(step.moves, [(Status::Pending, Status::Processing), (Status::Processing, Status::Success)]);
}

#[test]
fn a_reorganisation_begins_to_count_anew() {
    let back = step(seen(), Command::Confirm { confirmations: 0 }).unwrap();
    assert_eq!((back.record.status, back.record.sighting.confirmations), (Status::Processing, 0));
    assert!(back.postings.is_empty());
}

#[test]
fn a_lost_deposit_fails_and_a_final_one_cannot_be_lost() {
    let lost = step(seen(), Command::Lose).unwrap();
    assert_eq!(told(&lost), ["deposit.failed"]);
    assert_eq!(posted(&lost), ["drop pending/address/a external/base"]);
    assert_eq!(step(lost.record, Command::Confirm { confirmations: 99 }), Err(Refusal::AlreadyDecided));
    let last = step(seen(), Command::Confirm { confirmations: 12 }).unwrap();
    assert_eq!(step(last.record, Command::Lose), Err(Refusal::AlreadyDecided));
}

#[test]
fn a_transfer_that_comes_back_after_it_was_lost_is_another_deposit() {
    assert!(is_new(None));
    assert!(!is_new(Some(&seen())));
    assert!(is_new(Some(&step(seen(), Command::Lose).unwrap().record)));
}

#[test]
fn coins_for_gas_are_booked_in_silence() {
    let step = detect(deposit(Blockchain::Base, "ETH", 12)).unwrap();
    assert!(step.events.is_empty());
    assert_eq!(step.postings.len(), 2);
    assert!(detect(deposit(Blockchain::Arc, "USDC", 1)).unwrap().record.is_told(), "gas and stablecoin");
}

#[test]
fn what_comes_to_a_watched_address_is_told_and_not_booked() {
    let watched = Deposit { custody: Custody::Watched, ..deposit(Blockchain::Base, "USDC", 12) };
    let step = detect(watched).unwrap();
    assert_eq!(told(&step), ["deposit.processing", "deposit.success"]);
    assert!(step.postings.is_empty());
}

proptest! {
    #[test]
    fn no_order_of_sightings_credits_twice(sightings in prop::collection::vec(prop::option::of(0u32..20), 0..30)) {
        let first = detect(deposit(Blockchain::Base, "USDC", 0)).unwrap();
        let (mut record, mut reasons) = (first.record, vec![Reason::Detect]);
        for seen in sightings {
            let command = seen.map_or(Command::Lose, |confirmations| Command::Confirm { confirmations });
            if let Ok(step) = step(record.clone(), command) {
                prop_assert!(step.moves.iter().all(|(from, to)| from.may_become(*to)));
                reasons.extend(step.postings.iter().map(|posting| posting.reason));
                record = step.record;
            }
        }
        let ended = match record.status {
            Status::Success => vec![Reason::Detect, Reason::Credit],
            Status::Failed => vec![Reason::Detect, Reason::Drop],
            _ => vec![Reason::Detect],
        };
        prop_assert_eq!(reasons, ended);
    }
}
