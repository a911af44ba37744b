//! Sanctions (spec/wallet: "New addresses are screened against a sanctions list"): whether an address stands on a list, and on
//! which version of it that was decided. Withdrawals are screened too: nobody pays who cannot be paid.
//!
//! Lists say a coin and not a blockchain, so an address is found by its form: EVM in any case, all others as they are.

use std::collections::BTreeSet;

use super::refusal::Refusal;

/// Of one publisher, at one time.
#[derive(Clone, Debug)]
pub struct List {
    pub version: String,
    addresses: BTreeSet<String>,
}

/// Stored with what was decided on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub is_sanctioned: bool,
    pub version: String,
}

impl List {
    pub fn new(version: String, addresses: impl IntoIterator<Item = String>) -> List {
        List { version, addresses: addresses.into_iter().map(|address| key(&address)).collect() }
    }

    pub fn judge(&self, address: &str) -> Verdict {
        Verdict { is_sanctioned: self.addresses.contains(&key(address)), version: self.version.clone() }
    }
}

impl Verdict {
    /// `field`: where the address stands.
    pub fn check(&self, field: &'static str) -> Result<(), Refusal> {
        if self.is_sanctioned { Err(Refusal::Sanctioned { field }) } else { Ok(()) }
    }
}

fn key(address: &str) -> String {
    let address = address.trim();
    let is_evm = address.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    if is_evm { address.to_ascii_lowercase() } else { address.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_whatever_case_its_family_allows() {
        let listed = ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", " TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6 "];
        let list = List::new("2026-11-20".into(), listed.map(str::to_owned));
        for (address, expected) in [
            ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", true),
            ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", true),
            ("TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6", true),
            ("tWER2yGK5teHEhP3tpUyEQXMb6sSgzMAl6", false),
            ("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", false),
            ("", false),
        ] {
            assert_eq!(list.judge(address).is_sanctioned, expected, "{address}");
        }
    }

    #[test]
    fn a_verdict_says_on_which_list_it_rests() {
        let verdict = List::new("v7".into(), ["x".to_owned()]).judge("x");
        assert_eq!(
            (verdict.version.as_str(), verdict.check("address")),
            ("v7", Err(Refusal::Sanctioned { field: "address" }))
        );
    }
}
