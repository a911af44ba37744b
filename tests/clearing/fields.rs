//! Every field of the specification's table in each of the nine messages: what it cannot be is told by its name, never by
//! what stood there (spec/clearing: Resources and their fields).

use clearing::rules::{invalid::Field, scheme::Operation};
use serde_json::{Value, json};

use super::{
    coverage::Side::{self, Bank, Hub},
    messages::{AUTHORISE, TRANSFER, UETR, message, minimal},
    refusals::refused,
    routes::{JSON, TRANSACTIONS},
    stage::Stage,
};
use crate::support::Response;

/// In every text that is wrong: no answer may have it.
const MARK: &str = "Zq9";
const TEXT: &str = "must be a text";
const STATUSES: &str = "must be one of: APPROVED, REJECTED, PENDING";

fn side(operation: Operation) -> Side {
    if operation.name().ends_with("-response") { Hub } else { Bank }
}

fn path(operation: Operation) -> String {
    format!("/v1{}", operation.path())
}

async fn send(stage: &Stage, operation: Operation, body: String) -> Response {
    stage.staff(side(operation)).send("POST", &path(operation), &JSON, body.into_bytes()).await
}

/// The minimal message with this JSON in place of a member.
fn with_raw(operation: Operation, field: Field, raw: &str) -> String {
    let mut body = minimal(&path(operation));
    body.as_object_mut().unwrap().remove(field.name());
    body.to_string().replacen('{', &format!("{{\"{}\":{raw},", field.name()), 1)
}

/// Characters of a text; `None`: the field is no free text.
fn characters_max(field: Field) -> Option<usize> {
    match field {
        Field::EndToEndIdentification
        | Field::TransactionIdentification
        | Field::InstructionIdentification
        | Field::MessageIdentification => Some(35),
        Field::CreditorLegalName | Field::DebtorLegalName => Some(140),
        Field::CreditorAccountNumber | Field::DebtorAccountNumber => Some(40),
        Field::CreditorAccountProxy => Some(128),
        Field::RemittanceInformation | Field::StatusReason => Some(1_000),
        _ => None,
    }
}

/// JSON that the field cannot be, and what is told.
fn wrong_values(operation: Operation, field: Field) -> Vec<(String, String)> {
    let text = |text: &str| json!(text).to_string();
    if field == Field::BankSettlementAmountValue {
        return wrong_amounts(operation);
    }
    let types = ["7", "true", "[]", r#"["Zq9"]"#, r#"{"a":"Zq9"}"#, r#""\ud800Zq9""#];
    let mut wrong: Vec<(String, String)> = types.map(|raw| (raw.to_owned(), TEXT.to_owned())).into();
    if let Some(most) = characters_max(field) {
        let long = format!("{MARK}{}", "\u{e9}".repeat(most - 2));
        wrong.extend([
            (text(&long), format!("may have at most {most} characters")),
            (text(&format!("{MARK}\0")), "must not contain control characters".to_owned()),
            (text(&format!("{MARK}\u{1b}[2J")), "must not contain control characters".to_owned()),
            (text(""), "must not be blank".to_owned()),
            (text(" \t\n"), "must not be blank".to_owned()),
        ]);
        return wrong;
    }
    let (must, texts): (&str, &[&str]) = match field {
        Field::Uetr => (
            "must be a UUID (8-4-4-4-12 hexadecimal digits, not all of them zero)",
            &[
                "Zq9",
                "",
                "97ed48277b6f4491a06fb548d5a7512d",
                "00000000-0000-0000-0000-000000000000",
                "{97ed4827-7b6f-4491-a06f-b548d5a7512d}",
            ],
        ),
        Field::CreationDateTime => (
            "must be a time with its offset, like 2026-05-07T08:30:00Z",
            &["Zq9", "", "2026-05-07", "2026-05-07T08:30:00", "2026-02-30T08:30:00Z", "2026-05-07T24:00:00Z"],
        ),
        Field::SettlementDate => (
            "must be a date like 2026-05-07",
            &["Zq9", "", "2026-02-30", "07.05.2026", "2026-05-07T00:00:00Z", "1969-12-31"],
        ),
        Field::BankSettlementAmountCurrency => {
            ("must be a currency of ISO 4217", &["Zq9", "", "zar", "ZARR", "XXX", "ZAR "])
        }
        Field::PaymentScheme => ("must be one of: ZA_RTC, ZA_RPP, ZA_EFT, CBPR+", &["Zq9", "", "za_rtc", "ZA_AC"]),
        _ if side(operation) == Hub => ("must be one of: APPROVED, REJECTED", &["Zq9", "", "approved", "PENDING"]),
        _ => (STATUSES, &["Zq9", "", "approved", "ACSC"]),
    };
    wrong.extend(texts.iter().map(|it| (text(it), must.to_owned())));
    wrong
}

fn wrong_amounts(operation: Operation) -> Vec<(String, String)> {
    let (number, plain) = ("must be a number", "must be a number without sign and exponent");
    let (decimals, digits) =
        ("may have at most 2 decimals in this currency", "may have at most 18 digits in minor units");
    let (nines, zeros) = ("9".repeat(400), format!("1.{}", "0".repeat(40)));
    let mut wrong = vec![
        (r#""100.50""#, number),
        (r#""Zq9""#, number),
        (r#""NaN""#, number),
        ("true", number),
        ("[1]", number),
        (r#"{"Zq9":1}"#, number),
        ("-1", "must be zero or greater"),
        ("-0.01", "must be zero or greater"),
        ("1e2", plain),
        ("1E400", plain),
        ("0.1e-400", plain),
        ("100.501", decimals),
        ("10000000000000000.00", digits),
        (&nines, digits),
        (&zeros, digits),
    ];
    if operation == Operation::DirectDebit {
        wrong.push(("0.00", "must be greater than zero"));
    }
    wrong.into_iter().map(|(raw, must)| (raw.to_owned(), must.to_owned())).collect()
}

async fn nothing_is_stored(stage: &Stage) {
    for side in [Bank, Hub] {
        let list = stage.staff(side).get(TRANSACTIONS).await.expect(200).json();
        assert_eq!(list["transactions"], json!([]));
        assert_eq!(stage.staff(side).get("/v1/clearing/events").await.expect(200).json()["events"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_field_cannot_be_is_told_by_its_name_and_not_by_its_value() {
    let stage = Stage::both().await;
    for (operation, field) in Operation::ALL.into_iter().flat_map(|it| Field::ALL.map(|field| (it, field))) {
        for (raw, must) in wrong_values(operation, field) {
            let answer = send(&stage, operation, with_raw(operation, field, &raw)).await;
            let (shown, name): (String, &str) = (raw.chars().take(60).collect(), field.name());
            assert_eq!(answer.status, 422, "{operation:?} {name} {shown}: {}", answer.text());
            let detail = refused(&answer, 422, "INBOUND_UNPROCESSABLE");
            assert_eq!(detail, format!("{name} {must}."), "{operation:?} {shown}");
            assert!(!answer.text().contains(MARK), "{}", answer.text());
        }
    }
    nothing_is_stored(&stage).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operation_needs_is_asked_for_by_name_and_all_of_it_at_once() {
    let stage = Stage::both().await;
    for operation in Operation::ALL {
        let minimal = minimal(&path(operation));
        let needed: Vec<&str> = Field::ALL.iter().map(|it| it.name()).filter(|it| minimal.get(it).is_some()).collect();
        for name in &needed {
            for value in [None, Some(Value::Null)] {
                let mut body = minimal.clone();
                body.as_object_mut().unwrap().remove(*name);
                body.as_object_mut().unwrap().extend(value.map(|value| ((*name).to_owned(), value)));
                let detail = refused(&send(&stage, operation, body.to_string()).await, 422, "INBOUND_UNPROCESSABLE");
                assert_eq!(detail, format!("{name} is required."), "{operation:?}");
            }
        }
        let all: Vec<String> = needed.iter().map(|name| format!("{name} is required.")).collect();
        let detail = refused(&send(&stage, operation, "{}".to_owned()).await, 422, "INBOUND_UNPROCESSABLE");
        assert_eq!(detail, all.join(" "), "{operation:?}");
        refused(&send(&stage, operation, String::new()).await, 400, "INBOUND_BAD_REQUEST");
    }
    nothing_is_stored(&stage).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_wrong_with_a_message_is_told_at_once_in_the_order_of_the_table() {
    let stage = Stage::both().await;
    let all: serde_json::Map<String, Value> = Field::ALL.iter().map(|it| (it.name().to_owned(), json!({}))).collect();
    for operation in Operation::ALL {
        let answer = send(&stage, operation, Value::Object(all.clone()).to_string()).await;
        let told: Vec<String> = Field::ALL
            .iter()
            .map(|it| {
                format!(
                    "{} {}.",
                    it.name(),
                    if *it == Field::BankSettlementAmountValue { "must be a number" } else { TEXT }
                )
            })
            .collect();
        assert_eq!(refused(&answer, 422, "INBOUND_UNPROCESSABLE"), told.join(" "), "{operation:?}");
    }
    stage.finish().await;
}

/// At its longest and strangest, a message is taken, and shown as it was sent.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_field_may_be_at_most_is_taken_and_shown_as_it_was_sent() {
    let stage = Stage::bank("").await;
    let mut widest = json!({"creation_date_time": "2026-05-07T10:30:00.123+02:00", "settlement_date": "9999-12-31"});
    for field in Field::ALL {
        if let Some(most) = characters_max(field).filter(|_| field != Field::StatusReason) {
            widest[field.name()] = json!("\u{1F600}".repeat(most));
        }
    }
    let body = message(AUTHORISE, widest.clone()).to_string();
    let body = body.replace("100.5", "9999999999999999.99");
    stage.to_bank.send("POST", AUTHORISE, &JSON, body.into_bytes()).await.check(202);
    let shown = stage.until(Bank, UETR, "response", "delivered").await;
    assert_eq!((&shown["state"], &shown["status_reason"]), (&json!("rejected"), &json!("AC01")));
    for (name, value) in widest.as_object().unwrap().iter().filter(|(name, _)| *name != "creation_date_time") {
        assert_eq!(&shown["message"][name], value, "{name}");
    }
    let digits = stage.bank.get(&format!("{TRANSACTIONS}/{UETR}")).await.expect(200).text();
    assert!(digits.contains(r#""bank_settlement_amount_value":9999999999999999.99,"#), "{digits}");
    let least = json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a7512e", "bank_settlement_amount_value": 0});
    stage.to_bank.post(TRANSFER, message(TRANSFER, least)).await.check(202);
    stage.finish().await;
}
