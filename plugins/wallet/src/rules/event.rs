//! The 22 events and the builders of their payloads (spec/wallet: Events), as plain values in the specification's names.
//!
//! Never writes JSON and knows no ids of assets: the border does both, and puts these fields into `data` beside the record. Order
//! and names of the fields are the specification's.

use super::amount::Money;
use super::asset::Asset;
use super::blockchain::Blockchain;
use super::code::Code;
use super::network::Network;

/// Every event of the specification, in its order.
pub const NAMES: [&str; 22] = [
    "deposit.success",
    "deposit.processing",
    "deposit.failed",
    "deposit.swept.success",
    "deposit.swept.failed",
    "withdraw.success",
    "withdraw.failed",
    "offramp.processing",
    "offramp.success",
    "offramp.failed",
    "gateway.deposit.success",
    "gateway.withdraw.success",
    "swap.success",
    "swap.failed",
    "signed.success",
    "signed.failed",
    "salvage.success",
    "salvage.failed",
    "wallet.created",
    "address.created",
    "address.whitelisted",
    "checkout.link_created",
];

/// An event with its payload. Made by the builders alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub name: &'static str,
    pub data: Vec<(&'static str, Value)>,
}

/// A value of a payload.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    /// JSON that the client gave: metadata.
    Json(String),
    /// The wallet's id of this asset.
    AssetId(Asset),
}

/// Whose failure. A failure tells wallet_id and error_code, and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    Withdraw,
    Offramp,
    Swap,
    Signed,
    Salvage,
}

impl Event {
    fn new(name: &'static str, wallet_id: &str) -> Event {
        Event { name, data: Vec::new() }.with("wallet_id", wallet_id)
    }

    fn with(mut self, field: &'static str, value: &str) -> Event {
        self.data.push((field, Value::Text(value.to_owned())));
        self
    }

    fn with_amount(self, amount: Money) -> Event {
        self.with("amount", &amount.to_decimal())
    }

    fn with_asset(mut self, asset: Asset) -> Event {
        self.data.push(("asset_id", Value::AssetId(asset)));
        self
    }

    /// A deposit to the master wallet itself has none.
    fn with_address(self, address_id: Option<&str>) -> Event {
        match address_id {
            Some(id) => self.with("address_id", id),
            None => self,
        }
    }

    fn with_code(self, code: Code) -> Event {
        self.with("error_code", code.name())
    }

    pub fn deposit_processing(wallet_id: &str, address_id: Option<&str>, amount: Money) -> Event {
        let event = Event::new("deposit.processing", wallet_id).with_address(address_id);
        event.with_amount(amount).with_asset(amount.asset)
    }

    /// The border adds `metadata`, which belongs to the address.
    pub fn deposit_success(wallet_id: &str, address_id: Option<&str>, amount: Money, hash: &str) -> Event {
        let event = Event::new("deposit.success", wallet_id).with_address(address_id);
        event.with_amount(amount).with_asset(amount.asset).with("transaction_hash", hash)
    }

    pub fn deposit_failed(wallet_id: &str, address_id: Option<&str>, code: Code) -> Event {
        Event::new("deposit.failed", wallet_id).with_address(address_id).with_code(code)
    }

    pub fn swept(wallet_id: &str, address_id: Option<&str>, amount: Money, hash: &str) -> Event {
        let event = Event::new("deposit.swept.success", wallet_id).with_address(address_id);
        event.with_amount(amount).with("transaction_hash", hash)
    }

    pub fn sweep_failed(wallet_id: &str, address_id: Option<&str>, code: Code) -> Event {
        Event::new("deposit.swept.failed", wallet_id).with_address(address_id).with_code(code)
    }

    pub fn withdraw_success(wallet_id: &str, amount: Money, destination_address: &str, hash: &str) -> Event {
        let event = Event::new("withdraw.success", wallet_id).with_amount(amount).with_asset(amount.asset);
        event.with("destination_address", destination_address).with("transaction_hash", hash)
    }

    pub fn offramp_processing(wallet_id: &str, amount: Money, currency: &str) -> Event {
        Event::new("offramp.processing", wallet_id).with_amount(amount).with("currency", currency)
    }

    pub fn offramp_success(wallet_id: &str, amount: Money, currency: &str, institution: &str) -> Event {
        let event = Event::new("offramp.success", wallet_id).with_amount(amount).with("currency", currency);
        event.with("institution_identifier", institution)
    }

    pub fn gateway_deposit_success(wallet_id: &str, amount: Money, source_chain: Blockchain) -> Event {
        let event = Event::new("gateway.deposit.success", wallet_id).with_amount(amount);
        event.with("source_chain", source_chain.slug())
    }

    pub fn gateway_withdraw_success(wallet_id: &str, amount: Money, destination_chain: Blockchain) -> Event {
        let event = Event::new("gateway.withdraw.success", wallet_id).with_amount(amount);
        event.with("destination_chain", destination_chain.slug())
    }

    pub fn swap_success(wallet_id: &str, amount: Money, to_asset: Asset) -> Event {
        let event = Event::new("swap.success", wallet_id).with("from_asset", amount.asset.symbol);
        event.with("to_asset", to_asset.symbol).with_amount(amount)
    }

    /// A swap that a settlement rule has made names its assets twice.
    pub fn settled(self, from: Asset, to: Asset) -> Event {
        self.with("source_asset", from.symbol).with("destination_asset", to.symbol)
    }

    /// Of a raw transaction.
    pub fn broadcast_success(wallet_id: &str, hash: &str) -> Event {
        Event::new("signed.success", wallet_id).with("transaction_hash", hash)
    }

    /// Of a message: the signature in place of a hash.
    pub fn message_signed(wallet_id: &str, signature: &str) -> Event {
        Event::new("signed.success", wallet_id).with("signature", signature)
    }

    pub fn salvage_success(wallet_id: &str, amount: &str, blockchain: Blockchain) -> Event {
        Event::new("salvage.success", wallet_id).with("amount", amount).with("blockchain", blockchain.slug())
    }

    pub fn failed(failing: Failing, wallet_id: &str, code: Code) -> Event {
        let name = match failing {
            Failing::Withdraw => "withdraw.failed",
            Failing::Offramp => "offramp.failed",
            Failing::Swap => "swap.failed",
            Failing::Signed => "signed.failed",
            Failing::Salvage => "salvage.failed",
        };
        Event::new(name, wallet_id).with_code(code)
    }

    pub fn wallet_created(wallet_id: &str, blockchain: Blockchain, network: Network) -> Event {
        let event = Event::new("wallet.created", wallet_id).with("blockchain", blockchain.slug());
        event.with("network", network.name())
    }

    pub fn address_created(wallet_id: &str, address_id: &str, address: &str, blockchain: Blockchain) -> Event {
        let event = Event::new("address.created", wallet_id).with("address_id", address_id);
        event.with("address", address).with("blockchain", blockchain.slug())
    }

    pub fn address_whitelisted(wallet_id: &str, address_id: &str, address: &str) -> Event {
        let event = Event::new("address.whitelisted", wallet_id).with("address_id", address_id);
        event.with("address", address)
    }

    pub fn link_created(payment_link_id: &str, payment_link_url: &str, wallet_id: &str) -> Event {
        let event = Event { name: "checkout.link_created", data: Vec::new() }.with("payment_link_id", payment_link_id);
        event.with("payment_link_url", payment_link_url).with("wallet_id", wallet_id)
    }

    /// metadata, where the record has some.
    pub fn with_metadata(mut self, metadata: Option<&str>) -> Event {
        self.data.extend(metadata.map(|json| ("metadata", Value::Json(json.to_owned()))));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::amount::Units;
    use crate::rules::asset;
    use std::collections::BTreeSet;

    fn usdc(units: u128) -> Money {
        Money::new(asset::find("USDC", Blockchain::Base).unwrap(), Units::new(units))
    }

    /// Every event once, as the specification lists its fields.
    fn all() -> Vec<(Event, &'static str)> {
        let (money, address) = (usdc(1_500_000), Some("a"));
        let dai = asset::find("DAI", Blockchain::Base).unwrap();
        let failed = |failing| Event::failed(failing, "w", Code::WithdrawalFailed);
        vec![
            (
                Event::deposit_success("w", address, money, "0x1").with_metadata(Some("{}")),
                "wallet_id, address_id, amount, asset_id, transaction_hash, metadata",
            ),
            (Event::deposit_processing("w", address, money), "wallet_id, address_id, amount, asset_id"),
            (Event::deposit_failed("w", address, Code::NotFound), "wallet_id, address_id, error_code"),
            (Event::swept("w", address, money, "0x1"), "wallet_id, address_id, amount, transaction_hash"),
            (Event::sweep_failed("w", address, Code::DepositSweepFailed), "wallet_id, address_id, error_code"),
            (
                Event::withdraw_success("w", money, "0x2", "0x1"),
                "wallet_id, amount, asset_id, destination_address, transaction_hash",
            ),
            (failed(Failing::Withdraw), "wallet_id, error_code"),
            (Event::offramp_processing("w", money, "NGN"), "wallet_id, amount, currency"),
            (Event::offramp_success("w", money, "NGN", "B"), "wallet_id, amount, currency, institution_identifier"),
            (failed(Failing::Offramp), "wallet_id, error_code"),
            (Event::gateway_deposit_success("w", money, Blockchain::Base), "wallet_id, amount, source_chain"),
            (Event::gateway_withdraw_success("w", money, Blockchain::Base), "wallet_id, amount, destination_chain"),
            (Event::swap_success("w", money, dai), "wallet_id, from_asset, to_asset, amount"),
            (failed(Failing::Swap), "wallet_id, error_code"),
            (Event::broadcast_success("w", "0x1"), "wallet_id, transaction_hash"),
            (Event::message_signed("w", "0x3"), "wallet_id, signature"),
            (failed(Failing::Signed), "wallet_id, error_code"),
            (Event::salvage_success("w", "1", Blockchain::Base), "wallet_id, amount, blockchain"),
            (failed(Failing::Salvage), "wallet_id, error_code"),
            (Event::wallet_created("w", Blockchain::Base, Network::Testnet), "wallet_id, blockchain, network"),
            (Event::address_created("w", "a", "0x2", Blockchain::Base), "wallet_id, address_id, address, blockchain"),
            (Event::address_whitelisted("w", "a", "0x2"), "wallet_id, address_id, address"),
            (Event::link_created("l", "https://x", "w"), "payment_link_id, payment_link_url, wallet_id"),
        ]
    }

    #[test]
    fn every_event_carries_the_fields_of_the_specification() {
        for (event, fields) in all() {
            let names: Vec<&str> = event.data.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.join(", "), fields, "{}", event.name);
        }
    }

    #[test]
    fn every_event_of_the_specification_can_be_built() {
        let built: BTreeSet<&str> = all().iter().map(|(event, _)| event.name).collect();
        assert_eq!(built, NAMES.into_iter().collect());
    }

    #[test]
    fn amounts_are_whole_units() {
        let event = Event::offramp_processing("w", usdc(1_500_000), "NGN");
        assert!(event.data.contains(&("amount", Value::Text("1.5".into()))));
    }

    #[test]
    fn a_settled_swap_names_its_assets_twice() {
        let dai = asset::find("DAI", Blockchain::Base).unwrap();
        let event = Event::swap_success("w", usdc(1), dai).settled(usdc(1).asset, dai);
        assert!(event.data.ends_with(&[
            ("source_asset", Value::Text("USDC".into())),
            ("destination_asset", Value::Text("DAI".into()))
        ]));
    }
}
