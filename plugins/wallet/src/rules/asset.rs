//! Assets (spec/wallet: "Stablecoins"): which stablecoin lives on which blockchain with how many decimals, what gas is paid in,
//! and the pool of the USDC gateway.
//!
//! The specification lists the stablecoins and not where they live; the table follows what their issuers have deployed.
//! Invariant: the same stablecoin on two blockchains is two assets, and their amounts never meet.

use super::blockchain::Blockchain::{self, *};

/// Something that has balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asset {
    pub symbol: &'static str,
    /// `None`: the pool of the gateway, which lies on no blockchain.
    pub blockchain: Option<Blockchain>,
    pub decimals: u32,
    pub is_native: bool,
}

/// A stablecoin of the specification.
pub struct Stablecoin {
    pub symbol: &'static str,
    pub name: &'static str,
    /// What it is worth one of.
    pub currency: &'static str,
    /// Where it lives, with its decimals there.
    pub deployments: &'static [(Blockchain, u32)],
}

pub const USDC: &str = "USDC";
const GATEWAY_DECIMALS: u32 = 6;

/// USDC in the gateway: what gateway_balance counts.
pub const GATEWAY_USDC: Asset = Asset { symbol: USDC, blockchain: None, decimals: GATEWAY_DECIMALS, is_native: false };

/// In the order of the specification.
pub const STABLECOINS: [Stablecoin; 11] = [
    Stablecoin {
        symbol: "USDT",
        name: "Tether USD",
        currency: "USD",
        deployments: &[
            (Ethereum, 6),
            (Bsc, 18),
            (Polygon, 6),
            (Arbitrum, 6),
            (Optimism, 6),
            (Celo, 6),
            (Lisk, 6),
            (Avalanche, 6),
            (Tron, 6),
            (Solana, 6),
            (AssetChain, 6),
            (Plasma, 6),
        ],
    },
    Stablecoin {
        symbol: USDC,
        name: "USD Coin",
        currency: "USD",
        // On Arc it is the coin that gas is paid in, and counted as finely as gas is.
        deployments: &[
            (Ethereum, 6),
            (Bsc, 18),
            (Polygon, 6),
            (Base, 6),
            (Arbitrum, 6),
            (Optimism, 6),
            (Celo, 6),
            (Lisk, 6),
            (Avalanche, 6),
            (Solana, 6),
            (AssetChain, 6),
            (Arc, 18),
        ],
    },
    Stablecoin {
        symbol: "DAI",
        name: "Dai Stablecoin",
        currency: "USD",
        deployments: &[(Ethereum, 18), (Bsc, 18), (Polygon, 18), (Base, 18), (Arbitrum, 18), (Optimism, 18)],
    },
    Stablecoin { symbol: "BUSD", name: "Binance USD", currency: "USD", deployments: &[(Ethereum, 18), (Bsc, 18)] },
    Stablecoin { symbol: "cUSD", name: "Celo Dollar", currency: "USD", deployments: &[(Celo, 18)] },
    Stablecoin {
        symbol: "cNGN",
        name: "Naira Stablecoin",
        currency: "NGN",
        deployments: &[(Ethereum, 6), (Bsc, 6), (Polygon, 6), (Base, 6), (Lisk, 6), (AssetChain, 6)],
    },
    Stablecoin {
        symbol: "EURC",
        name: "Euro Coin",
        currency: "EUR",
        deployments: &[(Ethereum, 6), (Base, 6), (Avalanche, 6), (Solana, 6)],
    },
    Stablecoin {
        symbol: "IDRX",
        name: "Indonesian Stablecoin",
        currency: "IDR",
        deployments: &[(Bsc, 0), (Polygon, 0), (Base, 2), (Lisk, 2)],
    },
    Stablecoin {
        symbol: "ZARP",
        name: "South African Rand Stablecoin",
        currency: "ZAR",
        deployments: &[(Ethereum, 18), (Polygon, 18), (Base, 18)],
    },
    Stablecoin {
        symbol: "JPYC",
        name: "Japanese Yen Stablecoin",
        currency: "JPY",
        deployments: &[(Ethereum, 18), (Polygon, 18), (Avalanche, 18)],
    },
    Stablecoin { symbol: "AlphaUSD", name: "Tempo USD", currency: "USD", deployments: &[(Tempo, 6)] },
];

/// Of this symbol on this blockchain, gas coins included.
pub fn find(symbol: &str, blockchain: Blockchain) -> Option<Asset> {
    on(blockchain).into_iter().find(|asset| asset.symbol == symbol)
}

/// Everything that a wallet of this blockchain can hold: its stablecoins, and the coin that gas is paid in.
pub fn on(blockchain: Blockchain) -> Vec<Asset> {
    let gas = gas(blockchain);
    let mut assets: Vec<Asset> = STABLECOINS.iter().filter_map(|coin| coin.on(blockchain)).collect();
    if !assets.contains(&gas) {
        assets.push(gas);
    }
    assets
}

/// What gas is paid in. On Arc and Tempo that is a stablecoin.
pub fn gas(blockchain: Blockchain) -> Asset {
    let (symbol, decimals) = match blockchain {
        Ethereum | Base | Arbitrum | Optimism | Lisk => ("ETH", 18),
        Bsc => ("BNB", 18),
        Polygon => ("POL", 18),
        Celo => ("CELO", 18),
        Avalanche => ("AVAX", 18),
        Tron => ("TRX", 6),
        Solana => ("SOL", 9),
        AssetChain => ("RWA", 18),
        Plasma => ("XPL", 18),
        Arc => (USDC, 18),
        Tempo => ("AlphaUSD", 6),
    };
    Asset { symbol, blockchain: Some(blockchain), decimals, is_native: true }
}

impl Stablecoin {
    pub fn on(&self, blockchain: Blockchain) -> Option<Asset> {
        let (_, decimals) = self.deployments.iter().find(|(place, _)| *place == blockchain)?;
        let gas = gas(blockchain);
        let is_native = gas.symbol == self.symbol;
        Some(Asset { symbol: self.symbol, blockchain: Some(blockchain), decimals: *decimals, is_native })
    }
}

impl Asset {
    /// What the ledger calls it: "base/USDC", "gateway/USDC".
    pub fn key(self) -> String {
        [self.blockchain.map_or("gateway", Blockchain::slug), "/", self.symbol].concat()
    }

    /// What `key` has written.
    pub fn of_key(key: &str) -> Option<Asset> {
        if key == GATEWAY_USDC.key() {
            return Some(GATEWAY_USDC);
        }
        let (slug, symbol) = key.split_once('/')?;
        find(symbol, Blockchain::of_slug(slug)?)
    }

    pub fn is_usdc(self) -> bool {
        self.symbol == USDC
    }

    /// Whether deposits of it are told to the client. Coins for gas only come and go; what is both is a stablecoin.
    pub fn is_stablecoin(self) -> bool {
        STABLECOINS.iter().any(|coin| coin.symbol == self.symbol)
    }

    /// "USD" of USDC; nothing of a coin that is worth what it is worth.
    pub fn currency(self) -> Option<&'static str> {
        STABLECOINS.iter().find(|coin| coin.symbol == self.symbol).map(|coin| coin.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_stablecoin_of_the_specification_lives_somewhere() {
        let symbols: Vec<&str> = STABLECOINS.iter().map(|coin| coin.symbol).collect();
        assert_eq!(symbols.join(", "), "USDT, USDC, DAI, BUSD, cUSD, cNGN, EURC, IDRX, ZARP, JPYC, AlphaUSD");
        assert!(STABLECOINS.iter().all(|coin| !coin.deployments.is_empty()));
    }

    #[test]
    fn every_blockchain_has_a_stablecoin_and_gas() {
        for blockchain in Blockchain::ALL {
            let assets = on(blockchain);
            assert!(assets.iter().any(|asset| asset.is_stablecoin()), "{}", blockchain.slug());
            assert_eq!(assets.iter().filter(|asset| asset.is_native).count(), 1, "{}", blockchain.slug());
            assert!(assets.contains(&gas(blockchain)), "{}", blockchain.slug());
        }
    }

    #[test]
    fn no_two_assets_have_the_same_key() {
        let all: Vec<String> = Blockchain::ALL.into_iter().flat_map(on).map(Asset::key).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(!all.contains(&GATEWAY_USDC.key()));
        assert!(all.iter().all(|key| Asset::of_key(key).map(Asset::key).as_ref() == Some(key)));
        assert_eq!(Asset::of_key("gateway/USDC"), Some(GATEWAY_USDC));
    }

    #[test]
    fn decimals_belong_to_the_asset_on_its_blockchain() {
        let decimals = |symbol, blockchain| find(symbol, blockchain).map(|asset| asset.decimals);
        assert_eq!(decimals("USDC", Ethereum), Some(6));
        assert_eq!(decimals("USDC", Bsc), Some(18));
        assert_eq!(decimals("USDT", Base), None);
        assert_eq!(decimals("SOL", Solana), Some(9));
        assert_eq!(decimals("AlphaUSD", Tempo), Some(6));
        assert_eq!(decimals("usdc", Ethereum), None);
    }

    #[test]
    fn wherever_the_gateway_works_there_is_usdc_of_its_decimals() {
        for blockchain in Blockchain::ALL.into_iter().filter(|chain| chain.has_gateway()) {
            assert_eq!(find(USDC, blockchain).unwrap().decimals, GATEWAY_USDC.decimals);
        }
    }
}
