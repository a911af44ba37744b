//! POST /v1/wallets/{walletId}/swap, and its quote.

use super::Context;
use super::reader::{Reader, given};
use crate::rules::amount::Money;
use crate::rules::asset::Asset;
use crate::rules::invalid::{Field, Rule};
use crate::rules::limits::{IDENTIFIER_CHARS_MAX, REFERENCE_CHARS_MAX};
use crate::rules::refusal::Refusal;
use crate::rules::swap::{Order, Slippage};

const TO_ASSET_ID: Field = Field("to_asset_id");
const SLIPPAGE: Field = Field("slippage_tolerance");

/// As it was sent.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub from_asset_id: Option<String>,
    pub to_asset_id: Option<String>,
    pub amount: Option<String>,
    pub recipient_address: Option<String>,
    pub settlement_order: Option<String>,
    pub slippage_tolerance: Option<String>,
    pub quote_id: Option<String>,
    pub reference: Option<String>,
    pub metadata: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Swap {
    pub money: Money,
    pub to: Asset,
    /// `None`: the wallet itself.
    pub recipient_address: Option<String>,
    pub order: Order,
    pub slippage: Slippage,
    /// `None`: quoted and executed at once.
    pub quote_id: Option<String>,
    pub reference: Option<String>,
    pub metadata: Option<String>,
}

pub fn read(raw: &Raw, context: &Context) -> Result<Swap, Refusal> {
    let mut reader = Reader::default();
    let from = reader.asset(Field("from_asset_id"), &raw.from_asset_id, context);
    let to = reader.asset(TO_ASSET_ID, &raw.to_asset_id, context);
    if from.is_some() && from == to {
        reader.breaks(TO_ASSET_ID, Rule::SameAsset);
    }
    let money = reader.money(&raw.amount, from);
    let there = to.and_then(|to| to.blockchain).filter(|_| raw.recipient_address.is_some());
    let recipient_address =
        there.and_then(|there| reader.address(Field("recipient_address"), &raw.recipient_address, there));
    let order = reader.choice(Field("settlement_order"), &raw.settlement_order, &Order::NAMES, Order::of_name);
    let slippage = slippage(&mut reader, &raw.slippage_tolerance);
    let quote_id = reader.text(Field("quote_id"), &raw.quote_id, IDENTIFIER_CHARS_MAX);
    let reference = reader.text(Field("reference"), &raw.reference, REFERENCE_CHARS_MAX);
    let metadata = reader.metadata(&raw.metadata);
    let order = order.unwrap_or_default();
    let made = money.zip(to);
    reader.finish(made.map(|(money, to)| Swap {
        money,
        to,
        recipient_address,
        order,
        slippage,
        quote_id,
        reference,
        metadata,
    }))
}

pub(super) fn slippage(reader: &mut Reader, sent: &Option<String>) -> Slippage {
    let judged = given(sent).map_or(Ok(Slippage::default()), Slippage::parse);
    judged.unwrap_or_else(|rule| {
        reader.breaks(SLIPPAGE, rule);
        Slippage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ADDRESS, context, some, wrong};
    use super::*;

    fn raw() -> Raw {
        Raw { from_asset_id: some("usdc"), to_asset_id: some("dai"), amount: some("5"), ..Raw::default() }
    }

    fn check(raw: Raw, expected: &str) {
        assert_eq!(wrong(read(&raw, &context())), expected, "{raw:?}");
    }

    #[test]
    fn a_swap_needs_two_assets_and_an_amount() {
        check(raw(), "");
        check(Raw::default(), "from_asset_id required, to_asset_id required, amount required");
        check(Raw { to_asset_id: some("usdc"), ..raw() }, "to_asset_id different_asset");
        let read = read(&raw(), &context()).unwrap();
        assert_eq!((read.order, read.slippage), (Order::Recommended, Slippage::Unlimited));
    }

    #[test]
    fn the_same_stablecoin_on_another_blockchain_is_another_asset() {
        check(Raw { to_asset_id: some("there"), recipient_address: some(ADDRESS), ..raw() }, "");
        check(Raw { recipient_address: some("x"), ..raw() }, "recipient_address address");
    }

    #[test]
    fn tolerance_and_priority_are_checked() {
        check(
            Raw { slippage_tolerance: some("101"), settlement_order: some("BEST"), ..raw() },
            "settlement_order one_of, slippage_tolerance percent",
        );
        check(Raw { slippage_tolerance: some("0.5"), settlement_order: some("NO_SLIPPAGE"), ..raw() }, "");
    }
}
