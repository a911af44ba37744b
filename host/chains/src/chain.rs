//! What can be asked of a blockchain, and what its answers are made of.
//!
//! Never knows who asks and why. Addresses and hashes are texts in the spelling of the blockchain (`Family::read_address`);
//! amounts are base units.

use ethnum::U256;
use futures_util::future::BoxFuture;
use tenon_keyring::Family;

use crate::ChainError;

pub type Answer<'a, T> = BoxFuture<'a, Result<T, ChainError>>;

/// Hashes that may be asked for at once.
pub const HASHES_MAX: usize = 1_000;
/// Addresses that one question for transfers may name.
pub const ADDRESSES_MAX: usize = 1_000;
/// Transfers on a page.
pub const TRANSFERS_MAX: u32 = 1_000;

/// One network of one blockchain. An adapter answers, or says that it cannot; it never panics, and it may be asked from
/// many tasks at once. A question that is dropped has asked nothing; a submission that is dropped may have been taken.
pub trait Chain: Send + Sync + 'static {
    fn facts(&self) -> &Facts;

    fn head(&self) -> Answer<'_, Head>;

    /// `None` above the head.
    fn find_block(&self, height: u64) -> Answer<'_, Option<Block>>;

    /// Under which a transaction is taken now.
    fn terms(&self) -> Answer<'_, Terms>;

    /// What stands in the newest block; without `token` the coin.
    fn balance<'a>(&'a self, address: &'a str, token: Option<&'a str>) -> Answer<'a, U256>;

    /// How many transactions of this sender stand in blocks: the sequence of its next one.
    fn sequence<'a>(&'a self, address: &'a str) -> Answer<'a, u64>;

    /// Gives signed bytes to a node, in the form of [`crate::Signed::raw`]. The same bytes again are taken again: as long as they
    /// wait or stand in a block it is the same transaction.
    fn submit<'a>(&'a self, raw: &'a str) -> Answer<'a, Submission>;

    /// `None` where nobody has heard of it, or it was replaced, dropped or ran out.
    fn find_transaction<'a>(&'a self, hash: &'a str) -> Answer<'a, Option<Transaction>>;

    /// The same for at most [`HASHES_MAX`], in the order of the question.
    fn find_transactions<'a>(&'a self, hashes: &'a [String]) -> Answer<'a, Vec<Option<Transaction>>>;

    /// What moved in these blocks, in the order in which it happened.
    fn transfers<'a>(&'a self, question: &'a TransferQuestion) -> Answer<'a, TransferPage>;

    /// From the faucet, once for each key of a wish: asked again, the answer is the same. `NoFaucet` where there is none.
    fn request_coins<'a>(&'a self, wish: &'a Wish) -> Answer<'a, Submission>;

    /// Resolves when something may have moved since the future was made (not only since it was polled): make it, look, then
    /// wait for it. Time alone, which adds empty blocks and confirmations, is nothing that moves.
    fn changed(&self) -> BoxFuture<'_, ()>;
}

/// What does not change about a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// "base": one of `tenon_keyring::BLOCKCHAINS`.
    pub blockchain: String,
    /// "simulated-test", "simulated-main", …
    pub network: String,
    pub family: Family,
    /// Of EVM transactions; 0 elsewhere.
    pub chain_id: u64,
    /// Of the coin that fees are paid in.
    pub symbol: String,
    pub decimals: u8,
    pub tokens: Vec<Token>,
    /// From block to block.
    pub block_time_ms: u32,
    pub has_faucet: bool,
}

impl Facts {
    /// The token at this address, in its one spelling.
    pub fn find_token(&self, address: &str) -> Option<&Token> {
        self.tokens.iter().find(|token| token.address == address)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Of its contract, or of its mint.
    pub address: String,
    pub symbol: String,
    pub decimals: u8,
}

/// The newest block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub height: u64,
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub height: u64,
    pub hash: String,
    /// The hash of the block before; of block 0 its own.
    pub parent: String,
}

/// Under which a transaction is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What a transaction refers to; opaque but for the family (`evm`, `tron`, `solana` say how it reads).
    pub anchor: String,
    /// Of one unit of gas, or what stands for it.
    pub price: U256,
    /// What a transfer of the coin costs at most, and one of a token.
    pub coin_fee: U256,
    pub token_fee: U256,
}

/// What a node says to bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission {
    /// It has them, or had them already.
    Taken { hash: String },
    /// They are not valid as things stand (their sender lacks coins); a sentence says why.
    Refused { reason: String },
    /// Nothing but a reorganisation can make them valid: they have expired, their sequence stands with another transaction, or
    /// they never were a transaction of this network.
    Void { reason: String },
}

/// Something that changed hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Within its transaction, from 0.
    pub position: u32,
    pub sender: String,
    pub recipient: String,
    /// `None`: the coin.
    pub token: Option<String>,
    pub amount: U256,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Waiting,
    Done,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    pub hash: String,
    pub sender: String,
    pub state: State,
    /// `None` while it waits.
    pub block: Option<u64>,
    /// Its own block counts: 1 is the newest; 0 while it waits.
    pub confirmations: u64,
    /// What it has cost; 0 while it waits.
    pub fee: U256,
    /// Empty where it waits or failed.
    pub movements: Vec<Movement>,
}

/// Which transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferQuestion {
    /// Heights, both included.
    pub from: u64,
    pub to: u64,
    /// Only what arrives at one of these; at most [`ADDRESSES_MAX`].
    pub recipients: Option<Vec<String>>,
    /// Where the page before ended.
    pub after: Option<Place>,
    /// From 1 to [`TRANSFERS_MAX`]; cut where it is more.
    pub limit: u32,
}

/// Where a transfer stands: the how manieth of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub height: u64,
    pub index: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub place: Place,
    /// Of its transaction.
    pub hash: String,
    pub movement: Movement,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferPage {
    pub transfers: Vec<Transfer>,
    /// `Some` where there is more: `after` of the next question.
    pub next: Option<Place>,
}

/// What somebody would like to have of a faucet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// What tells wishes apart.
    pub key: String,
    pub address: String,
    pub token: Option<String>,
    /// Refused above what the faucet gives at once.
    pub amount: U256,
}
