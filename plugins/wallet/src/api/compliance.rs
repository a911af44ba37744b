//! Where the forms stand that each currency asks for (spec/wallet: Conditions). An account key submits them. Who may decide
//! needs the scope `compliance:decide`: a key without any scopes has it, one that the operator made with other scopes has not.

use tenon_plugin::{Call, Outcome, Route, Stop, get, post};

use super::{access, envelope, form::Form};
use crate::records::compliance as records;
use crate::rules::compliance::{Currency, Form as ComplianceForm, FormState};
use crate::show::Text;
use crate::words;

pub const ROUTES: &[Route] = &[
    get("/v1/compliance", "read-compliance", read).query(envelope::PAGE),
    post("/v1/compliance/forms/{form}/submit", "submit-compliance-form", submit),
    post("/v1/compliance/forms/{form}/decide", "decide-compliance-form", decide).scopes(&["compliance:decide"]),
];

pub fn currency(call: &Call, currency: Currency) -> Result<Text, Stop> {
    let form = currency.form();
    let state = records::state(call, form)?;
    Text::new()
        .with("currency", currency.code())?
        .with("form", records::name(form))?
        .with("form_title", form.title())?
        .with("compliance_status", state.name())?
        .with("is_enabled", &(state == FormState::Approved))
}

fn read(call: &Call) -> Outcome {
    let rows: Result<Vec<String>, Stop> =
        Currency::ALL.into_iter().map(|it| Ok(currency(call, it)?.to_text())).collect();
    envelope::paged_list(call, "Compliance fetched successfully", &rows?)
}

fn named(call: &Call) -> Result<ComplianceForm, Stop> {
    access::account(call)?;
    records::form_named(call.parameter("form")).ok_or_else(words::not_found)
}

fn submit(call: &Call) -> Outcome {
    let form = named(call)?;
    go(call, form, FormState::Submitted)
}

fn decide(call: &Call) -> Outcome {
    let form = named(call)?;
    let mut body = Form::of(call)?;
    let state = body.text(&["state", "status"]);
    body.finish()?;
    let state = state.as_deref().and_then(records::state_named);
    let decided = state.filter(|state| matches!(state, FormState::Approved | FormState::Rejected));
    let decided = decided.ok_or_else(|| words::wrong("state", "one_of", "must be one of approved, rejected"))?;
    go(call, form, decided)
}

fn go(call: &Call, form: ComplianceForm, next: FormState) -> Outcome {
    let state = records::state(call, form)?;
    let Some(next) = state.go(next) else { return Err(words::conflict("Not possible for a form in this state")) };
    if next != state {
        records::set_state(call, form, next)?;
    }
    let text = Text::new()
        .with("form", records::name(form))?
        .with("form_title", form.title())?
        .with("compliance_status", next.name())?;
    envelope::ok("Compliance form updated successfully", &text.to_text())
}
