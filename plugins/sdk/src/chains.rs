//! Blockchains: questions about their state, and changes that send or follow transactions and watch addresses.
//!
//! A question without a reply returns [`Stop::Wait`], so that a handler needs only `?`. The inner `Err` is the reason
//! why there is no response ("timeout", …).

pub use crate::host::{
    CoinRequest, Following, Movement, Network, Sending, Terms, Token, Transaction, TransactionState, Watching,
};

use crate::answer::Stop;
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// Reply to a question about a blockchain. `Err` is the reason why there is no response.
pub type ChainReply<T> = Result<T, String>;

/// The blockchains of this tenant's environment.
#[derive(Clone, Copy)]
pub struct Chains<'a> {
    host: HostRef<'a>,
}

impl<'a> Chains<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Chains<'a> {
        Chains { host }
    }

    /// Returns the network, or `None` if the operator has not configured the blockchain.
    pub fn network(&self, blockchain: &str) -> Option<Network> {
        self.host.chains_find_network(blockchain)
    }

    /// Queries the terms (fees, anchor) under which a transaction is accepted now.
    pub fn terms(&self, blockchain: &str) -> Result<ChainReply<Terms>, Stop> {
        self.host.chains_current_terms(blockchain).ok_or(Stop::Wait)
    }

    /// Queries the balance of an address in base units, of `token` or of the blockchain's coin.
    pub fn balance(&self, blockchain: &str, address: &str, token: Option<&str>) -> Result<ChainReply<String>, Stop> {
        self.host.chains_balance(blockchain, address, token).ok_or(Stop::Wait)
    }

    /// Queries the sequence number of the sender's next transaction.
    pub fn sequence(&self, blockchain: &str, address: &str) -> Result<ChainReply<u64>, Stop> {
        self.host.chains_sequence(blockchain, address).ok_or(Stop::Wait)
    }

    /// Queries a transaction. The reply is `Ok(None)` if no node has it.
    pub fn transaction(&self, blockchain: &str, hash: &str) -> Result<ChainReply<Option<Transaction>>, Stop> {
        self.host.chains_find_transaction(blockchain, hash).ok_or(Stop::Wait)
    }

    /// Sends a signed transaction after the commit. Returns false if one with the same `then` and `key` is in progress.
    pub fn send(&self, sending: &Sending) -> bool {
        self.host.chains_send(sending)
    }

    /// Requests coins from the faucet of a test network after the commit. Returns false if a request with the same
    /// `then` and `key` is in progress.
    pub fn request_coins(&self, request: &CoinRequest) -> bool {
        self.host.chains_request_coins(request)
    }

    /// Follows a transaction: its task runs once, when the transaction is done, failed or dropped.
    pub fn follow(&self, following: &Following) {
        self.host.chains_follow(following);
    }

    /// Stops following a transaction. Returns true if it was followed.
    pub fn unfollow(&self, blockchain: &str, hash: &str) -> bool {
        self.host.chains_unfollow(blockchain, hash)
    }

    /// Watches an address: its task runs when an incoming movement is seen, is final, or is gone.
    pub fn watch(&self, watching: &Watching) {
        self.host.chains_watch(watching);
    }

    /// Stops watching an address. Returns true if it was watched.
    pub fn unwatch(&self, blockchain: &str, address: &str) -> bool {
        self.host.chains_unwatch(blockchain, address)
    }
}
