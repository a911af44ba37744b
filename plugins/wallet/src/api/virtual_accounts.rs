//! Virtual accounts (spec/wallet: Conditions): on mainnet alone, for a business whose due diligence is approved. What is paid into
//! one arrives as coins at its wallet or address, and is told as a deposit.

use tenon_plugin::effects::{Effect, OutgoingCall};
use tenon_plugin::{Call, Outcome, Route, Stop, get, json, patch, post, time};

use super::{access, envelope, form::Form};
use crate::providers::accounts as provider;
use crate::records::Stored;
use crate::records::addresses::Address;
use crate::records::virtual_accounts::{self as records, VirtualAccount, VirtualAccountBody};
use crate::records::wallets::Wallet;
use crate::rules::asset;
use crate::rules::compliance::Form as ComplianceForm;
use crate::rules::request::virtual_account::{Raw, read};
use crate::rules::virtual_account::{AccountState, Command, check, step};
use crate::show::{self, Text};
use crate::{records as stored, words};

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/virtual-accounts", "create-virtual-account", create),
    get("/v1/wallets/{walletId}/virtual-accounts", "list-virtual-accounts", list).query(envelope::PAGE),
    get("/v1/wallets/{walletId}/virtual-accounts/{accountId}", "read-virtual-account", read_one),
    patch("/v1/wallets/{walletId}/virtual-accounts/{accountId}", "update-virtual-account", update),
    post("/v1/wallets/{walletId}/virtual-accounts/{accountId}/regenerate", "regenerate-virtual-account", regenerate),
    get("/v1/wallets/{walletId}/virtual-accounts/{accountId}/transactions", "list-virtual-account-payments", payments)
        .query(envelope::PAGE),
    post("/v1/wallets/{walletId}/addresses/{addressId}/virtual-accounts", "create-virtual-account-of-address", create),
    get("/v1/wallets/{walletId}/addresses/{addressId}/virtual-accounts", "list-virtual-accounts-of-address", list)
        .query(envelope::PAGE),
];

/// Accounts that `meta` counts to.
const COUNT_MAX: u32 = 1_000_000;
/// Between attempts to tell the provider.
const PAUSES_MS: [u32; 5] = [5_000, 30_000, 120_000, 600_000, 3_600_000];
/// What virtual accounts are filled with, and in which currency they are.
const SYMBOL: &str = "cNGN";
const CURRENCY: &str = "NGN";

fn create(call: &Call) -> Outcome {
    let (wallet, address) = access::holder(call)?;
    let mut form = Form::of(call)?;
    let raw = Raw {
        firstname: form.text(&["firstname", "firstName"]),
        lastname: form.text(&["lastname", "lastName"]),
        email: form.text(&["email"]),
        phone: form.text(&["phone"]),
    };
    let due_diligence = stored::compliance::state(call, ComplianceForm::DueDiligence)?;
    check(access::network(call), due_diligence).map_err(|refusal| words::refused(&refusal))?;
    form.finish()?;
    let owner = read(&raw).map_err(|refusal| words::refused(&refusal))?;
    let target = target(&wallet, address.as_ref())?;
    let body = VirtualAccountBody::new(&wallet.id, address.as_ref().map(|it| it.id.as_str()), owner);
    let account = Stored::new(call, call.uuid(), body);
    records::insert(call, &account)?;
    let order =
        json::to_text(&provider::Order::new(&account, CURRENCY, (wallet.body.blockchain.slug(), SYMBOL, &target)))?;
    tell(call, &account, "", order);
    envelope::created("Virtual account created successfully", &text(call, &account)?.to_text())
}

/// Where its coins go; an address of somebody else is filled by nobody here.
fn target(wallet: &Wallet, address: Option<&Address>) -> Result<String, Stop> {
    if asset::find(SYMBOL, wallet.body.blockchain).is_none() {
        return Err(words::wrong("blockchain", "asset", "must be a blockchain with cNGN"));
    }
    match address {
        None => Ok(wallet.body.address.clone()),
        Some(address) if address.body.index.is_some() => {
            address.body.check_active().map_err(|refusal| words::refused(&refusal))?;
            Ok(address.body.address.clone())
        }
        Some(_) => Err(words::wrong("address_id", "key", "must be an address whose key is here")),
    }
}

/// `change`: "" makes it; one that is on its way already is not told again, and what it comes to is compared with what is wanted.
pub fn tell(call: &Call, account: &VirtualAccount, change: &str, body: String) {
    let path = match change {
        "" => "/v1/virtual-accounts".to_owned(),
        change => ["/v1/virtual-accounts/", &account.id, "/", change].concat(),
    };
    let asked = OutgoingCall::new(provider::DESTINATION, "POST", &path).json(body);
    let effect = Effect::new(asked, "virtual-account", &[&account.id, "/", change].concat(), "{}".to_owned());
    call.effects().start(&effect.delays_ms(&PAUSES_MS));
}

fn account_of(call: &Call) -> Result<VirtualAccount, Stop> {
    let wallet = access::wallet(call)?;
    let found = records::load(call, call.parameter("accountId"))?;
    found.filter(|account| account.body.wallet == wallet.id).ok_or_else(words::not_found)
}

fn list(call: &Call) -> Outcome {
    let (wallet, address) = access::holder(call)?;
    let page = envelope::page(call)?;
    let place = records::place(&wallet.id, address.as_ref().map(|it| it.id.as_str()));
    let (found, total) = records::page(call, &place, envelope::rows(page), COUNT_MAX)?;
    let rows: Result<Vec<String>, Stop> = found.iter().map(|account| Ok(text(call, account)?.to_text())).collect();
    envelope::list("Virtual accounts fetched successfully", &rows?, page.meta(total), None)
}

fn read_one(call: &Call) -> Outcome {
    let account = account_of(call)?;
    envelope::ok("Virtual account fetched successfully", &text(call, &account)?.to_text())
}

fn update(call: &Call) -> Outcome {
    let mut account = account_of(call)?;
    let mut form = Form::of(call)?;
    let is_active = form.flag(&["is_active", "isActive"]);
    form.finish()?;
    let is_active = is_active.ok_or_else(|| words::wrong("is_active", "required", "is required"))?;
    let (command, path) = if is_active { (Command::Activate, "activate") } else { (Command::Deactivate, "deactivate") };
    go(call, &mut account, command, path)?;
    envelope::ok("Virtual account updated successfully", &text(call, &account)?.to_text())
}

/// Another number; the one before takes no payments any more.
fn regenerate(call: &Call) -> Outcome {
    let mut account = account_of(call)?;
    go(call, &mut account, Command::Regenerate, "regenerate")?;
    envelope::ok("Virtual account regenerated successfully", &text(call, &account)?.to_text())
}

fn go(call: &Call, account: &mut VirtualAccount, command: Command, change: &str) -> Result<(), Stop> {
    let state = account.body.state();
    let next = step(state, command).ok_or_else(|| words::conflict("Not possible for an account in this state"))?;
    if next != state {
        account.body.set_state(next);
        records::save(call, account)?;
        tell(call, account, change, "{}".to_owned());
    }
    Ok(())
}

/// The newest payments, as the provider shows them. The coins that they were turned into arrive as deposits.
fn payments(call: &Call) -> Outcome {
    let account = account_of(call)?;
    let rows = provider::payments(call, &account.id)?;
    envelope::paged_list(call, "Transactions fetched successfully", &rows)
}

fn text(call: &Call, account: &VirtualAccount) -> Result<Text, Stop> {
    let body = &account.body;
    let network = access::network(call);
    let wallet = stored::wallets::load(call, &body.wallet)?.ok_or_else(|| Stop::fault("an account is of no wallet"))?;
    let state = body.state();
    let customer = Text::new()
        .with("name", &[&body.firstname, " ", &body.lastname].concat())?
        .with("email", &body.email)?
        .with("phone", &body.phone)?
        .with("network", network.name())?;
    Ok(Text::new()
        .with("virtual_account_id", &account.id)?
        .with("wallet_id", &body.wallet)?
        .with("address_id", &body.address)?
        .with("currency", CURRENCY)?
        .with("id", &account.id)?
        .with("accountName", &body.account_name)?
        .with("accountNumber", &body.account_number)?
        .with("bankCode", &body.bank_code)?
        .with("bankName", &body.bank_name)?
        .with("type", "AUTO_FUNDING")?
        .with("status", records::name_of(state))?
        .with("isActive", &(state == AccountState::Active))?
        .with("reference", &account.id)?
        .with("createdAt", &time::to_text(account.created_ms))?
        .with("updatedAt", &time::to_text(account.updated_ms))?
        .raw("customer", customer.to_text())
        .raw("wallet", show::wallet::thin(&wallet, network)?.to_text()))
}
