//! POST /v1/wallets/{walletId}/withdraw: to one recipient, or `assets[]` with one to twenty.

use super::Context;
use super::reader::{ASSET_ID, Reader};
use crate::rules::amount::Money;
use crate::rules::invalid::{Field, Rule};
use crate::rules::limits::{BATCH_RECIPIENTS_MAX, REFERENCE_CHARS_MAX, TEXT_CHARS_MAX};
use crate::rules::refusal::Refusal;

const ASSETS: Field = Field("assets");
const DESTINATION_ADDRESS: Field = Field("destination_address");
const REFERENCE: Field = Field("reference");
const NOTE: Field = Field("note");
const METADATA: Field = Field("metadata");

/// As it was sent: both forms, of which one is wanted.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub single: RawRecipient,
    pub assets: Option<Vec<RawRecipient>>,
}

#[derive(Clone, Debug, Default)]
pub struct RawRecipient {
    pub asset_id: Option<String>,
    pub amount: Option<String>,
    pub destination_address: Option<String>,
    pub reference: Option<String>,
    pub note: Option<String>,
    pub metadata: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Withdraw {
    Single(Recipient),
    Batch(Vec<Recipient>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Recipient {
    pub money: Money,
    pub destination_address: String,
    pub reference: Option<String>,
    pub note: Option<String>,
    pub metadata: Option<String>,
}

pub fn read(raw: &Raw, context: &Context) -> Result<Withdraw, Refusal> {
    let mut reader = Reader::default();
    let made = match &raw.assets {
        None => recipient(&mut reader, &raw.single, context).map(Withdraw::Single),
        Some(all) => batch(&mut reader, raw, all, context).map(Withdraw::Batch),
    };
    reader.finish(made)
}

fn batch(reader: &mut Reader, raw: &Raw, all: &[RawRecipient], context: &Context) -> Option<Vec<Recipient>> {
    let RawRecipient { asset_id, amount, destination_address, reference, note, metadata } = &raw.single;
    for (field, sent) in [
        (ASSET_ID, asset_id),
        (super::reader::AMOUNT, amount),
        (DESTINATION_ADDRESS, destination_address),
        (REFERENCE, reference),
        (NOTE, note),
        (METADATA, metadata),
    ] {
        if sent.is_some() {
            reader.breaks(field, Rule::NotBoth { other: ASSETS });
        }
    }
    if all.is_empty() {
        reader.breaks(ASSETS, Rule::BatchEmpty);
    }
    if all.len() > BATCH_RECIPIENTS_MAX {
        reader.breaks(ASSETS, Rule::BatchTooLarge { recipients_max: BATCH_RECIPIENTS_MAX });
        return None;
    }
    let mut read = Vec::with_capacity(all.len());
    for (at, one) in all.iter().enumerate() {
        reader.item = Some(at);
        let one = recipient(reader, one, context);
        // A reference names one transaction.
        let is_repeated = |known: &Recipient| {
            known.reference.is_some() && Some(&known.reference) == one.as_ref().map(|one| &one.reference)
        };
        if read.iter().any(is_repeated) {
            reader.breaks(REFERENCE, Rule::NotUnique);
        }
        read.extend(one);
    }
    Some(read)
}

fn recipient(reader: &mut Reader, raw: &RawRecipient, context: &Context) -> Option<Recipient> {
    let asset = reader.asset(ASSET_ID, &raw.asset_id, context);
    let money = reader.money(&raw.amount, asset);
    // Sent on the blockchain on which the asset lives.
    let blockchain = asset.and_then(|asset| asset.blockchain).unwrap_or(context.blockchain);
    let address = reader.address(DESTINATION_ADDRESS, &raw.destination_address, blockchain);
    let reference = reader.text(REFERENCE, &raw.reference, REFERENCE_CHARS_MAX);
    let note = reader.text(NOTE, &raw.note, TEXT_CHARS_MAX);
    let metadata = reader.metadata(&raw.metadata);
    let (money, destination_address) = money.zip(address)?;
    Some(Recipient { money, destination_address, reference, note, metadata })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ADDRESS, context, some, wrong};
    use super::*;

    fn recipient() -> RawRecipient {
        RawRecipient {
            asset_id: some("usdc"),
            amount: some("10.5"),
            destination_address: some(ADDRESS),
            ..RawRecipient::default()
        }
    }

    fn single(raw: RawRecipient, expected: &str) {
        assert_eq!(wrong(read(&Raw { single: raw.clone(), assets: None }, &context())), expected, "{raw:?}");
    }

    fn batch(all: Vec<RawRecipient>) -> Raw {
        Raw { single: RawRecipient::default(), assets: Some(all) }
    }

    #[test]
    fn a_withdrawal_has_asset_amount_and_destination() {
        single(recipient(), "");
        single(RawRecipient::default(), "asset_id required, amount required, destination_address required");
        single(RawRecipient { asset_id: some("other"), ..recipient() }, "asset_id asset");
        let Withdraw::Single(read) = read(&Raw { single: recipient(), assets: None }, &context()).unwrap() else {
            panic!()
        };
        assert_eq!((read.money.to_decimal(), read.money.asset.decimals), ("10.5".into(), 6));
    }

    #[test]
    fn an_amount_is_above_zero_and_as_fine_as_its_asset() {
        for (amount, expected) in [
            ("0", "amount greater_than_zero"),
            ("-1", "amount greater_than_zero"),
            ("1e3", "amount decimal"),
            ("0.0000001", "amount decimals"),
            (&"9".repeat(40), "amount max_digits"),
        ] {
            single(RawRecipient { amount: some(amount), ..recipient() }, expected);
        }
    }

    #[test]
    fn a_batch_has_one_to_twenty_recipients() {
        assert_eq!(wrong(read(&batch(Vec::new()), &context())), "assets min_items");
        assert!(read(&batch(vec![recipient(); 20]), &context()).is_ok());
        let refusal = read(&batch(vec![recipient(); 21]), &context()).unwrap_err();
        assert_eq!((refusal.code().name(), refusal.status()), ("BATCH_SIZE_EXCEEDED", 400));
    }

    #[test]
    fn a_mistake_in_a_batch_names_its_recipient() {
        let second = RawRecipient { amount: some("0"), destination_address: some("x"), ..recipient() };
        assert_eq!(
            wrong(read(&batch(vec![recipient(), second]), &context())),
            "assets[1].amount greater_than_zero, assets[1].destination_address address"
        );
        let named = RawRecipient { reference: some("r"), ..recipient() };
        assert_eq!(wrong(read(&batch(vec![named.clone(), named]), &context())), "assets[1].reference unique");
    }

    #[test]
    fn a_batch_is_not_also_a_single_withdrawal() {
        let both = Raw { single: recipient(), ..batch(vec![recipient()]) };
        assert_eq!(
            wrong(read(&both, &context())),
            "asset_id exclusive, amount exclusive, destination_address exclusive"
        );
        let about =
            RawRecipient { reference: some("r"), note: some("n"), metadata: some("1"), ..RawRecipient::default() };
        let about = Raw { single: about, ..batch(vec![recipient()]) };
        assert_eq!(wrong(read(&about, &context())), "reference exclusive, note exclusive, metadata exclusive");
    }
}
