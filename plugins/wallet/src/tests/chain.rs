//! What stands behind keys and blockchains in tests: addresses and messages of the keyring, transactions as plain text.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use sha3::{Digest, Keccak256};
use tenon_keyring::{Family, Seed, evm, solana, tron};
use tenon_plugin::chains::{Movement, Network, Terms, Token, Transaction, TransactionState};
use tenon_plugin::keyring::{Account, ChainTransfer, Signed};
use tenon_plugin::test_kit::Blockchains;

use crate::rules::asset;
use crate::rules::blockchain::Blockchain;

/// What a test may change while it runs.
#[derive(Default)]
pub struct World {
    /// By blockchain, address and token ("" for coins): what a node says.
    pub balances: BTreeMap<(String, String, String), String>,
    pub sequences: BTreeMap<(String, String), u64>,
    pub transactions: BTreeMap<String, Transaction>,
    /// No question is answered.
    pub is_silent: bool,
    pub shows_keys: bool,
}

#[derive(Clone, Default)]
pub struct Chain(pub Rc<RefCell<World>>);

impl Chain {
    fn seed(tenant: &str) -> Seed {
        Seed::from_bytes(&Keccak256::digest(tenant.as_bytes())).unwrap()
    }

    /// Whoever asks for the transaction sees it like this from now on.
    pub fn show(&self, hash: &str, confirmations: u32, movements: Vec<Movement>) {
        let found = Transaction {
            hash: hash.to_owned(),
            sender: movements[0].sender.clone(),
            state: TransactionState::Done,
            block: Some(7),
            confirmations,
            fee: "1".to_owned(),
            movements,
        };
        self.0.borrow_mut().transactions.insert(hash.to_owned(), found);
    }

    fn answer<T>(&self, value: T) -> Result<T, String> {
        if self.0.borrow().is_silent { Err("timeout".to_owned()) } else { Ok(value) }
    }
}

fn signed(raw: String, sender: &str) -> Signed {
    let digits: String = Keccak256::digest(raw.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    Signed { hash: format!("0x{digits}"), raw, sender: sender.to_owned(), fee: "1000".to_owned() }
}

impl Blockchains for Chain {
    fn account_of(&self, tenant: &str, blockchain: &str, index: u32) -> Account {
        let family = Family::of(blockchain).unwrap();
        let path = family.path(index).unwrap();
        Account { address: family.address(&Chain::seed(tenant), &path).unwrap(), path: path.to_string() }
    }

    fn read_address(&self, blockchain: &str, text: &str) -> Option<String> {
        Family::of(blockchain)?.read_address(text).ok()
    }

    fn sign_message(&self, tenant: &str, blockchain: &str, index: u32, message: &[u8]) -> Result<String, String> {
        let (family, seed) = (Family::of(blockchain).unwrap(), Chain::seed(tenant));
        let path = family.path(index).unwrap();
        let hex = |bytes: [u8; 65]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Ok(match family {
            Family::Evm => {
                let key = seed.secp256k1_key(&path).unwrap();
                format!("0x{}", hex(evm::sign_message(&key, message).unwrap().to_bytes()))
            }
            Family::Tron => {
                let key = seed.secp256k1_key(&path).unwrap();
                format!("0x{}", hex(tron::sign_message(&key, message).unwrap().to_bytes()))
            }
            Family::Solana => {
                let key = seed.ed25519_key(&path).unwrap();
                solana::write_signature(&solana::sign_message(&key, message).unwrap())
            }
        })
    }

    fn sign_typed_data(&self, tenant: &str, blockchain: &str, index: u32, document: &str) -> Result<String, String> {
        let key = Chain::seed(tenant).secp256k1_key(&Family::of(blockchain).unwrap().path(index).unwrap()).unwrap();
        let data = evm::TypedData::read(document).map_err(|error| error.to_string())?;
        let signature = data.sign(&key).map_err(|error| error.to_string())?;
        Ok(signature.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn sign_transfer(
        &self,
        tenant: &str,
        (blockchain, index): (&str, u32),
        transfer: &ChainTransfer,
        terms: &Terms,
    ) -> Result<Signed, String> {
        let sender = self.account_of(tenant, blockchain, index).address;
        let ChainTransfer { recipient, token, amount, sequence } = transfer;
        let token = token.as_deref().unwrap_or("coin");
        let raw = format!("{blockchain} {sender} {sequence} {amount} {token} {recipient} {}", terms.anchor);
        Ok(signed(raw, &sender))
    }

    fn sign_transaction(
        &self,
        tenant: &str,
        (blockchain, index): (&str, u32),
        unsigned: &str,
    ) -> Result<Signed, String> {
        let sender = self.account_of(tenant, blockchain, index).address;
        match unsigned.strip_prefix("0x02") {
            Some(_) => Ok(signed(format!("{blockchain} {sender} {unsigned}"), &sender)),
            None => Err("not such a transaction".to_owned()),
        }
    }

    fn show_private_key(&self, _tenant: &str, blockchain: &str, index: u32) -> Option<String> {
        self.0.borrow().shows_keys.then(|| format!("private key {index} of {blockchain}"))
    }

    fn find_network(&self, tenant: &str, blockchain: &str) -> Option<Network> {
        // One that the operator does not have.
        let known = Blockchain::of_slug(blockchain).filter(|known| *known != Blockchain::Tempo)?;
        let gas = asset::gas(known);
        let tokens = asset::on(known).into_iter().filter(|asset| !asset.is_native).map(|asset| Token {
            address: token(asset.symbol),
            symbol: asset.symbol.to_owned(),
            decimals: u8::try_from(asset.decimals).unwrap(),
        });
        Some(Network {
            name: "simulated".to_owned(),
            chain_id: 1,
            symbol: gas.symbol.to_owned(),
            decimals: u8::try_from(gas.decimals).unwrap(),
            tokens: tokens.collect(),
            block_time: 2_000,
            has_faucet: tenant.ends_with("/test"),
        })
    }

    fn current_terms(&self, _tenant: &str, _blockchain: &str) -> Result<Terms, String> {
        let text = str::to_owned;
        self.answer(Terms { anchor: text("a1"), price: text("1"), coin_fee: text("1000"), token_fee: text("2000") })
    }

    fn balance(&self, _tenant: &str, blockchain: &str, address: &str, token: Option<&str>) -> Result<String, String> {
        let key = (blockchain.to_owned(), address.to_owned(), token.unwrap_or_default().to_owned());
        let found = self.0.borrow().balances.get(&key).cloned();
        self.answer(found.unwrap_or_else(|| "0".to_owned()))
    }

    fn sequence(&self, _tenant: &str, blockchain: &str, address: &str) -> Result<u64, String> {
        let found = self.0.borrow().sequences.get(&(blockchain.to_owned(), address.to_owned())).copied();
        self.answer(found.unwrap_or_default())
    }

    fn find_transaction(&self, _tenant: &str, _blockchain: &str, hash: &str) -> Result<Option<Transaction>, String> {
        let found = self.0.borrow().transactions.get(hash).cloned();
        self.answer(found)
    }
}

/// The contract of a token, the same on every blockchain.
pub fn token(symbol: &str) -> String {
    format!("token-{symbol}")
}
