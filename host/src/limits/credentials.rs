//! Limits of keys and tokens that plugins issue, of passwords that they verify, and of wrong keys and tokens from one
//! address.

/// Attributes of one credential. They are read with it, and each of them is an index entry.
pub const ATTRIBUTES_MAX: usize = 8;
/// Bytes of the name and of the value of an attribute. The name of a guard contains both.
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 40;
pub const ATTRIBUTE_VALUE_BYTES_MAX: usize = 128;
/// Bytes of a label, a line of text.
pub const CREDENTIAL_LABEL_BYTES_MAX: usize = 200;
/// The latest expiry of a credential, in the year 10889. It stands for "never".
pub const EXPIRES_AT_MAX: u64 = 1 << 48;
/// Valid credentials of one tenant with the same attribute. A call receives all of them at once.
pub const CREDENTIALS_LIVE_MAX: usize = 1_000;
/// Credentials that one call may issue. Each is a row in several indexes, and so is each of its attributes.
pub const CREDENTIALS_ISSUED_MAX: usize = 100;
/// Credentials that one call may revoke: all that one attribute may have.
pub const CREDENTIALS_REVOKED_MAX: usize = CREDENTIALS_LIVE_MAX;
/// How long an ended credential is kept for later queries.
pub const ENDED_CREDENTIALS_KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Most recent credentials issued by plugins that an operator receives. All of the operators' own keys are listed.
pub const ISSUED_LISTED_MAX: u32 = 1_000;

/// Bytes of a password: a long sentence. A longer one is an attempt to make the host compute.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Bytes of a password hash.
pub const PASSWORD_HASH_BYTES_MAX: usize = 256;
/// KiB and passes of argon2id, as OWASP recommends for one lane: some 20 ms.
pub const PASSWORD_KIB: u32 = 19_456;
pub const PASSWORD_PASSES: u32 = 2;
/// Maximum parameters of a hash that was computed elsewhere.
pub const PASSWORD_KIB_MAX: u32 = 65_536;
pub const PASSWORD_PASSES_MAX: u32 = 10;
/// Password computations of one call, over all of its runs. A login needs one, a password change two or three.
pub const PASSWORDS_MAX: usize = 8;
/// Concurrent password computations. Each holds a core and its memory. Further computations wait without a permit.
pub const PASSWORDS_AT_ONCE: usize = 2;
/// The same for one plugin and tenant, and how many computations may wait. A burst of wrong passwords delays only the
/// logins of its own tenant, for little more than a second. On open routes each address counts as a tenant.
pub const TENANT_PASSWORDS_AT_ONCE: usize = 1;
pub const TENANT_PASSWORDS_WAITING_MAX: usize = 64;

/// Wrong operator tokens that one address may send at once: a typing error, or a script with an old token.
pub const OPERATOR_GUESSES_AT_ONCE: u32 = 20;
/// Rate from then on: 86 400 guesses in a day, of 2^256.
pub const OPERATOR_GUESSES_PER_SECOND: u32 = 1;
/// The same for API keys on the interfaces' listener, where many callers may share one address.
pub const KEY_GUESSES_AT_ONCE: u32 = 1_000;
pub const KEY_GUESSES_PER_SECOND: u32 = 50;
/// Addresses whose failures are counted. With more, all counts are reset.
pub const GUESSING_ADDRESSES_MAX: usize = 10_000;
/// Milliseconds between two log lines about one address.
pub const GUESSES_REPORTED_MS: u64 = 60_000;
/// Characters of the explanation that the operators' journal keeps of a rejected action.
pub const REFUSED_ACTION_CHARS_MAX: usize = 500;
