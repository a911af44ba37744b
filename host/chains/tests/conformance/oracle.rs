//! Compares encodings and signatures with those of other libraries (see `oracle/make-vectors.mjs`).

use ethnum::U256;
use serde::Deserialize;
use tenon_chains::{DecodedTransaction, Facts, NewTransfer, Terms, Token, evm, read_signed, solana, tron};
use tenon_keyring::Family;

#[derive(Deserialize)]
struct Vectors {
    evm: Vec<Case>,
    tron: Vec<Case>,
    solana: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    sender: String,
    recipient: String,
    token: Option<String>,
    amount: String,
    sequence: u64,
    #[serde(default)]
    anchor: String,
    #[serde(default)]
    price: String,
    fee: String,
    #[serde(default)]
    accounts: Option<[String; 2]>,
    unsigned: String,
    #[serde(default)]
    raw: String,
    hash: String,
    #[serde(default)]
    signature: String,
}

fn vectors() -> Vectors {
    let vectors: Vectors = serde_json::from_str(include_str!("oracle/vectors.json")).unwrap();
    assert_eq!((vectors.evm.len(), vectors.tron.len(), vectors.solana.len()), (24, 24, 24));
    vectors
}

fn number(digits: &str) -> U256 {
    digits.parse().unwrap()
}

impl Case {
    fn facts(&self, family: Family) -> Facts {
        let token = |address: &String| Token { address: address.clone(), symbol: "USDC".to_owned(), decimals: 6 };
        Facts {
            blockchain: String::new(),
            network: String::new(),
            family,
            chain_id: if family == Family::Evm { 8453 } else { 0 },
            symbol: String::new(),
            decimals: 18,
            tokens: self.token.iter().map(token).collect(),
            block_time_ms: 250,
            has_faucet: false,
        }
    }

    fn new_transfer(&self) -> NewTransfer<'_> {
        let (recipient, token) = (self.recipient.as_str(), self.token.as_deref());
        NewTransfer { recipient, token, amount: number(&self.amount), sequence: self.sequence }
    }

    fn terms(&self) -> Terms {
        let (price, fee) = (number(&self.price), number(&self.fee));
        Terms { anchor: self.anchor.clone(), price, coin_fee: fee, token_fee: fee }
    }

    fn check(&self, decoded: &DecodedTransaction) {
        assert_eq!((&decoded.hash, &decoded.sender), (&self.hash, &self.sender));
        let [movement] = &decoded.movements[..] else { panic!("{decoded:?}") };
        assert_eq!((&movement.sender, &movement.recipient), (&self.sender, &self.recipient));
        assert_eq!((&movement.token, movement.amount), (&self.token, number(&self.amount)));
    }
}

#[test]
fn evm_transfers_agree() {
    for case in vectors().evm {
        let facts = case.facts(Family::Evm);
        let made = evm::transfer(&facts, &case.new_transfer(), &case.terms()).unwrap();
        assert_eq!(format!("0x{}", hex::encode(made.to_bytes())), case.unsigned);
        assert_eq!(evm::read_unsigned(&facts, &case.unsigned), Ok(made));
        let decoded = read_signed(&facts, &case.raw).unwrap();
        case.check(&decoded);
        assert_eq!((decoded.sequence, decoded.fee), (Some(case.sequence), number(&case.fee)));
    }
}

#[test]
fn tron_transfers_agree() {
    for case in vectors().tron {
        let facts = case.facts(Family::Tron);
        let sender = case.sender.parse().unwrap();
        let made = tron::transfer(&facts, sender, &case.new_transfer(), &case.terms()).unwrap();
        assert_eq!(hex::encode(made.to_bytes()), case.unsigned);
        assert_eq!(tron::read_unsigned(&case.unsigned, sender).unwrap().0, made);
        // The raw data (field 1, its length in two bytes of seven bits) and one signature (field 2).
        let length = case.unsigned.len() / 2;
        let raw = format!("0a{:02x}{:02x}{}1241{}", length % 128 + 128, length / 128, case.unsigned, case.signature);
        case.check(&read_signed(&facts, &raw).unwrap());
    }
}

#[test]
fn solana_transfers_agree() {
    for case in vectors().solana {
        let facts = case.facts(Family::Solana);
        let decoded = read_signed(&facts, &case.raw).unwrap();
        case.check(&decoded);
        assert_eq!(decoded.fee, number(&case.fee));
        let sender: tenon_keyring::solana::Address = case.sender.parse().unwrap();
        let reference = solana::read_unsigned(&case.unsigned, sender).unwrap();
        let anchor = bs58::encode(reference.anchor).into_string();
        let terms = Terms { anchor, price: U256::ONE, coin_fee: U256::ONE, token_fee: U256::ONE };
        let made = solana::transfer(&facts, sender, &case.new_transfer(), &terms).unwrap();
        let is_limit = |instruction: &solana::Instruction| {
            matches!(instruction, solana::Instruction::UnitLimit(_) | solana::Instruction::UnitPrice(_))
        };
        let reference: Vec<_> =
            reference.instructions().into_iter().filter(|instruction| !is_limit(instruction)).collect();
        assert_eq!(made.instructions(), reference);
        if let (Some(accounts), Some(mint)) = (&case.accounts, &case.token) {
            let mint = mint.parse().unwrap();
            for (owner, account) in [&case.sender, &case.recipient].into_iter().zip(accounts) {
                let derived = solana::token_account_of(&owner.parse().unwrap(), &mint).unwrap();
                assert_eq!(derived.to_string(), *account);
            }
        }
    }
}
