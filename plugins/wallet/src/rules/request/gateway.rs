//! The unified USDC gateway: in from a blockchain, out to one (spec/wallet: gateway/deposit, gateway/withdraw).

use super::Context;
use super::reader::Reader;
use crate::rules::amount::Money;
use crate::rules::asset::{self, Asset, GATEWAY_USDC, USDC};
use crate::rules::blockchain::Blockchain;
use crate::rules::invalid::{Field, Rule};
use crate::rules::limits::REFERENCE_CHARS_MAX;
use crate::rules::network::Network;
use crate::rules::refusal::Refusal;

const DESTINATION_CHAIN: Field = Field("destination_chain");

/// As it was sent; the destination is of a withdrawal alone.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub amount: Option<String>,
    pub destination_chain: Option<String>,
    pub destination_address: Option<String>,
    pub reference: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Deposit {
    /// USDC of the wallet's blockchain.
    pub money: Money,
    pub reference: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Withdrawal {
    /// Of the pool.
    pub money: Money,
    pub to: Asset,
    /// `None`: the master wallet there.
    pub destination_address: Option<String>,
    pub reference: Option<String>,
}

pub fn read_deposit(raw: &Raw, context: &Context) -> Result<Deposit, Refusal> {
    let mut reader = Reader::default();
    let usdc = usdc_on(&mut reader, Field("blockchain"), context.blockchain, context.network);
    let money = reader.money(&raw.amount, usdc);
    let reference = reader.text(Field("reference"), &raw.reference, REFERENCE_CHARS_MAX);
    reader.finish(money.map(|money| Deposit { money, reference }))
}

pub fn read_withdrawal(raw: &Raw, context: &Context) -> Result<Withdrawal, Refusal> {
    let mut reader = Reader::default();
    let money = reader.money(&raw.amount, Some(GATEWAY_USDC));
    let chain = reader.blockchain(DESTINATION_CHAIN, &raw.destination_chain);
    let to = chain.and_then(|chain| usdc_on(&mut reader, DESTINATION_CHAIN, chain, context.network));
    let given = raw.destination_address.is_some();
    let address = chain.filter(|_| given);
    let destination_address =
        address.and_then(|chain| reader.address(Field("destination_address"), &raw.destination_address, chain));
    let reference = reader.text(Field("reference"), &raw.reference, REFERENCE_CHARS_MAX);
    let made = money.zip(to);
    reader.finish(made.map(|(money, to)| Withdrawal { money, to, destination_address, reference }))
}

fn usdc_on(reader: &mut Reader, field: Field, blockchain: Blockchain, network: Network) -> Option<Asset> {
    let found = asset::find(USDC, blockchain).filter(|_| blockchain.has_gateway());
    if found.is_none() {
        reader.breaks(field, Rule::NoGateway { blockchain, network: network.name() });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ADDRESS, context, some, wrong};
    use super::*;

    #[test]
    fn a_deposit_takes_usdc_where_the_gateway_works() {
        let raw = Raw { amount: some("5"), ..Raw::default() };
        assert_eq!(wrong(read_deposit(&raw, &context())), "");
        let elsewhere = Context { blockchain: Blockchain::Celo, ..context() };
        let refusal = read_deposit(&raw, &elsewhere).unwrap_err();
        assert_eq!((refusal.message().as_str(), refusal.status()), ("Gateway is not supported on celo testnet", 400));
    }

    #[test]
    fn a_withdrawal_names_its_blockchain_and_perhaps_an_address_there() {
        let raw = |chain: &str, address: Option<String>| Raw {
            amount: some("5"),
            destination_chain: some(chain),
            destination_address: address,
            reference: None,
        };
        assert_eq!(wrong(read_withdrawal(&raw("polygon", some(ADDRESS)), &context())), "");
        assert_eq!(wrong(read_withdrawal(&raw("polygon", None), &context())), "");
        assert_eq!(wrong(read_withdrawal(&raw("polygon", some("x")), &context())), "destination_address address");
        assert_eq!(wrong(read_withdrawal(&raw("tron", None), &context())), "destination_chain gateway");
        assert_eq!(wrong(read_withdrawal(&Raw::default(), &context())), "amount required, destination_chain required");
    }
}
