//! The fifteen blockchains (spec/wallet: "Blockchains"): how each is called, what its addresses look like, what gas is paid
//! in, and when what stands in it is final.
//!
//! Never knows a node or a contract: those belong to who talks to a blockchain.

use Blockchain::*;

use super::network::Network;

/// In the order of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Blockchain {
    Ethereum,
    Bsc,
    Polygon,
    Base,
    Arbitrum,
    Optimism,
    Celo,
    Lisk,
    Avalanche,
    Tron,
    Solana,
    AssetChain,
    Plasma,
    Arc,
    Tempo,
}

/// Blockchains with the same keys and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    Evm,
    Tron,
    Solana,
}

/// What is true of a blockchain in both environments, but for the name of its test network.
struct Facts {
    /// blockchain, blockchain_slug.
    slug: &'static str,
    testnet: &'static str,
    /// Blocks on top of a transaction, its own included, until it is final.
    confirmations: u32,
    is_l2: bool,
}

impl Blockchain {
    pub const ALL: [Blockchain; 15] = [
        Ethereum, Bsc, Polygon, Base, Arbitrum, Optimism, Celo, Lisk, Avalanche, Tron, Solana, AssetChain, Plasma, Arc,
        Tempo,
    ];

    /// Names of the test networks are those of research/wallet. Nobody publishes the confirmations: they are what the
    /// usual explorers and exchanges wait for; one where a block that is seen is final.
    fn facts(self) -> Facts {
        let (slug, testnet, confirmations, is_l2) = match self {
            Ethereum => ("ethereum", "Sepolia", 12, false),
            Bsc => ("bsc", "BNB Testnet", 15, false),
            Polygon => ("polygon", "Amoy", 64, false),
            Base => ("base", "Base Sepolia", 12, true),
            Arbitrum => ("arbitrum", "Arbitrum Sepolia", 12, true),
            Optimism => ("optimism", "Optimism Sepolia", 12, true),
            Celo => ("celo", "Alfajores", 12, true),
            Lisk => ("lisk", "Lisk Sepolia", 12, true),
            Avalanche => ("avalanche", "Fuji", 1, false),
            Tron => ("tron", "Nile", 19, false),
            Solana => ("solana", "Devnet", 32, false),
            AssetChain => ("asset-chain", "Asset Chain Testnet", 12, false),
            Plasma => ("plasma", "Plasma Testnet", 1, false),
            Arc => ("arc", "Arc Testnet", 1, false),
            Tempo => ("tempo", "Tempo Testnet", 1, false),
        };
        Facts { slug, testnet, confirmations, is_l2 }
    }

    /// blockchain and blockchain_slug: as the specification lists it.
    pub fn slug(self) -> &'static str {
        self.facts().slug
    }

    pub fn of_slug(slug: &str) -> Option<Blockchain> {
        Blockchain::ALL.into_iter().find(|blockchain| blockchain.slug() == slug)
    }

    /// What this environment calls it.
    pub fn network_name(self, network: Network) -> &'static str {
        match network {
            Network::Mainnet => "Mainnet",
            Network::Testnet => self.facts().testnet,
        }
    }

    pub fn confirmations(self) -> u32 {
        self.facts().confirmations
    }

    pub fn is_l2(self) -> bool {
        self.facts().is_l2
    }

    pub fn family(self) -> Family {
        match self {
            Tron => Family::Tron,
            Solana => Family::Solana,
            _ => Family::Evm,
        }
    }

    /// Rule 3: an address under one of them receives on all of them.
    pub fn is_evm_compatible(self) -> bool {
        self.family() == Family::Evm
    }

    pub fn token_standard(self) -> &'static str {
        match self {
            Bsc => "BEP20",
            Tron => "TRC20",
            Solana => "SPL",
            _ => "ERC20",
        }
    }

    /// Without the index of the key; Solana's path carries it in its middle (BIP-44, SLIP-0010).
    pub fn derivation_path(self) -> &'static str {
        match self.family() {
            Family::Evm => "m/44'/60'/0'/0",
            Family::Tron => "m/44'/195'/0'/0",
            Family::Solana => "m/44'/501'",
        }
    }

    /// Whether the unified USDC gateway works here (research/wallet 1.11).
    pub fn has_gateway(self) -> bool {
        matches!(self, Ethereum | Base | Polygon | Arbitrum | Optimism | Avalanche)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_blockchain_of_the_specification_is_known_by_its_name() {
        let listed = "ethereum, bsc, polygon, base, arbitrum, optimism, celo, lisk, avalanche, tron, solana, asset-chain, \
                      plasma, arc, tempo";
        let slugs = Blockchain::ALL.map(Blockchain::slug).join(", ");
        assert_eq!(slugs, listed);
        assert!(Blockchain::ALL.into_iter().all(|chain| Blockchain::of_slug(chain.slug()) == Some(chain)));
        for slug in ["", "Ethereum", "bnb", "bitcoin", "ethereum "] {
            assert_eq!(Blockchain::of_slug(slug), None, "{slug:?}");
        }
    }

    #[test]
    fn all_but_tron_and_solana_share_their_addresses() {
        let others: Vec<&str> =
            Blockchain::ALL.into_iter().filter(|chain| !chain.is_evm_compatible()).map(Blockchain::slug).collect();
        assert_eq!(others, ["tron", "solana"]);
    }

    #[test]
    fn every_blockchain_has_a_test_network_of_its_own() {
        let names: std::collections::BTreeSet<&str> =
            Blockchain::ALL.into_iter().map(|chain| chain.network_name(Network::Testnet)).collect();
        assert_eq!(names.len(), 15);
        assert!(Blockchain::ALL.into_iter().all(|chain| chain.confirmations() > 0));
    }

    #[test]
    fn a_family_has_its_own_keys_and_tokens() {
        let facts = |chain: Blockchain| (chain.derivation_path(), chain.token_standard(), chain.is_l2());
        assert_eq!(facts(Base), ("m/44'/60'/0'/0", "ERC20", true));
        assert_eq!(facts(Bsc), ("m/44'/60'/0'/0", "BEP20", false));
        assert_eq!(facts(Tron), ("m/44'/195'/0'/0", "TRC20", false));
        assert_eq!(facts(Solana), ("m/44'/501'", "SPL", false));
    }

    #[test]
    fn the_gateway_works_on_six_blockchains() {
        let supported = Blockchain::ALL.into_iter().filter(|chain| chain.has_gateway());
        assert_eq!(
            supported.map(Blockchain::slug).collect::<Vec<_>>(),
            ["ethereum", "polygon", "base", "arbitrum", "optimism", "avalanche"]
        );
    }
}
