//! The simulated networks: fifteen blockchains, each with a test and a main network, and their tokens.
//!
//! Chain ids, contracts and mints are invented, so that a transaction signed for a simulated network is not valid
//! elsewhere. Invariants: chain ids and addresses follow from the names. No two networks share a chain id or a token's
//! address.

use ethnum::U256;
use sha2::{Digest, Sha256};
use tenon_keyring::{Family, evm, solana, tron};

use crate::{Facts, Token};

/// The test or the main network of a blockchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    Test,
    Main,
}

/// Price of gas on EVM networks: the base fee, which is burnt like all fees, and the suggested tip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GasPrice {
    pub base: u128,
    pub tip: u128,
}

struct Row {
    slug: &'static str,
    coin: (&'static str, u8),
    tokens: &'static [(&'static str, u8)],
}

const fn row(slug: &'static str, coin: (&'static str, u8), tokens: &'static [(&'static str, u8)]) -> Row {
    Row { slug, coin, tokens }
}

/// A token that gas is paid in is listed as the coin.
const ROWS: [Row; 15] = [
    row(
        "ethereum",
        ("ETH", 18),
        &[("USDT", 6), ("USDC", 6), ("DAI", 18), ("BUSD", 18), ("cNGN", 6), ("EURC", 6), ("ZARP", 18), ("JPYC", 18)],
    ),
    row("bsc", ("BNB", 18), &[("USDT", 18), ("USDC", 18), ("DAI", 18), ("BUSD", 18), ("cNGN", 6), ("IDRX", 0)]),
    row(
        "polygon",
        ("POL", 18),
        &[("USDT", 6), ("USDC", 6), ("DAI", 18), ("cNGN", 6), ("IDRX", 0), ("ZARP", 18), ("JPYC", 18)],
    ),
    row("base", ("ETH", 18), &[("USDC", 6), ("DAI", 18), ("cNGN", 6), ("EURC", 6), ("IDRX", 2), ("ZARP", 18)]),
    row("arbitrum", ("ETH", 18), &[("USDT", 6), ("USDC", 6), ("DAI", 18)]),
    row("optimism", ("ETH", 18), &[("USDT", 6), ("USDC", 6), ("DAI", 18)]),
    row("celo", ("CELO", 18), &[("USDT", 6), ("USDC", 6), ("cUSD", 18)]),
    row("lisk", ("ETH", 18), &[("USDT", 6), ("USDC", 6), ("cNGN", 6), ("IDRX", 2)]),
    row("avalanche", ("AVAX", 18), &[("USDT", 6), ("USDC", 6), ("EURC", 6), ("JPYC", 18)]),
    row("tron", ("TRX", 6), &[("USDT", 6)]),
    row("solana", ("SOL", 9), &[("USDT", 6), ("USDC", 6), ("EURC", 6)]),
    row("asset-chain", ("RWA", 18), &[("USDT", 6), ("USDC", 6), ("cNGN", 6)]),
    row("plasma", ("XPL", 18), &[("USDT", 6)]),
    row("arc", ("USDC", 18), &[]),
    row("tempo", ("AlphaUSD", 6), &[]),
];

/// The first simulated chain id, far from those in use.
const CHAIN_ID_BASE: u64 = 770_000_000;

impl Network {
    pub const ALL: [Network; 2] = [Network::Test, Network::Main];

    pub fn name(self) -> &'static str {
        match self {
            Network::Test => "simulated-test",
            Network::Main => "simulated-main",
        }
    }
}

/// Returns the facts of all thirty networks. `has_faucet` decides which networks have a faucet.
pub(crate) fn all_facts(block_time_ms: u32, has_faucet: impl Fn(Network) -> bool) -> Vec<(Network, Facts)> {
    let rows = ROWS.iter().zip(0_u64..);
    let both = rows.flat_map(|(row, index)| Network::ALL.map(|network| (row, index, network)));
    let facts = both.filter_map(|(row, index, network)| {
        let family = Family::of(row.slug)?;
        let chain_id = CHAIN_ID_BASE + 2 * index + u64::from(network == Network::Main);
        let token = |(symbol, decimals): &(&str, u8)| Token {
            address: derived_address(family, &format!("token/{}/{}/{symbol}", row.slug, network.name())),
            symbol: (*symbol).to_owned(),
            decimals: *decimals,
        };
        let facts = Facts {
            blockchain: row.slug.to_owned(),
            network: network.name().to_owned(),
            family,
            chain_id: if family == Family::Evm { chain_id } else { 0 },
            symbol: row.coin.0.to_owned(),
            decimals: row.coin.1,
            tokens: row.tokens.iter().map(token).collect(),
            block_time_ms,
            has_faucet: has_faucet(network),
        };
        Some((network, facts))
    });
    facts.collect()
}

/// Derives an address without a private key from a name.
pub(super) fn derived_address(family: Family, name: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(format!("simulated/{name}")).into();
    let account: [u8; 20] = std::array::from_fn(|at| digest.get(at).copied().unwrap_or_default());
    match family {
        Family::Evm => evm::Address::from_bytes(account).to_string(),
        Family::Tron => tron::Address::from_bytes(account).to_string(),
        Family::Solana => solana::Address::from_bytes(digest).to_string(),
    }
}

/// Returns the gas price. If the coin has fewer than 18 decimals, base fee and tip are one base unit each.
pub(super) fn gas_price(facts: &Facts) -> GasPrice {
    match facts.decimals {
        18.. => GasPrice { base: 1_000_000_000, tip: 100_000_000 },
        _ => GasPrice { base: 1, tip: 1 },
    }
}

/// Converts whole units into base units.
pub(super) fn whole_units(count: u32, decimals: u8) -> U256 {
    U256::from(count).saturating_mul(U256::from(10_u8).saturating_pow(decimals.into()))
}

#[cfg(test)]
mod tests;
