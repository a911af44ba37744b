//! The types that a document declares: what a field can be, and how a type is written and hashed.
//!
//! Owns the spelling of types: there is one for each, without the aliases of programming languages (`uint256`, never
//! `uint`). Types may refer to each other and to themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use super::{TYPED_DATA_TYPES_MAX, expected, json::Value};
use crate::{KeyringError, evm::keccak};

/// Characters of the name of a type or field, which errors repeat.
const NAME_CHARS_MAX: usize = 100;

/// Lists in lists.
const LISTS_MAX: usize = 8;

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Address,
    Text,
    Bytes,
    /// Of this many bytes.
    FixedBytes(usize),
    /// Of this many bits.
    Uint(u32),
    Int(u32),
    Struct(String),
    /// Of this many, or of any number.
    List(Box<Kind>, Option<usize>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    spelled: String,
}

/// All types of a document; whatever they refer to is among them.
pub(super) struct Schema {
    types: BTreeMap<String, Vec<Field>>,
    hashes: BTreeMap<String, [u8; 32]>,
}

impl Schema {
    pub(super) fn new(types: BTreeMap<String, Vec<Field>>) -> Result<Schema, KeyringError> {
        for (name, field) in types.iter().flat_map(|(name, fields)| fields.iter().map(move |field| (name, field))) {
            if field.kind.referred().is_some_and(|referred| !types.contains_key(referred)) {
                return Err(expected(&format!("{name}.{}", field.name), KNOWN_TYPE));
            }
        }
        let alone: BTreeMap<&str, String> =
            types.iter().map(|(name, fields)| (name.as_str(), written_alone(name, fields))).collect();
        let written = |name: &str| -> String {
            let others = reached_from(&types, name);
            iter::once(name).chain(others).filter_map(|name| alone.get(name)).map(String::as_str).collect()
        };
        let hashes = types.keys().map(|name| (name.clone(), keccak(written(name).as_bytes()))).collect();
        Ok(Schema { types, hashes })
    }

    pub(super) fn fields(&self, name: &str) -> Option<&[Field]> {
        self.types.get(name).map(Vec::as_slice)
    }

    pub(super) fn type_hash(&self, name: &str) -> Option<&[u8; 32]> {
        self.hashes.get(name)
    }
}

const KNOWN_TYPE: &str = "of a type that the standard or types knows, like uint256 and never uint";

/// Reads `types`: for each name a list of objects of name and type.
pub(super) fn read_types(declared: BTreeMap<String, Value>) -> Result<BTreeMap<String, Vec<Field>>, KeyringError> {
    if declared.len() > TYPED_DATA_TYPES_MAX {
        return Err(KeyringError::TypedDataTypes);
    }
    declared.into_iter().map(|(name, fields)| Ok((name.clone(), read_fields(&name, fields)?))).collect()
}

fn read_fields(name: &str, declared: Value) -> Result<Vec<Field>, KeyringError> {
    if !is_name(name) || is_of_the_standard(name) {
        return Err(expected("types", "an object of types with names like Permit"));
    }
    let list = || expected(name, "a list of objects of name and type");
    let Value::List(declared) = declared else { return Err(list()) };
    let mut names = BTreeSet::new();
    let mut fields = Vec::new();
    for field in declared {
        let field = field.into_object().filter(|field| field.len() == 2).ok_or_else(list)?;
        let text = |part| field.get(part).and_then(Value::as_text);
        let (field, spelled) = text("name").zip(text("type")).ok_or_else(list)?;
        if !is_name(field) || !names.insert(field.to_owned()) {
            return Err(expected(name, "a type of fields with different names like spender"));
        }
        let known = Field::read(field, spelled);
        fields.push(known.ok_or_else(|| expected(&format!("{name}.{field}"), KNOWN_TYPE))?);
    }
    Ok(fields)
}

impl Field {
    pub(super) fn read(name: &str, spelled: &str) -> Option<Field> {
        let kind = Kind::read(spelled, LISTS_MAX)?;
        Some(Field { name: name.to_owned(), kind, spelled: spelled.to_owned() })
    }
}

impl Kind {
    fn read(spelled: &str, lists_max: usize) -> Option<Kind> {
        if let Some(list) = spelled.strip_suffix(']') {
            let (item, length) = list.rsplit_once('[')?;
            let length = if length.is_empty() { None } else { Some(read_number(length)?) };
            return Some(Kind::List(Box::new(Kind::read(item, lists_max.checked_sub(1)?)?), length));
        }
        match spelled {
            "bool" => Some(Kind::Bool),
            "address" => Some(Kind::Address),
            "string" => Some(Kind::Text),
            "bytes" => Some(Kind::Bytes),
            _ if is_of_the_standard(spelled) => Kind::read_sized(spelled),
            _ => is_name(spelled).then(|| Kind::Struct(spelled.to_owned())),
        }
    }

    /// `bytes1` to `bytes32`; `uint8` to `uint256` and `int8` to `int256`, in steps of eight.
    fn read_sized(spelled: &str) -> Option<Kind> {
        let (name, size) = spelled.split_at(without_digits(spelled).len());
        let size = read_number(size)?;
        let bits = u32::try_from(size).ok().filter(|bits| (8..=256).contains(bits) && bits % 8 == 0);
        match name {
            "bytes" => (1..=32).contains(&size).then_some(Kind::FixedBytes(size)),
            "uint" => bits.map(Kind::Uint),
            "int" => bits.map(Kind::Int),
            _ => None,
        }
    }

    /// The declared type that it is, or is a list of.
    fn referred(&self) -> Option<&str> {
        match self {
            Kind::Struct(name) => Some(name),
            Kind::List(item, _) => item.referred(),
            _ => None,
        }
    }
}

fn written_alone(name: &str, fields: &[Field]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| format!("{} {}", field.spelled, field.name)).collect();
    format!("{name}({})", fields.join(","))
}

/// The other types that this one refers to, and those that they refer to, sorted: as they follow it in writing.
fn reached_from<'a>(types: &'a BTreeMap<String, Vec<Field>>, name: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![name];
    while let Some(next) = waiting.pop() {
        for referred in types.get(next).into_iter().flatten().filter_map(|field| field.kind.referred()) {
            if referred != name && reached.insert(referred) {
                waiting.push(referred);
            }
        }
    }
    reached
}

/// Letters, digits and what else is in use, but nothing that types are written with.
fn is_name(text: &str) -> bool {
    let is_part = |part: u8| part.is_ascii_alphanumeric() || b"_$:".contains(&part);
    let starts_well = text.bytes().next().is_some_and(|first| is_part(first) && !first.is_ascii_digit());
    starts_well && text.len() <= NAME_CHARS_MAX && text.bytes().all(is_part)
}

/// Whether a type of the standard is called like this, or could be: `uint7` is none, and no name for another either.
fn is_of_the_standard(name: &str) -> bool {
    ["bool", "address", "string", "bytes", "uint", "int"].contains(&without_digits(name))
}

fn without_digits(text: &str) -> &str {
    text.trim_end_matches(|digit: char| digit.is_ascii_digit())
}

/// A number in its one spelling.
fn read_number(digits: &str) -> Option<usize> {
    let number: usize = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}
