//! `keyring`: addresses and signatures of keys that plugins cannot read. Converts values and checks limits. A seed is
//! opened for one use.

use ethnum::U256;
use tenon_bindings::tenon::plugin::{
    chains,
    keyring::{self as wit, Host},
};
use tenon_chains::{NewTransfer, Signed, Terms};
use tenon_keyring::{Family, Path, Seed, evm::TypedData};
use wasmtime::bail;

use super::{CallState, trap};
use crate::{changes::scope::Scope, limits::SIGNED_BYTES_MAX};

/// Identifies a key.
struct KeyName {
    pub family: Family,
    pub path: Path,
}

impl Host for CallState {
    async fn account_of(&mut self, blockchain: String, index: u32) -> wasmtime::Result<wit::Account> {
        let wait_started = self.meter(blockchain.len())?;
        let KeyName { family, path } = key_name(&blockchain, index)?;
        let seed = self.seed().await?;
        let address = family.address(&seed, &path)?;
        self.end_wait(wait_started).await;
        Ok(wit::Account { address, path: path.to_string() })
    }

    async fn read_address(&mut self, blockchain: String, text: String) -> wasmtime::Result<Option<String>> {
        self.count(blockchain.len() + text.len())?;
        Ok(family_of(&blockchain)?.read_address(&text).ok())
    }

    async fn sign_message(
        &mut self,
        blockchain: String,
        index: u32,
        message: Vec<u8>,
    ) -> wasmtime::Result<Result<String, String>> {
        let wait_started = self.meter(blockchain.len() + message.len())?;
        check_length("a message", message.len())?;
        let KeyName { family, path } = key_name(&blockchain, index)?;
        let signed = family.sign_message(&self.seed().await?, &path, &message);
        self.end_wait(wait_started).await;
        Ok(signed.map_err(|error| error.to_string()))
    }

    async fn sign_typed_data(
        &mut self,
        blockchain: String,
        index: u32,
        document: String,
    ) -> wasmtime::Result<Result<String, String>> {
        self.count(blockchain.len() + document.len())?;
        let KeyName { family, path } = key_name(&blockchain, index)?;
        let data = match TypedData::read(&document) {
            Ok(data) => data,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let wait_started = self.begin_wait();
        let signed = family.sign_typed_data(&self.seed().await?, &path, &data);
        self.end_wait(wait_started).await;
        Ok(signed.map_err(|error| error.to_string()))
    }

    async fn sign_transfer(
        &mut self,
        blockchain: String,
        index: u32,
        transfer: wit::Transfer,
        terms: chains::Terms,
    ) -> wasmtime::Result<Result<wit::Signed, String>> {
        self.count(transfer.recipient.len() + transfer.amount.len() + terms.anchor.len())?;
        let KeyName { path, .. } = key_name(&blockchain, index)?;
        let chain = self.chain(&blockchain)?;
        let (amount, terms) = match (U256::from_str_radix(&transfer.amount, 10), read_terms(&terms)) {
            (Ok(amount), Some(terms)) => (amount, terms),
            (Err(_), _) => return Ok(Err("the amount must be a whole number of base units".to_owned())),
            (_, None) => return Ok(Err("the terms must come from `chains.current-terms`".to_owned())),
        };
        let transfer = NewTransfer {
            recipient: &transfer.recipient,
            token: transfer.token.as_deref(),
            amount,
            sequence: transfer.sequence,
        };
        let wait_started = self.begin_wait();
        let signed = tenon_chains::sign_transfer(chain.facts(), &self.seed().await?, &path, &transfer, &terms);
        self.end_wait(wait_started).await;
        Ok(signed.map(signed_text).map_err(|error| error.to_string()))
    }

    async fn sign_transaction(
        &mut self,
        blockchain: String,
        index: u32,
        unsigned: String,
    ) -> wasmtime::Result<Result<wit::Signed, String>> {
        let wait_started = self.meter(unsigned.len())?;
        check_length("a transaction", unsigned.len())?;
        let KeyName { path, .. } = key_name(&blockchain, index)?;
        let chain = self.chain(&blockchain)?;
        let signed = tenon_chains::sign_transaction(chain.facts(), &self.seed().await?, &path, &unsigned);
        self.end_wait(wait_started).await;
        Ok(signed.map(signed_text).map_err(|error| error.to_string()))
    }

    async fn show_private_key(&mut self, blockchain: String, index: u32) -> wasmtime::Result<Option<String>> {
        self.count(blockchain.len())?;
        let KeyName { family, path } = key_name(&blockchain, index)?;
        if !self.shows_private_keys() {
            return Ok(None);
        }
        let line = serde_json::json!({"private-key-shown": {"blockchain": blockchain, "path": path.to_string()}});
        let decided_by = self.decided_by();
        self.draft().append_journal(decided_by, line.to_string()).map_err(trap)?;
        let wait_started = self.begin_wait();
        let private_key = family.show_private_key(&self.seed().await?, &path)?;
        self.end_wait(wait_started).await;
        Ok(Some(private_key.to_string()))
    }
}

impl CallState {
    /// Opens the tenant's seed for one use.
    async fn seed(&mut self) -> wasmtime::Result<Seed> {
        let scope = self.scope_of_keys()?;
        Ok(self.keyring().seed(&scope).await?)
    }

    fn scope_of_keys(&mut self) -> wasmtime::Result<Scope> {
        match &self.draft().call().scope {
            Some(scope) => Ok(scope.clone()),
            None => bail!("an open route has no tenant and therefore no keys"),
        }
    }
}

fn read_terms(terms: &chains::Terms) -> Option<Terms> {
    let digits = |text: &str| U256::from_str_radix(text, 10).ok();
    Some(Terms {
        anchor: terms.anchor.clone(),
        price: digits(&terms.price)?,
        coin_fee: digits(&terms.coin_fee)?,
        token_fee: digits(&terms.token_fee)?,
    })
}

fn signed_text(signed: Signed) -> wit::Signed {
    wit::Signed { raw: signed.raw, hash: signed.hash, sender: signed.sender, fee: signed.fee.to_string() }
}

fn key_name(blockchain: &str, index: u32) -> wasmtime::Result<KeyName> {
    let family = family_of(blockchain)?;
    Ok(KeyName { family, path: family.path(index)? })
}

fn family_of(blockchain: &str) -> wasmtime::Result<Family> {
    match Family::of(blockchain) {
        Some(family) => Ok(family),
        None => bail!("there is no blockchain {blockchain:.40?}"),
    }
}

fn check_length(what: &str, bytes: usize) -> wasmtime::Result<()> {
    if bytes > SIGNED_BYTES_MAX {
        bail!("{what} that is signed has at most {SIGNED_BYTES_MAX} bytes");
    }
    Ok(())
}
