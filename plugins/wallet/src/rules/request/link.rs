//! POST /v1/wallets/{walletId}/payment-links.

use super::Context;
use super::reader::{ASSET_ID, Reader};
use crate::rules::amount::Money;
use crate::rules::asset::Asset;
use crate::rules::invalid::{Field, Rule};
use crate::rules::limits::{NAME_CHARS_MAX, TEXT_CHARS_MAX};
use crate::rules::network::Network;
use crate::rules::refusal::Refusal;

const REDIRECT_URL: Field = Field("redirect_url");

/// As it was sent.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub name: Option<String>,
    pub description: Option<String>,
    pub asset_id: Option<String>,
    pub amount: Option<String>,
    pub redirect_url: Option<String>,
    pub success_message: Option<String>,
    pub metadata: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PaymentLink {
    pub name: String,
    pub description: Option<String>,
    pub asset: Asset,
    /// `None`: the payer chooses.
    pub amount: Option<Money>,
    pub redirect_url: Option<String>,
    pub success_message: Option<String>,
    pub metadata: Option<String>,
}

pub fn read(raw: &Raw, context: &Context) -> Result<PaymentLink, Refusal> {
    let mut reader = Reader::default();
    let name = reader.required_text(Field("name"), &raw.name, NAME_CHARS_MAX);
    let description = reader.text(Field("description"), &raw.description, TEXT_CHARS_MAX);
    let asset = reader.asset(ASSET_ID, &raw.asset_id, context);
    // An empty text leaves nothing to the payer.
    let is_fixed = raw.amount.is_some();
    let amount = is_fixed.then(|| reader.money(&raw.amount, asset)).flatten();
    let redirect_url = reader.url(REDIRECT_URL, &raw.redirect_url);
    let is_plain = redirect_url.as_deref().is_some_and(|url| url.starts_with("http://"));
    if is_plain && context.network == Network::Mainnet {
        reader.breaks(REDIRECT_URL, Rule::NotHttps);
    }
    let success_message = reader.text(Field("success_message"), &raw.success_message, TEXT_CHARS_MAX);
    let metadata = reader.metadata(&raw.metadata);
    let made = name.zip(asset);
    reader.finish(made.map(|(name, asset)| PaymentLink {
        name,
        description,
        asset,
        amount,
        redirect_url,
        success_message,
        metadata,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{context, some, wrong};
    use super::*;

    fn raw() -> Raw {
        Raw { name: some("Book"), asset_id: some("usdc"), ..Raw::default() }
    }

    fn check(raw: Raw, network: Network, expected: &str) {
        assert_eq!(wrong(read(&raw, &Context { network, ..context() })), expected, "{raw:?}");
    }

    #[test]
    fn a_link_may_leave_the_amount_to_the_payer() {
        check(raw(), Network::Testnet, "");
        check(Raw { amount: some("12"), ..raw() }, Network::Testnet, "");
        check(Raw { amount: some("0"), ..raw() }, Network::Testnet, "amount greater_than_zero");
        check(Raw::default(), Network::Testnet, "name required, asset_id required");
    }

    #[test]
    fn who_has_paid_real_assets_is_led_on_over_https() {
        let redirecting = Raw { redirect_url: some("http://shop.example"), ..raw() };
        check(redirecting.clone(), Network::Testnet, "");
        check(redirecting, Network::Mainnet, "redirect_url https");
        check(Raw { redirect_url: some("javascript:alert(1)"), ..raw() }, Network::Testnet, "redirect_url url");
    }
}
