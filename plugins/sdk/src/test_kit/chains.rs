//! Blockchains and keys in tests. The test passes an implementation ([`TestHost::blockchains`]) and reads the
//! watched addresses and the followed transactions.
//!
//! A sent transaction is an effect to the destination "chain:NAME" ([`TestHost::effects`], [`TestHost::settle`]). The
//! test reports the result of a followed transaction with [`TestHost::finish_transaction`], and an incoming movement
//! with [`TestHost::put_task`].

use std::collections::BTreeMap;

use super::TestHost;
use crate::bindings::exports::tenon::plugin::handler::Outcome;
use crate::effects::{Effect, OutgoingCall};
use crate::host::{
    Account, ChainTransfer, CoinRequest, Following, Network, Sending, Signed, Terms, Transaction, Watching,
};

/// Implementation of `keyring` and `chains` in a test. Every question has its reply at once. `tenant` selects the keys
/// and the network.
pub trait Blockchains {
    fn account_of(&self, tenant: &str, blockchain: &str, index: u32) -> Account;
    fn read_address(&self, blockchain: &str, text: &str) -> Option<String>;
    fn sign_message(&self, tenant: &str, blockchain: &str, index: u32, message: &[u8]) -> Result<String, String>;
    fn sign_typed_data(&self, tenant: &str, blockchain: &str, index: u32, document: &str) -> Result<String, String>;
    fn sign_transfer(
        &self,
        tenant: &str,
        key: (&str, u32),
        transfer: &ChainTransfer,
        terms: &Terms,
    ) -> Result<Signed, String>;
    fn sign_transaction(&self, tenant: &str, key: (&str, u32), unsigned: &str) -> Result<Signed, String>;
    fn show_private_key(&self, tenant: &str, blockchain: &str, index: u32) -> Option<String>;

    fn find_network(&self, tenant: &str, blockchain: &str) -> Option<Network>;
    fn current_terms(&self, tenant: &str, blockchain: &str) -> Result<Terms, String>;
    fn balance(&self, tenant: &str, blockchain: &str, address: &str, token: Option<&str>) -> Result<String, String>;
    fn sequence(&self, tenant: &str, blockchain: &str, address: &str) -> Result<u64, String>;
    fn find_transaction(&self, tenant: &str, blockchain: &str, hash: &str) -> Result<Option<Transaction>, String>;
}

/// Tenant, blockchain, and address or hash.
type ChainKey = (String, String, String);

#[derive(Clone, Default)]
pub(super) struct Chains {
    watched: BTreeMap<ChainKey, Watching>,
    followed: BTreeMap<ChainKey, Following>,
}

impl Chains {
    pub fn watch(&mut self, tenant: &str, watching: &Watching) {
        self.watched.insert(chain_key(tenant, &watching.blockchain, &watching.address), watching.clone());
    }

    pub fn unwatch(&mut self, tenant: &str, blockchain: &str, address: &str) -> bool {
        self.watched.remove(&chain_key(tenant, blockchain, address)).is_some()
    }

    pub fn follow(&mut self, tenant: &str, following: &Following) {
        self.followed.insert(chain_key(tenant, &following.blockchain, &following.hash), following.clone());
    }

    pub fn unfollow(&mut self, tenant: &str, blockchain: &str, hash: &str) -> bool {
        self.followed.remove(&chain_key(tenant, blockchain, hash)).is_some()
    }
}

impl TestHost {
    /// Sets the implementation of blockchains and keys.
    pub fn blockchains(self, blockchains: impl Blockchains + 'static) -> TestHost {
        self.blockchains.replace(Some(Box::new(blockchains)));
        self
    }

    /// Returns the watched addresses of the default tenant.
    pub fn watched(&self) -> Vec<Watching> {
        let state = self.committed.borrow();
        let own = state.chains.watched.iter().filter(|((tenant, _, _), _)| tenant == super::TENANT);
        own.map(|(_, watching)| watching.clone()).collect()
    }

    /// Returns the followed transactions of the default tenant.
    pub fn followed(&self) -> Vec<Following> {
        let state = self.committed.borrow();
        let own = state.chains.followed.iter().filter(|((tenant, _, _), _)| tenant == super::TENANT);
        own.map(|(_, following)| following.clone()).collect()
    }

    /// Reports that a node has accepted the transaction sent with `then` and `key`. Its task is due at once.
    pub fn accept_transaction(&self, then: &str, key: &str) {
        let response = super::response(200, &serde_json::json!({}));
        self.settle(then, key, Outcome::Answered(response));
    }

    /// Reports the result of a followed transaction of the default tenant. Its task is due at once, with this payload
    /// and the members `context`, `blockchain` and `hash`.
    pub fn finish_transaction(&self, blockchain: &str, hash: &str, payload: &serde_json::Value) {
        let key = chain_key(super::TENANT, blockchain, hash);
        let followed = self.committed.borrow_mut().chains.followed.remove(&key);
        let following = followed.unwrap_or_else(|| panic!("{hash} on {blockchain} is not followed"));
        let mut payload = payload.as_object().expect("a payload is an object").clone();
        let context = serde_json::from_str(&following.context).expect("a context is JSON");
        payload.extend([
            ("context".to_owned(), context),
            ("blockchain".to_owned(), blockchain.into()),
            ("hash".to_owned(), hash.into()),
        ]);
        self.put_task(&following.then, &following.key, self.now(), &serde_json::Value::Object(payload).to_string());
    }

    pub(super) fn with_blockchains<T>(&self, blockchain: &str, query: impl FnOnce(&dyn Blockchains, &str) -> T) -> T {
        let blockchains = self.blockchains.borrow();
        let blockchains = blockchains.as_deref().expect("the test calls TestHost::blockchains");
        let tenant = self.working_tenant();
        let known = blockchains.find_network(&tenant, blockchain).is_some();
        assert!(known, "the blockchain {blockchain} does not exist");
        query(blockchains, &tenant)
    }
}

/// Returns the effect that sends a transaction.
pub(super) fn send_effect(sending: &Sending) -> Effect {
    let raw = serde_json::json!({ "raw": sending.raw }).to_string();
    let call = OutgoingCall::new(&format!("chain:{}", sending.blockchain), "POST", "/transactions").json(raw);
    Effect::new(call, &sending.then, &sending.key, sending.context.clone()).delays_ms(&sending.delays)
}

/// Returns the effect that requests coins from a faucet.
pub(super) fn faucet_effect(request: &CoinRequest) -> Effect {
    let CoinRequest { blockchain, address, token, amount, then, key, context } = request;
    let body = serde_json::json!({ "address": address, "token": token, "amount": amount }).to_string();
    let call = OutgoingCall::new(&format!("chain:{blockchain}"), "POST", "/faucet").json(body);
    Effect::new(call, then, key, context.clone())
}

fn chain_key(tenant: &str, blockchain: &str, address_or_hash: &str) -> ChainKey {
    (tenant.to_owned(), blockchain.to_owned(), address_or_hash.to_owned())
}
