//! POST /v1/wallets.

use super::reader::{Reader, given};
use crate::rules::blockchain::Blockchain;
use crate::rules::invalid::{Field, Rule};
use crate::rules::limits::{NAME_CHARS_MAX, TEXT_CHARS_MAX};
use crate::rules::network::Network;
use crate::rules::refusal::Refusal;

const NETWORK: Field = Field("network");
const WEBHOOK_URL: Field = Field("webhook_url");

/// As it was sent.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub blockchain: Option<String>,
    pub network: Option<String>,
    pub webhook_url: Option<String>,
    pub name: Option<String>,
    pub description: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewWallet {
    pub blockchain: Blockchain,
    pub network: Network,
    pub webhook_url: String,
    pub name: Option<String>,
    pub description: Option<String>,
}

/// The environment is that of the key; one that is named must be the same.
pub fn read(raw: &Raw, network: Network) -> Result<NewWallet, Refusal> {
    let mut reader = Reader::default();
    let blockchain = reader.blockchain(Field("blockchain"), &raw.blockchain);
    let named = reader.choice(NETWORK, &raw.network, &Network::NAMES, Network::of_name);
    if named.is_some_and(|named| named != network) {
        reader.breaks(NETWORK, Rule::NotNetworkOfKey);
    }
    let webhook_url = reader.required(WEBHOOK_URL, &raw.webhook_url).is_some();
    let webhook_url = webhook_url.then(|| webhook(&mut reader, &raw.webhook_url, network)).flatten();
    let name = reader.text(Field("name"), &raw.name, NAME_CHARS_MAX);
    let description = reader.text(Field("description"), &raw.description, TEXT_CHARS_MAX);
    let made = blockchain.zip(webhook_url);
    reader.finish(made.map(|(blockchain, webhook_url)| NewWallet {
        blockchain,
        network,
        webhook_url,
        name,
        description,
    }))
}

/// webhook_url: https where assets are real.
pub fn webhook(reader: &mut Reader, sent: &Option<String>, network: Network) -> Option<String> {
    let url = reader.url(WEBHOOK_URL, sent)?;
    if network == Network::Mainnet && given(sent).is_some_and(|url| url.starts_with("http://")) {
        reader.breaks(WEBHOOK_URL, Rule::NotHttps);
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{some, wrong};
    use super::*;

    fn raw() -> Raw {
        Raw { blockchain: some("base"), webhook_url: some("http://127.0.0.1:9/hook"), ..Raw::default() }
    }

    fn check(raw: Raw, network: Network, expected: &str) {
        assert_eq!(wrong(read(&raw, network)), expected, "{raw:?}");
    }

    #[test]
    fn a_wallet_needs_a_blockchain_and_an_address_for_webhooks() {
        check(raw(), Network::Testnet, "");
        check(Raw::default(), Network::Testnet, "blockchain required, webhook_url required");
        check(Raw { blockchain: some("bitcoin"), ..raw() }, Network::Testnet, "blockchain blockchain");
        check(Raw { name: some(&"x".repeat(129)), ..raw() }, Network::Testnet, "name max_length");
        check(Raw { name: some("a\0"), ..raw() }, Network::Testnet, "name characters");
    }

    #[test]
    fn a_network_that_is_named_is_that_of_the_key() {
        check(Raw { network: some("testnet"), ..raw() }, Network::Testnet, "");
        check(Raw { network: some("mainnet"), ..raw() }, Network::Testnet, "network network");
        check(Raw { network: some("devnet"), ..raw() }, Network::Testnet, "network one_of");
    }

    #[test]
    fn webhooks_of_real_assets_go_over_https() {
        check(raw(), Network::Mainnet, "webhook_url https");
        check(Raw { webhook_url: some("https://example.com"), ..raw() }, Network::Mainnet, "");
        check(Raw { webhook_url: some("example"), ..raw() }, Network::Mainnet, "webhook_url url");
    }
}
