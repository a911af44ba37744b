//! A rule's "no": its code (spec/wallet: Errors), HTTP status and sentence.
//!
//! Failures that the specification's table does not name take the nearest code of it with a status of their own.

use super::code::Code;
use super::compliance::Form;
use super::invalid::Invalid;
use super::status::Status;

/// Changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// At least one.
    Invalid(Vec<Invalid>),
    /// Rule 1: one master wallet per blockchain and account.
    WalletExists,
    InsufficientBalance,
    InsufficientGas,
    /// The reference is known from a request that said something else.
    ReferenceTaken,
    /// No edge leads there from this status.
    NotPossible {
        status: Status,
    },
    /// It may have left already: it cannot be called back, nor sent as something else.
    AlreadySent,
    /// The opposite was said before, and stands.
    AlreadyDecided,
    /// Another transaction goes on from here.
    AlreadyContinued {
        by: String,
    },
    /// Nobody offers what was asked for.
    NoOffer,
    QuoteExpired,
    QuoteNotAccepted,
    QuoteUsed,
    /// Its own was used, and nobody agreed to another price.
    QuoteNeeded,
    /// The quote was given for something else.
    QuoteDiffers,
    /// The form of this currency has not been approved.
    NotCompliant {
        form: Form,
    },
    AccountNotVerified,
    VirtualAccountTestnet,
    /// The address of this field stands on a sanctions list.
    Sanctioned {
        field: &'static str,
    },
    /// Whoever it belongs to, or a sanctions list, has switched it off.
    AddressInactive,
}

impl Refusal {
    pub fn code(&self) -> Code {
        match self {
            // One code for all that is wrong: the first that is more than plain validation.
            Refusal::Invalid(all) => all
                .iter()
                .map(Invalid::code)
                .find(|code| *code != Code::ValidationError)
                .unwrap_or(Code::ValidationError),
            Refusal::WalletExists => Code::WalletExists,
            Refusal::InsufficientBalance => Code::InsufficientBalance,
            Refusal::InsufficientGas => Code::InsufficientGas,
            Refusal::NoOffer => Code::SwapFailed,
            Refusal::VirtualAccountTestnet => Code::VirtualAccountTestnet,
            _ => Code::ValidationError,
        }
    }

    /// Equal in the head and the body of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::ReferenceTaken
            | Refusal::NotPossible { .. }
            | Refusal::AlreadySent
            | Refusal::AlreadyDecided
            | Refusal::AlreadyContinued { .. }
            | Refusal::QuoteUsed
            | Refusal::QuoteNeeded
            | Refusal::AddressInactive => 409,
            Refusal::QuoteExpired | Refusal::QuoteNotAccepted | Refusal::QuoteDiffers | Refusal::AccountNotVerified => {
                422
            }
            Refusal::NotCompliant { .. } | Refusal::Sanctioned { .. } => 403,
            _ => self.code().status(),
        }
    }

    /// A sentence for a person; of several mistakes the one that the code is about, or the first.
    pub fn message(&self) -> String {
        match self {
            Refusal::Invalid(all) => {
                let code = self.code();
                all.iter().find(|invalid| invalid.code() == code).map(Invalid::message).unwrap_or_default()
            }
            Refusal::WalletExists => "A master wallet already exists for this blockchain".to_owned(),
            Refusal::InsufficientBalance => "Insufficient balance".to_owned(),
            Refusal::InsufficientGas => "The master wallet lacks the native token for gas".to_owned(),
            Refusal::ReferenceTaken => "reference has been used for another request".to_owned(),
            Refusal::NotPossible { status } => format!("Not possible for a transaction that is {}", status.name()),
            Refusal::AlreadySent => "The transaction may have been sent already".to_owned(),
            Refusal::AlreadyDecided => "The transaction has already ended otherwise".to_owned(),
            Refusal::AlreadyContinued { by } => format!("Transaction {by} continues this one"),
            Refusal::NoOffer => "No route for this swap".to_owned(),
            Refusal::QuoteExpired => "The quote has expired".to_owned(),
            Refusal::QuoteNotAccepted => "The quote has not been accepted".to_owned(),
            Refusal::QuoteUsed => "The quote has been used".to_owned(),
            Refusal::QuoteNeeded => "A new quote is needed: accept one and execute it".to_owned(),
            Refusal::QuoteDiffers => "The quote was given for another request".to_owned(),
            Refusal::NotCompliant { form } => format!("{} has not been approved", form.title()),
            Refusal::AccountNotVerified => "The bank account has not been verified".to_owned(),
            Refusal::Sanctioned { .. } => "The address is sanctioned".to_owned(),
            Refusal::AddressInactive => "The address is switched off".to_owned(),
            Refusal::VirtualAccountTestnet => "Virtual accounts exist only on mainnet".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::invalid::{Field, Rule};

    fn check(refusal: Refusal, code: &str, status: u16) {
        assert_eq!((refusal.code().name(), refusal.status()), (code, status), "{refusal:?}");
        assert!(!refusal.message().is_empty());
    }

    #[test]
    fn every_refusal_has_a_code_of_the_table() {
        check(Refusal::WalletExists, "SERVICE_WALLET_EXISTS", 409);
        check(Refusal::InsufficientBalance, "SERVICE_INSUFFICIENT_BALANCE", 422);
        check(Refusal::InsufficientGas, "SERVICE_INSUFFICIENT_GAS", 422);
        check(Refusal::VirtualAccountTestnet, "VIRTUAL_ACCOUNT_TESTNET", 400);
        check(Refusal::NoOffer, "SWAP_FAILED", 422);
        check(Refusal::ReferenceTaken, "SERVICE_VALIDATION_ERROR", 409);
        check(Refusal::NotCompliant { form: Form::NairaOnboarding }, "SERVICE_VALIDATION_ERROR", 403);
        check(Refusal::QuoteExpired, "SERVICE_VALIDATION_ERROR", 422);
        check(Refusal::QuoteNeeded, "SERVICE_VALIDATION_ERROR", 409);
        check(Refusal::NotPossible { status: Status::Success }, "SERVICE_VALIDATION_ERROR", 409);
    }

    #[test]
    fn of_several_mistakes_the_one_with_a_code_of_its_own_is_told() {
        let plain = Field("note").breaks(Rule::Required);
        let batch = Field("assets").breaks(Rule::BatchTooLarge { recipients_max: 20 });
        let refusal = Refusal::Invalid(vec![plain, batch]);
        assert_eq!(refusal.message(), "assets must contain at most 20 recipients");
        check(refusal, "BATCH_SIZE_EXCEEDED", 400);
    }
}
