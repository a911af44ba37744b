//! POST …/withdraw at a wallet and at an address under it: to one recipient, or to as many as twenty with one hold.

use serde_json::value::RawValue;
use tenon_plugin::{Call, Outcome, Route, Stop, post};

use super::addresses::wallets_of;
use super::{access, envelope, form::Form};
use crate::records::InsertStop;
use crate::records::addresses::Address;
use crate::records::outgoing::{self, Out};
use crate::records::transactions::{self, Transaction};
use crate::records::wallets::Wallet;
use crate::rules::amount::Money;
use crate::rules::asset::{self, Asset};
use crate::rules::blockchain::Blockchain;
use crate::rules::books::Holder;
use crate::rules::outgoing::{Gas, Order, Task, accept, accept_batch};
use crate::rules::reference::{self, Known, Meaning};
use crate::rules::refusal::Refusal;
use crate::rules::request::Context;
use crate::rules::request::withdraw::{Raw, RawRecipient, Recipient, Withdraw, read};
use crate::rules::settings::is_gasless;
use crate::sending::{self, Target};
use crate::show::transaction::{Whose, full};
use crate::{carry, ids, providers, settings, show, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/withdraw", "withdraw", withdraw),
    post("/v1/wallets/{walletId}/addresses/{addressId}/withdraw", "withdraw-from-address", withdraw),
    post("/v1/wallets/{walletId}/withdraw/network-fee", "withdraw-fee", network_fee),
    post("/v1/wallets/{walletId}/addresses/{addressId}/withdraw/network-fee", "withdraw-fee-from-address", network_fee),
];

/// Who sends, and what it can send.
pub struct Sender {
    pub wallet: Wallet,
    pub address: Option<Address>,
    /// Of all blockchains on which it can.
    pub wallets: Vec<Wallet>,
    pub holder: Holder,
    pub index: u32,
    pub account: String,
}

impl Sender {
    /// Of the path. An address of somebody else sends nothing, nor does one that is switched off.
    pub fn load(call: &Call) -> Result<Sender, Stop> {
        let (wallet, address) = access::holder(call)?;
        Sender::new(call, wallet, address)
    }

    /// Of a transaction.
    pub fn of(call: &Call, transaction: &Transaction) -> Result<Sender, Stop> {
        let Whose { wallet, address, .. } = Whose::load(call, transaction, access::network(call))?;
        Sender::new(call, wallet, address)
    }

    fn new(call: &Call, wallet: Wallet, address: Option<Address>) -> Result<Sender, Stop> {
        let found = sending::sender(&wallet, address.as_ref());
        let (holder, index, account) =
            found.ok_or_else(|| words::wrong("address_id", "key", "must be an address whose key is here"))?;
        if let Some(address) = &address {
            address.body.check_active().map_err(|refusal| words::refused(&refusal))?;
        }
        let wallets = wallets_of(call, &wallet, address.as_ref())?;
        Ok(Sender { wallet, address, wallets, holder, index, account })
    }

    /// Assets under all ids that they are known by.
    pub fn context(&self, call: &Call) -> Result<Context, Stop> {
        let (blockchain, network) = (self.wallet.body.blockchain, access::network(call));
        let mut assets = Vec::new();
        for wallet in &self.wallets {
            for asset in asset::on(wallet.body.blockchain).into_iter().filter(|asset| wallet.body.is_on(*asset)) {
                assets.push((ids::wallet_asset(&wallet.id, asset), asset));
                assets.push((ids::asset(asset, network), asset));
            }
        }
        Ok(Context { blockchain, network, assets })
    }

    /// The master wallet of a blockchain that it can be used on.
    pub fn wallet_on(&self, blockchain: Blockchain) -> Result<&Wallet, Stop> {
        let found = self.wallets.iter().find(|wallet| wallet.body.blockchain == blockchain);
        found.ok_or_else(|| Stop::fault("an asset is on a blockchain without a wallet"))
    }

    /// What is set aside for gas, and by whom.
    pub fn gas(&self, call: &Call, money: Money) -> Result<Gas, Stop> {
        let blockchain = blockchain_of(money.asset)?;
        let master = self.wallet_on(blockchain)?;
        let held = sending::gas(call, blockchain, !money.asset.is_native)?;
        let of_address = self.address.as_ref().map(|address| {
            let own = address.body.settings();
            if address.body.wallet == master.id { own } else { own.elsewhere() }
        });
        let is_gasless = of_address.is_some_and(|own| is_gasless(&master.body.settings(), &own, money));
        let payer = if is_gasless { master.holder() } else { self.holder.clone() };
        Ok(Gas { payer, held })
    }
}

pub fn blockchain_of(asset: Asset) -> Result<Blockchain, Stop> {
    asset.blockchain.ok_or_else(|| Stop::fault("the gateway's pool is on no blockchain"))
}

pub fn read_request(form: &mut Form) -> Raw {
    let assets = form.objects(&["assets"]).map(|items| {
        let read = |mut item: Form<'static>| {
            let raw = recipient(&mut item, &["asset_id", "id", "assetId"]);
            form.take_faults(item);
            raw
        };
        items.into_iter().map(read).collect()
    });
    Raw { single: recipient(form, &["asset_id", "assetId"]), assets }
}

fn recipient(form: &mut Form, asset_names: &[&'static str]) -> RawRecipient {
    RawRecipient {
        asset_id: form.text(asset_names),
        amount: form.amount(&["amount"]),
        destination_address: form.text(&["destination_address", "address", "destinationAddress"]),
        reference: form.text(&["reference"]),
        note: form.text(&["note"]),
        metadata: form.metadata(),
    }
}

fn withdraw(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let mut form = Form::of(call)?;
    let raw = read_request(&mut form);
    form.finish()?;
    let read = read(&raw, &sender.context(call)?).map_err(|refusal| words::refused(&refusal))?;
    match read {
        Withdraw::Single(recipient) => single(call, &sender, recipient),
        Withdraw::Batch(recipients) => batch(call, &sender, recipients),
    }
}

fn single(call: &Call, sender: &Sender, recipient: Recipient) -> Outcome {
    let made = match known(call, sender, &recipient)? {
        Some(first) => first,
        None => {
            check_targets(call, sender, [(None, &recipient)])?;
            let blockchain = blockchain_of(recipient.money.asset)?;
            providers::check(call, "destination_address", (blockchain, &recipient.destination_address))?;
            let order = order(call, sender, &recipient)?;
            let step = accept(order);
            carry::hold(call, &step.postings)?;
            let out = Out::new(call, step.record, way(call, sender, &recipient)?);
            store(call, sender, recipient, out)?
        }
    };
    envelope::ok("Withdrawal initiated successfully", &shown(call, &made)?)
}

/// One hold for all. A batch whose first reference is known is a repeat as a whole.
fn batch(call: &Call, sender: &Sender, recipients: Vec<Recipient>) -> Outcome {
    let mut repeats = Vec::new();
    for recipient in &recipients {
        repeats.push(known(call, sender, recipient)?);
    }
    let is_repeat = repeats.iter().any(Option::is_some);
    if is_repeat
        && repeats.iter().zip(&recipients).any(|(first, recipient)| first.is_none() && recipient.reference.is_some())
    {
        return Err(words::refused(&Refusal::ReferenceTaken));
    }
    let mut rows = Vec::new();
    if is_repeat {
        let first = repeats.iter().flatten().find_map(Out::of);
        let id = first.and_then(|out| out.way.batch).ok_or_else(|| words::refused(&Refusal::ReferenceTaken))?;
        let made = transactions::of_batch(call, &id)?;
        let asked: Vec<String> = recipients.iter().map(|recipient| fingerprint(sender, recipient)).collect();
        // Somebody was added to it, left out, or is another.
        if !made.iter().map(|made| made.body.fingerprint()).eq(asked.iter().map(|asked| Some(asked.as_str()))) {
            return Err(words::refused(&Refusal::ReferenceTaken));
        }
        for made in made {
            rows.push(shown(call, &made)?);
        }
        return envelope::whole_list("Batch withdrawal initiated successfully", &rows);
    }
    check_targets(call, sender, recipients.iter().enumerate().map(|(at, recipient)| (Some(at), recipient)))?;
    let mut orders = Vec::new();
    for recipient in &recipients {
        orders.push(order(call, sender, recipient)?);
    }
    let id = call.uuid();
    let (records, postings) = accept_batch(&id, orders).map_err(|refusal| words::refused(&refusal))?;
    carry::hold(call, &postings)?;
    for (record, recipient) in records.into_iter().zip(recipients) {
        let mut way = way(call, sender, &recipient)?;
        (way.batch, way.place, way.unscreened) = (Some(id.clone()), rows.len(), true);
        let made = store(call, sender, recipient, Out::new(call, record, way))?;
        rows.push(shown(call, &made)?);
    }
    envelope::whole_list("Batch withdrawal initiated successfully", &rows)
}

/// What the same reference has made already.
fn known(call: &Call, sender: &Sender, recipient: &Recipient) -> Result<Option<Transaction>, Stop> {
    let fingerprint = fingerprint(sender, recipient);
    let wallet = sender.wallet_on(blockchain_of(recipient.money.asset)?)?;
    repeated(call, &wallet.id, recipient.reference.as_deref(), &fingerprint)
}

/// The transaction that has the reference, where it was made by the same request.
pub fn repeated(
    call: &Call,
    wallet: &str,
    reference: Option<&str>,
    fingerprint: &str,
) -> Result<Option<Transaction>, Stop> {
    let Some(reference) = reference else { return Ok(None) };
    // Of equal requests at once the later ones find what the first has made.
    call.guard(&ids::fingerprint(&["reference", wallet, reference]));
    let Some(first) = transactions::with_reference(call, wallet, reference)? else { return Ok(None) };
    let known =
        Known { transaction: first.id.clone(), fingerprint: first.body.fingerprint().unwrap_or_default().to_owned() };
    match reference::judge(Some(&known), fingerprint).map_err(|refusal| words::refused(&refusal))? {
        Meaning::New => Ok(None),
        Meaning::Repeat { .. } => Ok(Some(first)),
    }
}

fn fingerprint(sender: &Sender, recipient: &Recipient) -> String {
    let Recipient { money, destination_address, note, metadata, .. } = recipient;
    let (holder, units) = (sender.holder.name(), money.units.to_digits());
    let (note, metadata) = (note.as_deref().unwrap_or_default(), metadata.as_deref().unwrap_or_default());
    ids::fingerprint(&["withdraw", &holder, &money.asset.key(), &units, destination_address, note, metadata])
}

/// Each with its place in the batch.
fn check_targets<'a>(
    call: &Call,
    sender: &Sender,
    recipients: impl IntoIterator<Item = (Option<usize>, &'a Recipient)>,
) -> Result<(), Stop> {
    let mut targets = Vec::new();
    for (item, Recipient { money, destination_address, .. }) in recipients {
        let blockchain = blockchain_of(money.asset)?;
        let target = Target::new("destination_address", blockchain, Some(money.asset), destination_address);
        targets.push(Target { item, sender: Some(&sender.account), ..target });
    }
    sending::check_targets(call, &targets)
}

fn order(call: &Call, sender: &Sender, recipient: &Recipient) -> Result<Order, Stop> {
    let wallet = sender.wallet_on(blockchain_of(recipient.money.asset)?)?;
    Ok(Order {
        id: call.uuid(),
        wallet_id: wallet.id.clone(),
        from: sender.holder.clone(),
        task: Task::Withdraw { money: recipient.money, destination_address: recipient.destination_address.clone() },
        gas: Some(sender.gas(call, recipient.money)?),
    })
}

fn way(call: &Call, sender: &Sender, recipient: &Recipient) -> Result<outgoing::Way, Stop> {
    let key = (sender.index, sender.account.as_str());
    let mut way = sending::way(call, key, recipient.money, &recipient.destination_address)?;
    way.fingerprint = Some(fingerprint(sender, recipient));
    Ok(way)
}

fn store(call: &Call, sender: &Sender, recipient: Recipient, mut out: Out) -> Result<Transaction, Stop> {
    let metadata = recipient.metadata.map(RawValue::from_string).transpose();
    let metadata = metadata.map_err(|error| Stop::fault(error.to_string()))?;
    let of_address = sender.address.as_ref().and_then(|address| address.body.metadata.clone());
    out.about.metadata = metadata.or(of_address);
    out.about.note = recipient.note;
    out.reference = Some(reference_or_new(call, recipient.reference));
    begin(call, &mut out)?;
    Ok(out.to_stored())
}

/// Ten letters where the client gave none.
pub fn reference_or_new(call: &Call, given: Option<String>) -> String {
    given.unwrap_or_else(|| {
        let random = call.random(10);
        let mut bytes = [0; 10];
        bytes.iter_mut().zip(random).for_each(|(byte, random)| *byte = random);
        reference::make(bytes)
    })
}

/// Stored, and taken up after the time in which it may be cancelled.
pub fn begin(call: &Call, out: &mut Out) -> Result<(), Stop> {
    let at_ms = call.now().saturating_add(settings::process_after_ms(call)?);
    match carry::accept(call, out, at_ms) {
        Ok(()) => Ok(()),
        Err(InsertStop::NotUnique(_)) => Err(words::refused(&Refusal::ReferenceTaken)),
        Err(InsertStop::Stop(stop)) => Err(stop),
    }
}

pub fn shown(call: &Call, made: &Transaction) -> Result<String, Stop> {
    let whose = Whose::load(call, made, access::network(call))?;
    Ok(full(call, made, &whose)?.to_text())
}

/// What a withdrawal would cost; deliberately high.
fn network_fee(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let mut form = Form::of(call)?;
    let raw = read_request(&mut form);
    form.finish()?;
    let read = read(&raw, &sender.context(call)?).map_err(|refusal| words::refused(&refusal))?;
    let recipients = match read {
        Withdraw::Single(recipient) => vec![recipient],
        Withdraw::Batch(recipients) => recipients,
    };
    let mut total: Option<(Gas, Money)> = None;
    for recipient in &recipients {
        let gas = sender.gas(call, recipient.money)?;
        let sum = match total {
            Some((_, sum)) if sum.asset == gas.held.asset => sum.units.checked_add(gas.held.units),
            Some(_) => None,
            None => Some(gas.held.units),
        };
        let units = sum.ok_or_else(|| words::wrong("assets", "blockchain", "must be of one blockchain"))?;
        total = Some((gas.clone(), Money::new(gas.held.asset, units)));
    }
    let Some((gas, fee)) = total else { return Err(Stop::fault("a withdrawal without recipients")) };
    let native = Money::new(fee.asset, carry::available(call, &gas.payer, fee.asset));
    let block_ms = call.chains().network(blockchain_of(fee.asset)?.slug()).map_or(0, |network| network.block_time);
    let seconds = u64::from(block_ms) * u64::from(blockchain_of(fee.asset)?.confirmations()) / 1_000;
    let text = show::Text::new()
        .with("networkFee", &fee.to_decimal())?
        .with("nativeBalance", &native.to_decimal())?
        .with("networkFeeInUSD", &None::<String>)?
        .with("nativeBalanceInUSD", &None::<String>)?
        .with("symbol", fee.asset.symbol)?
        .with("estimatedArrivalTime", &seconds)?
        .with("transactionFee", "0")?;
    envelope::ok("Network fee fetched successfully", &text.to_text())
}
