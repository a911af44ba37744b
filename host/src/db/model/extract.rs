//! Extracts the values of indexed fields from a JSON body in one pass, without building a tree.
//!
//! A whole number that fits 64 bits becomes an integer in any notation ("1.0", "1e0"). The database treats the
//! notations as equal, so the slots of unique indexes must as well. Booleans become 0 and 1. Lists and objects become
//! null. A fraction of more than 15 digits may differ in its last bit from the value that SQLite reads from the body.
//! An indexed field is compared as extracted here, and any other field as SQLite reads it.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::BodyError;
use crate::changes::change_set::Field;
use crate::limits::{INDEXED_TEXT_BYTES_MAX, JSON_DEPTH_MAX};

/// Handling of values that cannot be indexed: strings that are too long or contain NUL, numbers beyond the range of
/// floats, duplicate member names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Returns an error. For records that a plugin writes now.
    Reject,
    /// Treats the value as null, and ignores duplicate members. For records that were accepted when they were written.
    Lenient,
}

/// Tree of the paths of a collection, by their names.
#[derive(Debug, Default)]
pub struct FieldTree {
    root: Node,
    count: usize,
}

#[derive(Debug, Default)]
struct Node {
    name: Box<str>,
    /// Position of the column whose path ends at this node.
    column: Option<usize>,
    children: Vec<Node>,
}

impl FieldTree {
    pub fn new<'a>(paths: impl Iterator<Item = &'a str>) -> FieldTree {
        let mut tree = FieldTree::default();
        for path in paths {
            tree.root.add(path, tree.count);
            tree.count += 1;
        }
        tree
    }

    /// Returns one value for each path, in their order. The value is null if the body has none.
    pub fn extract(&self, body: &str, strictness: Strictness) -> Result<Vec<Field>, BodyError> {
        check_depth(body)?;
        let mut found = Extraction { fields: vec![None; self.count], strictness };
        let mut json = serde_json::Deserializer::from_str(body);
        json.deserialize_any(NodeVisitor { node: &self.root, found: &mut found })
            .and_then(|()| json.end())
            .map_err(|error| BodyError(format!("the body is invalid: {error}")))?;
        Ok(found.fields.into_iter().map(|field| field.unwrap_or(Field::Null)).collect())
    }
}

impl Node {
    fn add(&mut self, path: &str, column: usize) {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        let position = self.children.iter().position(|child| &*child.name == name).unwrap_or_else(|| {
            self.children.push(Node { name: name.into(), ..Node::default() });
            self.children.len() - 1
        });
        let Some(child) = self.children.get_mut(position) else { return };
        match rest {
            Some(rest) => child.add(rest, column),
            None => child.column = Some(column),
        }
    }
}

/// Checks the nesting depth by counting brackets outside of strings. The parser skips unindexed values without a depth
/// check.
fn check_depth(body: &str) -> Result<(), BodyError> {
    // Most bodies have fewer brackets than allowed levels. Counting brackets takes a tenth of the time of a full check.
    let brackets = body.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if brackets <= JSON_DEPTH_MAX {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in body.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return Err(BodyError(format!("the body is nested deeper than {JSON_DEPTH_MAX} levels")));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

struct Extraction {
    /// The value of each column. `None` if the body has not had it yet.
    fields: Vec<Option<Field>>,
    strictness: Strictness,
}

/// Reads the value at one node of the tree.
struct NodeVisitor<'a> {
    node: &'a Node,
    found: &'a mut Extraction,
}

impl NodeVisitor<'_> {
    fn set<E: Error>(self, field: Field) -> Result<(), E> {
        let Some(column) = self.node.column else { return Ok(()) };
        let Some(slot) = self.found.fields.get_mut(column) else { return Ok(()) };
        if slot.is_some() {
            if self.found.strictness == Strictness::Lenient {
                // The first member counts, as in SQLite.
                return Ok(());
            }
            return Err(E::custom(format!("\"{}\" occurs twice in one object", self.node.name)));
        }
        *slot = Some(field);
        Ok(())
    }

    fn set_text<E: Error>(self, text: &str) -> Result<(), E> {
        if self.node.column.is_none() {
            return Ok(());
        }
        if text.len() <= INDEXED_TEXT_BYTES_MAX && !text.contains('\0') {
            return self.set(Field::Text(Arc::from(text)));
        }
        match self.found.strictness {
            Strictness::Lenient => self.set(Field::Null),
            Strictness::Reject => Err(E::custom(format!(
                "\"{}\" is indexed: its string may have at most {INDEXED_TEXT_BYTES_MAX} bytes and no NUL",
                self.node.name
            ))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for NodeVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.found.strictness == Strictness::Reject {
            return deserializer.deserialize_any(self);
        }
        // JSON allows values that cannot be parsed, such as 1e999 or a lone surrogate. They may have been stored while
        // unindexed.
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        let _unreadable = serde_json::Deserializer::from_str(raw.get()).deserialize_any(self);
        Ok(())
    }
}

impl<'de> Visitor<'de> for NodeVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.set(Field::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.set(Field::Integer(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.set(Field::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.set(i64::try_from(value).map_or(Field::Real(value as f64), Field::Integer))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.set(number(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.set_text(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        self.set(Field::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(child) = object.next_key_seed(ChildName(self.node))? {
            match child {
                Some(node) => object.next_value_seed(NodeVisitor { node, found: &mut *self.found })?,
                None => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        self.set(Field::Null)
    }
}

/// Converts a number to the form in which it is indexed and compared.
pub(in crate::db) fn number(value: f64) -> Field {
    // The smallest float above all 64-bit integers. The lowest integer is itself a float.
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && (-ABOVE..ABOVE).contains(&value) {
        Field::Integer(value as i64)
    } else {
        Field::Real(value)
    }
}

/// Reads a member name and returns the child of the node with that name, if any.
struct ChildName<'a>(&'a Node);

impl<'de, 'a> DeserializeSeed<'de> for ChildName<'a> {
    type Value = Option<&'a Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for ChildName<'a> {
    type Value = Option<&'a Node>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.children.iter().find(|child| &*child.name == name))
    }
}
