//! Messages as they travel: JSON objects of the specification's fields, read for the rules and written for the other side.
//!
//! Owns the types of JSON: texts are JSON texts, the amount is a JSON number whose digits are never touched. Unknown fields
//! are ignored. Null is refused in what is sent to this interface, and counts as absent in what it is answered.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use crate::rules::date::Date;
use crate::rules::invalid::{Field, Invalid};
use crate::rules::limits::IDENTIFICATION_CHARS_MAX;
use crate::rules::message::{Payment, Raw};
use crate::rules::step::{Ending, Message};
use crate::rules::text::check_text;
use crate::rules::uetr::Uetr;
use crate::words;

/// Fields and their texts; the amount in its digits.
pub type Fields = Vec<(Field, String)>;

/// The body of a request. An object with a member twice is refused at any depth: two programs could read two payments in it.
pub fn body<'a>(call: &Call<'a>) -> Result<Object<'a>, Stop> {
    let body = call.required_object()?;
    if is_ambiguous(&body) { Err(words::ambiguous()) } else { Ok(body) }
}

/// The body of a reply. `None`: it nests too deep, is no object, or has a member twice.
pub fn reply(text: &str) -> Option<Object<'_>> {
    let nests = json::nests_within(text, json::DEPTH_MAX);
    nests.then(|| Object::parse(text).ok()).flatten().filter(|body| !is_ambiguous(body))
}

fn is_ambiguous(body: &Object) -> bool {
    body.is_ambiguous() || body.members().any(|(_, value)| json::is_ambiguous(value))
}

/// The message of a request, or everything that is wrong with it.
pub fn read<T>(call: &Call, read: impl FnOnce(&Raw) -> Result<T, Vec<Invalid>>) -> Result<T, Stop> {
    read_object(&body(call)?, read)
}

/// The same of a reply or of a stored message: null is absent.
pub fn read_lenient<T>(body: &Object, read: impl FnOnce(&Raw) -> Result<T, Vec<Invalid>>) -> Result<T, Stop> {
    let mut given = body.clone();
    for field in Field::ALL.into_iter().filter(|field| body.given(field.name()).is_none()) {
        given.remove(field.name());
    }
    read_object(&given, read)
}

pub fn read_object<T>(body: &Object, read: impl FnOnce(&Raw) -> Result<T, Vec<Invalid>>) -> Result<T, Stop> {
    let (mut raw, mut faults) = (Raw::default(), Vec::new());
    for field in Field::ALL {
        let Some(value) = body.raw(field.name()) else { continue };
        match plain(field, value) {
            Some(text) => raw = raw.with(field, text),
            None => faults.push((field, words::sentence(field.name(), kind(field)))),
        }
    }
    let read = read(&raw);
    match read {
        Ok(message) if faults.is_empty() => return Ok(message),
        Ok(_) => {}
        Err(invalid) => {
            // A required field that is null or mistyped: null is reported as missing, another type as such.
            faults.retain(|(field, _)| body.given(field.name()).is_some() || !names(&invalid, *field));
            let known: Vec<Field> = faults.iter().map(|(field, _)| *field).collect();
            let more = invalid.iter().filter(|invalid| !known.contains(&invalid.field));
            faults.extend(more.map(|invalid| (invalid.field, words::explain(invalid))));
        }
    }
    faults.sort_by_key(|(field, _)| *field);
    Err(words::unprocessable(faults.into_iter().map(|(_, sentence)| sentence).collect()))
}

fn names(invalid: &[Invalid], field: Field) -> bool {
    invalid.iter().any(|invalid| invalid.field == field)
}

/// A text without its quotes, a number in its digits.
fn plain(field: Field, value: &str) -> Option<String> {
    if field == Field::BankSettlementAmountValue {
        let is_number = value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        return is_number.then(|| value.to_owned());
    }
    serde_json::from_str(value).ok()
}

fn kind(field: Field) -> &'static str {
    if field == Field::BankSettlementAmountValue { "must be a number" } else { "must be a text" }
}

/// One JSON object, in the order of the fields.
pub fn to_text(fields: &[(Field, String)]) -> Result<String, Stop> {
    let mut object = Object::default();
    for (field, text) in fields {
        if *field == Field::BankSettlementAmountValue {
            object.set_raw(field.name(), text.as_str());
        } else {
            object.set(field.name(), text)?;
        }
    }
    Ok(object.to_text())
}

/// Of a payment, in the order of the specification's table.
pub fn fields_of(payment: &Payment) -> Fields {
    let details = &payment.details;
    let text = |text: &Option<String>| text.clone();
    let known = [
        (Field::Uetr, Some(payment.uetr.as_str().to_owned())),
        (Field::EndToEndIdentification, Some(payment.end_to_end_identification.clone())),
        (Field::TransactionIdentification, text(&details.transaction_identification)),
        (Field::InstructionIdentification, text(&details.instruction_identification)),
        (Field::MessageIdentification, text(&details.message_identification)),
        (Field::CreationDateTime, details.creation_date_time_ms.map(tenon_plugin::time::to_text)),
        (Field::BankSettlementAmountValue, Some(payment.amount.as_str().to_owned())),
        (Field::BankSettlementAmountCurrency, Some(payment.amount.currency().code().to_owned())),
        (Field::SettlementDate, details.settlement_date.map(Date::to_text)),
        (Field::CreditorAccountNumber, details.creditor_account_number.as_ref().map(|it| it.as_str().to_owned())),
        (Field::CreditorAccountProxy, details.creditor_account_proxy.as_ref().map(|it| it.as_str().to_owned())),
        (Field::CreditorLegalName, text(&details.creditor_legal_name)),
        (Field::DebtorAccountNumber, details.debtor_account_number.as_ref().map(|it| it.as_str().to_owned())),
        (Field::DebtorLegalName, text(&details.debtor_legal_name)),
        (Field::PaymentScheme, Some(payment.scheme.name().to_owned())),
        (Field::RemittanceInformation, text(&details.remittance_information)),
    ];
    known.into_iter().filter_map(|(field, text)| Some((field, text?))).collect()
}

/// The body of a message about a payment. The same message has the same bytes whenever it is sent.
pub fn body_of(payment: &Payment, message: &Message) -> Result<String, Stop> {
    let wanted: &[Field] = match message {
        Message::Payment => return to_text(&fields_of(payment)),
        Message::Determination => &[Field::Uetr, Field::CreditorAccountProxy, Field::PaymentScheme],
        Message::Completion { .. } | Message::Response { .. } => {
            &[Field::Uetr, Field::EndToEndIdentification, Field::PaymentScheme]
        }
    };
    let mut fields = fields_of(payment);
    fields.retain(|(field, _)| wanted.contains(field));
    match message {
        Message::Completion { outcome, settlement_date } => {
            fields.push((Field::SettlementDate, settlement_date.to_text()));
            fields.push((Field::TransactionStatus, outcome.status().name().to_owned()));
        }
        Message::Response { outcome, reason } => {
            fields.push((Field::TransactionStatus, outcome.status().name().to_owned()));
            fields.extend(reason.iter().map(|reason| (Field::StatusReason, reason.as_str().to_owned())));
        }
        Message::Payment | Message::Determination => {}
    }
    to_text(&fields)
}

/// The body that notifies the bank's own system of the final outcome: the payment's fields and operation, the outcome, and
/// what belongs to it. The same outcome has the same bytes whenever it is sent.
pub fn ending_of(payment: &Payment, ending: &Ending, tenant: &str) -> Result<String, Stop> {
    let mut fields = fields_of(payment);
    if let Some(date) = ending.settlement_date {
        fields.retain(|(field, _)| *field != Field::SettlementDate);
        fields.push((Field::SettlementDate, date.to_text()));
    }
    fields.extend(ending.reason.iter().map(|reason| (Field::StatusReason, reason.as_str().to_owned())));
    let text = to_text(&fields)?;
    let mut body = Object::parse(&text).map_err(|error| Stop::fault(error.to_string()))?;
    body.set("operation", payment.kind.operation().name())?;
    body.set("tenant", tenant)?;
    body.set("outcome", ending.booking.name())?;
    if let Some(account) = &ending.account {
        body.set("account_number", account.as_str())?;
    }
    Ok(body.to_text())
}

/// The `uetr` of a body, where it is one.
pub fn uetr_in(body: &Object) -> Option<Uetr> {
    let text = plain(Field::Uetr, body.given(Field::Uetr.name())?)?;
    Uetr::parse(&text).ok()
}

/// A `uetr` of a path: what cannot be one is not found.
pub fn uetr(call: &Call) -> Result<Uetr, Stop> {
    Uetr::parse(call.parameter("uetr")).map_err(|_| words::not_found())
}

/// A text of the query that is compared with a field.
pub fn query_text<'a>(call: &Call<'a>, name: &str, field: Field) -> Result<Option<&'a str>, Stop> {
    let Some(text) = call.query(name) else { return Ok(None) };
    let checked = check_text(field, text, IDENTIFICATION_CHARS_MAX);
    checked.map(|_| Some(text)).map_err(|invalid| words::unprocessable(vec![words::explain(&invalid)]))
}

#[cfg(test)]
mod tests {
    use super::reply;

    #[test]
    fn reply_with_a_member_twice_is_no_reply() {
        assert!(reply(r#"{"transaction_status":"APPROVED","reason":{"a":1}}"#).is_some());
        assert!(reply(r#"{"transaction_status":"APPROVED","transaction_status":"REJECTED"}"#).is_none());
        assert!(reply(r#"{"transaction_status":"APPROVED","reason":{"a":1,"a":2}}"#).is_none());
    }
}
