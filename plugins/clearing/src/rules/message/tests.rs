//! Each operation with the least that it needs, with everything, and with each field wrong.

use super::*;
use proptest::prelude::*;

const UETR: &str = "97ed4827-7b6f-4491-a06f-b548d5a7512d";

/// A right value for each field.
fn right(field: Field, operation: Operation) -> &'static str {
    match field {
        Field::Uetr => UETR,
        Field::CreationDateTime => "2026-05-07T08:30:00Z",
        Field::BankSettlementAmountValue => "100.50",
        Field::BankSettlementAmountCurrency => "ZAR",
        Field::SettlementDate => "2026-05-07",
        Field::CreditorAccountNumber | Field::DebtorAccountNumber => "62001234567",
        Field::CreditorAccountProxy => "ada@bank",
        Field::PaymentScheme => operation.schemes()[0],
        Field::TransactionStatus => "REJECTED",
        _ => "a text",
    }
}

fn message(fields: &[Field], operation: Operation) -> Raw {
    fields.iter().fold(Raw::default(), |raw, field| raw.with(*field, right(*field, operation)))
}

fn least(operation: Operation) -> Raw {
    let raw = message(operation.required(), operation);
    if operation.required().contains(&Field::TransactionStatus) {
        return raw.with(Field::TransactionStatus, "APPROVED");
    }
    raw
}

fn kind(operation: Operation) -> Kind {
    Kind::ALL.into_iter().find(|kind| kind.operation() == operation).unwrap()
}

fn read(raw: &Raw, operation: Operation) -> Result<(), Vec<Invalid>> {
    match operation {
        Operation::IdentifierDetermination => Determination::read(raw).map(|_| ()),
        Operation::CreditTransferCompletion => Completion::read(raw, ZAR).map(|_| ()),
        Operation::CreditTransferAuthorisationResponse
        | Operation::CreditTransferResponse
        | Operation::DirectDebitResponse => Response::read(raw, operation, ZAR).map(|_| ()),
        _ => Payment::read(raw, kind(operation)).map(|_| ()),
    }
}

#[test]
fn each_operation_takes_the_least_that_the_specification_shows() {
    for operation in Operation::ALL {
        assert_eq!(read(&least(operation), operation), Ok(()), "{operation:?}");
        assert_eq!(read(&message(&Field::ALL, operation), operation), Ok(()), "{operation:?} with all fields");
    }
}

#[test]
fn each_required_field_is_missed_and_no_other() {
    for operation in Operation::ALL {
        for field in Field::ALL {
            let others: Vec<Field> = Field::ALL.into_iter().filter(|other| *other != field).collect();
            let raw = message(&others, operation);
            let expected = match field {
                _ if operation.required().contains(&field) => Err(vec![field.breaks(Rule::Required)]),
                Field::StatusReason if operation.required().contains(&Field::TransactionStatus) => {
                    Err(vec![field.breaks(Rule::RequiredWithRejected)])
                }
                _ => Ok(()),
            };
            assert_eq!(read(&raw, operation), expected, "{operation:?} without {field:?}");
        }
        let nothing = read(&Raw::default(), operation).unwrap_err();
        assert_eq!(nothing.len(), operation.required().len(), "{operation:?}: {nothing:?}");
    }
}

#[test]
fn each_field_is_checked_when_it_is_present() {
    for operation in Operation::ALL {
        for field in Field::ALL {
            let raw = least(operation).with(field, "\0");
            let wrong = read(&raw, operation).unwrap_err();
            assert_eq!(wrong.iter().map(|invalid| invalid.field).collect::<Vec<_>>(), [field], "{operation:?}");
        }
    }
}

#[test]
fn lengths_are_those_of_the_specification() {
    let operation = Operation::CreditTransferAuthorisation;
    for (field, most) in [
        (Field::EndToEndIdentification, 35),
        (Field::TransactionIdentification, 35),
        (Field::InstructionIdentification, 35),
        (Field::MessageIdentification, 35),
        (Field::CreditorLegalName, 140),
        (Field::DebtorLegalName, 140),
    ] {
        assert_eq!(read(&least(operation).with(field, "é".repeat(most)), operation), Ok(()));
        let wrong = read(&least(operation).with(field, "é".repeat(most + 1)), operation);
        assert_eq!(wrong, Err(vec![field.breaks(Rule::TooLong { characters_max: most })]));
    }
}

#[test]
fn scheme_and_operation_must_fit() {
    for operation in Operation::ALL {
        for scheme in Scheme::ALL {
            let fits = read(&least(operation).with(Field::PaymentScheme, scheme.name()), operation);
            let expected = operation.serves(scheme).map_err(|invalid| vec![invalid]);
            assert_eq!(fits, expected, "{operation:?} {scheme:?}");
        }
    }
}

#[test]
fn a_direct_debit_is_in_rand_and_above_zero() {
    let debit = Payment::read(&least(Operation::DirectDebit), Kind::DirectDebit).unwrap();
    assert_eq!((debit.scheme, debit.amount.currency().code()), (Scheme::ZaEft, "ZAR"));
    for operation in [Operation::DirectDebit, Operation::CreditTransfer, Operation::CreditTransferAuthorisation] {
        let raw = least(operation).with(Field::BankSettlementAmountValue, "0.00");
        let zero = Field::BankSettlementAmountValue.breaks(Rule::NotAboveZero);
        let expected = if operation == Operation::DirectDebit { Err(vec![zero]) } else { Ok(()) };
        assert_eq!(read(&raw, operation), expected, "{operation:?}");
    }
}

#[test]
fn a_completion_settles_releases_or_is_not_final() {
    let outcome = |status: Option<&str>| {
        let raw = least(Operation::CreditTransferCompletion);
        let raw = status.map_or(raw.clone(), |status| raw.with(Field::TransactionStatus, status));
        Completion::read(&raw, ZAR).map(|completion| completion.outcome())
    };
    assert_eq!(outcome(None), Ok(Some(Outcome::Approved)));
    assert_eq!(outcome(Some("APPROVED")), Ok(Some(Outcome::Approved)));
    assert_eq!(outcome(Some("REJECTED")), Ok(Some(Outcome::Rejected)));
    assert_eq!(outcome(Some("PENDING")), Ok(None));
    assert!(outcome(Some("approved")).is_err());
}

#[test]
fn an_answer_is_not_pending() {
    let operation = Operation::DirectDebitResponse;
    let raw = least(operation).with(Field::TransactionStatus, TransactionStatus::Pending.name());
    let allowed = Rule::NotOneOf(&["APPROVED", "REJECTED"]);
    assert_eq!(read(&raw, operation), Err(vec![Field::TransactionStatus.breaks(allowed)]));
}

#[test]
fn a_repeat_may_renew_its_message_id_and_spell_differently() {
    let operation = Operation::CreditTransferAuthorisation;
    let first = Payment::read(&least(operation), kind(operation)).unwrap();
    let again = least(operation)
        .with(Field::MessageIdentification, "another")
        .with(Field::CreationDateTime, "2026-05-07T08:30:09Z")
        .with(Field::Uetr, UETR.to_ascii_uppercase())
        .with(Field::BankSettlementAmountValue, "100.5");
    let again = Payment::read(&again, kind(operation)).unwrap();
    assert_eq!(first.content().differences(&again.content()), []);
    let other = least(operation).with(Field::BankSettlementAmountValue, "100.51").with(Field::DebtorLegalName, "Ada");
    let other = Payment::read(&other, kind(operation)).unwrap();
    assert_eq!(
        first.content().differences(&other.content()),
        [Field::BankSettlementAmountValue, Field::DebtorLegalName]
    );
}

#[test]
fn what_comes_later_may_not_contradict_its_payment() {
    let operation = Operation::CreditTransferAuthorisation;
    let first =
        least(operation).with(Field::SettlementDate, "2026-05-06").with(Field::CreditorLegalName, "A. Lovelace");
    let first = first.with(Field::CreditorAccountNumber, "62001").with(Field::CreditorAccountProxy, "ada@bank");
    let payment = Payment::read(&first, kind(operation)).unwrap();
    let contradictions = |field: Field, text: &str| {
        let raw = least(Operation::CreditTransferCompletion).with(field, text);
        let completion = Completion::read(&raw, ZAR).unwrap().contradictions(&payment);
        let response = least(Operation::CreditTransferAuthorisationResponse).with(field, text);
        let response = Response::read(&response, Operation::CreditTransferAuthorisationResponse, ZAR).unwrap();
        assert_eq!(response.contradictions(&payment), completion, "{field:?}");
        completion
    };
    assert_eq!(contradictions(Field::SettlementDate, "2026-05-07"), []);
    assert_eq!(contradictions(Field::CreditorLegalName, "Ada"), []);
    assert_eq!(contradictions(Field::CreditorAccountNumber, "62-001"), []);
    assert_eq!(contradictions(Field::CreditorAccountNumber, "62002"), [Field::CreditorAccountNumber]);
    assert_eq!(contradictions(Field::CreditorAccountProxy, "Ada@bank"), []);
    assert_eq!(contradictions(Field::CreditorAccountProxy, "eve@bank"), [Field::CreditorAccountProxy]);
    assert_eq!(contradictions(Field::EndToEndIdentification, "other"), [Field::EndToEndIdentification]);
    assert_eq!(contradictions(Field::BankSettlementAmountValue, "1"), [Field::BankSettlementAmountValue]);
    assert_eq!(contradictions(Field::BankSettlementAmountCurrency, "USD"), [Field::BankSettlementAmountCurrency]);
    assert_eq!(contradictions(Field::PaymentScheme, "ZA_RPP"), [Field::PaymentScheme]);
}

proptest! {
    #[test]
    fn no_message_breaks_the_reader(
        texts in proptest::collection::vec("\\PC{0,12}|[0-9.]{1,6}", 18),
        present in proptest::collection::vec(any::<bool>(), 18),
    ) {
        for operation in Operation::ALL {
            let fields = Field::ALL.into_iter().zip(&texts).zip(&present).filter(|(_, present)| **present);
            let raw = fields.fold(Raw::default(), |raw, ((field, text), _)| raw.with(field, text.as_str()));
            prop_assert!(read(&raw, operation).err().is_none_or(|wrong| !wrong.is_empty()), "refused without a reason");
        }
    }
}
