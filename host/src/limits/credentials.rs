//! Keys and tokens that plugins hand out, and passwords that they check.

/// Attributes of one credential: they are read with it, and each of them is an entry of an index.
pub const ATTRIBUTES_MAX: usize = 8;
/// Bytes of the name and of the value of an attribute: together the name of a guard.
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 40;
pub const ATTRIBUTE_VALUE_BYTES_MAX: usize = 128;
/// Bytes of a label: a line for people.
pub const CREDENTIAL_LABEL_BYTES_MAX: usize = 200;
/// The latest end of a credential, in the year 10889; who means "never" gets this.
pub const EXPIRES_AT_MAX: u64 = 1 << 48;
/// Valid credentials of one tenant that carry the same attribute: all of them are given at once.
pub const CREDENTIALS_LIVE_MAX: usize = 1_000;
/// Credentials that one call may issue. Each is a row in several indexes, and so is each of its attributes.
pub const CREDENTIALS_ISSUED_MAX: usize = 100;
/// Credentials that one call may revoke: all that one attribute may have.
pub const CREDENTIALS_REVOKED_MAX: usize = CREDENTIALS_LIVE_MAX;
/// How long a credential that has ended is kept for those who ask what became of it.
pub const ENDED_CREDENTIALS_KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Credentials issued by plugins that operators are shown, the newest; their own keys are all shown.
pub const ISSUED_LISTED_MAX: u32 = 1_000;

/// Bytes of a password: a long sentence; what is longer is an attempt to make the host compute.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Bytes of the hash of one.
pub const PASSWORD_HASH_BYTES_MAX: usize = 256;
/// KiB and passes of argon2id, as OWASP has them for one lane: some 20 ms.
pub const PASSWORD_KIB: u32 = 19_456;
pub const PASSWORD_PASSES: u32 = 2;
/// The most that a hash may ask for that was made elsewhere.
pub const PASSWORD_KIB_MAX: u32 = 65_536;
pub const PASSWORD_PASSES_MAX: u32 = 10;
/// Passwords of one call, over all of its runs: a login needs one, a change of the password two or three.
pub const PASSWORDS_MAX: usize = 8;
/// Passwords that are computed at the same time; the others wait, without a seat. Each holds a core and its memory.
pub const PASSWORDS_AT_ONCE: usize = 2;
/// Those of one plugin and tenant, and how many of it may wait: a rush of wrong passwords delays those of its own tenant, for
/// little more than a second. On open routes each address counts as a tenant.
pub const TENANT_PASSWORDS_AT_ONCE: usize = 1;
pub const TENANT_PASSWORDS_WAITING_MAX: usize = 64;

/// Wrong tokens of operators that one address may send at once: a person who mistypes, or a script with an old token.
pub const OPERATOR_GUESSES_AT_ONCE: u32 = 20;
/// And a second from then on: a guesser gets through 86 400 in a day, of 2^256.
pub const OPERATOR_GUESSES_PER_SECOND: u32 = 1;
/// The same for API keys on the interfaces' listener, where many callers may share one address.
pub const KEY_GUESSES_AT_ONCE: u32 = 1_000;
pub const KEY_GUESSES_PER_SECOND: u32 = 50;
/// Addresses whose failures are counted.
pub const GUESSING_ADDRESSES_MAX: usize = 10_000;
/// Milliseconds between two log lines about one address.
pub const GUESSES_REPORTED_MS: u64 = 60_000;
/// Characters of the explanation that the operators' journal keeps of what was refused.
pub const REFUSED_ACTION_CHARS_MAX: usize = 500;
