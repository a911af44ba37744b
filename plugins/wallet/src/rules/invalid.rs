//! What can be wrong with a field of a request: which, where, what it breaks, in the interface's words (spec/wallet: Resources
//! and their fields; Limits).
//!
//! The specification has the codes and the constraints, research/wallet the pattern of one message ("walletId is required");
//! the rest follows that pattern. Invariant: a message never repeats what was sent.

use super::blockchain::Blockchain;
use super::code::Code;

/// A field by its name in the specification, or the nearest to it where the specification names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field(pub &'static str);

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    pub field: Field,
    /// Which recipient of a batch it concerns.
    pub item: Option<usize>,
    pub rule: Rule,
}

/// What the field breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    Required,
    /// Two ways to say the same thing, of which one is wanted.
    NotBoth {
        other: Field,
    },
    /// Another recipient of the batch has the same.
    NotUnique,
    TooLong {
        characters_max: usize,
    },
    TooManyBytes {
        bytes_max: usize,
    },
    /// Nothing but spaces.
    Blank,
    /// Control characters, NUL among them.
    ControlCharacters,
    NotOneOf(&'static [&'static str]),
    /// Digits with at most one point: no sign, no exponent.
    NotDecimal,
    NotAboveZero,
    /// More decimals than the asset has.
    TooPrecise {
        decimals: u32,
    },
    TooLarge {
        digits_max: usize,
    },
    NotPercent,
    NotWholeNumber {
        min: u64,
        max: u64,
    },
    /// The upper threshold is below the lower one.
    BelowMinimum,
    NotAddress(Blockchain),
    AddressChecksum,
    NotHash,
    NotUrl,
    NotHttps,
    /// Not the environment of the key.
    NotNetworkOfKey,
    UnknownBlockchain,
    /// Not an asset of this wallet.
    UnknownAsset,
    /// From an asset to itself.
    SameAsset,
    NotUsdc,
    NoGateway {
        blockchain: Blockchain,
        network: &'static str,
    },
    GatewayContract,
    /// Nobody's.
    ZeroAddress,
    TokenContract,
    /// Who sends it.
    Sender,
    BatchEmpty,
    BatchTooLarge {
        recipients_max: usize,
    },
    NotEmail,
    NotPhone,
}

impl Field {
    /// What is wrong with this field.
    pub fn breaks(self, rule: Rule) -> Invalid {
        Invalid { field: self, item: None, rule }
    }
}

impl Invalid {
    pub fn code(&self) -> Code {
        match self.rule {
            Rule::BatchTooLarge { .. } => Code::BatchSizeExceeded,
            Rule::GatewayContract => Code::GatewayDirectTransfer,
            _ => Code::ValidationError,
        }
    }

    /// "amount", or "assets[3].amount".
    pub fn path(&self) -> String {
        match self.item {
            Some(item) => format!("assets[{item}].{}", self.field.0),
            None => self.field.0.to_owned(),
        }
    }

    /// A sentence for a person.
    pub fn message(&self) -> String {
        let path = self.path();
        match &self.rule {
            Rule::Required => format!("{path} is required"),
            Rule::NotBoth { other } => format!("{path} must not be given together with {}", other.0),
            Rule::NotUnique => format!("{path} must be unique"),
            Rule::TooLong { characters_max } => format!("{path} must be at most {characters_max} characters"),
            Rule::TooManyBytes { bytes_max } => format!("{path} must be at most {bytes_max} bytes"),
            Rule::Blank => format!("{path} must not be blank"),
            Rule::ControlCharacters => format!("{path} must not contain control characters"),
            Rule::NotOneOf(allowed) => format!("{path} must be one of {}", allowed.join(", ")),
            Rule::NotDecimal => format!("{path} must be a decimal number such as \"10.5\""),
            Rule::NotAboveZero => format!("{path} must be greater than 0"),
            Rule::TooPrecise { decimals } => format!("{path} must have at most {decimals} decimals"),
            Rule::TooLarge { digits_max } => format!("{path} must have at most {digits_max} digits in base units"),
            Rule::NotPercent => format!("{path} must be a percentage from 0 to 100 with at most 2 decimals, or -1"),
            Rule::NotWholeNumber { min, max } => format!("{path} must be a whole number from {min} to {max}"),
            Rule::BelowMinimum => format!("{path} must not be below the minimum"),
            Rule::NotAddress(blockchain) => format!("{path} must be a valid {} address", blockchain.slug()),
            Rule::AddressChecksum => format!("{path} has a wrong checksum"),
            Rule::NotHash => format!("{path} must be a transaction hash of this blockchain"),
            Rule::NotUrl => format!("{path} must be a valid URL"),
            Rule::NotHttps => format!("{path} must use https"),
            Rule::NotNetworkOfKey => format!("{path} must be the network of the API key"),
            Rule::UnknownBlockchain => format!("{path} must be a supported blockchain"),
            Rule::UnknownAsset => format!("{path} must be an asset of this wallet"),
            Rule::SameAsset => format!("{path} must differ from the source asset"),
            Rule::NotUsdc => format!("{path} must be USDC"),
            Rule::NoGateway { blockchain, network } => {
                format!("Gateway is not supported on {} {network}", blockchain.slug())
            }
            Rule::GatewayContract => {
                format!("{path} is the gateway contract: USDC sent to it directly is lost, use the gateway deposit")
            }
            Rule::ZeroAddress => format!("{path} must not be the zero address: nobody has its key"),
            Rule::TokenContract => format!("{path} must not be the contract of a token"),
            Rule::Sender => format!("{path} must differ from the address that sends"),
            Rule::BatchEmpty => format!("{path} must contain at least 1 recipient"),
            Rule::BatchTooLarge { recipients_max } => {
                format!("{path} must contain at most {recipients_max} recipients")
            }
            Rule::NotEmail => format!("{path} must be an email address"),
            Rule::NotPhone => format!("{path} must be a phone number such as +2348012345678"),
        }
    }
}

impl Rule {
    /// What a program reads: errors[].rule.
    pub fn name(&self) -> &'static str {
        match self {
            Rule::Required => "required",
            Rule::NotBoth { .. } => "exclusive",
            Rule::NotUnique => "unique",
            Rule::TooLong { .. } | Rule::TooManyBytes { .. } => "max_length",
            Rule::Blank => "blank",
            Rule::ControlCharacters => "characters",
            Rule::NotOneOf(_) => "one_of",
            Rule::NotDecimal => "decimal",
            Rule::NotAboveZero => "greater_than_zero",
            Rule::TooPrecise { .. } => "decimals",
            Rule::TooLarge { .. } => "max_digits",
            Rule::NotPercent => "percent",
            Rule::NotWholeNumber { .. } => "whole_number",
            Rule::BelowMinimum => "range",
            Rule::NotAddress(_) => "address",
            Rule::AddressChecksum => "checksum",
            Rule::NotHash => "transaction_hash",
            Rule::NotUrl => "url",
            Rule::NotHttps => "https",
            Rule::NotNetworkOfKey => "network",
            Rule::UnknownBlockchain => "blockchain",
            Rule::UnknownAsset => "asset",
            Rule::SameAsset => "different_asset",
            Rule::NotUsdc => "usdc",
            Rule::NoGateway { .. } => "gateway",
            Rule::GatewayContract => "gateway_contract",
            Rule::ZeroAddress => "zero_address",
            Rule::TokenContract => "token_contract",
            Rule::Sender => "sender",
            Rule::BatchEmpty => "min_items",
            Rule::BatchTooLarge { .. } => "max_items",
            Rule::NotEmail => "email",
            Rule::NotPhone => "phone",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_field_and_constraint() {
        let mut invalid = Field("amount").breaks(Rule::NotAboveZero);
        assert_eq!(invalid.message(), "amount must be greater than 0");
        invalid.item = Some(3);
        assert_eq!(invalid.message(), "assets[3].amount must be greater than 0");
        let gateway = Rule::NoGateway { blockchain: Blockchain::Celo, network: "testnet" };
        assert_eq!(Field("wallet_id").breaks(gateway).message(), "Gateway is not supported on celo testnet");
    }

    #[test]
    fn two_constraints_have_a_code_of_their_own() {
        let code = |rule| Field("assets").breaks(rule).code().name();
        assert_eq!(code(Rule::BatchTooLarge { recipients_max: 20 }), "BATCH_SIZE_EXCEEDED");
        assert_eq!(code(Rule::GatewayContract), "GATEWAY_DIRECT_TRANSFER");
        assert_eq!(code(Rule::BatchEmpty), "SERVICE_VALIDATION_ERROR");
    }
}
