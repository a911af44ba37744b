//! Every number of the host that an operator does not set: name with unit, value, why.

// What a plugin may ask of the host in one call.

/// Bytes of one log message, and of its fields; longer ones are cut. A line that a person can still read.
pub const LOG_MESSAGE_BYTES_MAX: usize = 4_096;
/// Bytes that `ids.random` gives at once. Enough for any key or nonce.
pub const RANDOM_BYTES_MAX: usize = 1_024;
/// Bytes of the prefix of a public id.
pub const ID_PREFIX_BYTES_MAX: usize = 32;
/// Letters and digits after the prefix of a public id: 36^10 of them, about 51 bits, so that a clash within one tenant is
/// rare; `insert` refuses a clash.
pub const PUBLIC_ID_SUFFIX_CHARS: usize = 10;
/// Bytes that a guest may print (a panic message, a `println!` left behind); what follows is refused.
pub const GUEST_OUTPUT_BYTES_MAX: usize = 16_384;
/// Handles (streams, pollables of closed WASI) that one call may hold.
pub const RESOURCE_HANDLES_MAX: usize = 256;
/// Elements of one table of a guest: function pointers, far fewer in any real plugin.
pub const TABLE_ELEMENTS_MAX: usize = 100_000;
/// Milliseconds between two ticks of the engine's clock: how finely the compute time of a guest is counted, and how long
/// a guest runs before it lets others run.
pub const EPOCH_TICK_MS: u64 = 10;
/// Ids of one `get-many`.
pub const GET_MANY_IDS_MAX: usize = 1_000;
/// Conditions of one `find` or `count`.
pub const CONDITIONS_MAX: usize = 32;
/// Transfers of one `post`.
pub const TRANSFERS_MAX: usize = 1_000;
/// Digits of an amount, as the contract has it; what is larger than 2^255 - 1 is refused besides.
pub const AMOUNT_DIGITS_MAX: usize = 77;
/// Handles of resources that a component may hold; the contract has none, closed WASI a few.
pub const COMPONENT_HANDLES_MAX: usize = 1_000;
/// Headers of one answer of a plugin.
pub const HEADERS_MAX: usize = 64;
/// How often a call loses against others before it takes the turn.
pub const LOSSES_BEFORE_TURN: u32 = 4;
/// Runs of one call, all reasons together; a call that is still not through is answered `unavailable`.
pub const RUNS_MAX: u32 = 1_000;
/// Milliseconds that an accepted call waits for the disk beyond its deadline, before it says `outcome-unknown`.
pub const DURABLE_WAIT_MS: u64 = 30_000;
/// Seconds after which a caller should try again where a plugin is at its limit of concurrent calls.
pub const RETRY_AFTER_SECONDS: u32 = 1;
