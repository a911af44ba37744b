//! Payouts in fiat money (spec/wallet: withdraw/fiat): what may be asked, the quote, its acceptance, and the execution.

use serde_json::value::RawValue;
use tenon_plugin::{Call, Outcome, Route, Stop, get, json, post, time};

use super::withdraw::{Sender, begin, reference_or_new, repeated, shown};
use super::{access, compliance as forms, envelope, form::Form, query};
use crate::providers::{payout as provider, rates};
use crate::records::Stored;
use crate::records::compliance;
use crate::records::outgoing::{Out, Way};
use crate::records::provided::Kind;
use crate::records::quotes::{self, Promise, Promised, QuoteBody, StoredQuote};
use crate::records::wallets::Wallet;
use crate::rules::amount::Whole;
use crate::rules::asset::Asset;
use crate::rules::compliance::{Currency, check_form};
use crate::rules::invalid::Field;
use crate::rules::outgoing::{Order, Task, accept};
use crate::rules::payout;
use crate::rules::quote::Quote;
use crate::rules::refusal::Refusal;
use crate::rules::request::fiat::{Execution, Payout, Raw, read_account, read_execution, read_quote};
use crate::show::{self, Text};
use crate::{carry, ids, providing, words};

/// Of a reference, as the contract of payouts has it.
const PROVIDER_REFERENCE_CHARS: usize = 64;

/// The lists of institutions and of rates take these parameters.
const PAYOUT: &[&str] = &["currency", query::ASSET[0], query::ASSET[1], "amount", "page", "limit"];

pub const ROUTES: &[Route] = &[
    get("/v1/wallets/{walletId}/withdraw/fiat/currencies", "list-fiat-currencies", currencies).query(envelope::PAGE),
    get("/v1/wallets/{walletId}/withdraw/fiat/assets", "list-fiat-assets", assets).query(envelope::PAGE),
    get("/v1/wallets/{walletId}/withdraw/fiat/institutions", "list-fiat-institutions", institutions).query(PAYOUT),
    get("/v1/wallets/{walletId}/withdraw/fiat/rates", "read-fiat-rates", fiat_rates).query(PAYOUT),
    post("/v1/wallets/{walletId}/withdraw/fiat/institution-account-verification", "verify-account", verify),
    post("/v1/wallets/{walletId}/withdraw/fiat/quote", "quote-fiat", quote),
    post("/v1/wallets/{walletId}/withdraw/fiat/quotes/{quoteId}/accept", "accept-fiat-quote", accept_quote),
    post("/v1/wallets/{walletId}/withdraw/fiat/execute", "execute-fiat", execute),
    post("/v1/wallets/{walletId}/addresses/{addressId}/withdraw/fiat/quote", "quote-fiat-from-address", quote),
    post(
        "/v1/wallets/{walletId}/addresses/{addressId}/withdraw/fiat/quotes/{quoteId}/accept",
        "accept-fiat-quote-of-address",
        accept_quote,
    ),
    post("/v1/wallets/{walletId}/addresses/{addressId}/withdraw/fiat/execute", "execute-fiat-from-address", execute),
];

fn refused(refusal: Refusal) -> Stop {
    words::refused(&refusal)
}

fn read_raw(form: &mut Form) -> Raw {
    Raw {
        asset_id: form.text(&["asset_id", "assetId"]),
        amount: form.amount(&["amount"]),
        currency: form.text(&["currency"]),
        account_identifier: form.text(&["account_identifier", "accountIdentifier"]),
        institution_identifier: form.text(&["institution_identifier", "institutionIdentifier"]),
        quote_id: form.text(&["quote_id", "quoteId"]),
        reference: form.text(&["reference"]),
        metadata: form.metadata(),
    }
}

fn asked_currency(call: &Call) -> Result<Currency, Stop> {
    let code = query::single(call, &["currency"])?;
    let code = code.ok_or_else(|| words::wrong("currency", "required", "is required"))?;
    let must = "must be one of NGN, KES, TZS, UGX, BRL, MWK";
    Currency::of_code(code).ok_or_else(|| words::wrong("currency", "one_of", must))
}

/// Of the specification, as far as the provider pays them out.
fn currencies(call: &Call) -> Outcome {
    access::wallet(call)?;
    let mut rows = Vec::new();
    for offered in provider::currencies(call)? {
        let Some(currency) = Currency::of_code(&offered.currency) else { continue };
        let text = forms::currency(call, currency)?
            .with("name", &offered.name)?
            .with("decimals", &currency.decimals())?
            .with("minimumAmount", &offered.minimum_amount)?
            .with("maximumAmount", &offered.maximum_amount)?
            .with("assets", &offered.assets)?;
        rows.push(text.to_text());
    }
    envelope::paged_list(call, "Currencies fetched successfully", &rows)
}

/// Of this wallet, those that somebody pays out for.
fn assets(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let network = access::network(call);
    let offered = provider::currencies(call)?;
    let mut rows = Vec::new();
    for asset in crate::rules::asset::on(wallet.body.blockchain) {
        let is_paid = offered.iter().any(|currency| currency.assets.iter().any(|symbol| symbol == asset.symbol));
        if is_paid && wallet.body.is_on(asset) {
            rows.push(show::asset::wallet_asset(call, &wallet.id, asset, network, true)?.to_text());
        }
    }
    envelope::paged_list(call, "Assets fetched successfully", &rows)
}

/// Reads the asset that the query names, and checks its amount. Institutions are the same for each asset and amount, and rates
/// are the same for each amount.
fn named_asset(call: &Call, wallet: &Wallet) -> Result<Option<Asset>, Stop> {
    if let Some(Err(rule)) = query::single(call, &["amount"])?.map(Whole::parse) {
        return Err(refused(Refusal::Invalid(vec![Field("amount").breaks(rule)])));
    }
    let Some(id) = query::single(call, query::ASSET)? else { return Ok(None) };
    let found = wallet.find_asset(id, access::network(call));
    found.map(Some).ok_or_else(|| words::wrong("asset_id", "asset", "must be an asset of this wallet"))
}

fn institutions(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let currency = asked_currency(call)?;
    named_asset(call, &wallet)?;
    let mut rows = Vec::new();
    for institution in provider::institutions(call, currency.code())? {
        let text = Text::new()
            .with("institution_identifier", &institution.institution_identifier)?
            .with("name", &institution.name)?
            .with("code", &institution.institution_identifier)?
            .with("type", &institution.kind)?
            .with("currency", currency.code())?;
        rows.push(text.to_text());
    }
    envelope::paged_list(call, "Institutions fetched successfully", &rows)
}

fn fiat_rates(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let currency = asked_currency(call)?;
    let symbols: Vec<String> = match named_asset(call, &wallet)? {
        Some(asset) => vec![asset.symbol.to_owned()],
        None => crate::rules::asset::on(wallet.body.blockchain).iter().map(|it| it.symbol.to_owned()).collect(),
    };
    let mut rows = Vec::new();
    for (symbol, rate) in rates::rates(call, currency.code(), &symbols)? {
        let text = Text::new().with("asset", &symbol)?.with("currency", currency.code())?.with("rate", &rate)?;
        rows.push(text.to_text());
    }
    envelope::paged_list(call, "Rates fetched successfully", &rows)
}

/// Whose account it is; it may be paid from this wallet from now on.
fn verify(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let mut form = Form::of(call)?;
    let raw = read_raw(&mut form);
    form.finish()?;
    let account = read_account(&raw).map_err(refused)?;
    let found = provider::verify(call, &account)?;
    compliance::verified(call, &wallet.id, &account, &found.account_name)?;
    let text = Text::new()
        .with("currency", account.currency.code())?
        .with("institution_identifier", &account.institution_identifier)?
        .with("account_identifier", &account.account_identifier)?
        .with("account_name", &found.account_name)?
        .with("is_verified", &true)?
        .with("accountName", &found.account_name)?
        .with("accountIdentifier", &account.account_identifier)?
        .with("institutionIdentifier", &account.institution_identifier)?;
    envelope::ok("Account verified successfully", &text.to_text())
}

/// All that a quote is good for.
fn terms(sender: &Sender, payout: &Payout) -> String {
    let Payout { money, account } = payout;
    let (institution, number) = (&account.institution_identifier, &account.account_identifier);
    let (asset, units) = (money.asset.key(), money.units.to_digits());
    ids::fingerprint(&["payout", &sender.holder.name(), &asset, &units, account.currency.code(), institution, number])
}

fn quote(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let mut form = Form::of(call)?;
    let raw = read_raw(&mut form);
    form.finish()?;
    let wanted = read_quote(&raw, &sender.context(call)?).map_err(refused)?;
    let currency = wanted.account.currency;
    check_form(currency, compliance::state(call, currency.form())?).map_err(refused)?;
    let given = provider::quote(call, wanted.money, currency.code())?;
    let mut quote = Quote::of_payout(terms(&sender, &wanted), call.now());
    quote.expires_at_ms = quote.expires_at_ms.min(time::parse(&given.expires_at).unwrap_or_default());
    let shown = Text::new()
        .with("amount", &wanted.money.to_decimal())?
        .with("asset_id", &ids::wallet_asset(&sender.wallet.id, wanted.money.asset))?
        .with("currency", currency.code())?
        .with("rate", &given.rate)?
        .with("fee", &given.fee)?
        .with("payout_amount", &given.payout_amount)?
        .with("institution_identifier", &wanted.account.institution_identifier)?
        .with("account_identifier", &wanted.account.account_identifier)?
        .with("estimatedArrivalTime", &given.estimated_arrival_seconds)?
        .with("payoutAmount", &given.payout_amount)?;
    let promise = Promise {
        of: Promised::Payout,
        id: given.quote_id,
        at_least: "0".to_owned(),
        minimum: None,
        shown: shown.to_text(),
    };
    let made = Stored::new(call, call.uuid(), QuoteBody::new(&sender.wallet.id, quote, promise));
    quotes::insert(call, &made)?;
    envelope::created("Quote created successfully", &quote_text(&made)?)
}

/// What the provider promised, with id, time and state in front.
pub fn quote_text(quote: &StoredQuote) -> Result<String, Stop> {
    let head = Text::new()
        .with("quote_id", &quote.id)?
        .with("quote_status", quote.body.state_name())?
        .with("expires_at", &time::to_text(quote.body.expires_ms()))?
        .to_text();
    let rest = quote.body.promise.shown.trim_start_matches('{');
    Ok([head.strip_suffix('}').unwrap_or(&head), ",", rest].concat())
}

/// Of this wallet.
pub fn quote_of(call: &Call, wallet: &str, id: &str) -> Result<StoredQuote, Stop> {
    let found = quotes::load(call, id)?.filter(|quote| quote.body.wallet == wallet);
    found.ok_or_else(|| words::wrong("quote_id", "quote", "must be a quote of this wallet"))
}

fn accept_quote(call: &Call) -> Outcome {
    let (wallet, _) = access::holder(call)?;
    let is_ours = |quote: &StoredQuote| quote.body.wallet == wallet.id && quote.body.promise.of == Promised::Payout;
    let found = quotes::load(call, call.parameter("quoteId"))?.filter(is_ours);
    let mut quote = found.ok_or_else(words::not_found)?;
    let accepted = quote.body.quote().accept(call.now()).map_err(refused)?;
    quote.body.set(accepted);
    quotes::save(call, &quote)?;
    envelope::ok("Quote accepted successfully", &quote_text(&quote)?)
}

fn execute(call: &Call) -> Outcome {
    let sender = Sender::load(call)?;
    let mut form = Form::of(call)?;
    let raw = read_raw(&mut form);
    form.finish()?;
    let wanted = read_execution(&raw, &sender.context(call)?).map_err(refused)?;
    let terms = terms(&sender, &wanted.payout);
    let fingerprint = ids::fingerprint(&[&terms, &wanted.quote_id]);
    let made = match repeated(call, &sender.wallet.id, wanted.reference.as_deref(), &fingerprint)? {
        Some(first) => first,
        None => {
            let mut out = order(call, &sender, &wanted, &terms)?;
            out.way.fingerprint = Some(fingerprint);
            begin(call, &mut out)?;
            out.to_stored()
        }
    };
    envelope::ok("Fiat withdrawal initiated successfully", &shown(call, &made)?)
}

/// The form of the currency, the account, the quote; then what it needs is held.
fn order(call: &Call, sender: &Sender, wanted: &Execution, terms: &str) -> Result<Out, Stop> {
    let Payout { money, account } = &wanted.payout;
    let verified = compliance::is_verified(call, &sender.wallet.id, account).then_some(account);
    let form = compliance::state(call, account.currency.form())?;
    payout::check(account, form, verified).map_err(refused)?;
    let mut quote = quote_of(call, &sender.wallet.id, &wanted.quote_id)?;
    let gas = sender.gas(call, *money)?;
    let id = call.uuid();
    let taken = quote.body.quote().take(&id, terms, call.now()).map_err(refused)?;
    quote.body.set(taken);
    quotes::save(call, &quote)?;
    let task = Task::Offramp {
        money: *money,
        currency: account.currency,
        institution_identifier: account.institution_identifier.clone(),
    };
    let order = Order {
        id: id.clone(),
        wallet_id: sender.wallet.id.clone(),
        from: sender.holder.clone(),
        task,
        gas: Some(gas),
    };
    let step = accept(order);
    carry::hold(call, &step.postings)?;
    let blockchain = super::withdraw::blockchain_of(money.asset)?;
    let mut out = Out::new(call, step.record, Way::new(blockchain, (sender.index, &sender.account), None));
    let reference = reference_or_new(call, wanted.reference.clone());
    let short: String = reference.chars().take(PROVIDER_REFERENCE_CHARS).collect();
    let body = json::to_text(&provider::Order {
        id: &id,
        quote_id: &quote.body.promise.id,
        institution_identifier: &account.institution_identifier,
        account_identifier: &account.account_identifier,
        reference: &short,
        refund_address: &sender.account,
    })?;
    providing::order(call, &mut out, Kind::Payout, body);
    let metadata = wanted.metadata.clone().map(RawValue::from_string).transpose();
    out.about.metadata = metadata.map_err(|error| Stop::fault(error.to_string()))?;
    out.reference = Some(reference);
    Ok(out)
}
