//! What a caller says of the fields of a resource, and what comes of it: the same for creating and for changing.
//!
//! Always holds: a field of which nothing is said stays as it was; a text is trimmed, and one that is empty is none.

use super::invalid::Invalid;
use super::text::{check_line, check_lines};

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Change<T> {
    #[default]
    Absent,
    /// `null`.
    Cleared,
    To(T),
}

impl<T> Change<T> {
    pub fn over(self, before: Option<T>) -> Option<T> {
        match self {
            Change::Absent => before,
            Change::Cleared => None,
            Change::To(value) => Some(value),
        }
    }
}

/// A text field of a resource, and how many characters it may have.
pub type TextField = (&'static str, usize);

/// Texts of a resource by the names of their fields; none is empty.
pub type Texts = Vec<(&'static str, String)>;

pub fn find_text<'a>(texts: &'a Texts, name: &str) -> Option<&'a str> {
    texts.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
}

/// Everything that is wrong, so that a caller learns all of it at once.
#[derive(Debug, Default)]
pub struct Faults(Vec<Invalid>);

impl Faults {
    pub fn note(&mut self, fault: Invalid) {
        self.0.push(fault);
    }

    pub fn keep(&mut self, outcome: Result<(), Invalid>) {
        self.0.extend(outcome.err());
    }

    /// A text of one line.
    pub fn line(&mut self, field: TextField, asked: Change<String>, before: Option<String>) -> Option<String> {
        self.text(field, asked.over(before), check_line)
    }

    pub fn lines(&mut self, field: TextField, asked: Change<String>, before: Option<String>) -> Option<String> {
        self.text(field, asked.over(before), check_lines)
    }

    fn text(
        &mut self,
        (field, characters_max): TextField,
        text: Option<String>,
        check: impl Fn(&'static str, &str, usize) -> Result<(), Invalid>,
    ) -> Option<String> {
        let text = trimmed(text)?;
        self.keep(check(field, &text, characters_max));
        Some(text)
    }

    /// Empty only where it was noted as wrong.
    pub fn required(&mut self, field: TextField, asked: Change<String>, before: Option<String>) -> String {
        let text = self.line(field, asked, before);
        if text.is_none() {
            self.note(Invalid::Required(field.0));
        }
        text.unwrap_or_default()
    }

    /// All the texts of a resource. Invariant: `asked` names fields of `known` alone, since that is what its reader
    /// goes by.
    pub fn texts(&mut self, known: &[TextField], asked: Vec<(&'static str, Change<String>)>, before: Texts) -> Texts {
        let mut asked = asked;
        let mut before = before;
        let mut take = |name: &str| {
            let change = asked.iter_mut().find(|(field, _)| *field == name).map(|(_, change)| std::mem::take(change));
            let text = before.iter_mut().find(|(field, _)| *field == name).map(|(_, text)| std::mem::take(text));
            (change.unwrap_or_default(), text)
        };
        let settled = known.iter().filter_map(|field| {
            let (change, text) = take(field.0);
            self.line(*field, change, text).map(|text| (field.0, text))
        });
        settled.collect()
    }

    pub fn number(&mut self, field: &'static str, value: Option<f64>, (least, most): (f64, f64)) -> Option<f64> {
        let value = value?;
        if !(least..=most).contains(&value) {
            self.note(Invalid::OutOfRange { field, least, most });
        }
        Some(value)
    }

    /// One of a few words, which stand in `allowed` as they are told.
    pub fn word(&mut self, field: &'static str, text: Option<String>, allowed: &'static str) -> Option<String> {
        let text = trimmed(text)?.to_ascii_lowercase();
        if !allowed.split(", ").any(|known| known == text) {
            self.note(Invalid::NotOneOf { field, allowed });
        }
        Some(text)
    }

    /// An amount as it was written, with at most four decimals: kept and shown, never reckoned with.
    pub fn amount(&mut self, field: &'static str, text: Option<String>) -> Option<String> {
        let text = trimmed(text)?;
        if !is_amount(&text) {
            self.note(Invalid::Not { field, kind: "an amount that is not negative" });
        }
        Some(text)
    }

    /// Three letters, upper case.
    pub fn currency(&mut self, field: &'static str, text: Option<String>) -> Option<String> {
        let text = trimmed(text)?.to_ascii_uppercase();
        if text.len() != 3 || !text.bytes().all(|byte| byte.is_ascii_uppercase()) {
            self.note(Invalid::Not { field, kind: "a currency of three letters" });
        }
        Some(text)
    }

    pub fn finish<T>(self, value: T) -> Result<T, Vec<Invalid>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}

fn trimmed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn is_amount(text: &str) -> bool {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(whole) && is_number(decimals) && (1..=15).contains(&whole.len()) && (1..=4).contains(&decimals.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: TextField = ("name", 4);

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    #[test]
    fn what_is_not_said_stays() {
        let before = || Some("a".to_owned());
        assert_eq!(Change::Absent.over(before()).as_deref(), Some("a"));
        assert_eq!(Change::Cleared.over(before()), None);
        assert_eq!(to("b").over(before()).as_deref(), Some("b"));
    }

    #[test]
    fn texts_are_trimmed_and_bounded() {
        let mut faults = Faults::default();
        assert_eq!(faults.line(NAME, to(" Ada "), None).as_deref(), Some("Ada"));
        assert_eq!(faults.line(NAME, to("  "), Some("Ada".to_owned())), None);
        assert_eq!(faults.lines(NAME, to("a\nb"), None).as_deref(), Some("a\nb"));
        assert_eq!(faults.required(NAME, Change::Absent, Some("Ada".to_owned())), "Ada");
        faults.required(NAME, Change::Cleared, Some("Ada".to_owned()));
        faults.line(NAME, to("Ada Lovelace"), None);
        let expected = [Invalid::Required("name"), Invalid::TooLong { field: "name", characters_max: 4 }];
        assert_eq!(faults.finish(()).unwrap_err(), expected);
    }

    #[test]
    fn texts_of_a_resource_stand_in_its_own_order() {
        let known: [TextField; 3] = [("make", 8), ("model", 8), ("trim", 8)];
        let before = vec![("model", "T".to_owned()), ("trim", "S".to_owned())];
        let mut faults = Faults::default();
        let texts = faults.texts(&known, vec![("trim", Change::Cleared), ("make", to("Ford"))], before);
        assert_eq!(texts, [("make", "Ford".to_owned()), ("model", "T".to_owned())]);
        assert_eq!((find_text(&texts, "model"), find_text(&texts, "trim")), (Some("T"), None));
        assert!(faults.finish(()).is_ok());
    }

    #[test]
    fn words_numbers_and_amounts_are_what_they_are_said_to_be() {
        let some = |text: &str| Some(text.to_owned());
        let mut right = Faults::default();
        assert_eq!(right.word("unit", some(" KG "), "g, kg").as_deref(), Some("kg"));
        assert_eq!(right.currency("currency", some("sgd")).as_deref(), Some("SGD"));
        assert_eq!(right.number("weight", Some(5.0), (0.0, 5.0)), Some(5.0));
        for amount in ["0", "10.50", "999999999999999.9999"] {
            assert_eq!(right.amount("price", some(amount)).as_deref(), Some(amount));
        }
        assert!(right.finish(()).is_ok());
        let mut wrong = Faults::default();
        wrong.word("unit", some("stone"), "g, kg");
        wrong.currency("currency", some("dollar"));
        wrong.number("weight", Some(f64::NAN), (0.0, 5.0));
        for amount in ["-1", "1e3", "1.", ".5", "1.23456", "1,000", "1000000000000000"] {
            wrong.amount("price", some(amount));
        }
        assert_eq!(wrong.finish(()).unwrap_err().len(), 10);
    }
}
