//! Ids that are made of what they stand for: the same in every answer, and nothing to store.

use sha3::{Digest, Keccak256};

use crate::rules::asset::Asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::network::Network;

/// In front of what is hashed: ids of different things never meet.
fn id(parts: &[&str]) -> String {
    let mut hash = Keccak256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digits: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default();
    // Version 8 of RFC 9562: made by a rule of one's own.
    ["-", part(0..8), "-", part(8..12), "-8", part(13..16), "-8", part(17..20), "-", part(20..32)]
        .concat()
        .trim_start_matches('-')
        .to_owned()
}

/// Of everything that a request asked for: two that are told apart by it are different requests.
pub fn fingerprint(parts: &[&str]) -> String {
    id(parts)
}

pub fn blockchain(blockchain: Blockchain, network: Network) -> String {
    id(&["blockchain", blockchain.slug(), network.name()])
}

/// Of the asset, whoever has it.
pub fn asset(asset: Asset, network: Network) -> String {
    id(&["asset", &asset.key(), network.name()])
}

/// Of the asset as a wallet has it: what requests and events call asset_id.
pub fn wallet_asset(wallet: &str, asset: Asset) -> String {
    id(&["wallet-asset", wallet, &asset.key()])
}

pub fn find_asset(wanted: &str, network: Network) -> Option<Asset> {
    Blockchain::ALL.into_iter().flat_map(crate::rules::asset::on).find(|known| asset(*known, network) == wanted)
}

/// Whether a text could be an id: what cannot is not looked up.
pub fn is_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_and_stays_the_same() {
        let usdc = crate::rules::asset::find("USDC", Blockchain::Base).unwrap();
        let made = asset(usdc, Network::Testnet);
        assert!(is_id(&made), "{made}");
        assert_eq!((made.as_bytes()[14], made.as_bytes()[19]), (b'8', b'8'));
        assert_eq!(made, asset(usdc, Network::Testnet));
        assert_ne!(made, asset(usdc, Network::Mainnet));
    }
}
