//! The business content of a message: what decides whether a repeat is the same message (spec/clearing: idempotency).
//!
//! Invariant: spelling does not count (case of a uetr, zeros of an amount, grouping of an account number), nor do message
//! id and creation time, which a sender renews when it repeats itself.

use std::collections::BTreeMap;

use super::invalid::Field;
use super::refusal::Refusal;

/// Fields and their normalised texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content(BTreeMap<Field, String>);

impl Content {
    pub fn with(mut self, field: Field, text: impl Into<String>) -> Content {
        self.0.insert(field, text.into());
        self
    }

    pub fn with_known(self, field: Field, text: Option<impl Into<String>>) -> Content {
        match text {
            Some(text) => self.with(field, text),
            None => self,
        }
    }

    /// For the one who stores it.
    pub fn fields(&self) -> impl Iterator<Item = (Field, &str)> {
        self.0.iter().map(|(field, text)| (*field, text.as_str()))
    }

    /// The fields in which the two differ, never what stands in them. None: the same message again.
    pub fn differences(&self, other: &Content) -> Vec<Field> {
        Field::ALL.into_iter().filter(|field| self.0.get(field) != other.0.get(field)).collect()
    }

    /// A message of the same operation and uetr is a repeat, or refused.
    pub fn check_repeat(&self, again: &Content) -> Result<(), Refusal> {
        let fields = self.differences(again);
        if fields.is_empty() { Ok(()) } else { Err(Refusal::Differs { fields }) }
    }

    /// The fields that both have and that differ: a later message repeats only some of the first one's.
    pub fn contradictions(&self, other: &Content) -> Vec<Field> {
        let mut differing = self.differences(other);
        differing.retain(|field| self.0.contains_key(field) && other.0.contains_key(field));
        differing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let first = Content::default().with(Field::Uetr, "a").with(Field::PaymentScheme, "ZA_RTC");
        let second = Content::default().with(Field::Uetr, "a").with(Field::SettlementDate, "2026-05-07");
        assert_eq!(first.check_repeat(&first.clone()), Ok(()));
        let fields = vec![Field::SettlementDate, Field::PaymentScheme];
        assert_eq!(first.check_repeat(&second), Err(Refusal::Differs { fields }));
        assert_eq!(first.contradictions(&second), []);
        assert_eq!(first.contradictions(&second.with(Field::PaymentScheme, "ZA_RPP")), [Field::PaymentScheme]);
    }
}
