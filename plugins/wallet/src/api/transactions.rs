//! /v1/wallets/{walletId}/transactions: lists, reads, and what may be done to one: cancel it, go on from it.

use tenon_plugin::records::{Comparison, Search, Value};
use tenon_plugin::{Call, Outcome, Route, Stop, get, post};

use super::form::Form;
use super::withdraw::shown;
use super::{access, envelope, query};
use crate::records::addresses;
use crate::records::outgoing::Out;
use crate::records::transactions::{self, Transaction};
use crate::records::wallets::Wallet;
use crate::rules::kind::Kind;
use crate::rules::outgoing::Command;
use crate::rules::refusal::Refusal;
use crate::rules::request::list::{Direction, Raw, Transactions, read};
use crate::rules::status::Status;
use crate::show::Text;
use crate::show::transaction::{Whose, address_id, full};
use crate::{carry, retrying, words};

/// The lists of transactions take these parameters.
const QUERY: &[&str] = &[
    "page",
    "limit",
    "order",
    "transaction_status",
    "status",
    "type",
    "transaction_hash",
    "hash",
    "reference",
    "id",
    "assets",
];

pub const ROUTES: &[Route] = &[
    get("/v1/wallets/{walletId}/transactions", "list-transactions", list).query(QUERY),
    get("/v1/wallets/{walletId}/transactions/{transactionId}", "read-transaction", read_one),
    get("/v1/wallets/{walletId}/addresses/{addressId}/transactions", "list-address-transactions", list).query(QUERY),
    get(
        "/v1/wallets/{walletId}/addresses/{addressId}/transactions/{transactionId}",
        "read-address-transaction",
        read_one,
    ),
    post("/v1/wallets/{walletId}/transactions/cancel", "cancel-transaction", cancel),
    post("/v1/wallets/{walletId}/transactions/{transactionId}/cancel", "cancel-transaction-of-path", cancel),
    post("/v1/wallets/{walletId}/transactions/retry", "retry-transaction", retry),
    post("/v1/wallets/{walletId}/transactions/{transactionId}/retry", "retry-transaction-of-path", retry),
];

/// Transactions that `meta` counts to.
const COUNT_MAX: u32 = 1_000_000;
/// Symbols of one filter.
const SYMBOLS_MAX: usize = 20;

fn list(call: &Call) -> Outcome {
    let (wallet, address) = access::holder(call)?;
    let text = |names: &[&str]| query::single(call, names).map(|value| value.map(str::to_owned));
    let raw = Raw {
        page: text(&["page"])?,
        limit: text(&["limit"])?,
        order: text(&["order"])?,
        // The real product writes it in capitals.
        transaction_status: text(&["transaction_status", "status"])?.map(|status| status.to_ascii_lowercase()),
        kind: text(&["type"])?,
        transaction_hash: text(&["transaction_hash", "hash"])?,
        reference: text(&["reference"])?,
    };
    let wanted = read(&raw).map_err(|refusal| words::refused(&refusal))?;
    let whole = match &address {
        Some(address) => Search::first(1).is("listed_address", &address.id),
        None => Search::first(1).is("listed", &wallet.id),
    };
    let (rows, skipped) = envelope::rows(wanted.page);
    let place = match &address {
        Some(address) => Search::first(rows).is("listed_address", &address.id),
        None => Search::first(rows).is("listed", &wallet.id),
    };
    let search = filtered(call, place.offset(skipped), &wanted)?;
    let search = match wanted.direction {
        Direction::Ascending => search.ascending("@created-at"),
        Direction::Descending => search.descending("@created-at"),
    };
    let found = transactions::find(call, &search)?;
    let texts = texts(call, &wallet, &found)?;
    let total = transactions::count(call, &filtered(call, whole.clone(), &wanted)?, COUNT_MAX);
    let analytics = address.is_none().then(|| analytics(call, &wallet)).transpose()?;
    envelope::list("Transactions fetched successfully", &texts, wanted.page.meta(total), analytics)
}

fn filtered(call: &Call, search: Search, wanted: &Transactions) -> Result<Search, Stop> {
    let with = |search: Search, field: &str, text: Option<&str>| match text {
        Some(text) => search.is(field, text),
        None => search,
    };
    let search = with(search, "status", wanted.status.map(Status::name));
    let search = with(search, "kind", wanted.kind.map(Kind::name));
    let search = with(search, "hash", wanted.transaction_hash.as_deref());
    let search = with(search, "reference", wanted.reference.as_deref());
    // What cannot be an id is that of nothing.
    let id = query::single(call, &["id"])?.map(|id| if crate::ids::is_id(id) { id } else { "-" });
    let search = with(search, "@id", id);
    Ok(match query::single(call, &["assets"])? {
        Some(symbols) => {
            let letters = |symbol: &str| symbol.chars().filter(char::is_ascii_alphanumeric).collect();
            let symbols = symbols.split(',').take(SYMBOLS_MAX).map(|symbol| Value::Text(letters(symbol)));
            search.with("symbol", Comparison::OneOf(symbols.collect()))
        }
        None => search,
    })
}

/// Wallet and addresses are loaded once for all rows.
fn texts(call: &Call, wallet: &Wallet, found: &[Transaction]) -> Result<Vec<String>, Stop> {
    let network = access::network(call);
    let mut ids: Vec<String> = found.iter().filter_map(address_id).collect();
    ids.sort();
    ids.dedup();
    let known = addresses::load_many(call, &ids)?;
    let text = |transaction: &Transaction| {
        let address = address_id(transaction);
        let address = known.iter().find(|known| Some(&known.id) == address.as_ref()).cloned();
        // Of an address on another EVM blockchain it is another wallet's.
        let whose = if transaction.body.wallet == wallet.id {
            Whose { wallet: wallet.clone(), address, network }
        } else {
            Whose::load(call, transaction, network)?
        };
        Ok(full(call, transaction, &whose)?.to_text())
    };
    found.iter().map(text).collect()
}

fn analytics(call: &Call, wallet: &Wallet) -> Result<String, Stop> {
    let all = || Search::first(1).is("listed", &wallet.id);
    let of_kind = |kind: Kind| transactions::count(call, &all().is("kind", kind.name()), COUNT_MAX);
    Ok(Text::new()
        .with("depositsCount", &of_kind(Kind::Deposit))?
        .with("withdrawsCount", &of_kind(Kind::Withdraw))?
        .with("transactionsCount", &transactions::count(call, &all(), COUNT_MAX))?
        .to_text())
}

/// One that the wallet, or the address of the path, shows in its lists.
pub fn load(call: &Call, id: &str) -> Result<(Wallet, Transaction), Stop> {
    let (wallet, address) = access::holder(call)?;
    let found = transactions::load(call, id)?.filter(|found| match &address {
        Some(address) => found.body.listed_address.as_ref() == Some(&address.id),
        None => found.body.listed.as_ref() == Some(&wallet.id),
    });
    Ok((wallet, found.ok_or_else(words::not_found)?))
}

fn read_one(call: &Call) -> Outcome {
    let (_, found) = load(call, call.parameter("transactionId"))?;
    envelope::ok("Transaction fetched successfully", &shown(call, &found)?)
}

/// Of the path, or `id` of the body.
pub fn named(call: &Call) -> Result<(Wallet, Transaction), Stop> {
    access::holder(call)?;
    if !call.parameter("transactionId").is_empty() {
        return load(call, call.parameter("transactionId"));
    }
    let mut form = Form::of(call)?;
    let id = form.text(&["id", "transaction_id", "transactionId"]);
    form.finish()?;
    load(call, &id.ok_or_else(|| words::wrong("id", "required", "is required"))?)
}

fn cancel(call: &Call) -> Outcome {
    let (_, found) = named(call)?;
    let Some(mut out) = Out::of(&found) else {
        return Err(words::refused(&Refusal::NotPossible { status: found.body.status }));
    };
    carry::command(call, &mut out, Command::Cancel)?;
    call.tasks().cancel("process", &out.record.id);
    envelope::ok("Transaction cancelled successfully", &shown(call, &out.to_stored())?)
}

/// A failed one is tried anew, an incomplete one goes on with what may have left: either as a new transaction.
fn retry(call: &Call) -> Outcome {
    let (_, found) = named(call)?;
    let Some(mut old) = Out::of(&found) else {
        return Err(words::refused(&Refusal::NotPossible { status: found.body.status }));
    };
    let made = match old.record.status {
        Status::Incomplete => retrying::go_on(call, &mut old)?,
        _ => retrying::try_again(call, &mut old, &found)?,
    };
    envelope::ok("Transaction retried successfully", &shown(call, &made)?)
}
