//! Limits of blockchains and keys.

/// Bytes of randomness in a seed phrase: 24 words.
pub const SEED_ENTROPY_BYTES: usize = 32;
/// Sealed seeds in memory, about 200 bytes each. With more, all of them are evicted.
pub const SEEDS_KEPT: usize = 100_000;
/// Bytes of one message or transaction that a key signs.
pub const SIGNED_BYTES_MAX: usize = 256 << 10;
/// Bytes of the id of a watched or followed object: a blockchain, and an address or hash.
pub const CHAIN_NAME_BYTES_MAX: usize = 180;
/// Maximum number of confirmations after which a transfer counts as final.
pub const CONFIRMATIONS_MAX: u32 = 10_000;
/// Transfers that are read at once.
pub const CHAIN_TRANSFERS_MAX: u32 = 1_000;
/// Blocks that are read again after a chain reorganization. No supported network is expected to have deeper ones.
pub const CHAIN_RESCAN_BLOCKS: u64 = 256;
/// Blocks that are read again for a newly watched address, since it may have received transfers before.
pub const CHAIN_FRESH_BLOCKS: u64 = 16;
/// Blocks after which a sent transaction that no node has reported is submitted again.
pub const CHAIN_LOST_BLOCKS: u64 = 16;
/// The position up to which the network has been read is stored at least once in this number of blocks, and with every
/// notification.
pub const CHAIN_CURSOR_BLOCKS: u64 = 10_000;
/// Milliseconds before the next request to a network that does not respond, and before notifications that could not be
/// committed are tried again.
pub const CHAIN_PAUSE_MS: u64 = 2_000;
/// Notifications to one plugin and tenant in one commit.
pub const CHAIN_EVENTS_PER_COMMIT: usize = 500;
/// Characters of a node's reason that a plugin receives.
pub const CHAIN_REASON_CHARS_MAX: usize = 300;
/// Timeout of one query or submission, in milliseconds.
pub const CHAIN_TIMEOUT_MS: u64 = 15_000;
/// Maximum configurable delay of the responses of a simulated network, in milliseconds.
pub const SIMULATED_SLOW_MS_MAX: u64 = 600_000;
/// Bytes of a seed phrase that an operator imports: 24 words and spaces.
pub const SEED_PHRASE_BYTES_MAX: usize = 1_024;
