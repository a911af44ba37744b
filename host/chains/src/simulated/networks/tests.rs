use std::collections::BTreeSet;

use interface::rules::{asset, blockchain::Blockchain};

use super::*;

fn facts() -> Vec<Facts> {
    all_facts(250, |_| true).into_iter().map(|(_, facts)| facts).collect()
}

#[test]
fn every_specified_asset_exists_with_its_decimals() {
    let all = facts();
    assert_eq!(all.len(), 2 * Blockchain::ALL.len());
    for blockchain in Blockchain::ALL {
        for facts in all.iter().filter(|facts| facts.blockchain == blockchain.slug()) {
            let gas = asset::gas(blockchain);
            assert_eq!((facts.symbol.as_str(), u32::from(facts.decimals)), (gas.symbol, gas.decimals));
            let expected = asset::on(blockchain).into_iter().filter(|asset| !asset.is_native);
            let expected: BTreeSet<_> = expected.map(|asset| (asset.symbol.to_owned(), asset.decimals)).collect();
            let tokens = facts.tokens.iter().map(|token| (token.symbol.clone(), token.decimals.into()));
            assert_eq!(tokens.collect::<BTreeSet<_>>(), expected, "{}", facts.blockchain);
        }
    }
}

#[test]
fn chain_ids_and_token_addresses_are_unique() {
    let all = facts();
    let evm = all.iter().filter(|facts| facts.family == Family::Evm);
    let ids: Vec<u64> = evm.map(|facts| facts.chain_id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    let tokens: Vec<&str> = all.iter().flat_map(|facts| &facts.tokens).map(|token| token.address.as_str()).collect();
    assert_eq!(tokens.iter().collect::<BTreeSet<_>>().len(), tokens.len());
}

#[test]
fn token_addresses_are_canonical() {
    for facts in facts() {
        for token in &facts.tokens {
            assert_eq!(facts.family.read_address(&token.address), Ok(token.address.clone()));
        }
    }
}
