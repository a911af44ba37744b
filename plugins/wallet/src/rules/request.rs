//! What a request must look like (spec/wallet: Resources and their fields, Endpoints, Limits): from the texts of a body to typed
//! values, or to everything that is wrong with them.
//!
//! A request is a plain struct of what was sent, each member `None` where it was not; `read` makes the typed one of it. That a
//! member has the JSON type it should have is the border's business, and so are the names that the real product knows it by.

pub mod address;
pub mod fiat;
pub mod gateway;
pub mod link;
pub mod list;
pub mod reader;
pub mod recovery;
pub mod settlement;
pub mod signing;
pub mod swap;
pub mod virtual_account;
pub mod wallet;
pub mod withdraw;

use super::asset::Asset;
use super::blockchain::Blockchain;
use super::network::Network;

/// The wallet of the path, as far as requests are judged by it.
#[derive(Clone, Debug)]
pub struct Context {
    pub blockchain: Blockchain,
    pub network: Network,
    /// asset_id and what it stands for.
    pub assets: Vec<(String, Asset)>,
}

#[cfg(test)]
mod samples {
    use super::*;
    use crate::rules::asset;
    use crate::rules::refusal::Refusal;

    pub const ADDRESS: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

    /// A wallet on Base that has "usdc" and "dai", and "there": USDC on Polygon.
    pub fn context() -> Context {
        let find = |symbol, blockchain| asset::find(symbol, blockchain).unwrap();
        Context {
            blockchain: Blockchain::Base,
            network: Network::Testnet,
            assets: vec![
                ("usdc".into(), find("USDC", Blockchain::Base)),
                ("dai".into(), find("DAI", Blockchain::Base)),
                ("there".into(), find("USDC", Blockchain::Polygon)),
            ],
        }
    }

    pub fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    /// Path and rule of everything that is wrong: "amount decimal, asset_id asset".
    pub fn wrong<T: std::fmt::Debug>(read: Result<T, Refusal>) -> String {
        match read {
            Ok(_) => String::new(),
            Err(Refusal::Invalid(all)) => {
                all.iter().map(|one| format!("{} {}", one.path(), one.rule.name())).collect::<Vec<_>>().join(", ")
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{context, some};
    use super::*;
    use crate::rules::refusal::Refusal;
    use proptest::prelude::*;

    /// Everything that is wrong has a field, a sentence and a code; nothing of what was sent is repeated.
    fn check<T>(read: Result<T, Refusal>, sent: &str) {
        let Err(Refusal::Invalid(all)) = read else { return };
        assert!(!all.is_empty());
        for invalid in all {
            assert!(invalid.message().starts_with(&invalid.path()) || invalid.rule.name() == "gateway");
            assert!(sent.len() < 20 || !invalid.message().contains(sent));
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_request(text in "\\PC{0,40}|[-+0-9.eE]{0,80}|0x[0-9a-fA-F]{38,66}|[1-9A-HJ-NP-Za-km-z]{30,90}") {
            let (sent, context) = (some(&text), context());
            let recipient = withdraw::RawRecipient {
                asset_id: some("usdc"),
                amount: sent.clone(),
                destination_address: sent.clone(),
                ..withdraw::RawRecipient::default()
            };
            check(withdraw::read(&withdraw::Raw { single: recipient, assets: None }, &context), &text);
            let url = wallet::Raw { blockchain: sent.clone(), webhook_url: sent.clone(), ..wallet::Raw::default() };
            check(wallet::read(&url, Network::Mainnet), &text);
            let rule = settlement::Raw { min_amount: sent.clone(), slippage_tolerance: sent.clone(), ..Default::default() };
            check(settlement::read(&rule, "r".into(), &context), &text);
            for blockchain in Blockchain::ALL {
                let context = Context { blockchain, ..context.clone() };
                check(recovery::read_rescan(&sent, &context), &text);
                let watched = address::Raw { address: sent.clone(), ..address::Raw::default() };
                check(address::read_whitelisted(&watched, &context), &text);
            }
        }
    }
}
