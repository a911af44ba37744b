//! Fiat currencies and what each asks of a business before money is paid out in it (spec/wallet: Conditions).

use super::refusal::Refusal;

/// currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Currency {
    Ngn,
    Kes,
    Tzs,
    Ugx,
    Brl,
    Mwk,
}

/// What a business fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    NairaOnboarding,
    AfricanPartnerOnboarding,
    /// Of virtual accounts; and of the currency for which the specification names no form of its own.
    DueDiligence,
}

/// Where a form stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormState {
    #[default]
    NotStarted,
    Submitted,
    Approved,
    Rejected,
}

/// From, to. A rejected form is submitted again; an approved one may be found wanting later.
pub const EDGES: [(FormState, FormState); 5] = [
    (FormState::NotStarted, FormState::Submitted),
    (FormState::Submitted, FormState::Approved),
    (FormState::Submitted, FormState::Rejected),
    (FormState::Rejected, FormState::Submitted),
    (FormState::Approved, FormState::Rejected),
];

impl Currency {
    pub const ALL: [Currency; 6] =
        [Currency::Ngn, Currency::Kes, Currency::Tzs, Currency::Ugx, Currency::Brl, Currency::Mwk];
    pub const CODES: [&str; 6] = ["NGN", "KES", "TZS", "UGX", "BRL", "MWK"];

    pub fn code(self) -> &'static str {
        match self {
            Currency::Ngn => "NGN",
            Currency::Kes => "KES",
            Currency::Tzs => "TZS",
            Currency::Ugx => "UGX",
            Currency::Brl => "BRL",
            Currency::Mwk => "MWK",
        }
    }

    pub fn of_code(code: &str) -> Option<Currency> {
        Currency::ALL.into_iter().find(|currency| currency.code() == code)
    }

    /// Of ISO 4217.
    pub fn decimals(self) -> u32 {
        match self {
            Currency::Ugx => 0,
            _ => 2,
        }
    }

    pub fn form(self) -> Form {
        match self {
            Currency::Ngn => Form::NairaOnboarding,
            Currency::Kes | Currency::Tzs | Currency::Ugx | Currency::Mwk => Form::AfricanPartnerOnboarding,
            Currency::Brl => Form::DueDiligence,
        }
    }
}

impl Form {
    pub fn title(self) -> &'static str {
        match self {
            Form::NairaOnboarding => "The Naira-only onboarding form",
            Form::AfricanPartnerOnboarding => "The African-currency partner onboarding form",
            Form::DueDiligence => "The due diligence form",
        }
    }
}

impl FormState {
    pub fn name(self) -> &'static str {
        match self {
            FormState::NotStarted => "not_started",
            FormState::Submitted => "submitted",
            FormState::Approved => "approved",
            FormState::Rejected => "rejected",
        }
    }

    /// `None` where no edge leads there. A repeat stays where it is.
    pub fn go(self, next: FormState) -> Option<FormState> {
        (self == next || EDGES.contains(&(self, next))).then_some(next)
    }
}

/// Asked by every operation of fiat money.
pub fn check_form(currency: Currency, form: FormState) -> Result<(), Refusal> {
    match form {
        FormState::Approved => Ok(()),
        _ => Err(Refusal::NotCompliant { form: currency.form() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_currency_of_the_specification_has_a_form() {
        assert_eq!(Currency::ALL.map(Currency::code), Currency::CODES);
        let forms = Currency::ALL.map(Currency::form);
        use Form::{AfricanPartnerOnboarding as African, DueDiligence, NairaOnboarding};
        assert_eq!(forms, [NairaOnboarding, African, African, African, DueDiligence, African]);
        assert_eq!(Currency::of_code("USD"), None);
        assert_eq!(Currency::of_code("ngn"), None);
    }

    #[test]
    fn a_form_is_submitted_before_it_is_judged() {
        use FormState::*;
        for (from, to, allowed) in [
            (NotStarted, Submitted, true),
            (NotStarted, Approved, false),
            (NotStarted, Rejected, false),
            (Submitted, Approved, true),
            (Submitted, Rejected, true),
            (Submitted, NotStarted, false),
            (Rejected, Submitted, true),
            (Rejected, Approved, false),
            (Approved, Rejected, true),
            (Approved, Submitted, false),
            (Approved, Approved, true),
        ] {
            assert_eq!(from.go(to).is_some(), allowed, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn nothing_is_paid_out_before_the_form_is_approved() {
        assert_eq!(check_form(Currency::Kes, FormState::Approved), Ok(()));
        for state in [FormState::NotStarted, FormState::Submitted, FormState::Rejected] {
            let refused = Refusal::NotCompliant { form: Form::AfricanPartnerOnboarding };
            assert_eq!(check_form(Currency::Kes, state), Err(refused), "{state:?}");
        }
    }
}
