//! Blockchains, as a handler uses them: what stands there (questions), what is sent there and watched there (changes).
//!
//! A question that has no reply yet ends the run with [`Stop::Wait`], so `?` is all that a handler needs. The inner `Err`
//! says why there is no answer ("timeout", …).

pub use crate::host::{
    Following, Movement, Network, Sending, Terms, Token, Transaction, TransactionState, Watching, Wish,
};

use crate::answer::Stop;
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// What a question came to.
pub type Reply<T> = Result<T, String>;

/// The blockchains of this tenant's environment.
#[derive(Clone, Copy)]
pub struct Chains<'a> {
    host: HostRef<'a>,
}

impl<'a> Chains<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Chains<'a> {
        Chains { host }
    }

    /// `None` where the operator has no such blockchain.
    pub fn network(&self, blockchain: &str) -> Option<Network> {
        self.host.chains_find_network(blockchain)
    }

    pub fn terms(&self, blockchain: &str) -> Result<Reply<Terms>, Stop> {
        self.host.chains_current_terms(blockchain).ok_or(Stop::Wait)
    }

    /// In base units; without `token` of the coin.
    pub fn balance(&self, blockchain: &str, address: &str, token: Option<&str>) -> Result<Reply<String>, Stop> {
        self.host.chains_balance(blockchain, address, token).ok_or(Stop::Wait)
    }

    pub fn sequence(&self, blockchain: &str, address: &str) -> Result<Reply<u64>, Stop> {
        self.host.chains_sequence(blockchain, address).ok_or(Stop::Wait)
    }

    /// `Ok(None)`: nobody there has heard of it.
    pub fn transaction(&self, blockchain: &str, hash: &str) -> Result<Reply<Option<Transaction>>, Stop> {
        self.host.chains_find_transaction(blockchain, hash).ok_or(Stop::Wait)
    }

    /// `false` where one of the same `then` and `key` is on its way.
    pub fn send(&self, sending: &Sending) -> bool {
        self.host.chains_send(sending)
    }

    /// Of a network that has a faucet. `false` where one of the same `then` and `key` is on its way.
    pub fn request_coins(&self, wish: &Wish) -> bool {
        self.host.chains_request_coins(wish)
    }

    pub fn follow(&self, following: &Following) {
        self.host.chains_follow(following);
    }

    /// Whether it was followed.
    pub fn unfollow(&self, blockchain: &str, hash: &str) -> bool {
        self.host.chains_unfollow(blockchain, hash)
    }

    pub fn watch(&self, watching: &Watching) {
        self.host.chains_watch(watching);
    }

    /// Whether it was watched.
    pub fn unwatch(&self, blockchain: &str, address: &str) -> bool {
        self.host.chains_unwatch(blockchain, address)
    }
}
