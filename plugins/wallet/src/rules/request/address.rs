//! POST /v1/wallets/{walletId}/addresses and …/addresses/whitelist; the same options change an address later.

use super::Context;
use super::reader::Reader;
use crate::rules::invalid::Field;
use crate::rules::limits::NAME_CHARS_MAX;
use crate::rules::refusal::Refusal;
use crate::rules::settings::AddressSettings;

/// As it was sent. `address` is of a whitelisted one alone.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub address: Option<String>,
    pub address_name: Option<String>,
    pub disable_auto_sweep: Option<bool>,
    pub enable_gasless_withdraw: Option<bool>,
    pub metadata: Option<String>,
}

/// Nothing is required.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub address_name: Option<String>,
    pub settings: AddressSettings,
    pub metadata: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Whitelisted {
    pub address: String,
    pub options: Options,
}

pub fn read_options(raw: &Raw) -> Result<Options, Refusal> {
    let mut reader = Reader::default();
    let options = options(&mut reader, raw);
    reader.finish(Some(options))
}

/// An address of the wallet's blockchain that somebody else has the key of.
pub fn read_whitelisted(raw: &Raw, context: &Context) -> Result<Whitelisted, Refusal> {
    let mut reader = Reader::default();
    let address = reader.address(Field("address"), &raw.address, context.blockchain);
    let options = options(&mut reader, raw);
    reader.finish(address.map(|address| Whitelisted { address, options }))
}

fn options(reader: &mut Reader, raw: &Raw) -> Options {
    Options {
        address_name: reader.text(Field("address_name"), &raw.address_name, NAME_CHARS_MAX),
        settings: AddressSettings {
            disable_auto_sweep: raw.disable_auto_sweep,
            enable_gasless_withdraw: raw.enable_gasless_withdraw,
        },
        metadata: reader.metadata(&raw.metadata),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ADDRESS, context, some, wrong};
    use super::*;

    #[test]
    fn an_address_needs_no_options() {
        assert_eq!(wrong(read_options(&Raw::default())), "");
        let long = Raw { address_name: some(&"x".repeat(129)), metadata: some(&"x".repeat(4_097)), ..Raw::default() };
        assert_eq!(wrong(read_options(&long)), "address_name max_length, metadata max_length");
    }

    #[test]
    fn a_whitelisted_address_is_one_of_the_wallets_blockchain() {
        let check = |address: &str, expected: &str| {
            let raw = Raw { address: some(address), ..Raw::default() };
            assert_eq!(wrong(read_whitelisted(&raw, &context())), expected, "{address:?}");
        };
        check(ADDRESS, "");
        check("", "address required");
        check("TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6", "address address");
        check(&ADDRESS.replace('A', "a"), "address checksum");
    }
}
