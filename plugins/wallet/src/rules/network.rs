//! The two environments (spec/wallet: network). What belongs to one is never seen from the other.

/// Of a key, and of all that it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    /// Faucet tokens.
    Testnet,
    /// Real assets.
    Mainnet,
}

impl Network {
    pub const NAMES: [&str; 2] = ["testnet", "mainnet"];

    pub fn name(self) -> &'static str {
        match self {
            Network::Testnet => "testnet",
            Network::Mainnet => "mainnet",
        }
    }

    pub fn of_name(name: &str) -> Option<Network> {
        [Network::Testnet, Network::Mainnet].into_iter().find(|network| network.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_one_of_two() {
        for name in Network::NAMES {
            assert_eq!(Network::of_name(name).map(Network::name), Some(name));
        }
        assert_eq!(Network::of_name("Mainnet"), None);
    }
}
