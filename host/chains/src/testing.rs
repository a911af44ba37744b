//! Facts, terms and a seed for tests of the three families.

use tenon_keyring::{Family, Seed};

use crate::{
    Facts, Terms,
    simulated::{Network, all_facts},
    tron,
};

pub fn facts(blockchain: &str, network: Network) -> Facts {
    let all = all_facts(250, |_| true).into_iter();
    let mut found = all.filter(|(other, facts)| *other == network && facts.blockchain == blockchain);
    found.next().unwrap().1
}

pub fn seed() -> Seed {
    Seed::from_bytes(&[7; 64]).unwrap()
}

pub fn terms(facts: &Facts) -> Terms {
    let build = |anchor: &str, price: u64, coin_fee: u64, token_fee: u64| Terms {
        anchor: anchor.to_owned(),
        price: price.into(),
        coin_fee: coin_fee.into(),
        token_fee: token_fee.into(),
    };
    match facts.family {
        Family::Evm => build("5", 100, 2_100_000, 6_500_000),
        Family::Tron => build(&tron::write_anchor(&[9; 32], 1_800_000_000_000), 210, 1_400_000, 14_150_000),
        Family::Solana => build("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", 5_000, 5_000, 2_044_280),
    }
}
