//! The trait of a blockchain network and its data types.
//!
//! Addresses and hashes are strings in the blockchain's canonical spelling (`Family::read_address`). Amounts are base
//! units.

use ethnum::U256;
use futures_util::future::BoxFuture;
use tenon_keyring::Family;

use crate::ChainError;

pub type ChainFuture<'a, T> = BoxFuture<'a, Result<T, ChainError>>;

/// Maximum number of hashes in one query.
pub const HASHES_MAX: usize = 1_000;
/// Maximum number of addresses in a [`TransferQuery`].
pub const ADDRESSES_MAX: usize = 1_000;
/// Maximum number of transfers on a page.
pub const TRANSFERS_MAX: u32 = 1_000;

/// A network of a blockchain.
///
/// An adapter returns a result or an error and never panics. Many tasks may use it at once. Dropping the future of a
/// query has no effect. A submission may have been accepted even if its future was dropped.
pub trait Chain: Send + Sync + 'static {
    fn facts(&self) -> &Facts;

    fn head(&self) -> ChainFuture<'_, Head>;

    /// Returns the block at `height`, or `None` above the head.
    fn find_block(&self, height: u64) -> ChainFuture<'_, Option<Block>>;

    /// Returns the terms under which the network accepts a transaction now.
    fn terms(&self) -> ChainFuture<'_, Terms>;

    /// Returns the balance as of the newest block. Without `token` it is the balance of the coin.
    fn balance<'a>(&'a self, address: &'a str, token: Option<&'a str>) -> ChainFuture<'a, U256>;

    /// Returns the sequence of the sender's next transaction: the number of its transactions in blocks.
    fn sequence<'a>(&'a self, address: &'a str) -> ChainFuture<'a, u64>;

    /// Submits signed bytes to a node, in the form of [`crate::Signed::raw`].
    ///
    /// Submitting is idempotent: while the transaction waits or is in a block, the same bytes are accepted again as the
    /// same transaction.
    fn submit<'a>(&'a self, raw: &'a str) -> ChainFuture<'a, Submission>;

    /// Finds a transaction. Returns `None` if it is unknown, or was replaced, dropped or expired.
    fn find_transaction<'a>(&'a self, hash: &'a str) -> ChainFuture<'a, Option<Transaction>>;

    /// Finds at most [`HASHES_MAX`] transactions. Returns them in the order of `hashes`.
    fn find_transactions<'a>(&'a self, hashes: &'a [String]) -> ChainFuture<'a, Vec<Option<Transaction>>>;

    /// Returns the transfers in these blocks, in chain order.
    fn transfers<'a>(&'a self, query: &'a TransferQuery) -> ChainFuture<'a, TransferPage>;

    /// Requests coins from the faucet, once for each key: a repeated request returns the same result.
    ///
    /// # Errors
    ///
    /// Fails with `NoFaucet` if the network has none.
    fn request_coins<'a>(&'a self, request: &'a FaucetRequest) -> ChainFuture<'a, Submission>;

    /// Resolves when transactions may have changed since the future was created (not only since it was first polled).
    ///
    /// Usage: create the future, read the chain, then await the future. Empty blocks and growing confirmations, which
    /// only take time, do not resolve it.
    fn changed(&self) -> BoxFuture<'_, ()>;
}

/// Constant properties of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// "base": one of `tenon_keyring::BLOCKCHAINS`.
    pub blockchain: String,
    /// "simulated-test", "simulated-main", …
    pub network: String,
    pub family: Family,
    /// Chain id of EVM transactions; 0 for other families.
    pub chain_id: u64,
    /// Symbol of the coin that fees are paid in.
    pub symbol: String,
    pub decimals: u8,
    pub tokens: Vec<Token>,
    /// Interval between blocks.
    pub block_time_ms: u32,
    pub has_faucet: bool,
}

impl Facts {
    /// Returns the token at this address, which must be in canonical spelling.
    pub fn find_token(&self, address: &str) -> Option<&Token> {
        self.tokens.iter().find(|token| token.address == address)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Address of the token's contract or mint.
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
    /// Hash of the previous block. Block 0 has its own hash here.
    pub parent: String,
}

/// Terms under which the network accepts a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The block or state that a transaction refers to. Its format depends on the family and is documented in `evm`,
    /// `tron` and `solana`.
    pub anchor: String,
    /// Price of one unit of gas, or of the family's equivalent.
    pub price: U256,
    /// Maximum fee of a transfer of the coin.
    pub coin_fee: U256,
    /// Maximum fee of a transfer of a token.
    pub token_fee: U256,
}

/// Result of submitting bytes to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The node accepted the transaction now or before.
    Accepted { hash: String },
    /// The transaction is not valid at present, for example because the sender lacks coins.
    Rejected { reason: String },
    /// Only a reorganisation could make the transaction valid: it has expired, another transaction in a block has its
    /// sequence, or the bytes are not a transaction of this network.
    Invalid { reason: String },
}

/// A movement of value from one address to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Index within the transaction, from 0.
    pub position: u32,
    pub sender: String,
    pub recipient: String,
    /// `None` for the coin.
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
    /// Height of its block; `None` while it waits.
    pub block: Option<u64>,
    /// Counts its own block: 1 in the newest block, 0 while it waits.
    pub confirmations: u64,
    /// The fee that was charged; 0 while it waits.
    pub fee: U256,
    /// Empty if the transaction waits or failed.
    pub movements: Vec<Movement>,
}

/// Selects transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferQuery {
    /// Lowest height, inclusive.
    pub from: u64,
    /// Highest height, inclusive.
    pub to: u64,
    /// Selects only transfers to these addresses; at most [`ADDRESSES_MAX`].
    pub recipients: Option<Vec<String>>,
    /// End of the previous page.
    pub after: Option<BlockPosition>,
    /// From 1 to [`TRANSFERS_MAX`]; other values are clamped.
    pub limit: u32,
}

/// Position of a transfer: its block and its index within the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockPosition {
    pub height: u64,
    pub index: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub position: BlockPosition,
    /// Hash of the transaction.
    pub hash: String,
    pub movement: Movement,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferPage {
    pub transfers: Vec<Transfer>,
    /// `after` of the next query; `None` if this is the last page.
    pub next: Option<BlockPosition>,
}

/// A request to the faucet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaucetRequest {
    /// Idempotency key.
    pub key: String,
    pub address: String,
    pub token: Option<String>,
    /// Rejected above the faucet's maximum.
    pub amount: U256,
}
