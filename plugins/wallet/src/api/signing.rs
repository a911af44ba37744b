//! Signatures with the key of a wallet or an address: messages, typed data, raw transactions; and their broadcast.
//!
//! What a raw transaction moves is seen on the blockchain and not known before: only its gas is held.

use serde_json::value::RawValue;
use tenon_plugin::{Call, Outcome, Route, Stop, post};

use super::envelope;
use super::form::Form;
use super::withdraw::{Sender, begin, reference_or_new, repeated, shown};
use crate::records::outgoing::{Out, Way};
use crate::records::transactions::{self, About, SignedBody, Transaction, TransactionBody};
use crate::records::{InsertStop, Stored, gateways};
use crate::rules::amount::{Money, Units};
use crate::rules::asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::event::Event;
use crate::rules::invalid::{Field, Rule};
use crate::rules::outgoing::{Gas, Order, Task, accept};
use crate::rules::refusal::Refusal;
use crate::rules::request::signing::{Raw, Signing, read_broadcast, read_message};
use crate::{carry, ids, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/signing/message", "sign-message", message),
    post("/v1/wallets/{walletId}/addresses/{addressId}/signing/message", "sign-message-of-address", message),
    post("/v1/wallets/{walletId}/signing/typed-data", "sign-typed-data", typed_data),
    post("/v1/wallets/{walletId}/addresses/{addressId}/signing/typed-data", "sign-typed-data-of-address", typed_data),
    post("/v1/wallets/{walletId}/signing/transaction", "sign-transaction", transaction),
    post(
        "/v1/wallets/{walletId}/addresses/{addressId}/signing/transaction",
        "sign-transaction-of-address",
        transaction,
    ),
    post("/v1/wallets/{walletId}/signing/broadcast", "broadcast", broadcast),
    post("/v1/wallets/{walletId}/addresses/{addressId}/signing/broadcast", "broadcast-of-address", broadcast),
];

fn read_raw(call: &Call) -> Result<Raw, Stop> {
    let mut form = Form::of(call)?;
    let raw = Raw {
        message: form.text(&["message"]),
        transaction: form.text(&["transaction", "raw_transaction", "rawTransaction"]),
        reference: form.text(&["reference"]),
        metadata: form.metadata(),
    };
    form.finish()?;
    Ok(raw)
}

fn fingerprint(operation: &str, sender: &Sender, signing: &Signing) -> String {
    ids::fingerprint(&[
        operation,
        &sender.holder.name(),
        &signing.text,
        signing.metadata.as_deref().unwrap_or_default(),
    ])
}

/// What the same reference has made already.
fn known(call: &Call, sender: &Sender, signing: &Signing, fingerprint: &str) -> Result<Option<Transaction>, Stop> {
    repeated(call, &sender.wallet.id, signing.reference.as_deref(), fingerprint)
}

fn about(sender: &Sender, metadata: Option<String>) -> Result<About, Stop> {
    let metadata = metadata.map(RawValue::from_string).transpose().map_err(|error| Stop::fault(error.to_string()))?;
    Ok(About { sender: Some(sender.account.clone()), metadata, ..About::default() })
}

fn message(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let signing = read_message(&read_raw(call)?).map_err(|refusal| words::refused(&refusal))?;
    let slug = sender.wallet.body.blockchain.slug();
    let sign = || call.keyring().sign_message(slug, sender.index, signing.text.as_bytes());
    let signed = |signature| (Some(signature), None);
    let made = keep(call, &sender, ("message", &signing), || {
        sign().map(signed).map_err(|_| words::wrong("message", "message", "could be a transaction"))
    })?;
    envelope::ok("Message signed successfully", &shown(call, &made)?)
}

/// EIP-712: the document stands in the body, beside reference and metadata, or as `data`.
fn typed_data(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    if !sender.wallet.body.blockchain.is_evm_compatible() {
        return Err(words::wrong("blockchain", "blockchain", "must be EVM-compatible for typed data"));
    }
    let raw = read_raw_document(call)?;
    let slug = sender.wallet.body.blockchain.slug();
    let made = keep(call, &sender, ("typed-data", &raw), || {
        let signature = call.keyring().sign_typed_data(slug, sender.index, &raw.text);
        let signature = signature
            .map_err(|why| words::wrong(member(&why, &raw.text), "typed_data", "must be as EIP-712 has it"))?;
        Ok((Some(signature), None))
    })?;
    envelope::ok("Typed data signed successfully", &shown(call, &made)?)
}

/// Members of a document of typed data.
const DOCUMENT: [&str; 4] = ["types", "primaryType", "domain", "message"];

/// Which member of the document is wrong, by what the keyring says of it: "typed data: PART has to be …", where a part may be a
/// member, a type, or a field of a type.
fn member(why: &str, document: &str) -> &'static str {
    const DECLARED: [&str; 4] =
        ["of a type", "a list of objects of name and type", "a type of fields", "declared with"];
    let told = why.strip_prefix("typed data: ").and_then(|told| told.split_once(" has to be "));
    match told {
        Some(("types", _)) => "types",
        Some(("primaryType", _)) => "primaryType",
        Some((_, must)) if DECLARED.iter().any(|start| must.starts_with(start)) => "types",
        Some((part, _)) if part == "domain" || part.starts_with("EIP712Domain") => "domain",
        None if why.starts_with("typed data declares") => "types",
        Some(_) => "message",
        None => malformed(document),
    }
}

/// Which member is no JSON of its kind.
fn malformed(document: &str) -> &'static str {
    let members = tenon_plugin::json::Object::parse(document).unwrap_or_default();
    let begins = |name: &str, with: char| members.raw(name).is_some_and(|value| value.starts_with(with));
    let wrong =
        [("types", '{'), ("primaryType", '"'), ("domain", '{')].into_iter().find(|(name, with)| !begins(name, *with));
    wrong.map_or("message", |(name, _)| name)
}

fn read_raw_document(call: &Call) -> Result<Signing, Stop> {
    let body = super::form::body(call)?;
    let document = match body.given("data") {
        Some(document) => {
            // They would be another document, which is not signed.
            if let Some(name) = DOCUMENT.into_iter().find(|name| body.given(name).is_some()) {
                return Err(words::wrong(name, "exclusive", "must not be given together with data"));
            }
            document.to_owned()
        }
        None => {
            let mut document = tenon_plugin::json::Object::default();
            for name in DOCUMENT {
                let value = body.given(name).ok_or_else(|| words::wrong(name, "required", "is required"))?;
                document.set_raw(name, value.to_owned());
            }
            document.to_text()
        }
    };
    let mut form = Form::new(body);
    let raw = Raw { reference: form.text(&["reference"]), metadata: form.metadata(), ..Raw::default() };
    form.finish()?;
    // Reference and metadata are read as those of a message are.
    let read = read_message(&Raw { message: Some("typed data".to_owned()), ..raw });
    let read = read.map_err(|refusal| words::refused(&refusal))?;
    Ok(Signing { text: super::form::compact(&document), ..read })
}

/// Signs what somebody else made; nothing is sent.
fn transaction(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let signing = read_broadcast(&read_raw(call)?).map_err(|refusal| words::refused(&refusal))?;
    let made = keep(call, &sender, ("transaction", &signing), || {
        let signed = sign(call, &sender, &signing)?;
        Ok((None, Some((signed.raw, signed.hash))))
    })?;
    envelope::ok("Transaction signed successfully", &shown(call, &made)?)
}

fn sign(call: &Call, sender: &Sender, signing: &Signing) -> Result<tenon_plugin::keyring::Signed, Stop> {
    let slug = sender.wallet.body.blockchain.slug();
    if is_lost(call, sender.wallet.body.blockchain, &signing.text)? {
        let broken = Field("transaction").breaks(Rule::GatewayContract);
        return Err(words::refused(&Refusal::Invalid(vec![broken])));
    }
    let signed = call.keyring().sign_transaction(slug, sender.index, &signing.text);
    signed.map_err(|_| {
        words::wrong("transaction", "transaction", "must be an unsigned transaction of this blockchain and address")
    })
}

/// Whether an EVM transaction calls `transfer` with the gateway's contract as the recipient. Its other calls are the client's.
fn is_lost(call: &Call, blockchain: Blockchain, transaction: &str) -> Result<bool, Stop> {
    let Some(contract) = gateways::contract(call, blockchain)? else { return Ok(false) };
    let Some(digits) = contract.strip_prefix("0x") else { return Ok(false) };
    // The selector, and the address in 32 bytes.
    let lost = ["a9059cbb", &"0".repeat(24), &digits.to_ascii_lowercase()].concat();
    Ok(transaction.to_ascii_lowercase().contains(&lost))
}

/// A signature, or bytes with their hash.
type Made = (Option<String>, Option<(String, String)>);

/// The record of what was signed, with its event; a repeat finds the first.
fn keep(
    call: &Call,
    sender: &Sender,
    (operation, signing): (&str, &Signing),
    sign: impl FnOnce() -> Result<Made, Stop>,
) -> Result<Transaction, Stop> {
    let fingerprint = fingerprint(operation, sender, signing);
    if let Some(first) = known(call, sender, signing, &fingerprint)? {
        return Ok(first);
    }
    let (signature, bytes) = sign()?;
    let (raw, hash) = bytes.unzip();
    let address = sender.holder.address_id().map(str::to_owned);
    let signed = SignedBody { address, signature: signature.clone(), raw, fingerprint };
    let reference = reference_or_new(call, signing.reference.clone());
    let about = about(sender, signing.metadata.clone())?;
    let mut body = TransactionBody::of_signed(&sender.wallet.id, signed, (reference, about));
    body.hash = hash;
    let mut made = Stored::new(call, call.uuid(), body);
    if let Some(signature) = signature {
        let event = Event::message_signed(&sender.wallet.id, &signature);
        made.body.about.events = carry::tell(call, &made, &[event])?;
    }
    match transactions::insert(call, &made) {
        Ok(()) => Ok(made),
        Err(InsertStop::NotUnique(_)) => Err(words::refused(&Refusal::ReferenceTaken)),
        Err(InsertStop::Stop(stop)) => Err(stop),
    }
}

/// Signs and sends: one attempt and ten repeats.
fn broadcast(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let signing = read_broadcast(&read_raw(call)?).map_err(|refusal| words::refused(&refusal))?;
    let fingerprint = fingerprint("broadcast", &sender, &signing);
    let made = match known(call, &sender, &signing, &fingerprint)? {
        Some(first) => first,
        None => begin_broadcast(call, &sender, signing, fingerprint)?,
    };
    envelope::ok("Transaction signed and broadcast initiated", &shown(call, &made)?)
}

fn begin_broadcast(call: &Call, sender: &Sender, signing: Signing, fingerprint: String) -> Result<Transaction, Stop> {
    let blockchain = sender.wallet.body.blockchain;
    let signed = sign(call, sender, &signing)?;
    let fee = Units::of_base(&signed.fee).ok_or_else(|| Stop::fault("a fee is no number"))?;
    let held = Money::new(asset::gas(blockchain), fee);
    let order = Order {
        id: call.uuid(),
        wallet_id: sender.wallet.id.clone(),
        from: sender.holder.clone(),
        task: Task::Broadcast { blockchain },
        gas: Some(Gas { payer: sender.holder.clone(), held }),
    };
    let step = accept(order);
    carry::hold(call, &step.postings)?;
    let mut way = Way::new(blockchain, (sender.index, &sender.account), None);
    (way.raw, way.hash, way.fingerprint) = (Some(signed.raw), Some(signed.hash), Some(fingerprint));
    let mut out = Out::new(call, step.record, way);
    out.about = about(sender, signing.metadata)?;
    out.reference = Some(reference_or_new(call, signing.reference));
    begin(call, &mut out)?;
    Ok(out.to_stored())
}
