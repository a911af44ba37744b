//! Every number of the rules, with its unit and why (spec/wallet: Limits; research/wallet where that is silent).

/// Recipients of a batch.
pub const BATCH_RECIPIENTS_MAX: usize = 20;
/// Characters of a message to sign.
pub const MESSAGE_CHARS_MAX: usize = 4_096;

/// Attempts of a broadcast after the first one.
pub const BROADCAST_RETRIES: u32 = 10;
/// Between two attempts of a broadcast.
pub const BROADCAST_PAUSE_MS: u64 = 300_000;

/// Between two attempts of a webhook: five of them after the first, two hours and 35 minutes in all (research/wallet 4).
pub const WEBHOOK_PAUSES_MS: [u64; 5] = [300_000, 600_000, 1_200_000, 2_400_000, 4_800_000];

/// Page, where none is asked for.
pub const PAGE_DEFAULT: u64 = 1;
/// Rows of a page, where none are asked for, and the most that one answer carries.
pub const PAGE_ROWS: u64 = 100;
/// Rows that a list can be asked to skip: beyond it a filter finds them sooner.
pub const PAGE_OFFSET_MAX: u64 = 1_000_000;

/// Digits of an amount in base units. Any sum of a billion of them, and any of them times a rate, fits 256 bits.
pub const AMOUNT_DIGITS_MAX: usize = 38;
/// Characters of an amount as it is written, zeros at both ends included.
pub const AMOUNT_CHARS_MAX: usize = 64;
/// Digits of a rate, its decimals included.
pub const RATE_DIGITS_MAX: usize = 30;

/// What is held for gas, in hundredths of the estimate: deliberately too much, what is left goes back.
pub const GAS_MARGIN_PERCENT: u64 = 150;

/// How long a swap's quote can be taken: prices of a pool move with every block.
pub const SWAP_QUOTE_MS: u64 = 60_000;
/// How long a payout's quote can be taken: a person reads it and looks up a second factor.
pub const FIAT_QUOTE_MS: u64 = 300_000;

/// Decimals of a percentage.
pub const PERCENT_DECIMALS: u32 = 2;

/// Characters of a name: of an address, a rule, a payment link.
pub const NAME_CHARS_MAX: usize = 128;
/// Characters of a note, a description, a message of a payment page.
pub const TEXT_CHARS_MAX: usize = 1_000;
/// Characters of a reference: four bytes each, it fits an indexed field (512 bytes).
pub const REFERENCE_CHARS_MAX: usize = 100;
/// Letters of a reference that the client did not give.
pub const REFERENCE_MADE_CHARS: usize = 10;
/// Characters of an identifier of a bank, an account, a person.
pub const IDENTIFIER_CHARS_MAX: usize = 64;
/// Characters of an address of the web.
pub const URL_CHARS_MAX: usize = 2_048;
/// Bytes of metadata, written as compact JSON.
pub const METADATA_BYTES_MAX: usize = 4_096;
/// Characters of a raw transaction: EVM nodes take 128 KiB, two hexadecimal digits a byte.
pub const RAW_TRANSACTION_CHARS_MAX: usize = 262_146;
/// Symbols in the source of a settlement rule: more than there are.
pub const RULE_ASSETS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_tried_for_two_hours_and_35_minutes() {
        assert_eq!(WEBHOOK_PAUSES_MS.iter().sum::<u64>(), 155 * 60_000);
        assert_eq!((WEBHOOK_PAUSES_MS[0], WEBHOOK_PAUSES_MS[4]), (5 * 60_000, 80 * 60_000));
    }
}
