//! What arrives at an address of ours, or at one that is watched.

use serde::{Deserialize, Serialize};
use tenon_plugin::chains::Watching;
use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, Task, json, task};

use crate::carry;
use crate::claiming::{self, Claim};
use crate::records::addresses::{self, Address};
use crate::records::outgoing::Out;
use crate::records::transactions::{self, About, Incoming, Transaction};
use crate::records::wallets::{self, Wallet};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{self, Asset};
use crate::rules::blockchain::Blockchain;
use crate::rules::deposit::{self, Command, Custody, Deposit, Sighting, detect, is_new};
use crate::rules::status::Status;
use crate::rules::sweep::Sweep;
use crate::salvaging::Place;

/// "coins": what the faucet gave arrives like everything else.
pub const TASKS: &[Task] =
    &[task("transfer", transfer), task("coins", |_, _| Ok(Verdict::Done)), task("forget", forget)];

/// Until a provider that does not answer is asked again.
const PAUSE_MS: u64 = 10_000;

/// Which records a watched address stands for.
#[derive(Clone, Serialize, Deserialize)]
pub struct Context {
    pub wallet: String,
    pub address: Option<String>,
}

/// A movement to a watched address, as the host tells it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Told {
    pub context: Context,
    pub blockchain: String,
    pub state: String,
    pub hash: String,
    pub position: u32,
    pub sender: String,
    pub token: Option<String>,
    pub amount: String,
    pub block: Option<u64>,
    pub confirmations: u32,
    /// Orders of providers up to this id were compared with it already.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
}

/// On the blockchain of the wallet.
pub fn watch(call: &Call, wallet: &Wallet, address: Option<&Address>) -> Result<(), Stop> {
    let context = Context { wallet: wallet.id.clone(), address: address.map(|address| address.id.clone()) };
    let blockchain = wallet.body.blockchain;
    call.chains().watch(&Watching {
        blockchain: blockchain.slug().to_owned(),
        address: address.map_or(&wallet.body.address, |address| &address.body.address).clone(),
        confirmations: blockchain.confirmations(),
        then: "transfer".to_owned(),
        context: json::to_text(&context)?,
    });
    Ok(())
}

/// Nobody watches this address any more: nobody tells what becomes of deposits that are under way there.
pub fn unwatch(call: &Call, address: &Address) {
    call.chains().unwatch(address.body.blockchain.slug(), &address.body.address);
    call.tasks().schedule("forget", &address.id, call.now(), "{}");
}

fn forget(call: &Call, task: &FiredTask) -> TaskOutcome {
    let found = transactions::under_way_of(call, &task.key)?;
    for known in &found {
        if let Some(mut last) = known.incoming() {
            change(call, known, &mut last, Command::Lose)?;
        }
    }
    // As many as one run looks at: there may be more.
    if found.len() >= transactions::UNDER_WAY_MAX as usize {
        call.tasks().schedule("forget", &task.key, call.now(), "{}");
    }
    Ok(Verdict::Done)
}

fn transfer(call: &Call, task: &FiredTask) -> TaskOutcome {
    let told: Told = call.json()?;
    match arrive(call, &told) {
        Ok(Arrival::Unclear { after }) => {
            // One call asks only so many providers: the next one goes on.
            let rest = json::to_text(&Told { after: Some(after), ..told })?;
            call.tasks().schedule("transfer", &task.key, call.now(), &rest);
        }
        Ok(_) => {}
        Err(Stop::Refusal(refusal)) if refusal.status == 503 => {
            return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS)));
        }
        Err(stop) => return Err(stop),
    }
    Ok(Verdict::Done)
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Not a deposit: nothing of ours, or an own transaction's.
    Nothing,
    Deposit(String),
    /// Providers with ids after this one are still to be asked.
    Unclear {
        after: String,
    },
}

pub fn arrive(call: &Call, told: &Told) -> Result<Arrival, Stop> {
    let Some((wallet, address, money)) = whose(call, told)? else { return Ok(Arrival::Nothing) };
    let holder = address.as_ref().map_or_else(|| wallet.holder(), Address::holder);
    let sent = transactions::sent_with(call, &told.hash)?;
    if sent.iter().filter_map(Out::of).any(|out| out.record.fills() == Some(&holder)) {
        return Ok(Arrival::Nothing);
    }
    let mut sighting = Sighting {
        blockchain: wallet.body.blockchain,
        transaction_hash: told.hash.clone(),
        position: told.position,
        money,
        confirmations: told.confirmations,
    };
    guard(call, &sighting);
    let known = transactions::last_sighted(call, &sighting)?;
    let last = known.as_ref().and_then(|known| known.incoming());
    // What is credited stays so, and what is gone is nobody's.
    let is_open = told.state != "gone" && last.as_ref().is_none_or(|last| last.record.status != Status::Success);
    let claim = || claiming::claim(call, &holder, &sighting, told.after.as_deref());
    match if is_open { claim()? } else { Claim::Nobody } {
        Claim::Nobody => {}
        Claim::Unclear { after } => return Ok(Arrival::Unclear { after }),
        Claim::Unanswered => hold_back(call, &mut sighting, told)?,
        Claim::Provider => {
            // It was taken for a deposit before the provider had said that it is its own.
            if let (Some(known), Some(mut last)) = (known, last) {
                change(call, &known, &mut last, Command::Lose)?;
            }
            return Ok(Arrival::Nothing);
        }
    }
    if !is_new(last.as_ref().map(|last| &last.record)) {
        if let (Some(known), Some(mut last)) = (known, last) {
            note(&mut last.about, told);
            let command = match told.state.as_str() {
                "gone" => Command::Lose,
                _ => Command::Confirm { confirmations: sighting.confirmations },
            };
            change(call, &known, &mut last, command)?;
            return Ok(Arrival::Deposit(known.id));
        }
        return Ok(Arrival::Nothing);
    }
    let place = Place::new(wallet.body.blockchain, &wallet, address.as_ref(), told.token.as_deref());
    if told.state == "gone" || place.has_left(call, sighting.money.units, told.block)? {
        return Ok(Arrival::Nothing);
    }
    begin(call, (&wallet, address.as_ref()), sighting, told).map(Arrival::Deposit)
}

/// Of the calls that book the same movement one commits at a time.
pub fn guard(call: &Call, sighting: &Sighting) {
    call.guard(&["deposit/", &sighting.key()].concat());
}

/// It is shown, and not credited before every provider has said that it is none of its own.
fn hold_back(call: &Call, sighting: &mut Sighting, told: &Told) -> Result<(), Stop> {
    if told.state == "final" {
        let at_ms = call.now().saturating_add(PAUSE_MS);
        // All of them once more: who knew of no hash may know one by then.
        let again = json::to_text(&Told { after: None, ..told.clone() })?;
        call.tasks().schedule("transfer", &sighting.key(), at_ms, &again);
    }
    let too_few = sighting.blockchain.confirmations().saturating_sub(1);
    sighting.confirmations = sighting.confirmations.min(too_few);
    Ok(())
}

/// A deposit that nobody has seen before; gives its id.
fn begin(
    call: &Call,
    (wallet, address): (&Wallet, Option<&Address>),
    sighting: Sighting,
    told: &Told,
) -> Result<String, Stop> {
    let metadata = address.and_then(|address| address.body.metadata.clone());
    let record = Deposit {
        id: call.uuid(),
        wallet_id: wallet.id.clone(),
        holder: address.map_or_else(|| wallet.holder(), Address::holder),
        custody: address.map_or(Custody::Ours, |address| address.body.custody()),
        sighting,
        metadata: metadata.as_ref().map(|metadata| metadata.get().to_owned()),
        status: Status::Pending,
    };
    let recipient = address.map_or(&wallet.body.address, |address| &address.body.address);
    let mut about = About { recipient: Some(recipient.clone()), metadata, ..About::default() };
    note(&mut about, told);
    let id = record.id.clone();
    let mut incoming = Incoming { record: record.clone(), sweep: Sweep::Resting, about };
    let step = detect(record).map_err(|refusal| crate::words::refused(&refusal))?;
    carry::take_deposit(call, &mut incoming, step, None)?;
    Ok(id)
}

fn note(about: &mut About, told: &Told) {
    about.sender = Some(told.sender.clone());
    about.token.clone_from(&told.token);
    about.block = told.block;
}

fn change(call: &Call, known: &Transaction, last: &mut Incoming, command: Command) -> Result<(), Stop> {
    match deposit::step(last.record.clone(), command) {
        Ok(step) => carry::take_deposit(call, last, step, Some(known)),
        // Told too late: what is decided stays.
        Err(_) => Ok(()),
    }
}

fn whose(call: &Call, told: &Told) -> Result<Option<(Wallet, Option<Address>, Money)>, Stop> {
    let Some(wallet) = wallets::load(call, &told.context.wallet)? else { return Ok(None) };
    let address = match &told.context.address {
        Some(id) => match addresses::load(call, id)? {
            Some(address) => Some(address),
            None => return Ok(None),
        },
        None => None,
    };
    let units = Units::of_base(&told.amount).unwrap_or_default();
    let held = asset_of(call, wallet.body.blockchain, told.token.as_deref());
    let is_here = told.blockchain == wallet.body.blockchain.slug() && !units.is_zero();
    Ok(held.filter(|_| is_here).map(|held| (wallet, address, Money::new(held, units))))
}

/// Tokens that nobody here knows are none of our business.
pub fn asset_of(call: &Call, blockchain: Blockchain, token: Option<&str>) -> Option<Asset> {
    let Some(token) = token else { return Some(asset::gas(blockchain)) };
    let network = call.chains().network(blockchain.slug())?;
    let known = network.tokens.iter().find(|known| {
        known.address == token || (blockchain.is_evm_compatible() && known.address.eq_ignore_ascii_case(token))
    })?;
    asset::find(&known.symbol, blockchain)
}
