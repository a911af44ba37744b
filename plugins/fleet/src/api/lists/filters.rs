//! Filters of a list: a parameter by its name, or by its name and the suffix of an operator (research/fleet 5).
//!
//! Owns what a value may be; a value of another kind is refused, since a filter that is not heard shows the wrong records.

use tenon_plugin::records::{Comparison, Value};
use tenon_plugin::{Call, time};

use crate::rules::invalid::Invalid;
use crate::rules::order::TEXT_CHARS_MAX;
use crate::rules::text;

/// Values of one list, as many as the host takes.
const VALUES_MAX: usize = 100;
const DAY_MS: u64 = 86_400_000;
/// "2026-05-07"
const DAY_CHARS: usize = 10;

/// What one field is compared with.
type Conditions = Vec<(&'static str, Comparison)>;

#[derive(Clone, Copy, Debug)]
pub struct Filter {
    name: &'static str,
    /// Of the record; "@created-at" and "@updated-at" are times as well.
    field: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Anything; a comma is part of it.
    Text,
    /// An id, a status, a type; several with commas between.
    Word,
    Number,
    Boolean,
    /// A day, a range of two times (with a comma between, or the parameter twice), or a time with an operator.
    Time,
    /// The field is a list that holds it.
    Member,
    /// The field is a list of days that holds the day of a date or a time.
    Day,
}

impl Filter {
    pub const fn text(name: &'static str, field: &'static str) -> Filter {
        Filter { name, field, kind: Kind::Text }
    }

    pub const fn word(name: &'static str, field: &'static str) -> Filter {
        Filter { name, field, kind: Kind::Word }
    }

    pub const fn number(name: &'static str, field: &'static str) -> Filter {
        Filter { name, field, kind: Kind::Number }
    }

    pub const fn boolean(name: &'static str, field: &'static str) -> Filter {
        Filter { name, field, kind: Kind::Boolean }
    }

    /// `field` is a time of the host's, or holds one as the interface shows it.
    pub const fn time(name: &'static str, field: &'static str) -> Filter {
        Filter { name, field, kind: Kind::Time }
    }

    pub const fn member(name: &'static str, field: &'static str) -> Filter {
        Filter { name, field, kind: Kind::Member }
    }

    pub const fn day(name: &'static str, field: &'static str) -> Filter {
        Filter { name, field, kind: Kind::Day }
    }
}

/// Every list has these.
const TIMES: [Filter; 2] = [Filter::time("created_at", "@created-at"), Filter::time("updated_at", "@updated-at")];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Is,
    Not,
    Greater,
    Less,
    AtLeast,
    AtMost,
    Like,
    In,
    NotIn,
    IsNull,
    IsNotNull,
}

const SUFFIXES: [(&str, Operator); 11] = [
    ("", Operator::Is),
    ("_not", Operator::Not),
    ("_gt", Operator::Greater),
    ("_lt", Operator::Less),
    ("_gte", Operator::AtLeast),
    ("_lte", Operator::AtMost),
    ("_like", Operator::Like),
    ("_in", Operator::In),
    ("_notIn", Operator::NotIn),
    ("_isNull", Operator::IsNull),
    ("_isNotNull", Operator::IsNotNull),
];

/// Each parameter once, with all its values: clients repeat it for a list, some with "[]" behind.
pub fn grouped(query: &[tenon_plugin::Pair]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for pair in query {
        let name = plain(&pair.name);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(&pair.value),
            None => groups.push((name, vec![&pair.value])),
        }
    }
    groups
}

fn plain(name: &str) -> &str {
    name.strip_suffix("[]").unwrap_or(name)
}

/// The value of a parameter that has one, with "[]" behind its name or without. Refused where it is there twice: nobody
/// could tell which of them counts.
pub fn single<'c>(call: &Call<'c>, name: &'static str) -> Result<Option<&'c str>, Invalid> {
    let pairs = call.pairs().iter();
    let values: Vec<&str> = pairs.filter(|pair| plain(&pair.name) == name).map(|pair| pair.value.as_str()).collect();
    if values.is_empty() { Ok(None) } else { only(name, &values).map(Some) }
}

/// What a parameter names, commas between: all that it is there with.
pub fn words<'c>(call: &Call<'c>, name: &str) -> impl Iterator<Item = &'c str> {
    let values = call.pairs().iter().filter(move |pair| plain(&pair.name) == name);
    values.flat_map(|pair| pair.value.split(',')).map(str::trim).filter(|word| !word.is_empty())
}

fn only<'v>(name: &'static str, values: &[&'v str]) -> Result<&'v str, Invalid> {
    match values {
        [value] => Ok(value),
        _ => Err(Invalid::Not { field: name, kind: "there only once" }),
    }
}

/// `None`: no filter has this name. What is wrong is told of the parameter, with its suffix.
pub fn read(filters: &'static [Filter], name: &str, values: &[&str]) -> Result<Option<Conditions>, Invalid> {
    let mut all = filters.iter().chain(&TIMES);
    let found = all.find_map(|filter| Some((filter, operator_of(filter, name)?)));
    let as_sent = |filter: &Filter, fault: Invalid| fault.renamed(filter.name, "").within(name);
    found.map(|(filter, how)| filter.conditions(how, values).map_err(|fault| as_sent(filter, fault))).transpose()
}

fn operator_of(filter: &Filter, name: &str) -> Option<Operator> {
    let suffix = name.strip_prefix(filter.name)?;
    let (_, operator) = SUFFIXES.iter().find(|(known, _)| *known == suffix)?;
    filter.kind.takes(*operator).then_some(*operator)
}

impl Kind {
    fn takes(self, operator: Operator) -> bool {
        match operator {
            Operator::Is => true,
            Operator::IsNull | Operator::IsNotNull => !matches!(self, Kind::Member | Kind::Day),
            Operator::Not => !matches!(self, Kind::Time | Kind::Member | Kind::Day),
            Operator::Greater | Operator::Less | Operator::AtLeast | Operator::AtMost => {
                !matches!(self, Kind::Boolean | Kind::Member | Kind::Day)
            }
            Operator::Like => matches!(self, Kind::Text | Kind::Word),
            Operator::In | Operator::NotIn => matches!(self, Kind::Text | Kind::Word | Kind::Number),
        }
    }
}

impl Filter {
    fn conditions(&self, operator: Operator, given: &[&str]) -> Result<Conditions, Invalid> {
        let only = || only(self.name, given);
        let all = || -> Result<Vec<Value>, Invalid> { self.values(given, operator) };
        let comparisons = match (operator, self.kind) {
            (Operator::IsNull | Operator::IsNotNull, _) => {
                let text = only()?;
                let wanted = text.is_empty() || self.truth(text)?;
                let is_null = wanted == (operator == Operator::IsNull);
                vec![if is_null { Comparison::Equal(Value::Null) } else { Comparison::NotEqual(Value::Null) }]
            }
            (Operator::Is, Kind::Time) => match given {
                [from, to] => self.range(from, to)?,
                _ => {
                    let text = only()?;
                    let (from, to) = text.split_once(',').unwrap_or((text, text));
                    self.range(from, to)?
                }
            },
            (_, Kind::Time) => vec![self.compared(operator, only()?)?],
            (Operator::Is, Kind::Day) => vec![Comparison::Contains(self.value(only()?)?)],
            (Operator::Is, Kind::Member) => all()?.into_iter().map(Comparison::Contains).collect(),
            (Operator::Is | Operator::In, _) => vec![one_of(all()?)],
            (Operator::Not | Operator::NotIn, _) => all()?.into_iter().map(Comparison::NotEqual).collect(),
            (Operator::Like, _) => {
                let text = only()?.trim_end_matches('%');
                text::check_line(self.name, text, TEXT_CHARS_MAX)?;
                vec![Comparison::StartsWith(text.to_owned())]
            }
            (Operator::Greater, _) => vec![Comparison::More(self.value(only()?)?)],
            (Operator::Less, _) => vec![Comparison::Less(self.value(only()?)?)],
            (Operator::AtLeast, _) => vec![Comparison::AtLeast(self.value(only()?)?)],
            (Operator::AtMost, _) => vec![Comparison::AtMost(self.value(only()?)?)],
        };
        Ok(comparisons.into_iter().map(|how| (self.field, how)).collect())
    }

    /// Of a parameter that may hold several.
    fn values(&self, given: &[&str], operator: Operator) -> Result<Vec<Value>, Invalid> {
        let is_split = self.kind == Kind::Word || matches!(operator, Operator::In | Operator::NotIn);
        let parts: Vec<&str> =
            given.iter().flat_map(|text| if is_split { text.split(',').collect() } else { vec![*text] }).collect();
        if parts.len() > VALUES_MAX {
            return Err(Invalid::Not { field: self.name, kind: "a list of at most 100 values" });
        }
        parts.into_iter().map(|part| self.value(part)).collect()
    }

    fn value(&self, text: &str) -> Result<Value, Invalid> {
        match self.kind {
            Kind::Boolean => self.truth(text).map(Value::Boolean),
            Kind::Number => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Value::Number(number)),
                _ => Err(Invalid::Not { field: self.name, kind: "a number" }),
            },
            Kind::Day => {
                let time = time::parse(text).ok_or(Invalid::Not { field: self.name, kind: "a date" })?;
                Ok(Value::Text(time::to_text(time).chars().take(DAY_CHARS).collect()))
            }
            Kind::Text | Kind::Word | Kind::Time | Kind::Member => {
                text::check_line(self.name, text, TEXT_CHARS_MAX)?;
                Ok(Value::Text(text.to_owned()))
            }
        }
    }

    fn truth(&self, text: &str) -> Result<bool, Invalid> {
        match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(Invalid::Not { field: self.name, kind: "true or false" }),
        }
    }

    /// From one day or time to another.
    fn range(&self, from: &str, to: &str) -> Result<Vec<Comparison>, Invalid> {
        let wrong = |_| Invalid::Not { field: self.name, kind: "a day, or two of them with a comma between" };
        let (from, to) = (self.bounds(from).map_err(wrong)?.0, self.bounds(to).map_err(wrong)?.1);
        Ok(vec![Comparison::AtLeast(from), Comparison::AtMost(to)])
    }

    fn compared(&self, operator: Operator, text: &str) -> Result<Comparison, Invalid> {
        let (from, to) = self.bounds(text)?;
        Ok(match operator {
            Operator::Greater => Comparison::More(to),
            Operator::Less => Comparison::Less(from),
            Operator::AtLeast => Comparison::AtLeast(from),
            _ => Comparison::AtMost(to),
        })
    }

    /// A day counts from its beginning to its end.
    fn bounds(&self, text: &str) -> Result<(Value, Value), Invalid> {
        let from = time::parse(text).ok_or(Invalid::Not { field: self.name, kind: "a date" })?;
        let to = if time::is_date(text) { from + DAY_MS - 1 } else { from };
        Ok((self.instant(from), self.instant(to)))
    }

    fn instant(&self, milliseconds: u64) -> Value {
        if self.field.starts_with('@') {
            Value::Integer(i64::try_from(milliseconds).unwrap_or(i64::MAX))
        } else {
            Value::Text(time::to_text(milliseconds))
        }
    }
}

fn one_of(mut values: Vec<Value>) -> Comparison {
    match values.pop() {
        Some(value) if values.is_empty() => Comparison::Equal(value),
        last => Comparison::OneOf(values.into_iter().chain(last).collect()),
    }
}
