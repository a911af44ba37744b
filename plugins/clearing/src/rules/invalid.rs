//! The fields of the interface (spec/clearing: Resources and their fields) and what can be wrong with one. Values only: the
//! sentences that a caller reads are the border's.

/// Named exactly as in the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    Uetr,
    EndToEndIdentification,
    TransactionIdentification,
    InstructionIdentification,
    MessageIdentification,
    CreationDateTime,
    BankSettlementAmountValue,
    BankSettlementAmountCurrency,
    SettlementDate,
    CreditorAccountNumber,
    CreditorAccountProxy,
    CreditorLegalName,
    DebtorAccountNumber,
    DebtorLegalName,
    PaymentScheme,
    RemittanceInformation,
    TransactionStatus,
    StatusReason,
}

impl Field {
    /// In the order of the specification's table.
    pub const ALL: [Field; 18] = [
        Field::Uetr,
        Field::EndToEndIdentification,
        Field::TransactionIdentification,
        Field::InstructionIdentification,
        Field::MessageIdentification,
        Field::CreationDateTime,
        Field::BankSettlementAmountValue,
        Field::BankSettlementAmountCurrency,
        Field::SettlementDate,
        Field::CreditorAccountNumber,
        Field::CreditorAccountProxy,
        Field::CreditorLegalName,
        Field::DebtorAccountNumber,
        Field::DebtorLegalName,
        Field::PaymentScheme,
        Field::RemittanceInformation,
        Field::TransactionStatus,
        Field::StatusReason,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Field::Uetr => "uetr",
            Field::EndToEndIdentification => "end_to_end_identification",
            Field::TransactionIdentification => "transaction_identification",
            Field::InstructionIdentification => "instruction_identification",
            Field::MessageIdentification => "message_identification",
            Field::CreationDateTime => "creation_date_time",
            Field::BankSettlementAmountValue => "bank_settlement_amount_value",
            Field::BankSettlementAmountCurrency => "bank_settlement_amount_currency",
            Field::SettlementDate => "settlement_date",
            Field::CreditorAccountNumber => "creditor_account_number",
            Field::CreditorAccountProxy => "creditor_account_proxy",
            Field::CreditorLegalName => "creditor_legal_name",
            Field::DebtorAccountNumber => "debtor_account_number",
            Field::DebtorLegalName => "debtor_legal_name",
            Field::PaymentScheme => "payment_scheme",
            Field::RemittanceInformation => "remittance_information",
            Field::TransactionStatus => "transaction_status",
            Field::StatusReason => "status_reason",
        }
    }

    pub fn of_name(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// One thing that is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    pub field: Field,
    pub rule: Rule,
}

/// What the field breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Required,
    /// A rejection without a reason.
    RequiredWithRejected,
    /// Nothing but spaces.
    Blank,
    TooLong {
        characters_max: usize,
    },
    /// Control characters, NUL among them.
    ControlCharacters,
    NotOneOf(&'static [&'static str]),
    /// 8-4-4-4-12 hexadecimal digits, not all zero.
    NotUuid,
    /// Digits with at most one point: no sign, no exponent.
    NotDecimal,
    BelowZero,
    NotAboveZero,
    /// More decimals than the currency has.
    TooPrecise {
        decimals: u32,
    },
    TooLarge {
        digits_max: usize,
    },
    /// Not of the pattern, or not a currency of ISO 4217 that payments are made in.
    NotCurrency,
    /// Not "2026-05-07".
    NotDate,
    /// Not a time of RFC 3339: "2026-05-07T08:30:00Z", "…+02:00".
    NotDateTime,
    /// The operation does not serve this scheme.
    SchemeNotServed(&'static [&'static str]),
}

impl Field {
    /// What is wrong with this field.
    pub fn breaks(self, rule: Rule) -> Invalid {
        Invalid { field: self, rule }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = Field::ALL.iter().map(|field| field.name()).collect();
        assert_eq!(names.len(), Field::ALL.len());
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())));
    }
}
