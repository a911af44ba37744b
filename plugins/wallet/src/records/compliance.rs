//! Where the forms of the business stand, and which bank accounts were verified.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Collection, Stop, json};

use crate::ids;
use crate::rules::compliance::{Form, FormState};
use crate::rules::payout::BankAccount;

const FORMS: &str = "compliance-forms";
const ACCOUNTS: &str = "verified-accounts";

pub const COLLECTIONS: &[Collection] = &[Collection::new(FORMS, &[]), Collection::new(ACCOUNTS, &[])];

/// Names of the forms in paths and answers.
pub const FORM_NAMES: [(&str, Form); 3] = [
    ("naira-onboarding", Form::NairaOnboarding),
    ("african-partner-onboarding", Form::AfricanPartnerOnboarding),
    ("due-diligence", Form::DueDiligence),
];

const STATES: [FormState; 4] = [FormState::NotStarted, FormState::Submitted, FormState::Approved, FormState::Rejected];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FormBody {
    pub state: String,
    /// Each edge: time, state, who.
    pub history: Vec<(u64, String, String)>,
}

pub fn name(form: Form) -> &'static str {
    FORM_NAMES.iter().find(|(_, known)| *known == form).map_or("", |(name, _)| name)
}

pub fn form_named(name: &str) -> Option<Form> {
    FORM_NAMES.iter().find(|(known, _)| *known == name).map(|(_, form)| *form)
}

pub fn state_named(name: &str) -> Option<FormState> {
    STATES.into_iter().find(|state| state.name() == name)
}

fn load(call: &Call, form: Form) -> Result<Option<FormBody>, Stop> {
    call.records(FORMS).get(name(form)).map(|entry| json::from_text(&entry.body)).transpose()
}

pub fn state(call: &Call, form: Form) -> Result<FormState, Stop> {
    Ok(load(call, form)?.and_then(|body| state_named(&body.state)).unwrap_or_default())
}

pub fn set_state(call: &Call, form: Form, state: FormState) -> Result<(), Stop> {
    let mut body = load(call, form)?.unwrap_or_default();
    state.name().clone_into(&mut body.state);
    body.history.push((call.now(), body.state.clone(), call.principal().subject.clone()));
    super::put(call, FORMS, name(form), &json::to_text(&body)?)
}

#[derive(Serialize, Deserialize)]
struct AccountBody {
    account_name: String,
    verified_ms: u64,
}

fn account_id(wallet: &str, account: &BankAccount) -> String {
    let BankAccount { currency, institution_identifier, account_identifier } = account;
    ids::fingerprint(&["account", wallet, currency.code(), institution_identifier, account_identifier])
}

/// The wallet has seen whose account it is.
pub fn verified(call: &Call, wallet: &str, account: &BankAccount, account_name: &str) -> Result<(), Stop> {
    let body = json::to_text(&AccountBody { account_name: account_name.to_owned(), verified_ms: call.now() })?;
    super::put(call, ACCOUNTS, &account_id(wallet, account), &body)
}

pub fn is_verified(call: &Call, wallet: &str, account: &BankAccount) -> bool {
    call.records(ACCOUNTS).get(&account_id(wallet, account)).is_some()
}
