//! Reads the members of a request and collects everything that is wrong with them, so that a caller hears it at once.

use super::Context;
use crate::rules::address::{self, AddressFault};
use crate::rules::amount::{Money, Units, WHOLE_DECIMALS};
use crate::rules::asset::Asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::invalid::{Field, Invalid, Rule};
use crate::rules::limits::{METADATA_BYTES_MAX, URL_CHARS_MAX};
use crate::rules::refusal::Refusal;

pub const ASSET_ID: Field = Field("asset_id");
pub const AMOUNT: Field = Field("amount");

/// What is wrong so far. Where something is, the members read are `None` and the request comes to nothing.
#[derive(Default)]
pub struct Reader {
    invalid: Vec<Invalid>,
    /// The recipient of a batch that is being read.
    pub(super) item: Option<usize>,
}

impl Reader {
    pub fn breaks(&mut self, field: Field, rule: Rule) {
        self.invalid.push(Invalid { item: self.item, ..field.breaks(rule) });
    }

    fn keep<T>(&mut self, field: Field, read: Result<T, Rule>) -> Option<T> {
        read.map_err(|rule| self.breaks(field, rule)).ok()
    }

    /// An empty text is none.
    pub fn required<'a>(&mut self, field: Field, sent: &'a Option<String>) -> Option<&'a str> {
        let found = given(sent);
        if found.is_none() {
            self.breaks(field, Rule::Required);
        }
        found
    }

    /// A short text for people, if there is one.
    pub fn text(&mut self, field: Field, sent: &Option<String>, characters_max: usize) -> Option<String> {
        let text = given(sent)?;
        let judged = if text.chars().count() > characters_max {
            Err(Rule::TooLong { characters_max })
        } else if text.chars().any(char::is_control) {
            Err(Rule::ControlCharacters)
        } else if text.trim().is_empty() {
            Err(Rule::Blank)
        } else {
            Ok(text.to_owned())
        };
        self.keep(field, judged)
    }

    pub fn required_text(&mut self, field: Field, sent: &Option<String>, characters_max: usize) -> Option<String> {
        self.required(field, sent)?;
        self.text(field, sent, characters_max)
    }

    /// JSON that was read already, and is kept as it was written.
    pub fn metadata(&mut self, sent: &Option<String>) -> Option<String> {
        let text = given(sent)?;
        let too_long = text.len() > METADATA_BYTES_MAX;
        let judged =
            if too_long { Err(Rule::TooManyBytes { bytes_max: METADATA_BYTES_MAX }) } else { Ok(text.to_owned()) };
        self.keep(Field("metadata"), judged)
    }

    /// One of a few words, if it is given.
    pub fn choice<T>(
        &mut self,
        field: Field,
        sent: &Option<String>,
        names: &'static [&'static str],
        of_name: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = given(sent)?;
        self.keep(field, of_name(text).ok_or(Rule::NotOneOf(names)))
    }

    pub fn blockchain(&mut self, field: Field, sent: &Option<String>) -> Option<Blockchain> {
        let slug = self.required(field, sent)?;
        self.keep(field, Blockchain::of_slug(slug).ok_or(Rule::UnknownBlockchain))
    }

    pub fn asset(&mut self, field: Field, sent: &Option<String>, context: &Context) -> Option<Asset> {
        let wanted = self.required(field, sent)?;
        let found = context.assets.iter().find(|(id, _)| id == wanted).map(|(_, asset)| *asset);
        self.keep(field, found.ok_or(Rule::UnknownAsset))
    }

    /// Above zero, in the decimals of the asset; judged as far as possible where the asset is not known.
    pub fn money(&mut self, sent: &Option<String>, asset: Option<Asset>) -> Option<Money> {
        let text = self.required(AMOUNT, sent)?;
        let Some(asset) = asset else {
            let judged = Units::parse_positive(text, WHOLE_DECIMALS);
            self.keep(AMOUNT, judged);
            return None;
        };
        let units = Units::parse_positive(text, asset.decimals);
        self.keep(AMOUNT, units).map(|units| Money::new(asset, units))
    }

    pub fn address(&mut self, field: Field, sent: &Option<String>, blockchain: Blockchain) -> Option<String> {
        let text = self.required(field, sent)?;
        let judged = address::read(blockchain, text).map_err(|fault| match fault {
            AddressFault::Form => Rule::NotAddress(blockchain),
            AddressFault::Checksum => Rule::AddressChecksum,
        });
        self.keep(field, judged)
    }

    /// http or https, with a host and no credentials. Where it leads is judged when it is called.
    pub fn url(&mut self, field: Field, sent: &Option<String>) -> Option<String> {
        let text = self.text(field, sent, URL_CHARS_MAX)?;
        let after = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let authority = after.and_then(|rest| rest.split(['/', '?', '#']).next());
        let is_url = authority.is_some_and(|authority| !authority.is_empty() && !authority.contains('@'))
            && !text.contains(|character: char| character.is_whitespace() || character == '\\');
        self.keep(field, if is_url { Ok(text) } else { Err(Rule::NotUrl) })
    }

    /// The request, if nothing is wrong with it.
    pub fn finish<T>(self, made: Option<T>) -> Result<T, Refusal> {
        match made {
            Some(made) if self.invalid.is_empty() => Ok(made),
            _ => Err(Refusal::Invalid(self.invalid)),
        }
    }
}

/// What was sent and is not empty.
pub fn given(sent: &Option<String>) -> Option<&str> {
    sent.as_deref().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::samples::some;
    use super::*;

    #[test]
    fn an_address_of_the_web_has_a_scheme_and_a_host() {
        for (text, expected) in [
            ("https://example.com/hook?x=1", true),
            ("http://127.0.0.1:8080", true),
            ("https://", false),
            ("https:///path", false),
            ("ftp://example.com", false),
            ("https://user:pass@example.com", false),
            ("https://exa mple.com", false),
            ("example.com", false),
            ("https://example.com\\@other", false),
        ] {
            let mut reader = Reader::default();
            assert_eq!(reader.url(Field("webhook_url"), &some(text)).is_some(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_says_something() {
        for text in [" ", "\u{a0}\u{2003}"] {
            let mut reader = Reader::default();
            assert_eq!(reader.text(Field("reference"), &some(text), 10), None);
            assert_eq!(reader.finish(Some(())).unwrap_err().message(), "reference must not be blank");
        }
        assert_eq!(Reader::default().text(Field("note"), &some(" a "), 10).as_deref(), Some(" a "));
    }

    #[test]
    fn an_empty_text_is_none() {
        let mut reader = Reader::default();
        assert_eq!(reader.required(AMOUNT, &some("")), None);
        assert_eq!(reader.text(Field("note"), &some(""), 10), None);
        let refusal = reader.finish(Some(())).unwrap_err();
        assert_eq!(refusal.message(), "amount is required");
    }
}
