//! Numbers of blockchains and keys.

/// Bytes of randomness in a seed phrase: 24 words.
pub const SEED_ENTROPY_BYTES: usize = 32;
/// Sealed seeds in memory, about 200 bytes each.
pub const SEEDS_KEPT: usize = 100_000;
/// Bytes of one message or transaction that a key signs.
pub const SIGNED_BYTES_MAX: usize = 256 << 10;
/// Bytes of the id of what is watched or followed: a blockchain, and an address or hash.
pub const CHAIN_NAME_BYTES_MAX: usize = 180;
/// Confirmations after which something may be called final.
pub const CONFIRMATIONS_MAX: u32 = 10_000;
/// Transfers that are read at once.
pub const CHAIN_TRANSFERS_MAX: u32 = 1_000;
/// Blocks that are read again where a network has taken another turn. Deeper ones are not expected of any that is served.
pub const CHAIN_RESCAN_BLOCKS: u64 = 256;
/// Blocks that are read once more for an address that is watched from now on: what may have come before it was known here.
pub const CHAIN_FRESH_BLOCKS: u64 = 16;
/// Blocks after which what was sent and has never been seen at a node is given to one once more.
pub const CHAIN_LOST_BLOCKS: u64 = 16;
/// How far the network has been read is written at least every so many blocks, and with everything that is told.
pub const CHAIN_CURSOR_BLOCKS: u64 = 10_000;
/// Milliseconds until a network that does not answer is asked again.
pub const CHAIN_PAUSE_MS: u64 = 2_000;
/// What one commit tells one plugin and tenant.
pub const TELLINGS_AT_ONCE: usize = 500;
/// Characters of a node's reason that a plugin is told.
pub const CHAIN_REASON_CHARS_MAX: usize = 300;
/// Milliseconds that one question, or one submission, may take.
pub const CHAIN_TIMEOUT_MS: u64 = 15_000;
/// Milliseconds that an answer of a simulated network may be made to take.
pub const SIMULATED_SLOW_MS_MAX: u64 = 600_000;
/// Bytes of the words of a seed as an operator brings them: 24 words with room for blanks.
pub const SEED_PHRASE_BYTES_MAX: usize = 1_024;
