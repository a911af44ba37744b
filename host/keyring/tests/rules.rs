//! Compares the blockchains, the paths of keys, and address parsing with the rules of the wallet interface. The rules
//! have their own parser, because plugins do not depend on the host.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tenon_keyring::{BLOCKCHAINS, Family, Seed};
use wallet::rules::{
    address,
    blockchain::{self, Blockchain},
};

fn family(blockchain: Blockchain) -> Family {
    Family::of(blockchain.slug()).unwrap()
}

#[test]
fn blockchains_and_paths_agree_with_the_rules() {
    assert_eq!(BLOCKCHAINS.len(), Blockchain::ALL.len());
    for chain in Blockchain::ALL {
        let expected = match chain.family() {
            blockchain::Family::Evm => Family::Evm,
            blockchain::Family::Tron => Family::Tron,
            blockchain::Family::Solana => Family::Solana,
        };
        assert_eq!(family(chain), expected, "{chain:?}");
        let path = expected.path(7).unwrap().to_string();
        assert!(path.starts_with(&format!("{}/7", chain.derivation_path())), "{chain:?}: {path}");
    }
}

proptest! {
    #[test]
    fn derived_address_is_valid_for_the_rules(seed: [u8; 32], index in 0_u32..1 << 31) {
        let seed = Seed::from_bytes(&seed).unwrap();
        for chain in [Blockchain::Base, Blockchain::Tron, Blockchain::Solana] {
            let family = family(chain);
            let text = family.address(&seed, &family.path(index).unwrap()).unwrap();
            prop_assert_eq!(address::read(chain, &text), Ok(text));
        }
    }

    #[test]
    fn addresses_parse_as_in_the_rules(
        text in "(0x|T)?([0-9a-f]{40}|[0-9A-F]{40}|[1-9A-HJ-NP-Za-km-z]{30,45}|.{0,50})",
        bytes: [u8; 32], at in 0_usize..44, with in "[0-9A-Za-z]",
    ) {
        // Includes addresses with one changed character, because random strings rarely have a correct checksum.
        let made = [Blockchain::Base, Blockchain::Tron, Blockchain::Solana].map(|chain| {
            let family = family(chain);
            let seed = Seed::from_bytes(&bytes).unwrap();
            let mut text = family.address(&seed, &family.path(0).unwrap()).unwrap();
            let at = at % text.len();
            text.replace_range(at..=at, &with);
            text
        });
        for text in made.into_iter().chain([text]) {
            for chain in [Blockchain::Base, Blockchain::Tron, Blockchain::Solana] {
                prop_assert_eq!(family(chain).read_address(&text).ok(), address::read(chain, &text).ok(), "{}", text);
            }
        }
    }
}
