//! Every number of the rules, with its unit and why (spec/clearing: Limits, and the field table).

/// Acknowledgement of every request of the platform.
pub const ACKNOWLEDGEMENT_MS: u64 = 1_000;
/// Between two attempts of a request that must be acknowledged: the first repeats, then the scheme's time is nearly up.
pub const ACKNOWLEDGEMENT_REPEATS_MS: &[u32] = &[1_000, 1_000, 1_000];
/// Resolution of a proxy, end to end.
pub const DETERMINATION_MS: u64 = 10_000;
/// Completion of a payment, end to end.
pub const RPP_COMPLETION_MS: u64 = 10_000;
pub const RTC_COMPLETION_MS: u64 = 60_000;

/// Age of a message that is believed: it waited somewhere. Beyond a day its sender's clock is wrong, or what it writes.
pub const AGE_BELIEVED_MS_MAX: u64 = 86_400_000;

/// A partner's own time to decide: half of the scheme's, so that a rejection still arrives in time.
pub const RPP_DECISION_MS: u64 = 5_000;
pub const RTC_DECISION_MS: u64 = 30_000;
/// Nobody waits for an EFT item but its processing window.
pub const EFT_DECISION_MS: u64 = 3_600_000;

/// What an operator may set for any of these, and for the bank's own system: a month, so that every time that is added up
/// from them can be written down.
pub const DECISION_MS_MAX: u64 = 31 * 86_400_000;

/// How long the bank's own system may think unless it is told otherwise: within the time of the quicker scheme.
pub const BANK_MS: u64 = 4_000;

/// Before another round of what has a time: one without would follow upon itself at once, again and again.
pub const FIRST_PAUSE_MS: u64 = 1_000;
/// Between two attempts of what must be delivered: quick at first, then every five minutes.
pub const DELIVERY_REPEATS_MS: &[u32] =
    &[1_000, 1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 120_000, 300_000];
/// The same where those have reached nobody, for as long as that lasts: an hour, and again.
pub const LATER_REPEATS_MS: &[u32] = &[300_000; 12];
/// Before the first attempt of such a later round.
pub const LATER_ROUND_MS: u64 = 300_000;

/// Pauses between notifications of the bank's own system after an unsuccessful first round: an hour closely, then hourly,
/// about a day in all.
pub const NOTICE_LATER_REPEATS_MS: &[u32] = &[
    300_000, 300_000, 300_000, 300_000, 300_000, 300_000, 300_000, 300_000, 300_000, 300_000, 300_000, 300_000,
    3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000,
    3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000, 3_600_000,
];

/// Characters of the identifications that have a limit.
pub const IDENTIFICATION_CHARS_MAX: usize = 35;
/// Characters of a legal name.
pub const NAME_CHARS_MAX: usize = 140;
/// Characters of an account number: the longest that account schemes know (IBAN has 34).
pub const ACCOUNT_CHARS_MAX: usize = 40;
/// Characters of a proxy: four bytes each, they fit an indexed field (512 bytes).
pub const PROXY_CHARS_MAX: usize = 128;
/// Characters of texts for which the specification has no limit.
pub const TEXT_CHARS_MAX: usize = 1_000;
/// Digits of an amount in minor units: any sum of a billion of them fits 128 bits.
pub const AMOUNT_DIGITS_MAX: usize = 18;
/// Characters of an amount as it is written, zeros at both ends included.
pub const AMOUNT_CHARS_MAX: usize = 32;

/// Proxies of one account.
pub const PROXIES_MAX: usize = 10;
/// Clients that speak for one partner.
pub const CLIENTS_MAX: usize = 20;
/// Accounts of one import. Each costs three calls of the host and, where all of its proxies change, twenty more: a call may
/// make 10 000 of them unless the operator says otherwise.
pub const IMPORT_MAX: usize = 400;
/// Payments that one page of a reconciliation adds up.
pub const RECONCILED_MAX: u32 = 2_000;
/// Bytes of stored payments after which such a page ends: with one more look (8 MiB) less than the 32 MiB that a host hands to
/// a call unless the operator says otherwise.
pub const RECONCILED_BYTES: usize = 16 << 20;
/// Bytes of a message: its fields at their longest, four bytes each, fit twice.
pub const MESSAGE_BYTES_MAX: u64 = 32 << 10;
/// Bytes of an import of so many accounts: what a host takes unless it is told otherwise.
pub const IMPORT_BYTES_MAX: u64 = 1 << 20;
