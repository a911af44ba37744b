//! Getting back what went astray: salvage and rescan (spec/wallet: salvage, rescan/blocks).

use super::Context;
use super::reader::{AMOUNT, Reader};
use crate::rules::address;
use crate::rules::amount::{Units, WHOLE_DECIMALS};
use crate::rules::blockchain::{Blockchain, Family};
use crate::rules::invalid::{Field, Rule};
use crate::rules::refusal::Refusal;

const TRANSACTION_HASH: Field = Field("transaction_hash");
const TOKEN_ADDRESS: Field = Field("token_address");

/// As it was sent.
#[derive(Clone, Debug, Default)]
pub struct RawSalvage {
    pub sender_address: Option<String>,
    pub recipient_address: Option<String>,
    pub amount: Option<String>,
    /// The one on which the assets are.
    pub blockchain: Option<String>,
    pub token_address: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Salvage {
    /// Ours, on a blockchain that nobody meant.
    pub sender_address: String,
    pub recipient_address: String,
    /// Whole units: how fine they are, only the token says.
    pub amount: String,
    pub blockchain: Blockchain,
    /// `None`: the native coin.
    pub token_address: Option<String>,
}

pub fn read_salvage(raw: &RawSalvage) -> Result<Salvage, Refusal> {
    let mut reader = Reader::default();
    let blockchain = reader.blockchain(Field("blockchain"), &raw.blockchain);
    let amount = reader.required(AMOUNT, &raw.amount).map(str::to_owned);
    if let Some(Err(rule)) = amount.as_deref().map(|text| Units::parse_positive(text, WHOLE_DECIMALS)) {
        reader.breaks(AMOUNT, rule);
    }
    let Some(blockchain) = blockchain else { return reader.finish(None) };
    let sender = reader.address(Field("sender_address"), &raw.sender_address, blockchain);
    let recipient = reader.address(Field("recipient_address"), &raw.recipient_address, blockchain);
    // An empty text is no token, and not the coin either.
    let is_token = raw.token_address.is_some();
    let token_address = is_token.then(|| reader.address(TOKEN_ADDRESS, &raw.token_address, blockchain)).flatten();
    let made = sender.zip(recipient).zip(amount);
    reader.finish(made.map(|((sender_address, recipient_address), amount)| Salvage {
        sender_address,
        recipient_address,
        amount,
        blockchain,
        token_address,
    }))
}

/// The hash of a missing deposit on the wallet's blockchain.
pub fn read_rescan(transaction_hash: &Option<String>, context: &Context) -> Result<String, Refusal> {
    let mut reader = Reader::default();
    let hash = reader.required(TRANSACTION_HASH, transaction_hash).map(str::to_owned);
    if hash.as_deref().is_some_and(|hash| !is_hash(hash, context.blockchain)) {
        reader.breaks(TRANSACTION_HASH, Rule::NotHash);
    }
    // Base58 has two cases, hexadecimal digits mean the same in both.
    let is_hex = context.blockchain.family() != Family::Solana;
    reader.finish(hash.map(|hash| if is_hex { hash.to_ascii_lowercase() } else { hash }))
}

fn is_hash(text: &str, blockchain: Blockchain) -> bool {
    let is_hex = |digits: &str| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match blockchain.family() {
        Family::Evm => text.strip_prefix("0x").is_some_and(is_hex),
        Family::Tron => is_hex(text),
        Family::Solana => address::is_solana_signature(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ADDRESS, context, some, wrong};
    use super::*;

    fn raw() -> RawSalvage {
        RawSalvage {
            sender_address: some(ADDRESS),
            recipient_address: some(ADDRESS),
            amount: some("1.5"),
            blockchain: some("polygon"),
            token_address: None,
        }
    }

    fn check(raw: RawSalvage, expected: &str) {
        assert_eq!(wrong(read_salvage(&raw)), expected, "{raw:?}");
    }

    #[test]
    fn a_salvage_names_both_addresses_on_its_blockchain() {
        check(raw(), "");
        check(RawSalvage { token_address: some(ADDRESS), ..raw() }, "");
        check(RawSalvage { token_address: some("x"), ..raw() }, "token_address address");
        check(RawSalvage { blockchain: some("tron"), ..raw() }, "sender_address address, recipient_address address");
        check(RawSalvage { amount: some("0"), ..raw() }, "amount greater_than_zero");
        check(RawSalvage::default(), "blockchain required, amount required");
    }

    #[test]
    fn a_hash_is_one_of_the_wallets_blockchain() {
        let check = |blockchain, hash: &str, expected: &str| {
            let context = Context { blockchain, ..context() };
            assert_eq!(wrong(read_rescan(&some(hash), &context)), expected, "{hash}");
        };
        let digits = "ab".repeat(32);
        check(Blockchain::Base, &["0x", &digits].concat(), "");
        check(Blockchain::Base, &digits, "transaction_hash transaction_hash");
        check(Blockchain::Tron, &digits, "");
        check(Blockchain::Tron, &["0x", &digits].concat(), "transaction_hash transaction_hash");
        check(Blockchain::Solana, &"1".repeat(64), "");
        check(Blockchain::Solana, &digits, "transaction_hash transaction_hash");
        check(Blockchain::Base, "", "transaction_hash required");
    }
}
