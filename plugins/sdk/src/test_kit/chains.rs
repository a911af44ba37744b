//! Blockchains and keys of a test: it passes what answers and signs ([`TestHost::blockchains`]) and sees what was
//! sent, watched and followed.
//!
//! A transaction that was sent is an effect to the destination "chain:NAME" ([`TestHost::effects`], [`TestHost::settle`]); what
//! becomes of it, and what arrives, the test tells with [`TestHost::put_task`].

use std::collections::BTreeMap;

use super::TestHost;
use crate::bindings::exports::tenon::plugin::handler::Outcome;
use crate::effects::{Effect, OutgoingCall};
use crate::host::{Account, ChainTransfer, Following, Network, Sending, Signed, Terms, Transaction, Watching, Wish};

/// What stands behind `keyring` and `chains`; every question has its reply at once. `tenant`: whose keys, and which network.
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

/// By tenant, blockchain, and address or hash.
type Place = (String, String, String);

#[derive(Clone, Default)]
pub(super) struct Chains {
    watched: BTreeMap<Place, Watching>,
    followed: BTreeMap<Place, Following>,
}

impl Chains {
    pub fn watch(&mut self, tenant: &str, watching: &Watching) {
        self.watched.insert(place(tenant, &watching.blockchain, &watching.address), watching.clone());
    }

    pub fn unwatch(&mut self, tenant: &str, blockchain: &str, address: &str) -> bool {
        self.watched.remove(&place(tenant, blockchain, address)).is_some()
    }

    pub fn follow(&mut self, tenant: &str, following: &Following) {
        self.followed.insert(place(tenant, &following.blockchain, &following.hash), following.clone());
    }

    pub fn unfollow(&mut self, tenant: &str, blockchain: &str, hash: &str) -> bool {
        self.followed.remove(&place(tenant, blockchain, hash)).is_some()
    }
}

impl TestHost {
    /// What answers for blockchains and signs.
    pub fn blockchains(self, blockchains: impl Blockchains + 'static) -> TestHost {
        self.blockchains.replace(Some(Box::new(blockchains)));
        self
    }

    /// Addresses of the default tenant that are watched.
    pub fn watched(&self) -> Vec<Watching> {
        let state = self.committed.borrow();
        let own = state.chains.watched.iter().filter(|((tenant, _, _), _)| tenant == super::TENANT);
        own.map(|(_, watching)| watching.clone()).collect()
    }

    /// Transactions of the default tenant that are followed.
    pub fn followed(&self) -> Vec<Following> {
        let state = self.committed.borrow();
        let own = state.chains.followed.iter().filter(|((tenant, _, _), _)| tenant == super::TENANT);
        own.map(|(_, following)| following.clone()).collect()
    }

    /// A node has taken what was sent as `then` and `key`: its task is due at once.
    pub fn take_transaction(&self, then: &str, key: &str) {
        let response = super::response(200, &serde_json::json!({}));
        self.settle(then, key, Outcome::Answered(response));
    }

    /// What is followed has come to its end: the task is due at once, with this payload besides `context`, `blockchain` and `hash`.
    pub fn end_transaction(&self, blockchain: &str, hash: &str, payload: &serde_json::Value) {
        let place = place(super::TENANT, blockchain, hash);
        let followed = self.committed.borrow_mut().chains.followed.remove(&place);
        let following = followed.unwrap_or_else(|| panic!("nobody follows {hash} on {blockchain}"));
        let mut payload = payload.as_object().expect("a payload is an object").clone();
        let context = serde_json::from_str(&following.context).expect("a context is JSON");
        payload.extend([
            ("context".to_owned(), context),
            ("blockchain".to_owned(), blockchain.into()),
            ("hash".to_owned(), hash.into()),
        ]);
        self.put_task(&following.then, &following.key, self.now(), &serde_json::Value::Object(payload).to_string());
    }

    pub(super) fn with_blockchains<T>(&self, blockchain: &str, ask: impl FnOnce(&dyn Blockchains, &str) -> T) -> T {
        let blockchains = self.blockchains.borrow();
        let blockchains = blockchains.as_deref().expect("this test has blockchains");
        let tenant = self.working_tenant();
        let known = blockchains.find_network(&tenant, blockchain).is_some();
        assert!(known, "there is no blockchain {blockchain}");
        ask(blockchains, &tenant)
    }
}

pub(super) fn sent(sending: &Sending) -> Effect {
    let raw = serde_json::json!({ "raw": sending.raw }).to_string();
    let call = OutgoingCall::new(&format!("chain:{}", sending.blockchain), "POST", "/transactions").json(raw);
    Effect::new(call, &sending.then, &sending.key, sending.context.clone()).delays_ms(&sending.delays)
}

pub(super) fn wished(wish: &Wish) -> Effect {
    let body = serde_json::json!({ "address": wish.address, "token": wish.token, "amount": wish.amount }).to_string();
    let call = OutgoingCall::new(&format!("chain:{}", wish.blockchain), "POST", "/faucet").json(body);
    Effect::new(call, &wish.then, &wish.key, wish.context.clone())
}

fn place(tenant: &str, blockchain: &str, what: &str) -> Place {
    (tenant.to_owned(), blockchain.to_owned(), what.to_owned())
}
