use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::SeedPhrase;

fn test_seed() -> Seed {
    SeedPhrase::parse("test test test test test test test test test test test junk").unwrap().seed("")
}

fn address(family: Family, index: u32) -> String {
    family.address(&test_seed(), &family.path(index).unwrap()).unwrap()
}

/// The accounts that common development nodes print at start.
#[test]
fn test_phrase_has_the_accounts_of_development_nodes() {
    let expected = [
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
        "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
        "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
        "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
        "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
        "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
        "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
        "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
    ];
    for (index, expected) in (0..).zip(expected) {
        assert_eq!(address(Family::Evm, index), expected);
    }
    let key = Family::Evm.show_private_key(&test_seed(), &Family::Evm.path(0).unwrap()).unwrap();
    assert_eq!(*key, "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
}

#[test]
fn paths_follow_bip_44() {
    for (family, first, last) in [
        (Family::Evm, "m/44'/60'/0'/0/0", "m/44'/60'/0'/0/2147483647"),
        (Family::Tron, "m/44'/195'/0'/0/0", "m/44'/195'/0'/0/2147483647"),
        (Family::Solana, "m/44'/501'/0'/0'", "m/44'/501'/2147483647'/0'"),
    ] {
        assert_eq!(family.path(0).unwrap().to_string(), first);
        assert_eq!(family.path((1 << 31) - 1).unwrap().to_string(), last);
        assert_eq!(family.path(1 << 31), Err(KeyringError::Path));
    }
}

#[test]
fn every_blockchain_has_one_family() {
    let names: BTreeSet<&str> = BLOCKCHAINS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), BLOCKCHAINS.len(), "a blockchain is listed twice");
    let others: Vec<&str> = names.iter().copied().filter(|name| Family::of(name) != Some(Family::Evm)).collect();
    assert_eq!(others, ["solana", "tron"]);
    for unknown in ["", "Ethereum", "ethereum ", "bitcoin", "stellar"] {
        assert_eq!(Family::of(unknown), None, "{unknown}");
    }
}

#[test]
fn address_of_one_family_is_rejected_by_the_others() {
    let families = [Family::Evm, Family::Tron, Family::Solana];
    for (owner, reader) in families.iter().flat_map(|owner| families.map(|reader| (*owner, reader))) {
        let text = address(owner, 3);
        assert_eq!(reader.read_address(&text).is_ok(), owner == reader, "{text} read as {reader:?}");
    }
}

#[test]
fn addresses_are_canonicalised() {
    let text = address(Family::Evm, 0);
    assert_eq!(Family::Evm.read_address(&text.to_ascii_lowercase()), Ok(text));
}

proptest! {
    #[test]
    fn canonical_address_parses_to_itself(text in "(0x|T)?([0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{30,45}|.{0,50})") {
        for family in [Family::Evm, Family::Tron, Family::Solana] {
            if let Ok(spelling) = family.read_address(&text) {
                prop_assert_eq!(family.read_address(&spelling), Ok(spelling));
            }
        }
    }
}
