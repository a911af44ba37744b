//! The types that a document declares: the kinds of fields, and the encoding and hash of a type.
//!
//! Each type has one spelling, without the aliases of programming languages (`uint256`, not `uint`). Types may refer to
//! each other and to themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use super::{TYPED_DATA_TYPES_MAX, expected, json::Value};
use crate::{KeyringError, evm::keccak};

/// Maximum length of the name of a type or field. Errors contain these names.
const NAME_CHARS_MAX: usize = 100;

/// Maximum nesting depth of lists.
const LISTS_MAX: usize = 8;

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Address,
    Text,
    Bytes,
    /// This number of bytes.
    FixedBytes(usize),
    /// This number of bits.
    Uint(u32),
    Int(u32),
    Struct(String),
    /// A list of this length, or of any length.
    List(Box<Kind>, Option<usize>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    type_name: String,
}

/// All types of a document, including all types that they refer to.
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
        let definitions: BTreeMap<&str, String> =
            types.iter().map(|(name, fields)| (name.as_str(), encode_definition(name, fields))).collect();
        let encoded = |name: &str| -> String {
            let others = reached_from(&types, name);
            iter::once(name).chain(others).filter_map(|name| definitions.get(name)).map(String::as_str).collect()
        };
        let hashes = types.keys().map(|name| (name.clone(), keccak(encoded(name).as_bytes()))).collect();
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

/// Parses `types`: for each name a list of objects with name and type.
pub(super) fn read_types(declared: BTreeMap<String, Value>) -> Result<BTreeMap<String, Vec<Field>>, KeyringError> {
    if declared.len() > TYPED_DATA_TYPES_MAX {
        return Err(KeyringError::TypedDataTypes);
    }
    declared.into_iter().map(|(name, fields)| Ok((name.clone(), read_fields(&name, fields)?))).collect()
}

fn read_fields(name: &str, declared: Value) -> Result<Vec<Field>, KeyringError> {
    if !is_name(name) || is_reserved(name) {
        return Err(expected("types", "an object of types with names like Permit"));
    }
    let list = || expected(name, "a list of objects of name and type");
    let Value::List(declared) = declared else { return Err(list()) };
    let mut names = BTreeSet::new();
    let mut fields = Vec::new();
    for field in declared {
        let field = field.into_object().filter(|field| field.len() == 2).ok_or_else(list)?;
        let text = |part| field.get(part).and_then(Value::as_text);
        let (field, type_name) = text("name").zip(text("type")).ok_or_else(list)?;
        if !is_name(field) || !names.insert(field.to_owned()) {
            return Err(expected(name, "a type of fields with different names like spender"));
        }
        let known = Field::read(field, type_name);
        fields.push(known.ok_or_else(|| expected(&format!("{name}.{field}"), KNOWN_TYPE))?);
    }
    Ok(fields)
}

impl Field {
    pub(super) fn read(name: &str, type_name: &str) -> Option<Field> {
        let kind = Kind::read(type_name, LISTS_MAX)?;
        Some(Field { name: name.to_owned(), kind, type_name: type_name.to_owned() })
    }
}

impl Kind {
    fn read(type_name: &str, lists_max: usize) -> Option<Kind> {
        if let Some(list) = type_name.strip_suffix(']') {
            let (item, length) = list.rsplit_once('[')?;
            let length = if length.is_empty() { None } else { Some(read_number(length)?) };
            return Some(Kind::List(Box::new(Kind::read(item, lists_max.checked_sub(1)?)?), length));
        }
        match type_name {
            "bool" => Some(Kind::Bool),
            "address" => Some(Kind::Address),
            "string" => Some(Kind::Text),
            "bytes" => Some(Kind::Bytes),
            _ if is_reserved(type_name) => Kind::read_sized(type_name),
            _ => is_name(type_name).then(|| Kind::Struct(type_name.to_owned())),
        }
    }

    /// Parses `bytes1` to `bytes32`, and `uint8` to `uint256` and `int8` to `int256` in steps of eight.
    fn read_sized(type_name: &str) -> Option<Kind> {
        let (name, size) = type_name.split_at(without_digits(type_name).len());
        let size = read_number(size)?;
        let bits = u32::try_from(size).ok().filter(|bits| (8..=256).contains(bits) && bits % 8 == 0);
        match name {
            "bytes" => (1..=32).contains(&size).then_some(Kind::FixedBytes(size)),
            "uint" => bits.map(Kind::Uint),
            "int" => bits.map(Kind::Int),
            _ => None,
        }
    }

    /// Returns the declared type that this kind refers to, directly or as the item of a list.
    fn referred(&self) -> Option<&str> {
        match self {
            Kind::Struct(name) => Some(name),
            Kind::List(item, _) => item.referred(),
            _ => None,
        }
    }
}

fn encode_definition(name: &str, fields: &[Field]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| format!("{} {}", field.type_name, field.name)).collect();
    format!("{name}({})", fields.join(","))
}

/// Returns the other types that type `name` refers to, directly or indirectly, in the order of the encoding: sorted by
/// name.
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

/// Returns whether a string is a valid name: letters, digits and common symbols, but no characters of the type syntax.
fn is_name(text: &str) -> bool {
    let is_part = |part: u8| part.is_ascii_alphanumeric() || b"_$:".contains(&part);
    let has_valid_start = text.bytes().next().is_some_and(|first| is_part(first) && !first.is_ascii_digit());
    has_valid_start && text.len() <= NAME_CHARS_MAX && text.bytes().all(is_part)
}

/// Returns whether a name is reserved for types of the standard. `uint7` is reserved too, although it is not a valid
/// type.
fn is_reserved(name: &str) -> bool {
    ["bool", "address", "string", "bytes", "uint", "int"].contains(&without_digits(name))
}

fn without_digits(text: &str) -> &str {
    text.trim_end_matches(|digit: char| digit.is_ascii_digit())
}

/// Parses a number in its canonical spelling.
fn read_number(digits: &str) -> Option<usize> {
    let number: usize = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}
