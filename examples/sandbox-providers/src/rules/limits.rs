//! Every number of the sandbox, with its unit and why.

/// Characters of an id that the customer chose.
pub const ID_CHARS_MAX: usize = 64;
/// Characters of a name, a reference, an identifier of a bank or an account.
pub const TEXT_CHARS_MAX: usize = 64;
/// Characters of an address on a blockchain, or of one that is screened: the longest form has 62.
pub const ADDRESS_CHARS_MAX: usize = 128;
/// Characters of an address of the web.
pub const URL_CHARS_MAX: usize = 2_048;
/// Characters of an API key.
pub const KEY_CHARS_MAX: usize = 512;
/// Characters of an amount as it is written.
pub const AMOUNT_CHARS_MAX: usize = 64;
/// Digits of an amount in base units: it times a rate fits 256 bits.
pub const AMOUNT_DIGITS_MAX: usize = 38;
/// Characters of a cursor of a page.
pub const CURSOR_CHARS_MAX: usize = 1_000;
/// Rows of a page, where none are asked for.
pub const PAGE_ROWS: u32 = 50;
pub const PAGE_ROWS_MAX: u32 = 100;
/// Assets in one question for rates.
pub const RATE_ASSETS_MAX: usize = 50;

/// How long a quote for a swap can be taken.
pub const SWAP_QUOTE_MS: u64 = 60_000;
/// How long a quote for a payout can be taken.
pub const PAYOUT_QUOTE_MS: u64 = 300_000;
/// A quote is forgotten so long after its end.
pub const QUOTE_KEPT_MS: u64 = 86_400_000;
/// How long the sandbox waits for coins.
pub const DEPOSIT_MS: u64 = 3_600_000;
/// From the coins to the money, where no setting says otherwise.
pub const PAYOUT_MS: u64 = 2_000;

/// What is final for the sandbox; its own block counts.
pub const CONFIRMATIONS: u32 = 12;
/// What the faucet gives can be spent in the next block.
pub const FAUCET_CONFIRMATIONS: u32 = 1;
/// The key that pays out.
pub const TREASURY_INDEX: u32 = 0;
/// The key whose address stands for the gateway's contract.
pub const GATEWAY_INDEX: u32 = 1;
/// The first key of a deposit; each has one of its own.
pub const DEPOSIT_INDEX: u64 = 16;
/// Of a key (BIP-44).
pub const INDEX_MAX: u64 = (1 << 31) - 1;
/// How often a delivery that certainly did not arrive is tried again before it is given up. A refund never is.
pub const DELIVERY_ATTEMPTS_MAX: u32 = 5;
/// Before the second attempt; twice as long before each further one.
pub const DELIVERY_PAUSE_MS: u64 = 1_000;
pub const DELIVERY_PAUSE_MAX_MS: u64 = 600_000;
/// What a faucet is asked for at once, in whole units: of a coin, of a token. More is asked for several times.
pub const COIN_GIFT: &str = "1000";
pub const TOKEN_GIFT: &str = "1000000";
/// Between attempts to hand a transaction to a node.
pub const SENDING_DELAYS_MS: [u32; 6] = [1_000, 5_000, 15_000, 60_000, 300_000, 900_000];
/// Until a blockchain that gave no answer is asked again.
pub const CHAIN_PAUSE_MS: u64 = 1_000;
/// After this long what the faucet has sent is not waited for any more: its blockchain may have dropped it.
pub const COINS_MS: u64 = 300_000;
/// What is asked of the faucet for fees: so many times the estimate.
pub const FEE_MARGIN: u64 = 2;

/// Before each further attempt of a callback.
pub const CALLBACK_PAUSES_MS: [u64; 6] = [1_000, 5_000, 30_000, 300_000, 1_800_000, 7_200_000];

/// Entries of a sanctions list in one request.
pub const CHUNK_ENTRIES_MAX: usize = 500;
/// Requests that one version of a list may take: a quarter of a million entries.
pub const CHUNKS_MAX: u32 = 500;
/// Bytes of such a request.
pub const CHUNK_BYTES_MAX: u64 = 1 << 20;
/// Characters of a name in a list; longer ones are cut by who imports them.
pub const ENTRY_NAME_CHARS_MAX: usize = 256;
/// Characters of the name of a list.
pub const LIST_NAME_CHARS_MAX: usize = 40;
/// Lists of one customer.
pub const LISTS_MAX: u32 = 20;
/// Matches that an answer shows.
pub const MATCHES_MAX: u32 = 100;
/// Entries of versions that nobody needs any more, cleared in one run.
pub const CLEARED_ENTRIES_MAX: u32 = 1_000;
